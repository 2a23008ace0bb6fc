// SPDX-License-Identifier: Apache-2.0
// Worlds of steps with a budget of memory: planned at their start as their types say, with the bits of a world without one.
#include <hyperparallel/world/step_budget.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include <hyperparallel/pipeline/schedules/one_forward_one_backward.hpp>
#include <hyperparallel/step/pipelined_step.hpp>
#include <hyperparallel/world/world.hpp>

#include "step/two_layers.hpp"

namespace {

namespace hp = hyperparallel;

using namespace two_layers;
template <hp::data_type Type, class... Options>
using step_of = step_on<hp::matrix384, Type, Options...>;
using piped = hp::pipelined<hp::one_forward_one_backward, 2>;

template <class World>
std::vector<double> losses_of(World& world) {
  const std::vector<std::int32_t> tokens = numbers(1), labels = numbers(6);
  world.feed("tokens", std::span(tokens)).feed("labels", std::span(labels));
  return world.train(3);
}

/// A world of `Within` ends within its budget, and has the bits of `Free`.
template <class Within, class Free>
void expect_the_same_bits() {
  hp::world<Within> within;
  hp::world<Free> free;
  const std::vector<double> losses = losses_of(free);
  ASSERT_EQ(losses.size(), 3u);
  EXPECT_EQ(losses_of(within), losses);
  EXPECT_EQ(within.fetch("head.logits.weight"), free.fetch("head.logits.weight"));
  EXPECT_TRUE(within.run().world().offloading().feasible);
  EXPECT_LE(within.run().world().planned_bytes(0), Within::offload.budget);
  EXPECT_LT(within.run().world().planned_bytes(0), free.run().world().planned_bytes(0));
}

TEST(step_budget, a_pipeline_has_the_bits_of_one_without_a_budget) {
  using free = step_of<hp::f32, piped>;
  expect_the_same_bits<step_of<hp::f32, piped, hp::offloaded_within<free::peak * 3 / 4>>, free>();
}

TEST(step_budget, gradients_of_16_bits_are_looked_at_before_the_update) {
  using free = step_of<hp::bf16, piped>;
  using within = step_of<hp::bf16, piped, hp::offloaded_within<free::peak * 7 / 8>>;
  static_assert(within::peak <= free::peak * 7 / 8 && within::offload.bytes_in > 0);
  expect_the_same_bits<within, free>();
}

TEST(step_budget, so_has_a_step_without_stages) {
  using free = step_of<hp::f32>;
  expect_the_same_bits<
      step_of<hp::f32, hp::offloaded_within<free::planned::image.rest.addresses.high_water[0] * 3 / 4>>, free>();
}

TEST(step_budget, kernels_compute_in_the_type_of_the_model) {
  using free = step_on<hp::generic_host, hp::f64, piped>;
  using within = step_on<hp::generic_host, hp::f64, piped, hp::offloaded_within<free::peak * 3 / 4>>;
  static_assert(std::is_same_v<hp::world<within>::number, double>);
  expect_the_same_bits<within, free>();
}

// What a type was accepted by is what the start of a run is given.
TEST(step_budget, is_the_problem_that_the_type_was_planned_for) {
  using within = step_of<hp::f32, piped, hp::offloaded_within<20000>, hp::offloading<"*moment*", 1>>;
  const hp::sharded_program p = within::evaluated::unrolled();
  const hp::program_options o = hp::options_of_step<within>(p);
  const hp::tier_hardware tiers = hp::tiers_of(hp::matrix384::device, 20000);
  EXPECT_EQ(o.budget.bytes, tiers.tier[0].capacity);
  ASSERT_EQ(o.budget.tiers.size() + 1, static_cast<std::size_t>(tiers.tier.size));
  for (std::size_t t = 0; t < o.budget.tiers.size(); ++t) {
    const hp::offload_tier slow = tiers.tier[static_cast<int>(t) + 1];
    EXPECT_EQ(o.budget.capacity[t], slow.capacity);
    for (const int link : {slow.in_link, slow.out_link})
      EXPECT_EQ(o.budget.tiers[t].bytes_per_second, tiers.link[link].bytes_per_second);
  }
  ASSERT_EQ(o.budget.rules.size(), 1u);
  EXPECT_STREQ(o.budget.rules[0].pattern, "*moment*");
  const hp::program_moves moves = hp::kinds_of_moves(p, o.topology);
  EXPECT_EQ(
      hp::offload_parts(p, moves, hp::storage_uses(p), hp::matrix384::device, within::evaluated::settings().offload),
      within::offload);
  hp::growing_array<hp::extent_t> duration;
  for (const std::int64_t d : o.budget.step_duration) duration.push(d);
  hp::offloading_options how{.planning = o.budget.planning, .links = o.topology};
  how.rules.push(o.budget.rules[0]);
  const hp::planned_parts plans = hp::plan_parts(p, moves, duration, tiers, how);
  ASSERT_TRUE(plans.ok());
  ASSERT_EQ(plans.plan.size, 2);
  hp::extent_t longest = 0, most = 0;
  for (const hp::planned_part& one : plans.plan) {
    longest = hp::larger(longest, one.planned.certificate.time);
    most = hp::larger(most, one.planned.certificate.bytes_in + one.planned.certificate.bytes_out);
  }
  EXPECT_EQ(longest, within::offload.step_time);
  EXPECT_EQ(most, within::offload.bytes_in + within::offload.bytes_out);
}

}  // namespace
