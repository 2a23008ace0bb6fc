// SPDX-License-Identifier: Apache-2.0
// Budgets of memory where tensors have 16 bits, and 64.
#include <hyperparallel/world/step_budget.hpp>

#include <type_traits>

#include "world/step_budgets.hpp"

namespace {

using namespace step_budgets;

TEST(step_budget_types, gradients_of_16_bits_are_looked_at_before_the_update) {
  using within = step_of<hp::bf16, piped, hp::offloaded_within<22456>>;
  static_assert(within::peak <= 22456 && within::offload.bytes_in > 0);
  expect_the_same_bits<within, free_on<hp::matrix384, hp::bf16, piped>>();
}

TEST(step_budget_types, kernels_compute_in_the_type_of_the_model) {
  using within = step_on<hp::generic_host, hp::f64, piped, hp::offloaded_within<48192>>;
  static_assert(std::is_same_v<hp::world<within>::number, double>);
  expect_the_same_bits<within, free_on<hp::generic_host, hp::f64, piped>>();
}

}  // namespace
