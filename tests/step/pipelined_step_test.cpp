// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/step/pipelined_step.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <vector>

#include <hyperparallel/pipeline/schedules/one_forward_one_backward.hpp>
#include <hyperparallel/world/model_run.hpp>
#include <hyperparallel/world/world.hpp>

#include "step/two_layers.hpp"

namespace {

namespace hp = hyperparallel;

using namespace two_layers;
template <class... Options>
using step_with = step_on<hp::matrix384, hp::f32, Options...>;

using piped = step_with<hp::pipelined<hp::one_forward_one_backward, 2>>;
static_assert(piped::verified && piped::lawful);
static_assert(piped::clock.makespan == piped::account.times.total.picoseconds);
static_assert(piped::account.times.exposed > 0 && piped::peak > 0);
static_assert(hp::fits_alive<piped, piped::peak>() && !hp::fits_alive<piped, piped::peak - 1>());
static_assert(piped::planned::image.rest.addresses.high_water[0] >= piped::peak);

// Each stage has a layer, and there are two: what does not add up is no step.
template <class... Options>
constexpr bool accepted = hp::valid_train_step<language_model, strategy, hp::adamw, hp::matrix384,
                                               hp::precision<hp::f32>, hp::accumulating<4>, Options...>;
static_assert(!accepted<hp::pipelined<hp::one_forward_one_backward, 4>>);
static_assert(!accepted<hp::pipelined<hp::one_forward_one_backward, 2>, hp::layers_of_stages<2, 1>>);

// A group of data parallelism before one of tensors: six ranks.
struct wide : hp::device_matrix<hp::axis{"dp", 4}> {};
using tower = hp::strategy<wide, hp::data_parallel<"dp">>;
template <class... Groups>
using grouped = step_with<hp::pipelined<hp::one_forward_one_backward, 2>, hp::strategies_of_groups<Groups...>>;
static_assert(grouped<tower, strategy>::verified && grouped<tower, strategy>::lawful);
static_assert(grouped<tower, strategy>::evaluated::settings().pipeline.devices_with(strategy::value) == 6);
static_assert(!accepted<hp::pipelined<hp::one_forward_one_backward, 2>, hp::strategies_of_groups<tower>>);

TEST(pipelined_step, a_world_of_the_type_has_the_bits_of_a_run_without_stages) {
  hp::world<piped> world;
  const std::vector<std::int32_t> tokens = numbers(1), labels = numbers(6);
  world.feed("tokens", std::span(tokens)).feed("labels", std::span(labels));
  const std::vector<double> losses = world.train(3);
  hp::step_settings settings = piped::evaluated::settings();
  settings.build.unrolled = true;
  hp::model_run<float> plain(hp::training_graph<language_model>(hp::adamw::value, settings), strategy::value);
  ASSERT_EQ(losses.size(), 3u);
  for (const double loss : losses)
    EXPECT_EQ(loss, static_cast<double>(plain.train_step([&](int m) {
                const auto of = [&](const std::vector<std::int32_t>& all) {
                  return std::span(all).subspan(16u * static_cast<unsigned>(m), 16);
                };
                plain.world().set("tokens", of(tokens));
                plain.world().set("labels", of(labels));
              })));
  EXPECT_LT(losses.back(), losses.front());
  hp::world<grouped<tower, strategy>> unlike;
  unlike.feed("tokens", std::span(tokens)).feed("labels", std::span(labels));
  const std::vector<double> of_groups = unlike.train(3);
  for (std::size_t s = 0; s < losses.size(); ++s) EXPECT_NEAR(of_groups[s], losses[s], 1e-5 * losses[s]);
  EXPECT_EQ(world.fetch("head.logits.weight"), plain.world().get("head.logits.weight"));
}

}  // namespace
