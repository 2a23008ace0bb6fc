// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/lowering/submodel_program.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <hyperparallel/hardware/gpu_presets.hpp>
#include <hyperparallel/lowering/lowered_program.hpp>
#include <hyperparallel/price/clock.hpp>
#include <hyperparallel/strategy/check_program.hpp>

#include "lowering/broken_tables.hpp"
#include "models/omni_model.hpp"
#include "support/tries.hpp"

namespace {

namespace hp = hyperparallel;
using programs::omni_graph;
using programs::omni_plan;

struct placement {
  const char* what;
  hp::submodel_plan plan;
};

std::vector<placement> placements() {
  return {
      {"one rank each",
       omni_plan({{"a", "single", 1, {"text"}}, {"b", "single", 1, {"vision"}}, {"c", "single", 1, {"fusion"}}})},
      {"unequal groups",
       omni_plan({{"a", "tp", 2, {"text"}}, {"b", "single", 1, {"vision"}}, {"c", "dp-tp", 4, {"fusion"}}})},
      {"fusion first",
       omni_plan({{"c", "zero3-tp", 4, {"fusion"}}, {"a", "dp", 2, {"text"}}, {"b", "tp-sp", 4, {"vision"}}})},
      {"towers on one group", omni_plan({{"towers", "dp-tp", 4, {"text", "vision"}}, {"c", "zero1", 2, {"fusion"}}})},
      {"text and fusion on one group",
       omni_plan({{"language", "zero2", 2, {"text", "fusion"}}, {"b", "zero3", 4, {"vision"}}})},
      {"a frozen tower",
       omni_plan({{"a", "vocab", 2, {"text"}}, {"b", "dp", 4, {"!vision"}}, {"c", "tp", 2, {"fusion"}}})},
      {"all on one group", omni_plan({{"all", "dp-tp", 4, {"text", "vision", "fusion"}}})}};
}

TEST(submodel_program, keeps_the_laws_and_is_proved_under_every_placement) {
  constexpr unsigned whole_step = hp::micro_phases | hp::update_phases;
  for (const placement& each : placements())
    for (const int micro_batches : {1, 3}) {
      SCOPED_TRACE(std::string(each.what) + ", " + std::to_string(micro_batches));
      const hp::graph g = omni_graph({.micro_batches = micro_batches}, &each.plan.table);
      const hp::submodel_program p = hp::partition(g, each.plan);
      ASSERT_EQ(p.groups, hp::submodel_status{}) << name_of(p.groups.code);
      ASSERT_EQ(p.program.status, hp::strategy_status{}) << name_of(p.program.status.code);
      ASSERT_TRUE(p.ok()) << to_text(p.rows.code);
      EXPECT_EQ(hp::check_program(p.program), hp::program_status{}) << name_of(hp::check_program(p.program).code);
      EXPECT_EQ(hp::ranks_of(p.program), each.plan.table.world);
      const hp::lowered_program l = hp::lower_training(p.program);
      ASSERT_TRUE(l.status.ok()) << to_text(l.status.flow.code) << to_text(l.status.proof.code);
      const hp::program_plan all = hp::plan_of_all_ranks(l.run[0].plan, p.program);
      EXPECT_EQ(hp::prove_program(p.program, l.pulls, l.addresses, whole_step, all.machine, hp::table_of(all)).code,
                hp::program_proof_code::ok);
      programs::lowered whole(p.program, {.phases = whole_step}, l.pulls, l.addresses);
      EXPECT_EQ(programs::first_overwritten(whole), -1);
      EXPECT_EQ(whole.exactly(), hp::exact_code::safe);
    }
}

/// What is handed over brings each rank its block and nothing more, the least that any plan brings, since it has nothing of
/// it; each tensor once a micro-batch and part that reads it. Returns hand-overs between unequal layouts, and others.
std::pair<int, int> expect_lower_bound(const hp::sharded_program& p) {
  std::pair<int, int> unlike_and_alike{0, 0};
  std::map<std::tuple<int, int, int>, int> times;
  for (const hp::program_step& s : p.step) {
    if (!s.is_move || !hp::detail::is_hand_over(p, p.move[s.index])) continue;
    const hp::program_move& m = p.move[s.index];
    const hp::program_value& target = p.value[m.target];
    ++times[{target.tensor, hp::detail::part_of_value(p, m.target), s.micro_batch}];
    EXPECT_FALSE(hp::is_partial(p.value[m.source].layout));
    if (hp::detail::is_by_position(p, m)) {
      ++unlike_and_alike.second;
      continue;
    }
    ++unlike_and_alike.first;
    const hp::move_plan plan = hp::detail::plan_of_hand_over(p, m);
    EXPECT_EQ(plan.code, hp::move_code::ok);
    for (int r = 0; r < hp::position_count(target.layout.mesh); ++r) {
      hp::extent_t taken = 0;
      hp::detail::visit_taken(plan, r, [&](int, hp::extent_t elements) { taken += elements; });
      EXPECT_EQ(taken, hp::volume(hp::box_of(p, m.target, r))) << p.graph.name_of_tensor(target.tensor);
    }
  }
  for (const auto& [of, n] : times) EXPECT_EQ(n, 1) << p.graph.name_of_tensor(std::get<0>(of));
  return unlike_and_alike;
}

TEST(submodel_program, hand_overs_bring_the_lower_bound) {
  int unlike = 0, alike = 0;
  for (const placement& each : placements()) {
    SCOPED_TRACE(each.what);
    const hp::graph g = omni_graph({.micro_batches = 2}, &each.plan.table);
    const auto [some, others] = expect_lower_bound(hp::partition(g, each.plan).program);
    unlike += some;
    alike += others;
  }
  EXPECT_GE(unlike, 40);
  EXPECT_GE(alike, 10);
}

/// Between a tower and the fusion cross one activation forward and, where the tower is trained, one gradient backward.
TEST(submodel_program, one_activation_and_one_gradient_cross) {
  for (const bool frozen : {false, true}) {
    const hp::submodel_plan plan = omni_plan(
        {{"a", "tp", 2, {"text"}}, {"b", "dp", 4, {frozen ? "!vision" : "vision"}}, {"c", "zero3", 2, {"fusion"}}});
    const hp::graph g = omni_graph({.micro_batches = 1}, &plan.table);
    const hp::sharded_program p = hp::partition(g, plan).program;
    std::map<std::pair<int, int>, int> forward, backward;
    for (const hp::program_step& s : p.step) {
      if (!s.is_move || !hp::detail::is_hand_over(p, p.move[s.index])) continue;
      const hp::program_move& m = p.move[s.index];
      if (p.graph.tensor[p.value[m.source].tensor].shape.rank == 0) continue;
      EXPECT_LE(s.phase, hp::graph_phase::backward);
      ++(s.phase == hp::graph_phase::forward
             ? forward
             : backward)[{hp::detail::part_of_value(p, m.source), hp::detail::part_of_value(p, m.target)}];
    }
    using crossings = std::map<std::pair<int, int>, int>;
    EXPECT_EQ(forward, (crossings{{{0, 2}, 1}, {{1, 2}, 1}}));
    EXPECT_EQ(backward, frozen ? (crossings{{{2, 0}, 1}}) : (crossings{{{2, 0}, 1}, {{2, 1}, 1}}));
  }
}

/// Time in which a part computes steps of a phase, by the clock: its first begin and last end, and its sum.
struct busy_time {
  hp::extent_t begin = -1, end = 0, sum = 0;
};
busy_time busy(const hp::lowered_program& l, const hp::plan_timeline& times, int part, hp::graph_phase phase,
               int micro_batch) {
  busy_time b;
  const hp::program_plan& plan = l.run[0].plan;
  for (const hp::plan_row& row : plan.row) {
    const hp::program_step& s = l.program.step[row.step];
    if (row.part != part || s.is_move || s.phase != phase || s.micro_batch != micro_batch) continue;
    const hp::extent_t begin = times.begin[row.first_task], end = times.end[row.first_task];
    if (b.begin < 0) b.begin = begin;
    b.end = end;
    b.sum += end - begin;
  }
  return b;
}
/// Steps that compute take 100, moves 1.
hp::plan_timeline played(const hp::lowered_program& l) {
  hp::growing_array<hp::extent_t> duration;
  for (const hp::plan_row& row : l.run[0].plan.row) duration.push(l.program.step[row.step].is_move ? 1 : 100);
  return hp::play(l.run[0].plan, duration);
}
hp::extent_t makespan(const hp::plan_timeline& t) {
  hp::extent_t last = 0;
  for (const hp::extent_t end : t.end) last = hp::larger(last, end);
  return last;
}

TEST(submodel_program, towers_run_side_by_side_and_a_frozen_one_ahead) {
  const hp::submodel_plan apart =
      omni_plan({{"a", "dp", 2, {"text"}}, {"b", "tp", 2, {"vision"}}, {"c", "dp-tp", 4, {"fusion"}}});
  const hp::submodel_plan one = omni_plan({{"all", "dp", 2, {"text", "vision", "fusion"}}});
  const hp::submodel_plan frozen =
      omni_plan({{"a", "dp", 2, {"text"}}, {"b", "tp", 2, {"!vision"}}, {"c", "dp-tp", 4, {"fusion"}}});
  const auto lowered_under = [&](const hp::submodel_plan& plan, int micro_batches) {
    return hp::lower_training(
        hp::partition(omni_graph({.micro_batches = micro_batches, .tower_layers = 4}, &plan.table), plan).program,
        {.topology = hp::interconnect_of(hp::h100::topology)});
  };
  const hp::lowered_program l = lowered_under(apart, 1), serial = lowered_under(one, 1);
  const hp::plan_timeline times = played(l);
  for (const hp::graph_phase phase : {hp::graph_phase::forward, hp::graph_phase::backward}) {
    const busy_time text = busy(l, times, 0, phase, 0), vision = busy(l, times, 1, phase, 0);
    EXPECT_LT(std::max(text.begin, vision.begin), std::min(text.end, vision.end)) << "both compute at once";
    const hp::extent_t together = std::max(text.end, vision.end) - std::min(text.begin, vision.begin);
    EXPECT_LE(together * 100, (text.sum + vision.sum) * 60) << "the sum of both is nearly halved";
  }
  EXPECT_LE(makespan(times) * 100, makespan(played(serial)) * 80);
  const hp::lowered_program ahead = lowered_under(frozen, 4);
  const hp::plan_timeline at = played(ahead);
  for (int k = 0; k + 1 < 4; ++k) {
    const busy_time fusion = busy(ahead, at, 2, hp::graph_phase::backward, k);
    EXPECT_LT(busy(ahead, at, 1, hp::graph_phase::forward, k + 1).begin, fusion.end) << "the next micro-batch goes on";
  }
  EXPECT_EQ(busy(ahead, at, 1, hp::graph_phase::backward, 0).sum, 0);
  EXPECT_LT(makespan(at), makespan(played(lowered_under(apart, 4))));
  // By the times of a device as well.
  const auto seconds = [&](const hp::lowered_program& of) {
    return hp::simulate(of, of.run[0], hp::h100::device).makespan;
  };
  EXPECT_LT(seconds(l), seconds(serial));
}

/// Modules cut at random, on groups of any order and size.
TEST(submodel_program, random_placements_keep_the_laws_and_are_proved) {
  std::mt19937 random(29);
  int programs = 0, parts = 0, frozen = 0, reused = 0, shared = 0;
  for (const int wanted = tested::tries(100, 2000); programs < wanted;) {
    const hp::submodel_plan plan = ::programs::random_omni_plan(random);
    const hp::graph g = omni_graph({.micro_batches = 1 + static_cast<int>(random() % 4),
                                    .tower_layers = 2,
                                    .shared = static_cast<::programs::shared_parameter>(random() % 3)},
                                   &plan.table);
    ASSERT_EQ(g.status.code, hp::graph_code::ok);
    const hp::submodel_program p = hp::partition(g, plan);
    if (p.program.status.code == hp::strategy_code::rule_matches_nothing) continue;   // as "seq" of an embedding alone
    if (p.groups.code == hp::submodel_code::frozen_parameter_has_gradient) continue;  // half frozen
    ASSERT_TRUE(p.ok()) << name_of(p.groups.code) << ", " << name_of(p.program.status.code) << ", "
                        << to_text(p.rows.code);
    ASSERT_EQ(hp::check_program(p.program), hp::program_status{});
    ASSERT_TRUE(hp::lower_training(p.program).status.ok());
    expect_lower_bound(p.program);
    shared += hp::find_tensor(g, "shared.weight") >= 0;
    ++programs;
    parts += hp::parts_of(p.program);
    for (const hp::placed_module& m : plan.table.placed) frozen += m.frozen;
    reused += hp::parts_of(p.program) < 5;
  }
  EXPECT_GE(parts, 200);
  EXPECT_GE(frozen, 60);
  EXPECT_GE(reused, 50);
  EXPECT_GE(shared, 10);
}

/// Two modules of one part take in turns what another part makes: each would wait for what the other has handed over, were
/// their operators not put into the order of stages.
TEST(submodel_program, modules_that_were_built_in_turns_do_not_wait_for_each_other) {
  hp::model_builder m({.activation = hp::f64, .parameter = hp::f64, .unrolled = true});
  const int batch = m.dim("batch", 4), hidden = m.dim("hidden", 4);
  const auto product = [&](const char* name, int x) { return hp::linear_layer{name, {hidden}}(m, x); };
  const int x = m.input("x", {batch, hidden});
  const int a = product("far.a", x), b = product("far.b", x);
  const int first = product("u.first", a), second = product("v.first", b);
  const int third = m.sum("u.second", first, b), fourth = m.sum("v.second", second, a);
  m.loss(m.apply<hp::ops::reduce>("end.loss", {m.sum("end.sum", third, fourth)}, {.text = "*->"}));
  const hp::graph g = programs::trained(m, {.unrolled = true, .micro_batches = 2, .type = hp::f64});
  const hp::submodel_plan plan =
      omni_plan({{"a", "dp", 2, {"far"}}, {"b", "single", 1, {"u", "v"}}, {"c", "dp", 4, {"end"}}});
  const hp::submodel_program p = hp::partition(g, plan);
  ASSERT_TRUE(p.ok()) << to_text(p.rows.code);
  EXPECT_EQ(hp::check_program(p.program), hp::program_status{});
  EXPECT_TRUE(hp::lower_training(p.program).status.ok());
}

TEST(submodel_program, strategies_that_do_not_fit_the_groups_are_named) {
  const hp::graph g = omni_graph({.micro_batches = 1});
  const auto why = [&](void (*change)(hp::submodel_plan&)) {
    hp::submodel_plan plan =
        omni_plan({{"a", "tp", 2, {"text"}}, {"b", "single", 1, {"vision"}}, {"c", "dp-tp", 4, {"fusion"}}});
    change(plan);
    return hp::partition(g, plan);
  };
  using code = hp::submodel_code;
  EXPECT_EQ(why([](hp::submodel_plan& p) { p.strategy.resize(2); }).groups,
            (hp::submodel_status{.code = code::strategies_for_other_groups, .given = 2, .expected = 3}));
  EXPECT_EQ(why([](hp::submodel_plan& p) { p.strategy[1] = p.strategy[0]; }).groups,
            (hp::submodel_status{.code = code::strategy_has_other_ranks, .group = 1, .given = 2, .expected = 1}));
  EXPECT_EQ(why([](hp::submodel_plan& p) {
              p.table.group[1].ranks = p.table.group[0].ranks;
              p.table.group[2].ranks[0] = {2, 5};
              p.strategy[1] = hp::strategy_called("dp", 2).strategy;
            }).groups,
            (hp::submodel_status{.code = code::strategies_differ_on_ranks, .group = 1, .other = 0}));
  EXPECT_EQ(why([](hp::submodel_plan& p) { p.table.placed[0].frozen = true; }).groups.code,
            code::frozen_parameter_has_gradient);
  const hp::submodel_program unknown =
      why([](hp::submodel_plan& p) { p.strategy[2] = hp::strategy_called("tq", 4).strategy; });
  EXPECT_EQ(unknown.program.status.code, hp::strategy_code::name_is_unknown);
  EXPECT_EQ(unknown.program.status.part, 2);
  const hp::submodel_program ring =
      why([](hp::submodel_plan& p) { p.strategy[0] = hp::strategy_called("ring", 2).strategy; });
  EXPECT_EQ(ring.program.status.code, hp::strategy_code::stages_are_refused);
}

static_assert([] {
  const hp::submodel_plan plan =
      omni_plan({{"towers", "single", 1, {"!text", "vision"}}, {"end", "single", 1, {"fusion"}}});
  const hp::submodel_program p = hp::partition(omni_graph({.micro_batches = 1}, &plan.table), plan);
  return p.ok() && hp::check_program(p.program).code == hp::program_code::ok && hp::ranks_of(p.program) == 2;
}());

}  // namespace
