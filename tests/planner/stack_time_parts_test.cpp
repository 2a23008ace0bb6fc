// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/planner/stack_time_parts.hpp>

#include <hyperparallel/hardware/gpu_presets.hpp>
#include <hyperparallel/planner/stack_kernels.hpp>

#include <gtest/gtest.h>

#include "walked_tensors.hpp"

namespace hp = hyperparallel;

namespace {

constexpr hp::operator_rates h100 = hp::detail::rates_of(hp::h100::device);

// The parts add up to what is busy, and each kernel is what its operator takes.
TEST(StackTimeParts, AddUp) {
  const hp::stack_sizes s = walked_tensors::small_sizes();
  hp::stack_time_parts parts(h100, s);
  parts.product(4096, 4096, 4096, hp::product_pass::forward);
  parts.attention(false);
  parts.pass(1 << 20);
  parts.rows(1 << 20);
  parts.copy(1 << 20);
  parts.copy(0);  // none
  parts.loss(1 << 20);
  parts.update(1 << 20);
  parts.small(3);
  EXPECT_EQ(parts.kernels, 10);
  hp::extent_t sum = 0;
  for (const hp::time_cost& p : parts.part) sum += p.picoseconds;
  EXPECT_EQ(parts.busy(), (hp::time_cost{hp::cost_code::ok, sum}));
  EXPECT_EQ(parts.part[static_cast<int>(hp::stack_part::products)],
            hp::measured_product_time(h100, 4096, 4096, 4096, hp::product_pass::forward));
  EXPECT_EQ(parts.part[static_cast<int>(hp::stack_part::copies)], hp::streamed_time(h100, 1 << 20));
}

// Two lists one after the other are both together; a list three times is three times what it takes.
TEST(StackTimeParts, ListsAddUp) {
  const hp::stack_sizes s = walked_tensors::small_sizes();
  hp::stack_time_parts one(h100, s), twice(h100, s);
  hp::stack_kernels<hp::stack_time_parts>(s, one).forward(false);
  for (int time = 0; time < 2; ++time) hp::stack_kernels<hp::stack_time_parts>(s, twice).forward(false);
  hp::stack_time_sums sum;
  sum.add(one, 2);
  EXPECT_EQ(sum.busy(), twice.busy());
  EXPECT_EQ(sum.kernels, twice.kernels);
}

TEST(StackTimeParts, OverflowIsSaid) {
  const hp::stack_sizes s = walked_tensors::small_sizes();
  hp::stack_time_parts parts(h100, s);
  parts.pass(INT64_MAX / 2);
  hp::stack_time_sums sum;
  sum.add(parts, INT64_MAX / 2);
  EXPECT_EQ(sum.busy().code, hp::cost_code::overflow);
  EXPECT_STREQ(name_of(hp::stack_part::copies), "copies");
}

}  // namespace
