// SPDX-License-Identifier: Apache-2.0
// docs/how-to/find-a-strategy.md
#undef NDEBUG
#include <cassert>
#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

#include <hyperparallel/hardware/presets.hpp>
#include <hyperparallel/report/format_search.hpp>
#include <hyperparallel/search/strategy_search.hpp>
#include <hyperparallel/search/strategy_simulation.hpp>
#include <hyperparallel/train.hpp>

namespace hp = hyperparallel;

template <hp::extent_t Batch>  // sequences of a micro-batch
struct language_model {
  static constexpr void build(hp::model_builder& m) {
    const int batch = m.dim("batch", Batch), seq = m.dim("seq", 128);
    const int tokens = m.index_input("tokens", {batch, seq}), labels = m.index_input("labels", {batch, seq});
    const hp::transformer_block<hp::attention_layer, hp::swiglu_layer> block{
        .attention = {.query_heads = 8, .key_heads = 8, .head_dim = 32}, .feed_forward = {.width = 1024}};
    int x = hp::token_embedding{.vocabulary = 512, .hidden = 256}(m, tokens);
    x = m.repeat("layers", 4, x, block);
    hp::language_head{.vocabulary = 512}(m, x, labels);
  }
};

/// A step of 16 sequences: backward and AdamW included, layers computed again in backward where asked for.
template <hp::extent_t Batch>
hp::graph step_of_16(bool recomputed, bool unrolled = false) {
  hp::step_settings settings;
  settings.build.unrolled = unrolled;
  settings.build.activation = hp::data_type::bf16;
  settings.micro_batches = static_cast<int>(16 / Batch);
  if (recomputed) settings.recomputed.push("*layers.*");
  return hp::training_graph<language_model<Batch>>({}, settings);
}

int main() {
  const std::vector<hp::graph> graphs = {step_of_16<16>(false), step_of_16<16>(true), step_of_16<4>(false)};
  const std::vector<std::string> names = {"1 micro-batch", "1 micro-batch, recomputed", "4 micro-batches"};

  hp::search_limits limits;
  limits.tensor = 4;    // both tensor axes together
  limits.pipeline = 1;  // model_run has no pipeline: what is found can be run
  const auto heard = [](const hp::search_progress& p) {
    if (p.frames % 100 == 0) fmt::print(stderr, "{} frames of graph {}\n", p.frames, p.graph);
  };
  hp::search_result r = hp::search_strategies(graphs.data(), static_cast<int>(graphs.size()), hp::matrix384::device,
                                              hp::matrix384::topology, /*devices=*/8, limits,
                                              /*memory=*/16 * hp::MiB, heard);
  if (!r.ok()) {
    fmt::print(stderr, "{}", r);  // one line says why, the rest what was covered
    return 1;
  }
  fmt::print("{}", hp::told(r, names));
  assert(r.certificate.complete && r.certificate.law_breaks == 0);
  assert(r.certificate.lower_bound == r.plan[0].evaluation.time);

  const auto unrolled = [](int graph) {
    return graph == 2 ? step_of_16<4>(false, true) : step_of_16<16>(graph == 1, true);
  };
  hp::simulate_best(r, unrolled, hp::matrix384::device, hp::matrix384::topology, [] { return true; });
  assert(r.plan[0].simulated.ok() && r.plan[0].time() == r.plan[0].simulated.times.makespan);
  fmt::print("{}", hp::told(r, names));

  const hp::found_plan& best = r.plan[0];
  const hp::graph& g = graphs[static_cast<std::size_t>(best.graph)];
  const hp::sharded_program p = hp::partition(g, best.strategy);
  const hp::step_account a = hp::account_on<hp::matrix384>(p);
  assert(a.status.code == hp::strategy_code::ok && a.memory.peak == best.evaluation.memory);
  assert(a.times.total.picoseconds == best.evaluation.time);
  fmt::print("{}", a);

  // The same eight devices with 1 MiB each: refused, with the least that any plan holds.
  const hp::search_result none = hp::search_strategies(graphs.data(), 1, hp::matrix384::device, hp::matrix384::topology,
                                                       8, limits, hp::MiB, [](const hp::search_progress&) {});
  assert(!none.ok() && none.hardware.ok() && none.certificate.complete);
  assert(none.certificate.least_memory > none.certificate.budget);
}
