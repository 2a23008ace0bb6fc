// SPDX-License-Identifier: Apache-2.0
#include "run.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include <hyperparallel/graph/gradient.hpp>
#include <hyperparallel/graph/optimizer.hpp>
#include <hyperparallel/hardware/presets.hpp>
#include <hyperparallel/price/fastest_tiles.hpp>
#include <hyperparallel/report/format_units.hpp>
#include <hyperparallel/report/progress.hpp>
#include <hyperparallel/report/table.hpp>
#include <hyperparallel/report/trace_steps.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/world/model_run.hpp>

#include "layer.hpp"

namespace moe_layer {
namespace {

constexpr double tolerance = 1e-9;  ///< sums of gradients in another order, in f64
constexpr int most_steps = 6;

hp::graph training_graph(const layer_sizes& layer, hp::data_type type) {
  hp::model_builder m({.activation = type, .parameter = type, .unrolled = true});
  build(m, layer);
  hp::differentiate(m.graph);
  hp::append_optimizer(m.graph, {});
  return std::move(m.graph);
}

/// A step at full size by the clock of the dies: as operators, and in the tiles that make it fastest.
void print_clock() {
  using hp::report::duration, hp::report::percent;
  const hp::device_value& die = hp::matrix384::device;
  const hp::sharded_program p =
      hp::partition(training_graph(full_size, hp::bf16), hp::strategy_called("ep", devices).strategy);
  hp::lowering_options how{.topology = hp::interconnect_of(hp::matrix384::topology), .lookahead = 1};
  hp::report::table lines({"a step of training", "makespan", "not computing", "share", "memory"});
  for (const bool tiled : {false, true}) {
    if (tiled) how.tiles.push(tiled_operators);
    const hp::tiles_chosen c = hp::lower_in_fastest_tiles(p, how, die, die.tier[0].bytes);
    const hp::run_times& t = c.lowered.times;
    lines.row({tiled ? fmt::format("experts in {} tiles", c.tiles) : "operators",
               fmt::format("{}", duration{t.makespan}), fmt::format("{}", duration{t.exposed}),
               fmt::format("{}", percent{t.exposed * 10000 / t.makespan}),
               fmt::format("{}", hp::report::byte_count{c.lowered.addresses.high_water[0]})});
  }
  fmt::print(
      "\nA model of this one layer at full size, forward, backward and AdamW, by the clock of the same dies:\n\n{}\n",
      lines.text());
}

using run_of_layer = hp::model_run<double>;

hp::model_run_options options_of(int threads, bool tiled) {
  hp::model_run_options o;
  o.program.execution.threads = threads;
  if (tiled) o.program.tiles = {tiled_operators};
  o.program.measured = tiled;
  return o;
}

struct trained {
  std::vector<double> loss, parameters;
  double seconds = 0;
};

/// Steps over the text, which begins anew where it ends. `after_step` sees the number of the step that has just run.
template <class AfterStep>
trained train(run_of_layer& run, const std::vector<unsigned char>& text, int steps, const AfterStep& after_step) {
  constexpr std::size_t count = static_cast<std::size_t>(reduced.tokens * devices);
  trained r;
  std::vector<std::int32_t> tokens(count), labels(count);
  const auto begin = std::chrono::steady_clock::now();
  for (std::size_t step = 0; step < static_cast<std::size_t>(steps); ++step) {
    for (std::size_t i = 0; i < count; ++i) {
      tokens[i] = text[(step * count + i) % text.size()];
      labels[i] = text[(step * count + i + 1) % text.size()];
    }
    r.loss.push_back(run.train_step([&](int) {
      run.world().set("tokens", tokens);
      run.world().set("labels", labels);
    }));
    after_step(step);
  }
  r.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  for (int t = 0; t < run.model().tensor.size; ++t)
    if (run.model().tensor[t].kind == hp::graph_tensor_kind::parameter && run.model().tensor[t].replaces < 0)
      for (const double x : run.world().get(t)) r.parameters.push_back(x);
  return r;
}

/// The largest distance, as a share of the largest number.
double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double most = 0, largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    most = std::max(most, std::abs(a[i] - b[i]));
    largest = std::max(largest, std::abs(b[i]));
  }
  return a.size() == b.size() ? most / largest : HUGE_VAL;
}

}  // namespace

bool run_text(const std::vector<unsigned char>& text, int threads, hp::atomic_file& trace) {
  print_clock();
  const int of_step = reduced.tokens * devices;
  const int steps =
      static_cast<int>(std::min<std::size_t>(most_steps, 1 + text.size() / static_cast<std::size_t>(of_step)));
  const hp::graph graph = training_graph(reduced, hp::f64);
  const hp::strategy_value strategy = hp::strategy_called("ep", devices).strategy;
  run_of_layer tiled(graph, strategy, options_of(threads, true)), whole(graph, strategy, options_of(threads, false)),
      alone(graph, hp::strategy_called("single", 1).strategy, options_of(threads, false));

  fmt::print("Run for real: the bytes of a text, each to be told from the one before, {} steps of {} tokens\n", steps,
             of_step);
  fmt::print("  layer      hidden {}, width {}, {} experts, top-{}, f64\n", reduced.hidden, reduced.width,
             reduced.experts, reduced.top_k);
  fmt::print("  plan       {} tasks of {} ranks in tiles, {} without; proved safe before they run\n",
             tiled.world().tasks(), devices, whole.world().tasks());
  fmt::print("  memory     {} a rank in tiles, {} without, {} on one device\n",
             hp::report::byte_count{tiled.world().planned_bytes()},
             hp::report::byte_count{whole.world().planned_bytes()},
             hp::report::byte_count{alone.world().planned_bytes()});

  std::fflush(stdout);  // the progress line goes to stderr and comes after what was printed so far
  hp::report::progress_line progress("  running", "steps");
  std::int64_t done = 0;
  const auto advance = [&](std::size_t) { progress.update(++done, 3 * steps); };
  const trained in_tiles = train(tiled, text, steps, [&](std::size_t step) {
    if (step == 0) hp::report::write_trace(trace, tiled.world().program(), tiled.world().last_run());
    advance(step);
  });
  const trained without = train(whole, text, steps, advance), one = train(alone, text, steps, advance);
  progress.finish();
  trace.commit();

  fmt::print("  loss       {:.4f} in the first step, {:.4f} in the last, nats a byte\n", one.loss.front(),
             one.loss.back());
  fmt::print(
      "  time       {:.2f} s on {} ranks in tiles, {:.2f} s without, {:.2f} s on one device (one machine simulates "
      "all)\n",
      in_tiles.seconds, devices, without.seconds, one.seconds);
  const bool same = in_tiles.loss == without.loss && in_tiles.parameters == without.parameters;
  const double off = std::max(distance(in_tiles.loss, one.loss), distance(in_tiles.parameters, one.parameters));
  fmt::print("\ntiles against none: losses and {} parameters {}\n", in_tiles.parameters.size(),
             same ? "bit for bit equal" : "NOT EQUAL");
  fmt::print("{} ranks against one device: {:.1e} apart, {} the tolerance {:.0e}\n", devices, off,
             off <= tolerance ? "within" : "BEYOND", tolerance);
  fmt::print("trace of the first step: {} (open it in ui.perfetto.dev or chrome://tracing)\n", trace.path());
  return same && off <= tolerance;
}

}  // namespace moe_layer
