// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/step/training_step.hpp>

#include "../../examples/models/small_moe.hpp"

#include <gtest/gtest.h>

#include <set>
#include <utility>

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
  static_assert(step::lawful && hp::lawful<step>::met);
  static_assert(step::verified && hp::proved<step>::met && hp::fits<step>());
  EXPECT_EQ(wide_step::account,
            account(hp::training_graph<model>(hp::sgd::value, settings(hp::data_type::f32)), sharded::value));
  static_assert(wide_step::lawful);
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
    muons += op.kind == hp::id_of<hp::ops::muon_master>;  // parameters are bf16
  }
  EXPECT_GT(recomputed, 10);
  EXPECT_GT(muons, 0);
  EXPECT_EQ(busy_step::account, account(g, hybrid::value));
  static_assert(busy_step::lawful);

  hp::step_settings kept = s;
  kept.recomputed = {};
  const hp::step_account more = account(hp::training_graph<model>(hp::muon::value, kept), hybrid::value);
  EXPECT_LT(busy_step::peak, more.memory.peak);
  EXPECT_GT(busy_step::account.work.flops[0], more.work.flops[0]);

  hp::step_settings p;
  hp::precision<hp::data_type::f32, hp::data_type::bf16>::apply(p);
  EXPECT_EQ(p.build.parameter, hp::data_type::f32);
  EXPECT_EQ(p.build.activation, hp::data_type::bf16);
  static_assert(hp::options_of_one_step<hp::accumulating<2>, hp::recomputing<"a">, hp::recomputing<"b">>);
  static_assert(!hp::options_of_one_step<hp::accumulating<2>, hp::recomputing<"a">, hp::accumulating<2>>);
  static_assert(!hp::options_of_one_step<hp::precision<hp::f32>, hp::precision<hp::bf16>>);
  static_assert(!hp::options_of_one_step<hp::recomputing<"a">, hp::offloaded_within<1>, hp::offloaded_within<2>>);
}

// One setting changed leaves the others as they are: a graph written out has the types and bytes of the folded one.
TEST(training_step, a_step_written_out_has_the_types_of_the_folded_one) {
  const hp::graph folded = hp::training_graph<model>(hp::adamw::value);
  const hp::graph unrolled = hp::training_graph<model>(hp::adamw::value, {.build = {.unrolled = true}});
  ASSERT_EQ(folded.segment.size, 1);
  ASSERT_EQ(unrolled.segment.size, 0);
  const auto types = [](const hp::graph& g) {
    std::set<std::pair<hp::graph_tensor_kind, hp::data_type>> all;
    for (const hp::graph_tensor& t : g.tensor) all.insert({t.kind, t.type});
    return all;
  };
  EXPECT_EQ(types(unrolled), types(folded));
  EXPECT_EQ(hp::parameter_count(unrolled), hp::parameter_count(folded));
  const hp::step_account a = account(folded, hybrid::value), b = account(unrolled, hybrid::value);
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_EQ(b.memory.peak, a.memory.peak);
  EXPECT_EQ(b.memory.at_peak[0], a.memory.at_peak[0]);
  EXPECT_EQ(b.work.flops[0], a.work.flops[0]);
}

TEST(training_step, a_refused_part_stops_what_follows) {
  hp::step_settings s;
  hp::recomputing<"*.nothing">::apply(s);
  const hp::graph g = hp::training_graph<model>(hp::adamw::value, s);
  EXPECT_EQ(g.status.code, hp::graph_code::pattern_matches_nothing);
  EXPECT_STREQ(g.text_at(g.status.op), "*.nothing");
  for (const hp::graph_operator& op : g.op) EXPECT_LE(op.phase, hp::graph_phase::backward);
}

/// Of which nothing is known.
struct nothing {
  static constexpr hp::extent_t peak = 0;
  [[maybe_unused]] static constexpr hp::step_account account{};
};

TEST(training_step, fits_alive_up_to_its_peak) {
  static_assert(!hp::fits_alive<nothing, hp::GiB>(), "0 bytes are no account");
  static_assert(hp::fits_alive<step>() && hp::fits_alive<step, step::peak>() &&
                !hp::fits_alive<step, step::peak - 1>());
  static_assert(hp::alive_within<step, step::peak>::met);
  EXPECT_EQ(step::account.memory_bytes, hp::matrix384::device.tier[0].bytes);
  // Weights of two bytes are cut four ways at most.
  EXPECT_GE(step::peak, step::parameters * 2 / 4);
}

TEST(training_step, one_device_moves_nothing) {
  using single = hp::train_step<model, hp::strategy<alone, hp::data_parallel<"dp">>, hp::adamw, hp::matrix384>;
  static_assert(single::lawful);
  EXPECT_EQ(single::account.times.exposed, 0);
  EXPECT_GT(single::peak, step::peak);
}

/// Small, so that many of its steps can be asked for.
struct two_products {
  static constexpr void build(hp::model_builder& m) {
    const int hidden = m.dim("hidden", 16), wide = m.dim("ffn", 32);
    const int x = m.input("x", {m.dim("batch", 128), hidden});
    const int h = m.contract("first", "*k,kn->*n", x, m.parameter("up", {hidden, wide}));
    const int y = m.contract("second", "*k,kn->*n", h, m.parameter("down", {wide, hidden}));
    m.loss(m.apply<hp::ops::reduce>("loss", {y}, {.text = "*->"}));
  }
};
template <int Devices>
struct row_of : hp::device_matrix<hp::axis{"dp", Devices}> {};
template <int Devices>
using row_step =
    hp::train_step<two_products, hp::strategy<row_of<Devices>, hp::data_parallel<"dp">>, hp::adamw, hp::matrix384>;

constexpr hp::full_mesh_value square() {
  hp::full_mesh_value m;
  m.level_count = 2;
  m.level[0] = {"column", 4, 50 * hp::gigabyte, hp::microsecond};
  m.level[1] = {"row", 4, 100 * hp::gigabyte, hp::microsecond};
  return m;
}
struct meshed : hp::matrix384 {
  static constexpr hp::full_mesh_value topology = square();
};

// The compiler accounts a step on a full mesh as at run time, and refuses more devices than it has.
TEST(training_step, is_accounted_on_a_full_mesh) {
  using rows = hp::strategy<row_of<16>, hp::data_parallel<"dp">>;
  using mesh_step = hp::train_step<two_products, rows, hp::adamw, meshed>;
  static_assert(mesh_step::account.times.total.ok() && mesh_step::account.traffic.by_level[0] > 0);
  const hp::sharded_program p = hp::partition(hp::training_graph<two_products>(hp::adamw::value), rows::value);
  EXPECT_EQ(mesh_step::account, hp::account_on<meshed>(p));
  static_assert(
      !hp::valid_train_step<two_products, hp::strategy<row_of<32>, hp::data_parallel<"dp">>, hp::adamw, meshed>);
}

TEST(training_step, is_lawful_or_not_or_not_asked) {
  static_assert(row_step<32>::lawful && hp::most_proved_devices == 32);
  static_assert(!row_step<64>::lawful && row_step<64>::lawful.state == hp::proof_state::not_asked);
  EXPECT_GT(row_step<64>::account.times.total.picoseconds, 0) << "accepted and accounted all the same";

  const auto program = [](int devices) {
    hp::strategy_value s = row_step<32>::strategy::value;
    s.mesh.shape.size[0] = devices;
    return hp::partition(hp::training_graph<two_products>(hp::adamw::value), s);
  };
  for (const int devices : {1, 32, 64}) {
    hp::sharded_program p = program(devices);
    EXPECT_EQ(hp::detail::laws_of(p).state, devices <= 32 ? hp::proof_state::proved : hp::proof_state::not_asked);
    p.step[0].phase = hp::graph_phase::update;  // comes after everything else
    ASSERT_NE(hp::check_program(p).code, hp::program_code::ok);
    EXPECT_EQ(hp::detail::laws_of(p).state, devices <= 32 ? hp::proof_state::refused : hp::proof_state::not_asked);
  }
}

// ---- plans ----

TEST(training_step, its_plan_is_proved_refused_or_not_asked) {
  static_assert(row_step<8>::verified && row_step<8>::planned::image.rest.status.ok());
  static_assert(row_step<8>::size_of_plan.tasks >= 8 * row_step<8>::size_of_plan.steps);
  using budgeted = hp::train_step<two_products, hp::strategy<row_of<2>, hp::data_parallel<"dp">>, hp::adamw,
                                  hp::matrix384, hp::offloaded_within<hp::MiB>>;
  static_assert(budgeted::lawful && budgeted::verified.state == hp::proof_state::not_asked,
                "a budget is planned at start");
  SUCCEED();
}

// What is alive at once leaves gaps between addresses.
TEST(training_step, addresses_may_not_fit_where_what_is_alive_would) {
  static_assert(hp::fits<step, step::planned::image.rest.addresses.high_water[0]>());
  static_assert(!hp::fits<step, step::planned::image.rest.addresses.high_water[0] - 1>());
  static_assert(hp::fits_alive<step, step::planned::image.rest.addresses.high_water[0] - 1>(),
                "a budget that bytes alive would accept, and addresses exceed");
  SUCCEED();
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

// ---- budgets of memory ----

constexpr hp::extent_t budget = step::peak * 3 / 4;
using tight = hp::train_step<model, hybrid, hp::adamw, hp::matrix384, hp::offloaded_within<budget>>;

using replicated = hp::strategy<mesh, hp::data_parallel<"dp">>;
template <class... Options>
using small_step = hp::train_step<two_products, replicated, hp::adamw, hp::matrix384, Options...>;
constexpr hp::extent_t small_peak = small_step<>::peak;
template <hp::extent_t Bytes, class... Options>
constexpr bool planned =
    hp::valid_train_step<two_products, replicated, hp::adamw, hp::matrix384, hp::offloaded_within<Bytes>, Options...>;

TEST(training_step, keeps_a_budget_of_memory) {
  static_assert(tight::offload.ok() && tight::offload.budget == budget);
  static_assert(tight::peak <= budget && tight::peak == tight::offload.peak[0] && tight::peak < step::peak);
  static_assert(hp::fits_alive<tight, budget>() && !hp::fits_alive<step, budget>() &&
                hp::alive_within<tight, budget>::met);
  static_assert(step::offload == hp::step_offload{});
  EXPECT_EQ(tight::account, step::account);
  EXPECT_GT(tight::offload.bytes_in, 0);
  EXPECT_GT(tight::offload.peak[1], 0);
  EXPECT_EQ(tight::offload.step_time, tight::account.times.total.picoseconds + tight::offload.exposed);
  EXPECT_GE(tight::offload.step_time, tight::offload.step_time_bound);
}

TEST(training_step, plans_what_its_parts_plan_at_run_time) {
  hp::step_settings s = settings(hp::data_type::bf16);
  hp::offloaded_within<budget>::apply(s);
  const hp::sharded_program p = hp::partition(hp::training_graph<model>(hp::adamw::value, s), hybrid::value);
  const hp::interconnect links = hp::on_topology(hp::matrix384::topology);
  const hp::program_moves moves = hp::kinds_of_moves(p, links);
  hp::growing_array<hp::extent_t> block_duration;
  const hp::step_account a = hp::account_of(p, moves, hp::storage_uses(p), hp::matrix384::device, block_duration);
  EXPECT_EQ(a, tight::account);
  EXPECT_EQ(hp::offload_step(p, moves, hp::storage_uses(p), block_duration, hp::matrix384::device, s.offload),
            tight::offload);
}

TEST(training_step, the_least_budget_is_accepted_and_nothing_below) {
  constexpr hp::extent_t least = small_step<hp::offloaded_within<small_peak>>::offload.least_budget;
  static_assert(least < small_peak && planned<least> && !planned<least - 1> && !planned<1>);
  EXPECT_LE((small_step<hp::offloaded_within<least>>::peak), least);
  EXPECT_GT((small_step<hp::offloaded_within<least>>::offload.exposed), 0);
}

TEST(training_step, options_say_what_leaves) {
  hp::step_settings s;
  hp::planning_effort<12, 3000>::apply(s);
  hp::allowing_recomputation::apply(s);
  hp::offloading<"*moment*", 1>::apply(s);
  hp::keeping<"head.*">::apply(s);
  hp::making_again<"layers.*">::apply(s);
  EXPECT_EQ(s.offload.most_operators, 12);
  EXPECT_EQ(s.offload.planning.effort, 3000);
  EXPECT_TRUE(s.offload.recomputation);
  EXPECT_EQ(s.offload.budget, 0);
  ASSERT_EQ(s.offload.rule.size, 3);
  const hp::offload_control controls[] = {hp::offload_control::offload, hp::offload_control::keep,
                                          hp::offload_control::recompute};
  const int tiers[] = {1, -1, -1};
  const char* const patterns[] = {"*moment*", "head.*", "layers.*"};
  for (int i = 0; i < 3; ++i) {
    EXPECT_STREQ(s.offload.rule[i].pattern.text, patterns[i]);
    EXPECT_EQ(s.offload.rule[i].control, controls[i]);
    EXPECT_EQ(s.offload.rule[i].tier, tiers[i]);
  }

  using ruled_step = hp::train_step<model, hybrid, hp::adamw, hp::matrix384, hp::offloaded_within<2 * step::peak>,
                                    hp::keeping<"head.*">, hp::offloading<"*moment*">, hp::making_again<"layers.*">>;
  constexpr hp::step_offload ruled = ruled_step::offload;
  constexpr hp::offload_shares states = ruled.share[static_cast<int>(hp::memory_class::states)];
  static_assert(states.offloaded > states.kept && states.recomputed == 0 && ruled.bytes_in == ruled.bytes_out);
  static_assert(ruled.share[static_cast<int>(hp::memory_class::activations)].recomputed > 0);
  static_assert(ruled.share[static_cast<int>(hp::memory_class::parameters)].offloaded == 0);
  EXPECT_GT(ruled.step_time, step::account.times.total.picoseconds + ruled.exposed);
  EXPECT_EQ(ruled.bytes_in, states.offloaded);
}

TEST(training_step, rules_that_cannot_be_are_refused_silently) {
  static_assert(planned<small_peak, hp::keeping<"down">>);
  static_assert(!planned<small_peak, hp::keeping<"*.bias">>);
  static_assert(!planned<small_peak, hp::offloading<"*moment*">, hp::keeping<"*moment*">>);
  static_assert(!planned<small_peak, hp::offloading<"*moment*", 2>>);
  static_assert(!planned<small_peak, hp::making_again<"*moment*">>);
  static_assert(planned<small_peak - 1024> && !planned<small_peak - 1024, hp::keeping<"*">>);
  SUCCEED();
}

}  // namespace
