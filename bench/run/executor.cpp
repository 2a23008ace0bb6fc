// SPDX-License-Identifier: Apache-2.0
// What the executor adds to a task: empty kernels on a chain across queues and on a MoE-like tile graph, beside a loop
// that calls the same function pointers in order. The counter `ns/task` is the figure; the loop's is the floor.
#include <benchmark/benchmark.h>

#include <vector>

#include <hyperparallel/program/planned_flow.hpp>
#include <hyperparallel/runtime/executor.hpp>

namespace {

namespace hp = hyperparallel;

constexpr int task_count = 10000;

/// Every task waits for the one before it and changes the queue: each step is a hand-over.
struct chain {
  template <class Flow>
  void operator()(Flow& f) const {
    for (int e = 0; e < task_count; ++e) hp::add_event(f, 0);
    for (int t = 0; t < task_count; ++t) {
      hp::add_task(f, t % 2 == 0 ? hp::resource::aic : hp::resource::aiv, 0, 1000, 0, t);
      if (t > 0) hp::add_wait(f, t - 1);
      hp::add_signal(f, t);
    }
  }
};

/// dispatch -> 4 x GMM1 -> 2 x SwiGLU -> 2 x GMM2 -> combine for each of 1000 tiles.
struct moe_tiles {
  template <class Flow>
  void operator()(Flow& f) const {
    for (int e = 0; e < task_count / 10 * 4; ++e) hp::add_event(f, 0);
    for (int tile = 0; tile < task_count / 10; ++tile) {
      stage(f, hp::resource::link, 1, tile, -1, 4 * tile);
      stage(f, hp::resource::aic, 4, tile, 4 * tile, 4 * tile + 1);
      stage(f, hp::resource::aiv, 2, tile, 4 * tile + 1, 4 * tile + 2);
      stage(f, hp::resource::aic, 2, tile, 4 * tile + 2, 4 * tile + 3);
      stage(f, hp::resource::link, 1, tile, 4 * tile + 3, -1);
    }
  }
  template <class Flow>
  static void stage(Flow& f, hp::resource kind, int count, int item, int after, int before) {
    for (int i = 0; i < count; ++i) {
      hp::add_task(f, kind, 0, 1000, 0, item);
      if (after >= 0) hp::add_wait(f, after);
      if (before >= 0) hp::add_signal(f, before);
    }
  }
};

void empty_kernel(const hp::kernel_call& c) { benchmark::DoNotOptimize(&c); }

void count_tasks(benchmark::State& state) {
  state.counters["ns/task"] = benchmark::Counter(static_cast<double>(state.iterations()) * task_count * 1e-9,
                                                 benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

template <class Build>
void execute(benchmark::State& state) {
  const hp::planned_flow plan(Build{}, {1, {4, 8, 1, 0, 0}}, {hp::priority::reference_order, 0});
  hp::executor<> x(plan.flow(), plan.schedule(), {.threads = static_cast<int>(state.range(0))});
  x.bind(0, &empty_kernel);
  for (auto _ : state)
    if (x.run() != hp::run_result::complete) state.SkipWithError("the run did not complete");
  count_tasks(state);
}
BENCHMARK(execute<chain>)->ArgName("threads")->Arg(1)->Arg(2)->UseRealTime();
BENCHMARK(execute<moe_tiles>)->ArgName("threads")->Arg(1)->Arg(2)->UseRealTime();

struct call_record {
  hp::kernel run;
  hp::kernel_call call;
};

void sequential_loop(benchmark::State& state) {
  std::vector<call_record> record;
  for (int t = 0; t < task_count; ++t) record.push_back({&empty_kernel, {0, t, 0, t, nullptr}});
  for (auto _ : state) {
    benchmark::DoNotOptimize(record.data());
    for (const call_record& r : record) r.run(r.call);
  }
  count_tasks(state);
}
BENCHMARK(sequential_loop)->UseRealTime();

}  // namespace
