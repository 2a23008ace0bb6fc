// SPDX-License-Identifier: Apache-2.0
// Working memory: one declaration for both forms, blocks that are zeroed, aligned, apart and given back, and algorithms
// that write before they read.

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>

#include "flows.hpp"

namespace {

long live_blocks = 0;

}  // namespace

[[gnu::noinline]] void* operator new(std::size_t bytes) {
  void* const block = std::malloc(bytes == 0 ? 1 : bytes);
  if (block == nullptr) throw std::bad_alloc{};
  ++live_blocks;
  std::memset(block, 0xA5, bytes);  // nobody may count on fresh memory being zero
  return block;
}
[[gnu::noinline]] void operator delete(void* block) noexcept {
  if (block != nullptr) --live_blocks;
  std::free(block);
}
void operator delete(void* block, std::size_t) noexcept { operator delete(block); }

namespace {

using namespace taskflow_test;

static_assert(std::is_same_v<hp::scratch_array<int, 3>, int[4]>);
static_assert(std::is_same_v<hp::scratch_array<bool, 0>, bool[1]>);
static_assert(std::is_same_v<hp::scratch_array<std::int64_t, hp::run_time_count>, std::int64_t*>);
static_assert(!std::is_copy_constructible_v<hp::scratch_memory> && !std::is_copy_assignable_v<hp::scratch_memory>);

template <class T>
T* take_checked(hp::scratch_memory& m, int count) {
  T* const first = m.take<T>(count);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first) % alignof(T), 0U);
  for (int i = 0; i <= count; ++i) EXPECT_EQ(first[i], T{}) << i;
  return first;
}

TEST(Scratch, BlocksAreZeroedAlignedAndApart) {
  hp::scratch_memory m;
  std::vector<std::pair<int*, int>> numbers;
  std::vector<std::pair<bool*, int>> flags;
  for (int count : {0, 1, 2, 3, 7, 64, 1000}) {
    numbers.push_back({take_checked<int>(m, count), count});
    flags.push_back({take_checked<bool>(m, count), count});
    take_checked<std::int64_t>(m, count)[count] = -1;
    take_checked<std::max_align_t*>(m, count)[count] = nullptr;
    // All count + 1 elements belong to the caller.
    for (int i = 0; i <= count; ++i) {
      numbers.back().first[i] = count + i;
      flags.back().first[i] = true;
    }
  }
  for (const auto& [first, count] : numbers)
    for (int i = 0; i <= count; ++i) ASSERT_EQ(first[i], count + i);
  for (const auto& [first, count] : flags)
    for (int i = 0; i <= count; ++i) ASSERT_TRUE(first[i]);
}

TEST(Scratch, EveryBlockIsGivenBackOnce) {
  const long before = live_blocks;
  {
    hp::scratch_memory m;
    EXPECT_EQ(live_blocks, before) << "nothing is allocated before the first take";
    for (int i = 0; i < 20; ++i) m.take<int>(i);
    EXPECT_EQ(live_blocks, before + 20);
  }
  EXPECT_EQ(live_blocks, before);
}

constexpr moe_tiles tiles{5, 1, 2};
constexpr hp::taskflow_size size = hp::measure(tiles);
constexpr hp::machine_shape machine{1, {3, 2, 1, 0, 0}};
constexpr auto flow = hp::build_fixed<size>(tiles);
constexpr auto plan = hp::schedule_fixed<6>(flow, machine, {hp::priority::upward_rank, 2000});

/// Working memory that holds rubbish.
template <class Scratch>
std::unique_ptr<Scratch> soiled() {
  auto x = std::make_unique<Scratch>();
  std::memset(static_cast<void*>(x.get()), 0xA5, sizeof(Scratch));
  return x;
}

TEST(Scratch, NoAlgorithmReadsWhatItHasNotWritten) {
  using scratch = hp::detail::fixed_schedule_scratch<size, 6>;
  for (const hp::priority policy : {hp::priority::upward_rank, hp::priority::reference_order}) {
    hp::fixed_schedule<size.tasks, 6> clean, dirty;
    scratch fresh;
    ASSERT_EQ(hp::list_schedule(flow, machine, {policy, 2000}, clean, fresh), hp::schedule_status{});
    ASSERT_EQ(hp::list_schedule(flow, machine, {policy, 2000}, dirty, *soiled<scratch>()), hp::schedule_status{});
    EXPECT_EQ(dirty.makespan, clean.makespan);
    for (int t = 0; t < size.tasks; ++t) {
      EXPECT_EQ(dirty.order[t], clean.order[t]);
      EXPECT_EQ(dirty.queue[t], clean.queue[t]);
      EXPECT_EQ(dirty.queue_task[t], clean.queue_task[t]);
    }
  }
  scratch fresh;
  EXPECT_EQ(hp::upward_ranks(flow, 2000, *soiled<scratch>()), hp::upward_ranks(flow, 2000, fresh));
  EXPECT_EQ(hp::bound_makespan(flow, machine, 2000, *soiled<scratch>()),
            hp::bound_makespan(flow, machine, 2000, fresh));
  EXPECT_EQ(hp::check_exactly(flow, plan, *soiled<hp::detail::fixed_exact_scratch<size, 6>>()), hp::exact_status{});
  constexpr std::int64_t capacity[] = {8 * 8192};
  EXPECT_EQ(hp::check_flow(flow, 1, capacity, 1, *soiled<hp::detail::fixed_flow_scratch<size>>()), hp::flow_status{});
}

}  // namespace
