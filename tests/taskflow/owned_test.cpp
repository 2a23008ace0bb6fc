// SPDX-License-Identifier: Apache-2.0
// Run-time forms against the inline forms of the same declaration: equal when fresh, equal after every algorithm.

#include <gtest/gtest.h>

#include <type_traits>

#include "flows.hpp"

namespace {

using namespace taskflow_test;

constexpr moe_tiles tiles{4, 2, 1};
constexpr hp::taskflow_size size = hp::measure(tiles);
constexpr hp::machine_shape machine{2, {3, 2, 1, 0, 0}};
constexpr int queues = hp::queue_count(machine);
constexpr auto flow = hp::build_fixed<size>(tiles);
constexpr auto plan = hp::schedule_fixed<queues>(flow, machine, {hp::priority::upward_rank, 2000});

/// All elements of an inline array, the spare one included, against an owned one.
template <class T, std::size_t Count>
bool same(const T (&inline_array)[Count], const T* owned) {
  for (std::size_t i = 0; i < Count; ++i)
    if (inline_array[i] != owned[i]) return false;
  return true;
}

template <class T, std::size_t Count>
bool all_zero(const T* owned, const T (&)[Count]) {
  const T zero[Count] = {};
  return same(zero, owned);
}

template <class T>
constexpr bool moves_or_copies = std::is_copy_constructible_v<T> || std::is_copy_assignable_v<T>;
static_assert(!moves_or_copies<hp::owned_taskflow> && !moves_or_copies<hp::owned_schedule>);
static_assert(!moves_or_copies<hp::owned_schedule_scratch> && !moves_or_copies<hp::detail::owned_verify_scratch>);
static_assert(!moves_or_copies<hp::detail::owned_exact_scratch> && !moves_or_copies<hp::owned_timeline>);
static_assert(!moves_or_copies<hp::owned_simulation_scratch> && !moves_or_copies<hp::detail::owned_flow_scratch>);

TEST(Owned, AFreshScheduleScratchEqualsItsFixedForm) {
  const hp::detail::fixed_schedule_scratch<size, queues> fixed;
  const hp::owned_schedule_scratch owned(size, queues);
  EXPECT_TRUE(same(fixed.rank, owned.rank));
  EXPECT_TRUE(same(fixed.run_rank, owned.run_rank));
  EXPECT_TRUE(same(fixed.next, owned.next));
  EXPECT_TRUE(same(fixed.sorted, owned.sorted));
  EXPECT_TRUE(same(fixed.event_time, owned.event_time));
  EXPECT_TRUE(same(fixed.prefix_begin, owned.prefix_begin));
  EXPECT_TRUE(same(fixed.prefix_count, owned.prefix_count));
  EXPECT_TRUE(same(fixed.history, owned.history));
  EXPECT_TRUE(same(fixed.queue_free, owned.queue_free));
  EXPECT_TRUE(same(fixed.ring, owned.ring));
  EXPECT_TRUE(same(fixed.ring_front, owned.ring_front));
  EXPECT_TRUE(same(fixed.queue_last, owned.queue_last));
  EXPECT_TRUE(same(fixed.pool_head, owned.pool_head));
  EXPECT_TRUE(same(fixed.pool_tail, owned.pool_tail));
}

TEST(Owned, AFreshExactScratchEqualsItsFixedForm) {
  const hp::detail::fixed_exact_scratch<size, queues> fixed;
  const hp::detail::owned_exact_scratch owned(size, queues);
  EXPECT_TRUE(same(fixed.next, owned.next));
  EXPECT_TRUE(same(fixed.blocked_after, owned.blocked_after));
  EXPECT_TRUE(same(fixed.ready, owned.ready));
  EXPECT_TRUE(same(fixed.count, owned.count));
  EXPECT_TRUE(same(fixed.blocked, owned.blocked));
  EXPECT_TRUE(same(fixed.begun, owned.begun));
  EXPECT_TRUE(same(fixed.slot_begin, owned.slot_begin));
  EXPECT_TRUE(same(fixed.slot_end, owned.slot_end));
  EXPECT_TRUE(same(fixed.user, owned.user));
  EXPECT_TRUE(same(fixed.access, owned.access));
}

TEST(Owned, AFreshSimulationEqualsItsFixedForm) {
  const hp::detail::fixed_simulation_scratch<size, queues> fixed;
  const hp::owned_simulation_scratch owned(size, queues);
  EXPECT_TRUE(same(fixed.queue_free, owned.queue_free));
  EXPECT_TRUE(same(fixed.queue_next, owned.queue_next));
  EXPECT_TRUE(same(fixed.event_time, owned.event_time));
  EXPECT_TRUE(same(fixed.count, owned.count));
  EXPECT_TRUE(same(fixed.prefix_begin, owned.prefix_begin));
  EXPECT_TRUE(same(fixed.prefix_count, owned.prefix_count));
  EXPECT_TRUE(same(fixed.history, owned.history));
  EXPECT_TRUE(same(fixed.heap, owned.heap));
  EXPECT_TRUE(same(fixed.heap_start, owned.heap_start));
  for (int side = 0; side < 2; ++side) {
    EXPECT_TRUE(same(fixed.from[side], owned.from[side]));
    EXPECT_TRUE(same(fixed.to[side], owned.to[side]));
  }
  const hp::owned_timeline line(size.tasks);
  const hp::fixed_timeline<size.tasks> inline_line;
  EXPECT_TRUE(same(inline_line.start, line.start));
  EXPECT_TRUE(same(inline_line.end, line.end));
}

TEST(Owned, AFreshScheduleAndFlowScratchAreZero) {
  const hp::owned_schedule s(size.tasks, queues);
  EXPECT_EQ(s.makespan, 0);
  EXPECT_EQ(s.task_count, 0);
  EXPECT_TRUE(all_zero(s.order, plan.order));
  EXPECT_TRUE(all_zero(s.queue, plan.queue));
  EXPECT_TRUE(all_zero(s.queue_begin, plan.queue_begin));
  EXPECT_TRUE(all_zero(s.queue_task, plan.queue_task));
  const hp::detail::fixed_flow_scratch<size> fixed;
  const hp::detail::owned_flow_scratch owned(size);
  EXPECT_TRUE(same(fixed.count, owned.count));
  EXPECT_TRUE(same(fixed.sorted, owned.sorted));
  EXPECT_TRUE(same(fixed.merged, owned.merged));
}

TEST(Owned, AFreshFlowCountsNothing) {
  const hp::owned_taskflow f(size);
  EXPECT_EQ(f.size, hp::taskflow_size{});
  for (int t = 0; t <= size.tasks; ++t) EXPECT_EQ(f.task[t].duration + f.task[t].access_end, 0);
  for (int s = 0; s <= size.slots; ++s) EXPECT_EQ(f.slot[s].bytes, 0);
  for (int e = 0; e <= size.events; ++e) EXPECT_EQ(f.event[e].signals, 0);
  for (int r = 0; r <= size.runs; ++r) EXPECT_EQ(f.run[r], 0);
}

TEST(Owned, EveryAlgorithmGivesTheSameOnOwnedMemory) {
  hp::owned_taskflow f(size);
  tiles(f);
  hp::seal(f);
  hp::owned_schedule s(size.tasks, queues);
  hp::owned_schedule_scratch x(size, queues);
  ASSERT_EQ(hp::list_schedule(f, machine, {hp::priority::upward_rank, 2000}, s, x), hp::schedule_status{});
  EXPECT_EQ(s.makespan, plan.makespan);
  EXPECT_TRUE(same(plan.order, s.order));
  EXPECT_TRUE(same(plan.queue, s.queue));
  EXPECT_TRUE(same(plan.queue_begin, s.queue_begin));
  EXPECT_TRUE(same(plan.queue_task, s.queue_task));

  hp::detail::fixed_schedule_scratch<size, queues> inline_scratch;
  EXPECT_EQ(hp::bound_makespan(f, machine, 2000, x), hp::bound_makespan(flow, machine, 2000, inline_scratch));

  hp::detail::owned_verify_scratch v(size, queues);
  EXPECT_EQ(hp::verify(f, s, v), hp::verify(flow, plan));
  hp::detail::owned_exact_scratch e(size, queues);
  hp::detail::fixed_exact_scratch<size, queues> inline_exact;
  EXPECT_EQ(hp::check_exactly(f, s, e), hp::check_exactly(flow, plan, inline_exact));
  hp::detail::owned_flow_scratch c(size);
  constexpr std::int64_t capacity[] = {4 * 8192};
  EXPECT_EQ(hp::check_flow(f, machine.ranks, capacity, 1, c), hp::flow_status{});

  constexpr auto simulated = hp::simulate_fixed(flow, plan, {2000, false});
  hp::owned_timeline line(size.tasks);
  hp::owned_simulation_scratch y(size, queues);
  EXPECT_EQ(hp::simulate(f, s, {2000, false}, line, y), simulated.result);
}

TEST(Owned, NothingAtAllIsAFlowToo) {
  hp::owned_taskflow f(hp::taskflow_size{});
  hp::owned_schedule s(0, 0);
  hp::owned_schedule_scratch x(f.size, 0);
  EXPECT_EQ(hp::list_schedule(f, {0, {}}, {}, s, x), hp::schedule_status{});
  hp::detail::owned_exact_scratch e(f.size, 0);
  EXPECT_EQ(hp::check_exactly(f, s, e), hp::exact_status{});
}

}  // namespace
