// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/program/training_step.hpp>

#include "../../examples/models/small_moe.hpp"

#include <gtest/gtest.h>

namespace hp = hyperparallel;

namespace {

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
struct alone : hp::device_matrix<hp::axis{"dp", 1}> {};

struct two_layers {
  static constexpr models::small_moe_config config{.layers = 2};
};
using model = models::small_moe<two_layers>;
using hybrid = hp::strategy<mesh, hp::data_parallel<"dp">, hp::tensor_parallel<"tp">, hp::sequence_parallel<"tp">>;
using sharded = hp::strategy<mesh, hp::fully_sharded<"dp", 3>, hp::tensor_parallel<"tp">>;

using step = hp::train_step<model, hybrid, hp::adamw, hp::matrix384>;
using wide_step = hp::train_step<model, sharded, hp::sgd, hp::matrix384, hp::precision<hp::data_type::f32>>;
using busy_step = hp::train_step<model, hybrid, hp::muon, hp::matrix384, hp::accumulating<4>,
                                 hp::recomputing<"*.moe.*">, hp::recomputing<"*attention*">>;

/// The same at run time, from its parts.
hp::step_account account(const hp::graph& g, const hp::strategy_value& s) {
  return hp::account_on<hp::matrix384>(hp::partition(g, s));
}
constexpr hp::step_settings settings(hp::data_type type) {
  hp::step_settings s;
  s.build.parameter = s.build.activation = type;
  return s;
}

TEST(training_step, keeps_the_account_that_its_parts_make_at_run_time) {
  hp::graph g = hp::build_model<model>({.activation = hp::data_type::bf16, .parameter = hp::data_type::bf16});
  hp::differentiate(g);
  hp::append_optimizer(g, hp::adamw::value);
  EXPECT_EQ(step::account, account(g, hybrid::value));
  EXPECT_EQ(step::parameters, hp::parameter_count(g));
  EXPECT_EQ(step::peak, step::account.memory.peak);
  EXPECT_TRUE(step::verified);
  EXPECT_EQ(wide_step::account,
            account(hp::training_graph<model>(hp::sgd::value, settings(hp::data_type::f32)), sharded::value));
  EXPECT_TRUE(wide_step::verified);
}

TEST(training_step, options_say_what_the_graph_is_like) {
  hp::step_settings s = settings(hp::data_type::bf16);
  hp::accumulating<4>::apply(s);
  hp::recomputing<"*.moe.*">::apply(s);
  hp::recomputing<"*attention*">::apply(s);
  const hp::graph g = hp::training_graph<model>(hp::muon::value, s);
  EXPECT_EQ(g.micro_batches, 4);
  int recomputed = 0, muons = 0;
  for (const hp::graph_operator& op : g.op) {
    recomputed += op.recomputed;
    muons += op.kind == hp::model_op::muon;
  }
  EXPECT_GT(recomputed, 10);
  EXPECT_GT(muons, 0);
  EXPECT_EQ(busy_step::account, account(g, hybrid::value));
  EXPECT_TRUE(busy_step::verified);

  hp::step_settings kept = s;
  kept.recomputed = {};
  const hp::step_account more = account(hp::training_graph<model>(hp::muon::value, kept), hybrid::value);
  EXPECT_LT(busy_step::peak, more.memory.peak);
  EXPECT_GT(busy_step::account.work.flops[0], more.work.flops[0]);

  hp::step_settings p;
  hp::precision<hp::data_type::f32, hp::data_type::bf16>::apply(p);
  EXPECT_EQ(p.build.parameter, hp::data_type::f32);
  EXPECT_EQ(p.build.activation, hp::data_type::bf16);
}

TEST(training_step, a_refused_part_stops_what_follows) {
  hp::step_settings s;
  hp::recomputing<"*.nothing">::apply(s);
  const hp::graph g = hp::training_graph<model>(hp::adamw::value, s);
  EXPECT_EQ(g.status.code, hp::graph_code::pattern_matches_nothing);
  EXPECT_STREQ(g.text_at(g.status.op), "*.nothing");
  for (const hp::graph_operator& op : g.op) EXPECT_LE(op.phase, hp::graph_phase::backward);
}

TEST(training_step, fits_up_to_its_peak) {
  static_assert(hp::fits<step>() && hp::fits<step, step::peak>() && !hp::fits<step, step::peak - 1>());
  static_assert(hp::within<step, step::peak>::met);
  EXPECT_EQ(step::account.memory_bytes, hp::matrix384::device.tier[0].bytes);
  // Weights of two bytes are cut four ways at most.
  EXPECT_GE(step::peak, step::parameters * 2 / 4);
}

TEST(training_step, one_device_moves_nothing) {
  using single = hp::train_step<model, hp::strategy<alone, hp::data_parallel<"dp">>, hp::adamw, hp::matrix384>;
  EXPECT_TRUE(single::verified);
  EXPECT_EQ(single::account.times.exposed, 0);
  EXPECT_GT(single::peak, step::peak);
}

// Names of a concept: false where train_step would be an error.
template <class... Parts>
constexpr bool accepted = hp::valid_train_step<model, hp::strategy<mesh, Parts...>, hp::adamw, hp::matrix384>;

TEST(training_step, the_concept_is_silent) {
  static_assert(accepted<> && accepted<hp::data_parallel<"dp">, hp::expert_parallel<"tp">>);
  static_assert(!accepted<hp::data_parallel<"fsdp">>);
  static_assert(!accepted<hp::pin<"*.bias", hp::none>>);
  static_assert(!accepted<hp::row_parallel<"*.nothing", "tp">>);
  static_assert(!hp::valid_train_step<model, hp::strategy<mesh>, hp::adamw, hp::matrix384, hp::recomputing<"nothing">>);
  SUCCEED();
}

}  // namespace
