// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/step/arguments.hpp>

#include <hyperparallel/step/training_step.hpp>

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

struct model {
  static constexpr void build(hp::model_builder&) {}
};
static_assert(hp::model_type<model> && !hp::model_type<strategy> && !hp::model_type<int>);
static_assert(hp::step_option<hp::accumulating<2>> && !hp::step_option<hp::adamw> && !hp::step_option<int>);

// What is said in place of a proof, so that no assertion fails behind a refusal, is none where it is kept as one.
static_assert(hp::detail::step_that_is_refused::verified && hp::detail::step_that_is_refused::lawful);
static_assert(!hp::proof(hp::detail::step_that_is_refused::verified));

// A build that needs the results of its operators is asked with them; one that the compiler cannot run is none either way.
struct reads_results {
  static constexpr void build(hp::model_builder& m) {
    const int x = m.input("x", {m.dim("batch", 8), m.dim("hidden", 16)});
    const int y = m.apply<hp::ops::silu>("act", {x});
    m.loss(m.apply<hp::ops::reduce>("loss", {y}, {.text = m.graph.tensor[y].shape.rank == 2 ? "*->" : "a->"}));
  }
};
struct run_time_model {
  static void build(hp::model_builder&) {}
};
static_assert(hp::constant_build<model> && hp::constant_build<model, hp::accumulating<2>>);
template <class Model>
concept builds_without_operators = requires { typename std::bool_constant<hp::detail::builds<false, Model>()>; };
static_assert(builds_without_operators<model> && !builds_without_operators<reads_results>);
static_assert(hp::constant_build<reads_results> && !hp::constant_build<run_time_model>);

template <class... Arguments>
using verdict = typename hp::detail::step_arguments_verdict<Arguments...>::type;

// The first argument that is none of its kind is named, with what was given in its place.
TEST(StepArguments, TheFirstThatIsNoneOfItsKindIsNamed) {
  namespace diag = hp::diag;
  using hp::no_argument;
  static_assert(std::is_same_v<verdict<strategy, model, hp::adamw, hp::matrix384>,
                               diag::first_argument_of_a_step_is_no_model<strategy>>);
  static_assert(std::is_same_v<verdict<model>, diag::second_argument_of_a_step_is_no_strategy<no_argument>>);
  static_assert(std::is_same_v<verdict<model, hp::adamw, hp::matrix384>,
                               diag::second_argument_of_a_step_is_no_strategy<hp::adamw>>);
  static_assert(std::is_same_v<verdict<model, strategy, hp::matrix384>,
                               diag::third_argument_of_a_step_is_no_optimizer<hp::matrix384>>);
  static_assert(std::is_same_v<verdict<model, strategy>, diag::third_argument_of_a_step_is_no_optimizer<no_argument>>);
  static_assert(
      std::is_same_v<verdict<model, strategy, hp::adamw>, diag::fourth_argument_of_a_step_is_no_hardware<no_argument>>);
  using count = hp::accumulating<2>;
  static_assert(std::is_same_v<verdict<model, strategy, slow_adamw, count>,
                               diag::fourth_argument_of_a_step_is_no_hardware<count>>);
  static_assert(std::is_same_v<verdict<run_time_model, strategy, hp::adamw, hp::matrix384>,
                               diag::build_of_a_model_is_not_constant<run_time_model>>);
  static_assert(std::is_same_v<verdict<model, strategy, hp::adamw, hp::matrix384, count, hp::sgd, int>,
                               diag::option_of_a_step_is_no_option<hp::sgd>>);
}

}  // namespace
