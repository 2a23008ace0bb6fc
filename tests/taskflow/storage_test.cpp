// SPDX-License-Identifier: Apache-2.0
// One builder leaves the same flow in every storage: inline arrays, arrays of somebody else, counts alone.

#include <gtest/gtest.h>

#include <tuple>

#include "flows.hpp"

namespace {

using namespace taskflow_test;

constexpr auto fields(const hp::task& k) {
  return std::tuple{k.kind,         k.rank,       k.duration,     k.operation,  k.item, k.wait_begin,  k.wait_end,
                    k.signal_begin, k.signal_end, k.access_begin, k.access_end, k.part, k.first_event, k.first_slot};
}
constexpr auto fields(const hp::wait& w) { return std::tuple{w.event, w.threshold}; }
constexpr auto fields(int event) { return std::tuple{event}; }
constexpr auto fields(const hp::access& a) { return std::tuple{a.slot, a.begin, a.end, a.mode, a.step}; }
constexpr auto fields(const hp::event& e) { return std::tuple{e.rank, e.signals}; }
constexpr auto fields(const hp::slot& s) { return std::tuple{s.rank, s.tier, s.offset, s.bytes}; }

template <class T>
constexpr bool same(const T* a, const T* b, int count) {
  for (int i = 0; i < count; ++i)
    if (fields(a[i]) != fields(b[i])) return false;
  return true;
}

template <class One, class Other>
constexpr bool same_flow(const One& a, const Other& b) {
  return a.size == b.size && same(a.task, b.task, a.size.tasks) && same(a.run, b.run, a.size.runs + 1) &&
         same(a.wait, b.wait, a.size.waits) && same(a.signal, b.signal, a.size.signals) &&
         same(a.access, b.access, a.size.accesses) && same(a.event, b.event, a.size.events) &&
         same(a.slot, b.slot, a.size.slots);
}

constexpr moe_tiles tiles{3, 2, 2};
constexpr hp::taskflow_size size = hp::measure(tiles);
constexpr auto fixed = hp::build_fixed<size>(tiles);
static_assert(fixed.size == size && fixed.capacity == size);
static_assert(size == hp::taskflow_size{60, 56, 60, 108, 30, 16, 60, 108, 60});
static_assert(same_flow(fixed, fixed));

TEST(Storage, FixedEqualsDynamicFieldByField) {
  hp::owned_taskflow owned(size);
  tiles(owned);
  hp::seal(owned);
  const hp::dynamic_taskflow& dynamic = owned;
  EXPECT_TRUE(same_flow(fixed, dynamic));
  // The comparison sees every array.
  auto other = fixed;
  ++other.task[size.tasks - 1].access_end;
  EXPECT_FALSE(same_flow(other, dynamic));
  other = fixed;
  ++other.wait[size.waits - 1].threshold;
  EXPECT_FALSE(same_flow(other, dynamic));
  other = fixed;
  ++other.slot[size.slots - 1].bytes;
  EXPECT_FALSE(same_flow(other, dynamic));
}

/// One task that writes a slot and one that waits for it.
struct two_tasks {
  template <class Flow>
  constexpr void operator()(Flow& f) const {
    using enum hp::access_mode;
    const int e = hp::add_event(f, 1), s = hp::add_slot(f, 1, 0, 64, 128);
    hp::add_task(f, hp::resource::link, 0, 7, 3, 5);
    hp::add_signal(f, e);
    hp::add_access(f, s, 0, 8, write);
    hp::add_task(f, hp::resource::aic, 1, 9, 4, 6);
    hp::add_wait(f, e);
    hp::add_access(f, s, 2, 4, read);
  }
};

TEST(Storage, TheArraysHoldWhatTheBuilderSaid) {
  constexpr auto f = hp::build_fixed<hp::measure(two_tasks{})>(two_tasks{});
  static_assert(f.size == hp::taskflow_size{2, 1, 1, 2, 1, 1, 1, 2, 2});
  const hp::task task[] = {{hp::resource::link, 0, 7, 3, 5, 0, 0, 0, 1, 0, 1},
                           {hp::resource::aic, 1, 9, 4, 6, 0, 1, 1, 1, 1, 2}};
  const hp::wait wait[] = {{0, 1}};
  const int signal[] = {0};
  const hp::access access[] = {{0, 0, 8, hp::access_mode::write}, {0, 2, 4, hp::access_mode::read}};
  const hp::event event[] = {{1, 1}};
  const hp::slot slot[] = {{1, 0, 64, 128}};
  EXPECT_TRUE(same(f.task, task, 2));
  EXPECT_TRUE(same(f.wait, wait, 1));
  EXPECT_TRUE(same(f.signal, signal, 1));
  EXPECT_TRUE(same(f.access, access, 2));
  EXPECT_TRUE(same(f.event, event, 1));
  EXPECT_TRUE(same(f.slot, slot, 1));
}

TEST(Storage, RandomFlowsAreTheSameInARoomierFixedStorage) {
  constexpr hp::taskflow_size room{12, 400, 40, 40, 16, 8, 40, 40};
  std::mt19937 random(21);
  for (int i = 0; i < 2000; ++i) {
    const loose_plan p = random_plan(random, 1 + below(random, 12));
    const hp::taskflow_size n = hp::measure(p);
    ASSERT_LE(n.waits, room.waits);
    const auto inline_flow = std::make_unique<hp::fixed_taskflow<room>>();
    hp::owned_taskflow owned(n);
    p(*inline_flow);
    hp::seal(*inline_flow);
    p(owned);
    hp::seal(owned);
    ASSERT_EQ(owned.size, n);
    ASSERT_TRUE(same_flow(*inline_flow, owned));
  }
}

}  // namespace
