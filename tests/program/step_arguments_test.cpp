// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/program/step_arguments.hpp>

#include <hyperparallel/program/training_step.hpp>

#include <gtest/gtest.h>

namespace {

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}> {};
using strategy = hp::strategy<mesh, hp::data_parallel<"dp">>;
struct slow_adamw {
  static constexpr hp::optimizer_value value{.rate = 1e-5};
};
static_assert(hp::optimizer_type<hp::adamw> && hp::optimizer_type<hp::sgd> && hp::optimizer_type<slow_adamw>);
static_assert(!hp::optimizer_type<hp::matrix384> && !hp::optimizer_type<strategy> && !hp::optimizer_type<int>);

template <class... Arguments>
using verdict = typename hp::detail::step_arguments_verdict<Arguments...>::type;

// The first argument that is none of its kind is named, with what was given in its place.
TEST(StepArguments, TheFirstThatIsNoneOfItsKindIsNamed) {
  namespace diag = hp::diag;
  using hp::no_argument;
  static_assert(std::is_same_v<verdict<>, diag::second_argument_of_a_step_is_no_strategy<no_argument>>);
  static_assert(
      std::is_same_v<verdict<hp::adamw, hp::matrix384>, diag::second_argument_of_a_step_is_no_strategy<hp::adamw>>);
  static_assert(
      std::is_same_v<verdict<strategy, hp::matrix384>, diag::third_argument_of_a_step_is_no_optimizer<hp::matrix384>>);
  static_assert(std::is_same_v<verdict<strategy>, diag::third_argument_of_a_step_is_no_optimizer<no_argument>>);
  static_assert(
      std::is_same_v<verdict<strategy, hp::adamw>, diag::fourth_argument_of_a_step_is_no_hardware<no_argument>>);
  using count = hp::accumulating<2>;
  static_assert(
      std::is_same_v<verdict<strategy, slow_adamw, count>, diag::fourth_argument_of_a_step_is_no_hardware<count>>);
}

}  // namespace
