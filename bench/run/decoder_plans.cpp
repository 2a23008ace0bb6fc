// SPDX-License-Identifier: Apache-2.0
// What it takes to estimate a plan of training of Llama-3-8B on few devices and on a supernode of 15 488 NPUs, and to
// estimate serving it: one plan, and the longest context whose offload prefill hides.
#include <benchmark/benchmark.h>

#include <hyperparallel/planner/known_hardware.hpp>
#include <hyperparallel/planner/longest_context.hpp>

namespace {

namespace hp = hyperparallel;

constexpr hp::decoder llama{.vocabulary = 128256,
                            .hidden = 4096,
                            .layers = 32,
                            .attention = {.query_heads = 32, .key_heads = 8, .head_dim = 128, .rope_base = 500000.0},
                            .feed_forward = {.width = 14336}};

void plan_on(benchmark::State& state, const char* hardware) {
  const hp::known_hardware& h = *hp::find_hardware(hardware);
  const int data = static_cast<int>(state.range(0)) / 8;
  const hp::decoder_plan plan{.tp = 8, .dp = data, .zero = 1, .batch = data, .sequence = 4096};
  for (auto _ : state) {
    hp::plan_prices prices(h.device, h.links);
    benchmark::DoNotOptimize(hp::estimate_plan(llama, plan, prices));
  }
}
BENCHMARK_CAPTURE(plan_on, matrix384, "matrix384")->Arg(64);
BENCHMARK_CAPTURE(plan_on, supernode_15488_2d, "supernode_15488_2d")->Arg(15488)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(plan_on, supernode_15488_4d, "supernode_15488_4d")->Arg(15488)->Unit(benchmark::kMillisecond);

void serving(benchmark::State& state) {
  const hp::known_hardware& h = *hp::find_hardware("matrix384");
  hp::serving_plan plan{.tp = 8, .batch = 64, .context = 32768};
  for (auto _ : state) {
    benchmark::DoNotOptimize(plan);
    benchmark::DoNotOptimize(hp::estimate_serving(llama, plan, h.device, h.links));
  }
}
BENCHMARK(serving);

void longest_hidden_context(benchmark::State& state) {
  const hp::known_hardware& h = *hp::find_hardware("matrix384");
  const hp::device_value die = hp::device_in_pool(h);
  for (auto _ : state)
    benchmark::DoNotOptimize(hp::longest_hidden_context(llama, {}, die, h.links, {}, hp::serving_step::prefill));
}
BENCHMARK(longest_hidden_context)->Unit(benchmark::kMicrosecond);

}  // namespace
