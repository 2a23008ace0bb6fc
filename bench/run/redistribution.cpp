// SPDX-License-Identifier: Apache-2.0
// Planning a redistribution at run time: one plan in digit mode, one in interval mode, and the walk over all boxes of a
// plan.
#include <benchmark/benchmark.h>

#include <hyperparallel/redistribution.hpp>

namespace {

namespace hp = hyperparallel;

hp::mesh_shape mesh_of(int a, int b, int c) {
  hp::mesh_shape m;
  m.axis_count = 3;
  m.size[0] = a;
  m.size[1] = b;
  m.size[2] = c;
  return m;
}

/// Dim 0 cut by the axis `outer` and then by `inner`.
hp::layout_value cut_twice(const hp::mesh_shape& m, int outer, int inner) {
  hp::layout_value l = hp::replicated(m, 2);
  hp::append_cut(l, {0, outer, 1, m.size[outer]});
  hp::append_cut(l, {0, inner, 1, m.size[inner]});
  return l;
}

/// Powers of two refine: the plan is a few digits, whatever the number of devices.
void plan_by_digits(benchmark::State& state) {
  const hp::mesh_shape m = mesh_of(8, 8, 8);
  hp::layout_value source = cut_twice(m, 0, 1), target = cut_twice(m, 1, 2);
  const hp::shape s(4096, 7168);
  for (auto _ : state) {
    benchmark::DoNotOptimize(source);
    const hp::redistribution_plan p = hp::plan_redistribution(source, target, s);
    if (!p.refined || p.received_maximum != p.lower_bound) state.SkipWithError("the plan is not at its bound");
    benchmark::DoNotOptimize(p);
  }
}
BENCHMARK(plan_by_digits);

/// Cuts by 8 and by 9 have no common refinement: every device's boxes are enumerated.
void plan_by_intervals(benchmark::State& state) {
  const hp::mesh_shape m = mesh_of(8, 9, static_cast<int>(state.range(0)));
  hp::layout_value source = cut_twice(m, 0, 2), target = cut_twice(m, 1, 2);
  const hp::shape s(504 * 1024, 7168);
  for (auto _ : state) {
    benchmark::DoNotOptimize(source);
    const hp::redistribution_plan p = hp::plan_redistribution(source, target, s);
    if (p.refined || p.received_maximum != p.lower_bound) state.SkipWithError("the plan is not at its bound");
    benchmark::DoNotOptimize(p);
  }
  state.counters["devices"] = static_cast<double>(hp::position_count(m));
}
BENCHMARK(plan_by_intervals)->Arg(1)->Arg(7);

/// All boxes of all receivers, as an executor of the plan would ask for them.
void enumerate_boxes(benchmark::State& state) {
  const hp::mesh_shape m = mesh_of(8, 8, 8);
  const hp::layout_value source = cut_twice(m, 0, 1), target = cut_twice(m, 2, 1);
  const hp::shape s(4096, 7168);
  const hp::redistribution_plan p = hp::plan_redistribution(source, target, s);
  std::int64_t boxes = 0;
  for (auto _ : state)
    for (int position = 0; position < hp::position_count(m); ++position) {
      const hp::receiver r = hp::receiver_at(source, target, s, p.replicas, hp::coordinates_of(m, position));
      for (hp::extent_t k = 0; k < r.boxes; ++k) benchmark::DoNotOptimize(hp::box_at(source, r, k));
      boxes += r.boxes;
    }
  state.SetItemsProcessed(boxes);
}
BENCHMARK(enumerate_boxes);

}  // namespace
