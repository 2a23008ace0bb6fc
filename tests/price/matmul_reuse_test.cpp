// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include <hyperparallel/hardware/presets.hpp>
#include <hyperparallel/lowering/planned_flow.hpp>
#include <hyperparallel/price/matmul_reuse.hpp>

namespace hp = hyperparallel;

namespace {

const hp::device_value& die = hp::ascend_910c_die::device;
constexpr std::int64_t compute = 10 * hp::microsecond;

/// Runs of matrix tiles that read one slot each and write another.
struct reads {
  std::vector<int> slot;
  int slots, tiles;
  std::int64_t bytes;
  template <class Flow>
  void operator()(Flow& f) const {
    hp::add_slot(f, 0, 0, 0, bytes, slots, bytes);
    for (const int s : slot) {
      hp::task_draft draft;
      draft.task.kind = hp::resource::aic;
      draft.task.duration = compute + die.task_overhead;
      draft.access[draft.accesses++] = {s, 0, hp::whole_slot, hp::access_mode::read, 0};
      hp::append(f, draft, tiles);
    }
  }
};

struct priced {
  hp::matmul_traffic traffic;
  std::vector<std::int64_t> duration;  // of each run
};

priced price(const reads& build, const hp::l2_cache& cache, std::int64_t unhidden = 0) {
  hp::machine_shape machine;
  machine.queues[static_cast<int>(hp::resource::aic)] = 2;
  const hp::taskflow_size size = hp::measure(build);
  hp::owned_taskflow f(size);
  build(f);
  hp::seal(f);
  hp::owned_schedule s(size.tasks, 2);
  hp::owned_schedule_scratch x(size, 2);
  EXPECT_EQ(hp::list_schedule(f, machine, {hp::priority::reference_order, 0}, s, x), hp::schedule_status{});
  priced out{hp::price_matmuls_by_reuse(f, s, 0, {die, cache, unhidden}), {}};
  for (int r = 0; r < size.runs; ++r) {
    out.duration.push_back(f.task[f.run[r]].duration);
    for (int t = f.run[r]; t < f.run[r + 1]; ++t) EXPECT_EQ(f.task[t].duration, out.duration.back());
  }
  return out;
}

TEST(MatmulReuse, EqualsAnLruStackByHand) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 300; ++round) {
    reads build{{}, 6, 1 + static_cast<int>(random() % 4), hp::MiB};
    for (int r = 0; r < 20; ++r) build.slot.push_back(static_cast<int>(random() % 6));
    const int fits = static_cast<int>(random() % 7);
    std::vector<int> stack;  // the latest first
    std::int64_t missed = 0;
    const priced p = price(build, {fits * hp::MiB, hp::full_efficiency, 0});
    for (std::size_t r = 0; r < build.slot.size(); ++r) {
      const auto at = std::find(stack.begin(), stack.end(), build.slot[r]);
      const bool hit = at != stack.end() && at - stack.begin() + 1 <= fits;
      if (at != stack.end()) stack.erase(at);
      stack.insert(stack.begin(), build.slot[r]);
      missed += hit ? 0 : hp::MiB;
      const std::int64_t memory = hit ? 0 : hp::vector_time(die, hp::ceil_divide(hp::MiB, build.tiles), 2).picoseconds;
      EXPECT_EQ(p.duration[r], die.task_overhead + std::max(compute, memory));
    }
    EXPECT_EQ(p.traffic.code, hp::cost_code::ok);
    EXPECT_EQ(p.traffic.traffic.touched, 20 * hp::MiB);
    EXPECT_EQ(p.traffic.traffic.missed, missed);
  }
}

TEST(MatmulReuse, WhatIsNotHiddenIsAdded) {
  const reads one{{0}, 1, 1, hp::MiB};
  const std::int64_t memory = hp::vector_time(die, hp::MiB, 2).picoseconds;
  const hp::l2_cache empty{0, hp::full_efficiency, 0};
  EXPECT_EQ(price(one, empty).duration[0], die.task_overhead + std::max(compute, memory));
  EXPECT_EQ(price(one, empty, 1'000'000).duration[0], die.task_overhead + compute + memory);
  EXPECT_LE(price(one, empty, 500'000).duration[0], price(one, empty, 500'001).duration[0]);
}

TEST(MatmulReuse, ACacheThatHoldsAllMakesEveryOrderEqual) {
  const hp::l2_cache all{hp::GiB, hp::full_efficiency, 0};
  const reads near{{0, 0, 1, 1, 2, 2}, 3, 2, hp::MiB}, far{{0, 1, 2, 0, 1, 2}, 3, 2, hp::MiB};
  EXPECT_EQ(price(near, all).traffic, price(far, all).traffic);
  const hp::l2_cache one{hp::MiB, hp::full_efficiency, 0};
  EXPECT_LT(price(near, one).traffic.traffic.missed, price(far, one).traffic.traffic.missed);
}

}  // namespace
