// SPDX-License-Identifier: Apache-2.0
// Redistribution at run time: planning (one plan in digit mode, one in interval mode, the walk over all boxes of a
// plan) and the moves themselves against the speed of memory.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <span>
#include <thread>
#include <vector>

#include <hyperparallel/redistribution.hpp>
#include <hyperparallel/transfer/redistribute.hpp>

#include "alternating.hpp"

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

// --- moves ----------------------------------------------------------------------------------------------------------
//
// One benchmark is one row: 8 ranks, a float32 matrix of 4096 columns. Arguments: MiB of the tensor, threads. Its time
// is that of our move. Each iteration measures all competitors once, in turn, on the same memory, because on a shared
// machine only ratios of neighbouring samples mean something; the framework alternates whole benchmarks at best. The
// counters are medians over the iterations, in GB/s of payload, and ratios of medians:
//   flat     every source block to the target block of its rank with streaming stores: what memory can do
//   memcpy   the same with std::memcpy
//   blocks   what is usually written: receiver by receiver, box by box, row by row, std::memcpy
// `disturbed` counts samples taken while another task wanted a core, see alternating.hpp.

/// The same function on every thread; threads stay from sample to sample, as ours do.
class team {
 public:
  using share = void (*)(hp::arena_redistribution& move, int rank);
  team(hp::arena_redistribution& move, int threads, share work)
      : move_(move), work_(work), crew_(threads, hp::allowed_cores(), 2000, &team::enter, this) {}

  void run() {
    crew_.run(-1, [] {});
  }

 private:
  static void enter(void* self, int worker) {
    team& t = *static_cast<team*>(self);
    for (int r = worker; r < t.move_.ranks(); r += t.crew_.workers()) t.work_(t.move_, r);
    hp::store_fence();
  }

  hp::arena_redistribution& move_;
  share work_;
  hp::crew crew_;
};

void flat_copy(hp::arena_redistribution& move, int rank) {
  const std::span<std::byte> from = std::as_writable_bytes(move.source<float>(rank));
  hp::copy_run(std::as_writable_bytes(move.target<float>(rank)).data(), from.data(),
               static_cast<std::int64_t>(from.size()), hp::store_kind::streaming);
}

void flat_memcpy(hp::arena_redistribution& move, int rank) {
  const std::span<std::byte> from = std::as_writable_bytes(move.source<float>(rank));
  std::memcpy(std::as_writable_bytes(move.target<float>(rank)).data(), from.data(), from.size());
}

/// Source and target of the move in hand; `team` has room for a function pointer only.
struct layout_pair {
  hp::layout_value source{}, target{};
  hp::shape shape{};
};
layout_pair pair;

void copy_blocks(hp::arena_redistribution& move, int rank) {
  std::byte* const to = std::as_writable_bytes(move.target<float>(rank)).data();
  const hp::move_step& step = move.plan().step[0];
  const hp::box wanted = hp::target_frame(step, pair.shape, rank);
  const hp::step_receiver r = hp::receiver_of(step, pair.shape, rank);
  for (hp::extent_t k = 0; k < r.transfers; ++k) {
    const hp::transfer t = hp::transfer_at(step, r, k);
    hp::copy_box(hp::copy_between(hp::source_frame(step, pair.shape, t.sender), wanted, t.part, sizeof(float)),
                 std::as_writable_bytes(move.source<float>(t.sender)).data(), to);
  }
}

/// The elements of a block, told by their number in the whole tensor.
template <class Visit>
void for_each_element(const hp::layout_value& l, int rank, std::span<float> block, const Visit& visit) {
  const hp::box b = hp::slice_at(l, pair.shape, hp::coordinates_of(l.mesh, rank));
  std::size_t at = 0;
  for (hp::extent_t i = b.dim[0].begin; i < b.dim[0].end; ++i)
    for (hp::extent_t j = b.dim[1].begin; j < b.dim[1].end; ++j)
      visit(block[at++], std::bit_cast<float>(static_cast<std::uint32_t>(i * pair.shape.extent[1] + j)));
}

bool moved_right(const hp::arena_redistribution& move) {
  bool right = true;
  for (int r = 0; r < move.ranks(); ++r)
    for_each_element(pair.target, r, move.target<float>(r), [&](float& x, float expected) {
      right &= std::memcmp(&x, &expected, sizeof x) == 0;
      x = 0;
    });
  return right;
}

void move_blocks(benchmark::State& state, const layout_pair& layouts) {
  const int threads = static_cast<int>(state.range(1));
  const std::int64_t bytes = state.range(0) << 20;
  pair = layouts;
  pair.shape = hp::shape(bytes / (4096 * 4), 4096);
  hp::arena_redistribution move(pair.source, pair.target, pair.shape, sizeof(float), {.threads = threads});
  for (int r = 0; r < move.ranks(); ++r)
    for_each_element(pair.source, r, move.source<float>(r), [](float& x, float value) { x = value; });
  team flat(move, threads, &flat_copy), plain(move, threads, &flat_memcpy), blocks(move, threads, &copy_blocks);
  const auto ours = [&] { move.run(); };

  // Once for the result, which also brings every page in, and until the move has chosen its way. A flat copy is right
  // where nothing has to change places.
  for (int run = 0; run < 2 + 3 * hp::way_choice::runs_of_a_way; ++run) ours();
  if (!moved_right(move)) state.SkipWithError("our move is wrong");
  blocks.run();
  if (!moved_right(move)) state.SkipWithError("the block by block move is wrong");
  for (team* t : {&flat, &plain}) {
    t->run();
    for (int r = 0; r < move.ranks(); ++r)
      if (std::memcmp(move.source<float>(r).data(), move.target<float>(r).data(), move.source<float>(r).size_bytes()) !=
          0)
        state.SkipWithError("a flat copy is wrong");
  }

  std::vector<double> seconds[4];
  bench::quiet_gate gate(600);
  const auto sample = [&](int competitor, const auto& run) {
    seconds[competitor].push_back(gate.sample([&] { return bench::time_ns(run) * 1e-9; }));
  };
  for (auto _ : state) {
    sample(0, ours);
    sample(1, [&] { flat.run(); });
    sample(2, [&] { plain.run(); });
    sample(3, [&] { blocks.run(); });
    state.SetIterationTime(seconds[0].back());
  }
  const double payload = static_cast<double>(bytes) * 1e-9, own = bench::median(seconds[0]);
  state.counters["GB/s"] = payload / own;
  state.counters["/flat"] = bench::median(seconds[1]) / own;
  state.counters["/memcpy"] = bench::median(seconds[2]) / own;
  state.counters["/blocks"] = bench::median(seconds[3]) / own;
  state.counters["flat GB/s"] = payload / bench::median(seconds[1]);
  state.counters["disturbed"] = gate.disturbed();
  const hp::copy_way way = move.way();
  state.SetLabel(way == hp::cached_copy ? "cached" : way == hp::streaming_copy ? "streaming" : "streaming ahead");
}

/// Eight ranks as 2 × 4; each axis cuts the dim given.
hp::layout_value cut_by(int dim_of_first, int dim_of_second) {
  hp::mesh_shape m;
  m.axis_count = 2;
  m.size[0] = 2;
  m.size[1] = 4;
  hp::layout_value l = hp::replicated(m, 2);
  for (int d = 0; d < 2; ++d) {
    if (dim_of_first == d) hp::append_cut(l, {d, 0, 1, 2});
    if (dim_of_second == d) hp::append_cut(l, {d, 1, 1, 4});
  }
  return l;
}
const hp::layout_value row8 = cut_by(0, 0), col8 = cut_by(1, 1), by2x4 = cut_by(0, 1), by4x2 = cut_by(1, 0);

void sizes(benchmark::internal::Benchmark* b) {
  b->ArgNames({"MiB", "threads"})->ArgsProduct({{64, 256}, {1, 2}})->Iterations(11)->UseManualTime();
  b->Unit(benchmark::kMillisecond);
}
BENCHMARK_CAPTURE(move_blocks, row8_to_col8, {row8, col8})->Apply(sizes);
BENCHMARK_CAPTURE(move_blocks, 2x4_to_row8, {by2x4, row8})->Apply(sizes);
BENCHMARK_CAPTURE(move_blocks, 2x4_to_4x2, {by2x4, by4x2})->Apply(sizes);
BENCHMARK_CAPTURE(move_blocks, 2x4_to_col8, {by2x4, col8})->Apply(sizes);

}  // namespace
