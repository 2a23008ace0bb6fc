// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/runtime/kernels/experts.hpp>

#include <gtest/gtest.h>

#include <vector>

#include "naive.hpp"

namespace {

namespace hp = hyperparallel;
namespace hk = hyperparallel::kernels;
using hp::extent_t;
using naive::array;
using naive::index;
using naive::noise;

constexpr extent_t tokens = 12, chosen = 2, experts = 4, width = 70;

array<std::int64_t> slots_of(const array<std::int32_t>& choice, extent_t capacity, std::vector<std::int64_t>& used) {
  array<std::int64_t> slot(choice.extents);
  hk::assign_slots(choice.view(), capacity, slot.view(), used.data());
  return slot;
}

TEST(Experts, SlotsAreFilledInTheOrderOfTokensUpToTheCapacity) {
  const auto choice = naive::choices<std::int32_t>(hp::shape{tokens, chosen}, experts, 1);
  for (extent_t capacity = 0; capacity <= tokens * chosen; ++capacity) {
    std::vector<std::int64_t> used(experts);
    const auto slot = slots_of(choice, capacity, used);
    for (extent_t i = 0; i < choice.count; ++i) {
      extent_t earlier = 0;
      for (extent_t j = 0; j < i; ++j) earlier += choice[j] == choice[i];
      ASSERT_EQ(slot[i], earlier < capacity ? choice[i] * capacity + earlier : hp::no_row);
    }
    std::vector<std::int64_t> counted(experts);
    for (extent_t begin = 0; begin < tokens; begin += 3) {
      const auto part = slots_of(naive::part(choice, 0, begin, begin + 3), capacity, counted);
      ASSERT_TRUE(naive::same(part, naive::part(slot, 0, begin, begin + 3))) << "parts route as the whole";
    }
    ASSERT_EQ(counted, used);
  }
}

template <class T>
void check_round_trip() {
  const auto x = noise<T>(hp::shape{tokens, width}, 1);
  const auto choice = naive::choices<std::int32_t>(hp::shape{tokens, chosen}, experts, 2);
  const auto weight = noise<T>(choice.extents, 3);
  for (const extent_t capacity : {1, 4, 24}) {
    std::vector<std::int64_t> used(experts);
    const array<std::int64_t> slot = slots_of(choice, capacity, used);
    array<T> rows(hp::shape{experts, capacity, width}, hk::store<T>(77));
    hk::dispatch_rows(x.view(), slot.view(), rows.view());
    array<T> expected_rows(rows.extents), out(x.extents), expected(x.extents);
    for (extent_t i = 0; i < slot.count; ++i)
      for (extent_t c = 0; slot[i] != hp::no_row && c < width; ++c)
        expected_rows[slot[i] * width + c] = x.at({i / chosen, c});
    ASSERT_TRUE(naive::same(rows, expected_rows));
    hk::combine_experts(rows.view(), slot.view(), weight.view(), out.view());
    naive::for_each_index(x.extents, [&](const index& i) {
      hk::computing<T> sum{};
      for (extent_t j = 0; j < chosen; ++j) {
        if (slot.at({i[0], j}) == hp::no_row) continue;
        volatile auto term = hk::load(weight.at({i[0], j})) * hk::load(x.at(i));
        sum += term;
      }
      expected.at(i) = hk::store<T>(sum);
    });
    ASSERT_TRUE(naive::same(out, expected));
  }
}

TEST(Experts, DispatchAndCombineAreTheWeightedSum) {
  check_round_trip<float>();
  check_round_trip<std::int64_t>();
  check_round_trip<hp::bf16_bits>();
}

TEST(Experts, DevicesWithSomeOfTheExpertsMakeTheWhole) {
  const extent_t capacity = 5;
  const auto x = noise<std::int64_t>(hp::shape{tokens, width}, 1),
             weight = noise<std::int64_t>(hp::shape{tokens, chosen}, 3);
  const auto choice = naive::choices<std::int32_t>(hp::shape{tokens, chosen}, experts, 2);
  std::vector<std::int64_t> used(experts);
  const array<std::int64_t> slot = slots_of(choice, capacity, used);
  array<std::int64_t> rows(hp::shape{experts, capacity, width}), whole(x.extents), sum(x.extents);
  hk::dispatch_rows(x.view(), slot.view(), rows.view());
  hk::combine_experts(rows.view(), slot.view(), weight.view(), whole.view());
  for (extent_t first = 0; first < experts; first += 2) {
    array<std::int64_t> own(hp::shape{2, capacity, width}, 77), partial(x.extents);
    hk::dispatch_rows(x.view(), slot.view(), own.view(), first * capacity);
    ASSERT_TRUE(naive::same(own, naive::part(rows, 0, first, first + 2)));
    hk::combine_experts(own.view(), slot.view(), weight.view(), partial.view(), first * capacity);
    for (extent_t i = 0; i < sum.count; ++i) sum[i] += partial[i];
  }
  EXPECT_TRUE(naive::same(sum, whole));
}

}  // namespace
