// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/hardware/presets.hpp>
#include <hyperparallel/taskflow/builder.hpp>
#include <hyperparallel/taskflow/cache_traffic.hpp>
#include <hyperparallel/taskflow/list_schedule.hpp>
#include <hyperparallel/taskflow/owned.hpp>
#include <hyperparallel/taskflow/simulate.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace hp = hyperparallel;

namespace {

constexpr hp::device_value die = hp::ascend_910c_die::device;

/// `tiles` tiles, each written by one task and read by another; readers follow `ahead` tiles behind the writers.
struct two_stages {
  int tiles;
  int ahead;
  std::int64_t bytes;

  template <class Flow>
  constexpr void operator()(Flow& f) const {
    const int done = hp::add_event(f, 0, tiles);
    const int slot = hp::add_slot(f, 0, 0, 0, bytes, tiles, bytes);
    for (int i = 0; i < tiles + ahead; ++i) {
      if (i < tiles) {
        hp::add_task(f, hp::resource::aiv, 0, 1, 0, i);
        hp::add_signal(f, done + i);
        hp::add_access(f, slot + i, 0, 1, hp::access_mode::write);
      }
      if (i >= ahead) {
        hp::add_task(f, hp::resource::aiv, 0, 1, 1, i - ahead);
        hp::add_wait(f, done + i - ahead);
        hp::add_access(f, slot + i - ahead, 0, 1, hp::access_mode::read);
      }
    }
  }
};

constexpr hp::machine_shape vector_cores(int queues) {
  hp::machine_shape m;
  m.queues[static_cast<int>(hp::resource::aiv)] = queues;
  return m;
}

struct run_result {
  hp::cache_traffic traffic;
  std::int64_t makespan;
};

run_result run(const two_stages& build, int queues, const hp::memory_bound_price& price) {
  const hp::taskflow_size size = hp::measure(build);
  hp::owned_taskflow f(size);
  build(f);
  hp::seal(f);
  hp::owned_schedule s(size.tasks, queues);
  hp::owned_schedule_scratch x(size, queues);
  EXPECT_EQ(hp::list_schedule(f, vector_cores(queues), {hp::priority::reference_order, 0}, s, x),
            hp::schedule_status{});
  std::vector<std::int64_t> sum(static_cast<std::size_t>(size.access_uses) + 1);
  std::vector<int> last(static_cast<std::size_t>(size.slots));
  hp::reuse_tracker<std::int64_t*, int*> tracker{size.access_uses, sum.data(), last.data()};
  run_result r{hp::price_by_reuse(f, s, 0, price, tracker), 0};
  hp::owned_timeline line(size.tasks);
  hp::owned_simulation_scratch y(size, queues);
  const hp::simulation_result simulated = hp::simulate(f, s, {}, line, y);
  EXPECT_EQ(simulated.code, hp::simulation_code::ok);
  r.makespan = simulated.makespan;
  return r;
}

// Brute force over tiles, distance and capacity: a reader hits iff the tiles from its own to the newest fit. Before the
// reader of tile i, the writers have reached tile min(i + ahead, tiles - 1); the readers touched older tiles again,
// which are newer in the cache than they were, so all tiles 0 .. i-1 read within the window count too.
TEST(CacheTraffic, HitsAreThoseOfTheOrder) {
  constexpr std::int64_t mib = hp::MiB;
  for (int tiles = 1; tiles <= 6; ++tiles)
    for (int ahead = 0; ahead <= tiles; ++ahead)
      for (int fits = 1; fits <= 2 * tiles + 1; ++fits) {
        const hp::memory_bound_price price{die, {fits * mib, hp::full_efficiency, 0}, hp::resource::aiv, 0};
        // The order of touches, replayed on a list.
        std::vector<int> recent;  // latest last
        std::int64_t missed = 0;
        const auto touch = [&](int tile) {
          std::size_t at = 0;
          while (at < recent.size() && recent[at] != tile) ++at;
          const bool hit = at < recent.size() && recent.size() - at <= static_cast<std::size_t>(fits);
          if (at < recent.size()) recent.erase(recent.begin() + static_cast<std::ptrdiff_t>(at));
          recent.push_back(tile);
          missed += hit ? 0 : mib;
        };
        for (int i = 0; i < tiles + ahead; ++i) {
          if (i < tiles) touch(i);
          if (i >= ahead) touch(i - ahead);
        }
        const run_result r = run({tiles, ahead, mib}, 1, price);
        EXPECT_EQ(r.traffic.code, hp::cost_code::ok);
        EXPECT_EQ(r.traffic.traffic, (hp::l2_traffic{2 * tiles * mib, missed}));
        // One queue: it takes the whole bandwidth, and its time is the traffic's.
        EXPECT_NEAR(static_cast<double>(r.makespan), static_cast<double>(hp::vector_time(die, missed, 1).picoseconds),
                    2.0 * tiles);
      }
}

TEST(CacheTraffic, WithoutCacheOrderDoesNotMatter) {
  const hp::memory_bound_price price{die, {}, hp::resource::aiv, 100 * hp::nanosecond};
  const run_result near = run({48, 0, hp::MiB}, 24, price), far = run({48, 48, hp::MiB}, 24, price);
  EXPECT_EQ(near.traffic, far.traffic);
  EXPECT_EQ(far.traffic.traffic.missed, 96 * hp::MiB);
  EXPECT_EQ(far.makespan, 4 * (100 * hp::nanosecond + hp::vector_time(die, hp::MiB, 24).picoseconds));
}

// With a cache the order decides: writers far ahead of their readers overrun it.
TEST(CacheTraffic, InterleavingSavesTheReads) {
  const hp::memory_bound_price price{die, hp::l2_of(die), hp::resource::aiv, 0};
  const run_result near = run({480, 24, hp::MiB}, 24, price), far = run({480, 480, hp::MiB}, 24, price);
  EXPECT_EQ(near.traffic.traffic.missed, 480 * hp::MiB);
  EXPECT_EQ(far.traffic.traffic.missed, 960 * hp::MiB);
  EXPECT_LT(near.makespan, far.makespan);
}

TEST(CacheTraffic, NamesAPriceThatFails) {
  hp::memory_bound_price price{die, {}, hp::resource::aiv, 0};
  price.device.aiv = 2;
  EXPECT_EQ(run({3, 0, 64}, 3, price).traffic.code, hp::cost_code::count_exceeds_the_device);
}

// The same in a constant expression.
constexpr two_stages small{4, 4, 64};
constexpr hp::taskflow_size small_size = hp::measure(small);

constexpr hp::cache_traffic traffic_at_compile_time(std::int64_t capacity) {
  auto f = hp::build_fixed<small_size>(small);
  const auto s = hp::schedule_fixed<1>(f, vector_cores(1), {hp::priority::reference_order, 0});
  hp::reuse_tracker<std::int64_t[small_size.access_uses + 1], int[small_size.slots]> tracker{};
  tracker.touches = small_size.access_uses;
  return hp::price_by_reuse(f, s, 0, {die, {capacity, hp::full_efficiency, 0}, hp::resource::aiv, 0}, tracker);
}
static_assert(traffic_at_compile_time(256) == hp::cache_traffic{hp::cost_code::ok, {512, 256}});
static_assert(traffic_at_compile_time(255) == hp::cache_traffic{hp::cost_code::ok, {512, 512}});

}  // namespace
