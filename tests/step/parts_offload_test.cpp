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
template <class... Options>
constexpr bool accepted = hp::valid_train_step<language_model, strategy, hp::adamw, hp::matrix384,
                                               hp::precision<hp::f32>, hp::accumulating<4>, stages, Options...>;
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

// With memory for everything nothing is copied, and the longest plan is the pipeline's clock within 3 %.
using roomy = step_with<hp::offloaded_within<16 * piped::peak>>;
static_assert(roomy::offload.bytes_in + roomy::offload.bytes_out + roomy::offload.exposed == 0);
static_assert(roomy::offload.step_time * 100 <= piped::clock.makespan * 103 &&
              roomy::offload.step_time * 103 >= piped::clock.makespan * 100);
static_assert(roomy::offload.least_budget == within::offload.least_budget);

// The least budget is enough for every part, and one byte less for one of them is not: in a line that says how many.
template <hp::extent_t Bytes>
constexpr bool enough = accepted<hp::offloaded_within<Bytes>>;
static_assert(enough<within::offload.least_budget> && !enough<within::offload.least_budget - 1>);
template <class Line>
constexpr bool names = false;
template <class... Alive>
constexpr bool names<hp::diag::memory_budget_is_too_small<hp::bytes_given<4096>,
                                                          hp::bytes_needed<within::offload.least_budget>, Alive...>> =
    sizeof...(Alive) > 0;
using small = hp::detail::evaluated_step<language_model, strategy, hp::adamw, hp::matrix384, hp::precision<hp::f32>,
                                         hp::accumulating<4>, stages, hp::offloaded_within<4096>>;
static_assert(names<hp::detail::offload_verdict<small>::type> && !small::ok());

// Rules are asked of all parts.
template <class... Rules>
constexpr bool ruled = accepted<hp::offloaded_within<budget>, Rules...>;
static_assert(ruled<hp::offloading<"*moment*">, hp::keeping<"layers.0.*">> && !ruled<hp::keeping<"nothing">>);

TEST(parts_offload, what_the_compiler_plans_is_what_is_planned_at_run_time) {
  EXPECT_EQ(within::evaluated::evaluate().offload, within::offload);
}

}  // namespace
