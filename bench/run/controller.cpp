// SPDX-License-Identifier: Apache-2.0
// Events a second of the controller: firings, and versions handed over, of programs that do nothing else. One process;
// `threads` 1 is one core. `calibration` is a fixed loop: figures read as ratios to it compare between machines.
#include <benchmark/benchmark.h>

#include <hyperparallel/controller/channel.hpp>

#include <cstdint>
#include <deque>
#include <string>

namespace {

namespace hp = hyperparallel;

/// 1000 dependent steps of a 64-bit generator.
void calibration(benchmark::State& state) {
  std::uint64_t x = 1;
  for (auto _ : state) {
    for (int i = 0; i < 1000; ++i) x = x * 6364136223846793005u + 1442695040888963407u;
    benchmark::DoNotOptimize(x);
  }
}
BENCHMARK(calibration);

constexpr std::int64_t firings_at_once = 10'000;

/// So many programs in a ring, each with an edge to the next: a rollout, rewards, a reference, training …
void ring(benchmark::State& state, int programs, int threads, hp::edge_reads back) {
  hp::program_graph g;
  for (int p = 0; p < programs; ++p) hp::add_program(g, ("program" + std::to_string(p)).c_str(), "");
  for (int p = 0; p < programs; ++p) {
    const bool last = p + 1 == programs;
    hp::connect(g, {.name = hp::short_text(("edge" + std::to_string(p)).c_str()),
                    .from = p,
                    .to = last ? 0 : p + 1,
                    .ready = last ? 2 : 0,
                    .room = 2,
                    .reads = last ? back : hp::edge_reads::every});
  }
  hp::controller c(g, {}, {.threads = threads});
  std::deque<hp::channel<std::int64_t>> edge;
  for (const hp::program_edge& e : g.edge) edge.emplace_back(c, e.name.text);
  for (int p = 0; p < programs; ++p) {
    hp::channel<std::int64_t>&in = edge[static_cast<std::size_t>((p + programs - 1) % programs)],
    &out = edge[static_cast<std::size_t>(p)];
    c.set_program(g.program[p].name.text, {[&in, &out](const hp::firing& f) { out.write(f) = in.read(f) + 1; }});
  }
  std::int64_t firings = 0;
  for (auto _ : state) c.run(firings += firings_at_once);
  state.counters["events/s"] =
      benchmark::Counter(static_cast<double>(2 * programs * firings), benchmark::Counter::kIsRate);
}
BENCHMARK_CAPTURE(ring, two_programs_one_thread, 2, 1, hp::edge_reads::every)->UseRealTime();
BENCHMARK_CAPTURE(ring, four_programs_one_thread, 4, 1, hp::edge_reads::every)->UseRealTime();
BENCHMARK_CAPTURE(ring, four_programs_newest, 4, 1, hp::edge_reads::newest)->UseRealTime();
BENCHMARK_CAPTURE(ring, sixteen_programs_one_thread, 16, 1, hp::edge_reads::every)->UseRealTime();
BENCHMARK_CAPTURE(ring, four_programs_two_threads, 4, 2, hp::edge_reads::every)->UseRealTime();

}  // namespace
