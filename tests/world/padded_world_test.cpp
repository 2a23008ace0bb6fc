// SPDX-License-Identifier: Apache-2.0
// A step's type whose shards are uneven: proved by the compiler, and with the bits of the plan that is made at the start.

#include <hyperparallel/world/world.hpp>

#include <gtest/gtest.h>

#include "padded_steps.hpp"

namespace {

namespace hp = hyperparallel;

struct sizes {
  static constexpr models::small_moe_config config = padded_steps::sizes_of(7);
};
using model = models::small_moe<sizes>;
struct over_seven {
  static constexpr hp::strategy_value value = padded_steps::zero(7, 3, padded_steps::beside::nothing);
};
using step = hp::train_step<model, over_seven, hp::adamw, hp::matrix384, hp::precision<hp::data_type::f32>>;
static_assert(step::verified);

TEST(padded_world, trains_as_the_plan_that_is_made_at_the_start) {
  constexpr int steps = 3;
  std::vector<std::int32_t> numbers(steps * 7 * 4);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<std::int32_t>((i * i + 3 * i) % 32);

  hp::world<step> world;
  const std::vector<double> losses = world.feed("tokens", numbers).feed("labels", numbers).train(steps);

  hp::step_settings s = step::evaluated::settings();
  s.build.unrolled = true;
  hp::model_run<float> run(hp::training_graph<model>(hp::adamw::value, s), step::strategy::value,
                           {.program = {.topology = hp::interconnect_of(step::hardware::topology)}});
  run.set_first_values();
  ASSERT_EQ(losses.size(), static_cast<std::size_t>(steps));
  for (std::size_t i = 0; i < losses.size(); ++i)
    EXPECT_EQ(losses[i], static_cast<double>(run.train_step([&](int) {
                run.world().set("tokens", std::span(numbers).subspan(i * 28, 28));
                run.world().set("labels", std::span(numbers).subspan(i * 28, 28));
              })));
  EXPECT_NE(losses.front(), losses.back());
}

}  // namespace
