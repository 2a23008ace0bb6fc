// SPDX-License-Identifier: Apache-2.0
// What it takes to plan a move at run time: in digit mode, in interval mode, with a reduction, with the boxes of a few
// ranks, and certified. `calibration` is a fixed loop: figures read as ratios to it compare between machines.
#include <benchmark/benchmark.h>

#include <hyperparallel/redistribution/certificate.hpp>

#include <cstdint>
#include <initializer_list>
#include <vector>

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

hp::mesh_shape mesh_of(std::initializer_list<int> sizes) {
  hp::mesh_shape m;
  for (const int size : sizes) m.size[m.axis_count++] = size;
  return m;
}

struct dim_axis {
  int dim, axis;
};

hp::layout_value cut(const hp::mesh_shape& m, int rank, std::initializer_list<dim_axis> cuts) {
  hp::layout_value l = hp::layout_value{m, rank};
  for (const dim_axis& c : cuts) hp::append_cut(l, {c.dim, c.axis, 1, m.size[c.axis]});
  return l;
}

struct pair {
  hp::layout_value source, target;
  hp::shape shape;
};

/// [x,y | z] → [z | y,x] on 8x8x8.
pair three_axes() {
  const hp::mesh_shape m = mesh_of({8, 8, 8});
  return {cut(m, 2, {{0, 0}, {0, 1}, {1, 2}}), cut(m, 2, {{0, 2}, {1, 1}, {1, 0}}), {4096, 7168}};
}

/// All six axes move, over four dims.
pair six_axes() {
  const hp::mesh_shape m = mesh_of({2, 4, 2, 8, 2, 4});
  return {cut(m, 4, {{0, 0}, {0, 1}, {1, 2}, {2, 3}, {3, 4}, {3, 5}}),
          cut(m, 4, {{0, 5}, {1, 3}, {1, 0}, {2, 4}, {3, 2}, {3, 1}}),
          {64, 1024, 4096, 7168}};
}

/// [y,z | x] → [z | x,y] on 30 976 dies: cut points refine.
pair large() {
  const hp::mesh_shape m = mesh_of({16, 44, 44});
  return {cut(m, 2, {{0, 1}, {0, 2}, {1, 0}}), cut(m, 2, {{0, 2}, {1, 0}, {1, 1}}), {16 * 44 * 44, 16 * 44 * 44}};
}

template <class Plan>
void run_plan(benchmark::State& state, pair x, const Plan& plan) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(x);
    const auto p = plan(x);
    benchmark::DoNotOptimize(p);
  }
  state.counters["devices"] = hp::position_count(x.source.mesh);
}

hp::redistribution_plan figures(const pair& x) { return hp::plan_redistribution(x.source, x.target, x.shape); }
hp::move_plan steps(const pair& x) { return hp::plan_move(x.source, x.target, x.shape); }

void plan_three_axes(benchmark::State& state) { run_plan(state, three_axes(), figures); }
void plan_six_axes(benchmark::State& state) { run_plan(state, six_axes(), figures); }
void plan_30976_devices(benchmark::State& state) { run_plan(state, large(), figures); }
void move_three_axes(benchmark::State& state) { run_plan(state, three_axes(), steps); }
void move_six_axes(benchmark::State& state) { run_plan(state, six_axes(), steps); }
void move_30976_devices(benchmark::State& state) { run_plan(state, large(), steps); }

/// Terms meet while slices move: [x | y] P(sum) over z → [y | z].
void move_with_reduction(benchmark::State& state) {
  const hp::mesh_shape m = mesh_of({8, 8, 8});
  pair x{cut(m, 2, {{0, 0}, {1, 1}}), cut(m, 2, {{0, 1}, {1, 2}}), {4096, 7168}};
  x.source.partial[2] = hp::reduce_op::sum;
  run_plan(state, x, steps);
}
BENCHMARK(plan_three_axes);
BENCHMARK(plan_six_axes);
BENCHMARK(plan_30976_devices);
BENCHMARK(move_three_axes);
BENCHMARK(move_six_axes);
BENCHMARK(move_30976_devices);
BENCHMARK(move_with_reduction);

/// [x | y | z] → [x,y | z | ] on 2x2x2 and all boxes of all eight ranks: two each.
void plan_and_boxes_of_8_ranks(benchmark::State& state) {
  const hp::mesh_shape m = mesh_of({2, 2, 2});
  pair x{cut(m, 3, {{0, 0}, {1, 1}, {2, 2}}), cut(m, 3, {{0, 0}, {0, 1}, {1, 2}}), {64, 64, 64}};
  hp::extent_t boxes = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(x);
    const hp::redistribution_plan p = figures(x);
    boxes = 0;
    for (int q = 0; q < 8; ++q) {
      const hp::receiver r = hp::receiver_at(x.source, x.target, x.shape, p.replicas, hp::coordinates_of(m, q));
      for (hp::extent_t k = 0; k < r.boxes; ++k) benchmark::DoNotOptimize(hp::box_at(x.source, r, k));
      boxes += r.boxes;
    }
  }
  state.counters["boxes"] = static_cast<double>(boxes);
}
BENCHMARK(plan_and_boxes_of_8_ranks);

/// A move whose cuts have no common refinement, planned with balanced senders, and certified: 8x3x16 and 8x44x44
/// devices, where nothing changes along the last axis.
void certify_by_intervals(benchmark::State& state) {
  const hp::mesh_shape m = mesh_of({8, static_cast<int>(state.range(0)), static_cast<int>(state.range(1))});
  pair x{cut(m, 2, {{0, 0}, {1, 2}}), cut(m, 2, {{0, 1}, {1, 2}}), {8 * 3 * 44, 44 * 16}};
  std::vector<hp::extent_t> tally(static_cast<std::size_t>(3 * hp::position_count(m)));
  hp::move_certificate c;
  for (auto _ : state) {
    benchmark::DoNotOptimize(x);
    const hp::move_plan p = steps(x);
    for (hp::extent_t& n : tally) n = 0;
    c = hp::certify(p, tally.data());
    if (c.received_total != c.least_total) state.SkipWithError("the plan does not receive the least");
    benchmark::DoNotOptimize(c);
  }
  state.counters["devices"] = hp::position_count(m);
  state.counters["heaviest sender"] = static_cast<double>(c.sent_maximum) / static_cast<double>(c.received_maximum);
}
BENCHMARK(certify_by_intervals)->Args({3, 16})->Args({44, 44});

/// The same without the certificate.
void plan_by_intervals(benchmark::State& state) {
  const hp::mesh_shape m = mesh_of({8, static_cast<int>(state.range(0)), static_cast<int>(state.range(1))});
  run_plan(state, {cut(m, 2, {{0, 0}, {1, 2}}), cut(m, 2, {{0, 1}, {1, 2}}), {8 * 3 * 44, 44 * 16}}, steps);
}
BENCHMARK(plan_by_intervals)->Args({3, 16})->Args({44, 44});

}  // namespace
