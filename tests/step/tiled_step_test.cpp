// SPDX-License-Identifier: Apache-2.0
// Steps of training with `tiled`: their plans are constants, proved, and no slower on the clock.
#include <hyperparallel/step/training_step.hpp>

#include "../../examples/models/small_moe.hpp"

#include <hyperparallel/hardware/ascend_presets.hpp>

#include <gtest/gtest.h>

namespace hp = hyperparallel;

namespace {

struct mesh : hp::device_matrix<hp::axis{"ep", 2}> {};

/// A layer whose experts take as long as their slots travel.
struct one_layer {
  static constexpr models::small_moe_config config{.batch = 4,
                                                   .sequence = 2048,
                                                   .layers = 1,
                                                   .hidden = 4096,
                                                   .query_heads = 32,
                                                   .key_heads = 8,
                                                   .head_dim = 128,
                                                   .experts = 8,
                                                   .expert_width = 1536};
};
using model = models::small_moe<one_layer>;
using experts = hp::strategy<mesh, hp::expert_parallel<"ep">, hp::data_parallel<"ep">>;

using whole = hp::train_step<model, experts, hp::sgd, hp::ascend_910b>;
using in_tiles = hp::train_step<model, experts, hp::sgd, hp::ascend_910b, hp::tiled<"*.experts.*">>;
using in_two =
    hp::train_step<model, experts, hp::sgd, hp::ascend_910b, hp::tiled<"*.experts.*">, hp::with_most_tiles<2>>;
using mistaken = hp::train_step<model, experts, hp::sgd, hp::ascend_910b, hp::tiled<"*.expert.*">>;

static_assert(whole::verified && in_tiles::verified && in_two::verified);
static_assert(in_tiles::clock.makespan < in_two::clock.makespan && in_two::clock.makespan < whole::clock.makespan);
static_assert(in_tiles::clock.exposed * 8 < whole::clock.exposed * 5);
static_assert(in_tiles::account == whole::account);
static_assert(!mistaken::verified && mistaken::lowered == hp::lowering_code::tiles_match_nothing);

// The plan of the type is that of run time whose tiles are ordered by what steps take on its hardware.
TEST(tiled_step, has_the_clock_of_the_plan_at_run_time) {
  hp::step_settings settings;
  settings.build.parameter = settings.build.activation = hp::data_type::bf16;
  settings.build.unrolled = true;
  hp::lowering_options how{.topology = hp::interconnect_of(hp::ascend_910b::topology)};
  how.tiles.push("*.experts.*");
  const hp::sharded_program p = hp::partition(hp::training_graph<model>(hp::sgd::value, settings), experts::value);
  how.step_duration = hp::prices_of_steps(p, hp::kinds_of_moves(p, how.topology), hp::ascend_910b::device).duration;
  const hp::lowered_program l = hp::lower_training(p, how);
  ASSERT_TRUE(l.status.ok());
  EXPECT_EQ(hp::simulate(l, hp::ascend_910b::device), in_tiles::clock);
}

}  // namespace
