// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/lowering/offloaded_program.hpp>

#include <hyperparallel/lowering/lower_program.hpp>
#include <hyperparallel/lowering/planned_flow.hpp>
#include <hyperparallel/lowering/program_proof.hpp>
#include <hyperparallel/lowering/program_slots.hpp>
#include <hyperparallel/lowering/step_durations.hpp>
#include <hyperparallel/strategy/check_program.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/strategy/partition.hpp>

#include <support/tries.hpp>
#include <world/small_models.hpp>

#include <gtest/gtest.h>

namespace {

namespace hp = hyperparallel;

constexpr hp::tier_hardware tiers(hp::extent_t budget, int slower = 1) {
  hp::tier_hardware h;
  h.tier.push({budget, -1, -1});
  for (int t = 0; t < slower; ++t) {
    h.tier.push({t + 1 == slower ? hp::extent_t{1} << 40 : budget, t, t});
    h.link.push({4'000'000'000 >> t, 1'000'000});
  }
  return h;
}

hp::offloaded_program within(const hp::sharded_program& p, const hp::tier_hardware& h, bool recomputation = false) {
  return hp::offload(p, hp::step_durations(p, hp::kinds_of_moves(p)), h,
                     {.planning = {.effort = 400'000}, .recomputation = recomputation});
}

TEST(OffloadedProgram, KeepsTheBudgetAndEveryLaw) {
  const hp::graph g = small_models::decoder({.layers = 2, .experts = true});
  for (const char* const name : {"dp", "zero3", "ring", "ep"}) {
    const hp::sharded_program p = hp::partition(g, hp::strategy_called(name, 4).strategy);
    const hp::extent_t whole = hp::plan_addresses(p).high_water[0];
    for (const int percent : {90, 70, 50, 35})
      for (const int slower : {1, 2}) {
        const hp::offloaded_program o = within(p, tiers(whole * percent / 100, slower), percent == 50);
        ASSERT_TRUE(o.ok()) << name << " " << percent << ": " << to_text(o.code) << ", " << to_text(o.inserted.code);
        EXPECT_LE(o.addresses.high_water[0], whole * percent / 100);
        EXPECT_EQ(hp::check_program(o.program).code, hp::program_code::ok) << name << " " << percent;
        EXPECT_LE(hp::alive_maximum(o.program), o.problem.tier[0].capacity);
        EXPECT_EQ(o.duration.size, o.program.step.size);
        const hp::offload_certificate& c = o.planned.certificate;
        EXPECT_GE(c.time, c.time_bound);
        EXPECT_GE(c.bytes_in, c.bytes_in_bound);
        EXPECT_GE(c.bytes_out, c.bytes_out_bound);
        if (slower == 2) {
          EXPECT_LE(o.addresses.alive_maximum[1], o.problem.tier[1].capacity);
        }
        int steps = 0, copies = 0;
        for (const hp::program_step& s : o.program.step) {
          const bool copy =
              s.is_move && hp::cache_operator_of(o.program, o.program.move[s.index]) != hp::cache_operator::within_tier;
          (copy ? copies : steps) += 1;
        }
        EXPECT_GE(steps, p.step.size);
        EXPECT_GT(copies, 0);
      }
  }
}

/// The makespan of the flow that these phases become.
hp::extent_t makespan_of(const hp::offloaded_program& o, unsigned phases) {
  const hp::program_pulls pulls = hp::pulls_of(o.program);
  hp::program_flow_options how;
  how.phases = phases;
  how.step_duration = o.duration.item;
  const hp::program_plan plan = hp::lower_program(o.program, pulls, o.addresses, how);
  EXPECT_EQ(plan.status.code, hp::program_flow_code::ok);
  EXPECT_EQ(hp::prove_program(o.program, pulls, o.addresses, phases, plan.machine, hp::table_of(plan)).code,
            hp::program_proof_code::ok);
  hp::planned_flow planned(plan, plan.machine, {hp::priority::reference_order, 0});
  return planned.simulate().result.makespan;
}

// Addresses are given up where the plan's clock says so, and each way has a queue: nothing waits that does not in the
// plan.
TEST(OffloadedProgram, ItsFlowTakesNoLongerThanThePlan) {
  for (const int micro_batches : {1, 3}) {
    const hp::sharded_program p = hp::partition(small_models::decoder({.layers = 3, .micro_batches = micro_batches}),
                                                hp::strategy_called("single", 1).strategy);
    const hp::extent_t whole = hp::plan_addresses(p).high_water[0];
    for (const int percent : {80, 65, 50}) {
      hp::tier_hardware h = tiers(whole * percent / 100);
      h.tier[1].out_link = h.link.push(h.link[0]);
      const hp::offloaded_program o = within(p, h, percent == 65);
      ASSERT_TRUE(o.ok()) << to_text(o.code);
      ASSERT_EQ(o.period.size, micro_batches == 1 ? 1 : 2);
      EXPECT_GT(o.period[0].bytes_in, 0);
      for (int i = 0; i < o.period.size; ++i) {
        const unsigned phases = o.period.size == 1 ? hp::micro_phases | hp::update_phases
                                : i == 0           ? hp::micro_phases
                                                   : hp::update_phases;
        EXPECT_LE(makespan_of(o, phases), o.period[i].time) << percent << " %, period " << i;
        EXPECT_LE(o.period[i].time, o.planned.certificate.time);
      }
    }
  }
}

TEST(OffloadedProgram, ABudgetThatIsTooSmallTellsTheLeast) {
  const hp::sharded_program p = hp::partition(small_models::decoder({}), hp::strategy_called("dp", 2).strategy);
  const hp::offloaded_program o = within(p, tiers(1000));
  EXPECT_EQ(o.code, hp::offloading_code::budget_is_too_small);
  const hp::offload_certificate& c = o.planned.certificate;
  EXPECT_GT(c.least_budget, 1000);
  EXPECT_GE(c.least_budget_op, 0);
  hp::extent_t bytes = 0;
  for (const int s : o.planned.alive) bytes += o.problem.storage[s].bytes;
  EXPECT_EQ(bytes, c.least_budget);
  EXPECT_EQ(within(p, tiers(0)).code, hp::offloading_code::not_planned);
  // With the least one there is a plan; addresses may need some more.
  const hp::offloaded_program least = within(p, tiers(c.least_budget));
  EXPECT_TRUE(least.ok() || least.code == hp::offloading_code::addresses_do_not_fit) << to_text(least.code);
  EXPECT_TRUE(within(p, tiers(c.least_budget * 5 / 4)).ok());
}

TEST(OffloadedProgram, RulesDecideByName) {
  const hp::sharded_program p =
      hp::partition(small_models::decoder({.layers = 2}), hp::strategy_called("dp", 2).strategy);
  const hp::extent_t whole = hp::plan_addresses(p).high_water[0];
  const hp::growing_array<hp::extent_t> duration = hp::step_durations(p, hp::kinds_of_moves(p));
  const auto ruled = [&](std::initializer_list<hp::offload_rule> rules) {
    hp::offloading_options options{.planning = {.effort = 200'000}};
    for (const hp::offload_rule& r : rules) options.rules.push(r);
    return hp::offload(p, duration, tiers(whole), options);
  };
  const auto tier_of_home = [&](const hp::offloaded_program& o, const char* name) {
    return o.program.storage[o.program.value[o.program.home[hp::find_tensor(p.graph, name)]].storage].tier;
  };
  const hp::offloaded_program free = ruled({});
  ASSERT_TRUE(free.ok());
  EXPECT_EQ(tier_of_home(free, "head.logits.weight"), 0);
  const hp::offloaded_program forced =
      ruled({{"*.weight", hp::offload_control::offload}, {"embedding.*", hp::offload_control::keep}});
  ASSERT_TRUE(forced.ok()) << to_text(forced.code);
  EXPECT_EQ(tier_of_home(forced, "head.logits.weight"), 1);
  EXPECT_EQ(tier_of_home(forced, "embedding.weight"), 0);
  EXPECT_EQ(hp::check_program(forced.program).code, hp::program_code::ok);
  const hp::offloaded_program nothing = ruled({{"no such tensor", hp::offload_control::keep}});
  EXPECT_EQ(nothing.code, hp::offloading_code::rules_are_refused);
  EXPECT_EQ(nothing.ruled.code, hp::offload_rule_code::pattern_matches_nothing);
  EXPECT_EQ(ruled({{"*", hp::offload_control::keep}, {"*", hp::offload_control::offload}}).ruled.code,
            hp::offload_rule_code::rules_contradict);
}

// The same in a constant expression, on the smallest program that has something to gain.
constexpr hp::offloaded_program small_constant() {
  const hp::sharded_program p = small_models::two_layers_on(2, true);
  const hp::extent_t whole = hp::plan_addresses(p).high_water[0];
  return hp::offload(p, hp::step_durations(p, hp::kinds_of_moves(p)), tiers(whole - 64),
                     {.planning = {.effort = 2000, .restarts = 2}});
}
struct constant_figures {
  hp::extent_t high_water, time, bytes_in;
  int steps;
  bool ok;
  friend constexpr bool operator==(const constant_figures&, const constant_figures&) = default;
};
constexpr constant_figures figures_of(const hp::offloaded_program& o) {
  return {o.addresses.high_water[0], o.planned.certificate.time, o.planned.certificate.bytes_in, o.program.step.size,
          o.ok()};
}
constexpr constant_figures constant = figures_of(small_constant());

TEST(OffloadedProgram, ConstantExpressionsAgree) { EXPECT_EQ(figures_of(small_constant()), constant); }

}  // namespace
