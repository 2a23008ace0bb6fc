// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/step/parts_offload.hpp>

#include <gtest/gtest.h>

#include <hyperparallel/pipeline/schedules/one_forward_one_backward.hpp>
#include <hyperparallel/step/pipelined_step.hpp>

#include "step/two_layers.hpp"

namespace {

namespace hp = hyperparallel;

using namespace two_layers;
using stages = hp::pipelined<hp::one_forward_one_backward, 2>;
template <class... Options>
using step_with = step_on<hp::matrix384, hp::f32, stages, Options...>;
using piped = step_with<>;

// Within three quarters of what it holds without a budget; of the part that copies most: its activations and states leave.
constexpr hp::extent_t budget = piped::peak * 3 / 4;
using within = step_with<hp::offloaded_within<budget>>;
static_assert(within::offload.ok() && within::peak <= budget && within::peak < piped::peak);
static_assert(within::account == piped::account && within::lawful);
static_assert(!within::verified && within::lowered == hp::lowering_code::budget_is_planned_at_start);
static_assert(within::offload.step_time >= within::offload.step_time_bound && within::offload.exposed > 0);
static_assert(within::offload.bytes_in > 0 && within::offload.bytes_out > 0 && within::offload.peak[1] > 0);
constexpr hp::extent_t left(hp::memory_class c) { return within::offload.share[static_cast<int>(c)].offloaded; }
static_assert(left(hp::memory_class::activations) + left(hp::memory_class::states) > 0);

// A budget that is too small is a line that says how many bytes are enough.
template <class Line>
constexpr bool names = false;
template <class... Alive>
constexpr bool names<hp::diag::memory_budget_is_too_small<hp::bytes_given<4096>,
                                                          hp::bytes_needed<within::offload.least_budget>, Alive...>> =
    sizeof...(Alive) > 0;
template <class... Options>
using evaluated = hp::detail::evaluated_step<language_model, strategy, hp::adamw, hp::matrix384, hp::precision<hp::f32>,
                                             hp::accumulating<4>, stages, Options...>;
using small = evaluated<hp::offloaded_within<4096>>;
static_assert(names<hp::detail::offload_verdict<small>::type> && !small::ok());

// A constant of every budget costs a compiler seconds: what the compiler plans is what is planned at run time.
template <class... Options>
hp::step_offload planned() {
  return evaluated<Options...>::evaluate().offload;
}

TEST(parts_offload, what_the_compiler_plans_is_what_is_planned_at_run_time) {
  EXPECT_EQ(planned<hp::offloaded_within<budget>>(), within::offload);
}

TEST(parts_offload, with_memory_for_everything_nothing_is_copied_and_the_longest_plan_is_the_clock_of_the_pipeline) {
  const hp::step_offload roomy = planned<hp::offloaded_within<16 * piped::peak>>();
  EXPECT_EQ(roomy.bytes_in + roomy.bytes_out + roomy.exposed, 0);
  const hp::extent_t makespan = hp::simulate(evaluated<>::lowered(), hp::matrix384::device).makespan;
  EXPECT_LE(roomy.step_time * 100, makespan * 103);
  EXPECT_GE(roomy.step_time * 103, makespan * 100);
  EXPECT_EQ(roomy.least_budget, within::offload.least_budget);
}

TEST(parts_offload, the_least_budget_is_enough_for_every_part_and_one_byte_less_is_not) {
  EXPECT_TRUE(planned<hp::offloaded_within<within::offload.least_budget>>().ok());
  EXPECT_FALSE(planned<hp::offloaded_within<within::offload.least_budget - 1>>().ok());
}

TEST(parts_offload, rules_are_asked_of_all_parts) {
  EXPECT_TRUE((planned<hp::offloaded_within<budget>, hp::offloading<"*moment*">, hp::keeping<"layers.0.*">>().ok()));
  EXPECT_FALSE((planned<hp::offloaded_within<budget>, hp::keeping<"nothing">>().ok()));
}

}  // namespace
