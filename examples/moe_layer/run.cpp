// SPDX-License-Identifier: Apache-2.0
#include "run.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>

#include <fmt/format.h>

#include <hyperparallel/kernels/keyed_random.hpp>
#include <hyperparallel/report/format_units.hpp>
#include <hyperparallel/report/progress.hpp>
#include <hyperparallel/report/trace.hpp>
#include <hyperparallel/world/moe_world.hpp>

#include "layer.hpp"

namespace moe_layer {
namespace {

constexpr std::size_t hidden = static_cast<std::size_t>(reduced.hidden);
constexpr std::size_t step_tokens = static_cast<std::size_t>(reduced.tokens);
constexpr std::uint64_t seed = 2026;

/// Streams of random numbers, so that every tensor has its own.
enum class stream : std::uint64_t { byte_embedding = 1, previous_embedding, router, gate_up = 1000, down = 2000 };

std::vector<float> random_tensor(std::uint64_t which, hp::extent_t count, float scale) {
  std::vector<float> v(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = scale * hp::keyed_uniform(seed, which, i);
  return v;
}

/// A byte's vector and half the vector of the byte before it, so that equal letters in other places route elsewhere.
std::vector<float> embed(const std::vector<unsigned char>& text) {
  std::vector<float> x(text.size() * hidden);
  const auto number = [](stream s, unsigned char byte, std::size_t i) {
    return hp::keyed_uniform(seed, static_cast<std::uint64_t>(s), byte * hidden + i);
  };
  for (std::size_t t = 0; t < text.size(); ++t)
    for (std::size_t i = 0; i < hidden; ++i)
      x[t * hidden + i] = number(stream::byte_embedding, text[t], i) +
                          0.5F * number(stream::previous_embedding, t > 0 ? text[t - 1] : '\n', i);
  return x;
}

/// The same weights, whatever the number of devices.
template <class World>
void load_weights(World& world) {
  const float scale = std::sqrt(3.0F / static_cast<float>(reduced.hidden));
  world.set_router(random_tensor(static_cast<std::uint64_t>(stream::router),
                                 hp::extent_t{reduced.hidden} * reduced.experts, 2 * scale));
  for (int e = 0; e < reduced.experts; ++e)
    world.set_expert(e,
                     random_tensor(static_cast<std::uint64_t>(stream::gate_up) + static_cast<std::uint64_t>(e),
                                   hp::gate_up_elements(reduced), scale),
                     random_tensor(static_cast<std::uint64_t>(stream::down) + static_cast<std::uint64_t>(e),
                                   hp::down_elements(reduced), 2 * scale));
}

struct pass_result {
  std::vector<float> output;
  double seconds = 0;
  std::vector<std::int64_t> rows;  ///< received by each rank for its experts
};

/// Runs the whole text, step by step. `after_step` sees the number of the step that has just run.
template <class World, class AfterStep>
pass_result run_steps(World& world, const std::vector<float>& x, const AfterStep& after_step) {
  pass_result r;
  r.output.resize(x.size());
  r.rows.resize(static_cast<std::size_t>(world.plan().devices));
  const auto begin = std::chrono::steady_clock::now();
  for (std::size_t at = 0, step = 0; at < x.size(); at += step_tokens * hidden, ++step) {
    const std::size_t count = std::min(step_tokens * hidden, x.size() - at);
    world.run(std::span(x).subspan(at, count), std::span(r.output).subspan(at, count));
    for (std::size_t rank = 0; rank < r.rows.size(); ++rank)
      r.rows[rank] += world.received_rows(static_cast<int>(rank));
    after_step(step);
  }
  r.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return r;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

/// FNV-1a over the bits of the output: one number to compare between machines of one kind.
std::uint64_t fingerprint(const std::vector<float>& v) {
  std::uint64_t h = 0xcbf29ce484222325U;
  for (const float x : v) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &x, sizeof bits);
    h = (h ^ bits) * 0x100000001b3U;
  }
  return h;
}

/// Prefetches that began after the rank's first grouped matmul and ended before its last: while other experts computed.
int overlapped_prefetches(const hp::moe_world<hp::record_profile>& world, int& all) {
  const auto& flow = world.planned().flow();
  const auto& record = world.world().profile().task;
  const auto is = [&](int t, hp::moe_operation a, hp::moe_operation b) {
    return flow.task[t].operation == static_cast<int>(a) || flow.task[t].operation == static_cast<int>(b);
  };
  std::vector<std::int64_t> first(static_cast<std::size_t>(world.plan().ranks), INT64_MAX), last(first.size(), 0);
  for (int t = 0; t < flow.size.tasks; ++t) {
    if (!is(t, hp::moe_operation::gate_up, hp::moe_operation::down)) continue;
    const std::size_t rank = static_cast<std::size_t>(flow.task[t].rank);
    first[rank] = std::min(first[rank], record[static_cast<std::size_t>(t)].start);
    last[rank] = std::max(last[rank], record[static_cast<std::size_t>(t)].end);
  }
  int between = 0;
  all = 0;
  for (int t = 0; t < flow.size.tasks; ++t) {
    if (!is(t, hp::moe_operation::prefetch_gate_up, hp::moe_operation::prefetch_down)) continue;
    const std::size_t rank = static_cast<std::size_t>(flow.task[t].rank);
    const hp::task_record& r = record[static_cast<std::size_t>(t)];
    between += r.start >= first[rank] && r.end <= last[rank];
    ++all;
  }
  return between;
}

}  // namespace

bool run_text(const std::vector<unsigned char>& text, int threads, hp::atomic_file& trace) {
  const int ranks = program::devices;
  hp::moe_world<hp::record_profile> parallel(reduced, ranks, run_options, {.threads = threads});
  hp::moe_world<> single(reduced, 1, run_options, {.threads = threads});
  load_weights(parallel);
  load_weights(single);
  const std::vector<float> x = embed(text);
  const std::size_t steps = (text.size() + step_tokens - 1) / step_tokens;
  const hp::arena_set& memory = parallel.world().arenas();

  fmt::print("\nRun for real: {} bytes of text, one token each, in {} steps of {} tokens\n", text.size(), steps,
             step_tokens);
  fmt::print("  layer      hidden {}, intermediate {}, {} experts, top-{}, f32\n", reduced.hidden, reduced.intermediate,
             reduced.experts, reduced.top_k);
  fmt::print("  plan       {} tasks on {} queues of {} ranks, served by {} threads; proved safe before it runs\n",
             parallel.world().tasks(), hp::queue_count(parallel.planned().schedule().machine), ranks,
             parallel.world().threads());
  fmt::print("  memory     per rank {} in HBM, {} of expert weights in DRAM, fetched through {} buffers of each kind\n",
             hp::report::byte_count{memory.high_water(0, hp::fast_tier)},
             hp::report::byte_count{memory.high_water(0, hp::slow_tier)}, run_options.weight_buffers);

  std::fflush(stdout);  // the progress line goes to stderr and comes after what was printed so far
  int prefetches = 0, overlapped = 0;
  hp::report::progress_line progress("  running", "steps");
  std::int64_t done = 0;
  const auto advance = [&](std::size_t) { progress.update(++done, static_cast<std::int64_t>(3 * steps)); };
  const pass_result first = run_steps(parallel, x, [&](std::size_t step) {
    if (step == 0) {
      overlapped = overlapped_prefetches(parallel, prefetches);
      hp::report::write_trace(trace, parallel.planned().flow(), parallel.planned().schedule(),
                              parallel.world().profile(), parallel.world().names());
    }
    advance(step);
  });
  const pass_result second = run_steps(parallel, x, advance);
  const pass_result one = run_steps(single, x, advance);
  progress.finish();
  trace.commit();

  const auto [least, most] = std::minmax_element(first.rows.begin(), first.rows.end());
  const double mean = static_cast<double>(text.size()) * reduced.top_k / ranks;
  fmt::print("  routing    {} to {} rows a rank; the busiest has {:.2f} times the mean\n", *least, *most,
             static_cast<double>(*most) / mean);
  fmt::print("  prefetch   {} of {} weight blocks of a step were fetched while other experts computed\n", overlapped,
             prefetches);
  fmt::print("  time       {:.2f} s on {} ranks, {:.2f} s on one device (one machine simulates both)\n", first.seconds,
             ranks, one.seconds);
  const bool as_one = same_bits(first.output, one.output), again = same_bits(first.output, second.output);
  fmt::print("\n{} ranks against one device: {} ({} numbers, fingerprint {:016x})\n", ranks,
             as_one ? "bit for bit equal" : "NOT EQUAL", first.output.size(), fingerprint(first.output));
  fmt::print("first run against second run: {}\n", again ? "bit for bit equal" : "NOT EQUAL");
  fmt::print("trace of the first step: {} (open it in ui.perfetto.dev or chrome://tracing)\n", trace.path());
  return as_one && again;
}

}  // namespace moe_layer
