// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/step/step_offload.hpp>

#include <search/search_models.hpp>

#include <hyperparallel/price/step_account.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace hp = hyperparallel;

namespace {

/// A step on ordinary machines whose slower tier is `slow` times as slow as it could be.
struct planned_step {
  hp::sharded_program p;
  hp::program_moves moves;
  hp::device_value device = hp::generic_host::device;
  hp::growing_array<hp::extent_t> block_duration;
  hp::step_account account;

  constexpr explicit planned_step(const searched::small_model& model, const char* strategy = "single", int ranks = 1,
                                  int slow = 1)
      : p(hp::partition(model.build(), hp::strategy_called(strategy, ranks).strategy)),
        moves(hp::kinds_of_moves(p, hp::on_topology(hp::generic_host::topology))) {
    device.tier[1].bandwidth /= slow;
    device.tier[1].latency = 0;
    account = hp::account_of(p, moves, hp::storage_uses(p), device, block_duration);
  }
  constexpr hp::step_offload within(hp::extent_t budget, hp::step_offload_settings how = {}) const {
    how.budget = budget;
    return hp::offload_step(p, moves, hp::storage_uses(p), block_duration, device, how);
  }
  hp::step_offload within(hp::extent_t budget, const std::vector<hp::offload_pattern>& rules) const {
    hp::step_offload_settings how;
    for (const hp::offload_pattern& r : rules) how.rule.push(r);
    return within(budget, how);
  }
};

hp::extent_t all_of(const hp::offload_shares& s) { return s.kept + s.offloaded + s.recomputed; }

const searched::small_model deep{.layers = 12};
const searched::small_model mixed{.layers = 3, .wide_layers = 6, .experts = 4};

TEST(StepOffload, MovesNothingWhereEverythingFits) {
  for (const searched::small_model& m : {deep, mixed}) {
    const planned_step s(m);
    const hp::step_offload o = s.within(2 * s.account.memory.peak);
    ASSERT_TRUE(o.ok());
    EXPECT_EQ(o.bytes_in + o.bytes_out, 0);
    EXPECT_EQ(o.exposed, 0);
    EXPECT_EQ(o.step_time, s.account.times.total.picoseconds);
    for (const hp::offload_shares& share : o.share) EXPECT_EQ(share.offloaded + share.recomputed, 0);
  }
}

TEST(StepOffload, KeepsTheBudgetDownToTheLeastOne) {
  for (const char* strategy : {"single", "zero3", "tp"})
    for (const searched::small_model& m : {deep, mixed}) {
      const planned_step s(m, strategy, std::string(strategy) == "single" ? 1 : 4, 4);
      const hp::extent_t peak = s.account.memory.peak;
      const hp::step_offload small = s.within(1);
      ASSERT_EQ(small.code, hp::offloading_code::budget_is_too_small);
      const hp::extent_t least = small.least_budget;
      EXPECT_LT(least, peak);
      EXPECT_GT(small.alive_count, 0);
      for (int i = 1; i < small.alive_count; ++i) EXPECT_LE(small.alive[i].bytes, small.alive[i - 1].bytes);
      for (const hp::extent_t budget : {least, (least + peak) / 3, (least + peak) / 2, peak * 9 / 10}) {
        if (budget < least) continue;
        const hp::step_offload o = s.within(budget);
        ASSERT_TRUE(o.ok()) << to_text(o.code) << ' ' << budget << ' ' << least;
        EXPECT_LE(o.peak[0], budget);
        EXPECT_LE(o.least_budget, budget);
        EXPECT_GT(o.bytes_in, 0);
        EXPECT_GE(o.step_time, o.step_time_bound);
        EXPECT_GE(o.step_time, s.account.times.total.picoseconds);
        EXPECT_EQ(o.step_time, s.account.times.total.picoseconds + o.exposed);
      }
      EXPECT_EQ(s.within(least - 1).code, hp::offloading_code::budget_is_too_small);
    }
}

TEST(StepOffload, MicroBatchesAreAPeriodOfTheirOwn) {
  for (const int micro_batches : {1, 2, 5}) {
    searched::small_model m = deep;
    m.micro_batches = micro_batches;
    const planned_step s(m, "single", 1, 2);
    const hp::extent_t peak = s.account.memory.peak;
    const hp::step_offload o = s.within(peak / 2);
    ASSERT_TRUE(o.ok());
    EXPECT_LE(o.peak[0], peak / 2);
    hp::extent_t once = 0, every = 0;
    const hp::storage_uses uses(s.p);
    for (int b = 0; b < uses.blocks.size; ++b)
      (hp::is_in(s.p.step[uses.blocks[b].begin].phase, hp::micro_phases) ? every : once) += s.block_duration[b];
    EXPECT_EQ(o.step_time - o.exposed, once + every * micro_batches);
  }
}

TEST(StepOffload, RulesDecide) {
  using hp::offload_control;
  const planned_step s(deep, "single", 1, 2);
  const hp::extent_t peak = s.account.memory.peak;
  const auto share = [](const hp::step_offload& o, hp::memory_class c) { return o.share[static_cast<int>(c)]; };
  const hp::step_offload swapped = s.within(2 * peak, {{"*moment*", offload_control::offload}});
  ASSERT_TRUE(swapped.ok());
  const hp::offload_shares states = share(swapped, hp::memory_class::states);
  EXPECT_GT(states.offloaded, all_of(states) / 2);
  EXPECT_EQ(share(swapped, hp::memory_class::parameters).offloaded, 0);

  const hp::step_offload kept =
      s.within(peak * 3 / 4, {{"*", offload_control::offload}, {"*.weight", offload_control::keep}});
  ASSERT_TRUE(kept.ok());
  EXPECT_EQ(share(kept, hp::memory_class::parameters).offloaded, 0);

  const hp::step_offload again = s.within(2 * peak, {{"layers.*", offload_control::recompute}});
  ASSERT_TRUE(again.ok());
  EXPECT_GT(share(again, hp::memory_class::activations).recomputed, 0);
  EXPECT_GT(again.step_time, s.account.times.total.picoseconds);
  EXPECT_EQ(again.bytes_in, 0);
}

TEST(StepOffload, LayersRunAgainInEachMicroBatch) {
  hp::extent_t once = 0;  // what it takes in one micro-batch
  for (const int micro_batches : {1, 2, 5}) {
    searched::small_model m = deep;
    m.micro_batches = micro_batches;
    const planned_step s(m, "single", 1, 2);
    hp::step_offload_settings how;
    const hp::step_offload kept = s.within(2 * s.account.memory.peak, how);
    how.rule.push({hp::short_text("layers.*"), hp::offload_control::recompute});
    const hp::step_offload again = s.within(2 * s.account.memory.peak, how);
    ASSERT_TRUE(kept.ok() && again.ok()) << to_text(again.code) << ' ' << to_text(again.status.code);
    EXPECT_GT(again.share[static_cast<int>(hp::memory_class::activations)].recomputed, 0);
    EXPECT_LT(again.peak[0], kept.peak[0]);
    if (micro_batches == 1) once = again.step_time - kept.step_time;
    EXPECT_GT(once, 0);
    EXPECT_EQ(again.step_time - kept.step_time, once * micro_batches);

    hp::step_offload_settings either;
    either.recomputation = true;
    EXPECT_TRUE(s.within(s.account.memory.peak / 2, either).ok());
  }
}

TEST(StepOffload, ARuleMayMakeAPartOfALayerAgain) {
  for (const searched::small_model& m : {deep, mixed}) {
    const planned_step s(m, "single", 1, 2);
    for (const char* pattern : {"*attention*", "*norm", "layers.*query", "*residual"}) {
      const hp::step_offload again = s.within(s.account.memory.peak, {{pattern, hp::offload_control::recompute}});
      ASSERT_TRUE(again.ok()) << pattern << ": " << to_text(again.code) << ", " << to_text(again.status.code);
      EXPECT_GT(again.share[static_cast<int>(hp::memory_class::activations)].recomputed, 0) << pattern;
    }
  }
}

TEST(StepOffload, RulesAreRefusedByName) {
  using hp::offload_control;
  const planned_step s(deep);
  const hp::extent_t peak = s.account.memory.peak;
  const auto code = [&](const std::vector<hp::offload_pattern>& rules) {
    const hp::step_offload o = s.within(peak, rules);
    EXPECT_EQ(o.code, hp::offloading_code::rules_are_refused);
    EXPECT_EQ(std::string(o.pattern.text), rules[static_cast<std::size_t>(o.ruled.rule)].pattern.text);
    return o.ruled.code;
  };
  EXPECT_EQ(code({{"nothing.*", offload_control::keep}}), hp::offload_rule_code::pattern_matches_nothing);
  EXPECT_EQ(code({{"*moment*", offload_control::offload}, {"*moment*", offload_control::keep}}),
            hp::offload_rule_code::rules_contradict);
  EXPECT_EQ(code({{"*", offload_control::offload, 7}}), hp::offload_rule_code::tier_does_not_exist);
  EXPECT_EQ(code({{"ids", offload_control::offload}}), hp::offload_rule_code::nothing_can_be_offloaded);
  EXPECT_EQ(code({{"*moment*", offload_control::recompute}}), hp::offload_rule_code::nothing_can_be_recomputed);
  EXPECT_EQ(code({{"*moment*", offload_control::offload}, {"*", offload_control::keep}}),
            hp::offload_rule_code::rule_is_overridden);
}

void expect_nothing_counted(const hp::step_offload& o) {
  EXPECT_FALSE(o.ok());
  for (const hp::extent_t amount : {o.peak[0], o.peak[1], o.step_time, o.exposed, o.bytes_in, o.bytes_out})
    EXPECT_EQ(amount, hp::not_counted);
}

TEST(StepOffload, AStandingLinkIsRefused) {
  planned_step s(deep);
  s.device.tier[1].bandwidth = 0;
  const hp::step_offload o = s.within(s.account.memory.peak / 2);
  EXPECT_EQ(o.code, hp::offloading_code::not_planned);
  EXPECT_EQ(o.status.code, hp::offload_code::bandwidth_is_not_positive);
  expect_nothing_counted(o);
}

TEST(StepOffload, NothingIsPlannedWithoutDurations) {
  planned_step s(deep);
  const hp::step_account a = hp::account_of(s.p, s.moves, hp::storage_uses(s.p), hp::device_value{}, s.block_duration);
  ASSERT_FALSE(a.hardware.ok());
  EXPECT_EQ(s.block_duration.size, 0);
  EXPECT_EQ(s.within(s.account.memory.peak / 2).code, hp::offloading_code::hardware_is_refused);
  expect_nothing_counted(s.within(s.account.memory.peak / 2));
}

TEST(StepOffload, RecomputationIsAChoice) {
  const planned_step slow(deep, "single", 1, 200);
  const hp::extent_t budget = slow.account.memory.peak * 3 / 4;
  hp::step_offload_settings how;
  how.planning.effort = 1'000'000;
  const hp::step_offload copied = slow.within(budget, how);
  how.recomputation = true;
  const hp::step_offload either = slow.within(budget, how);
  ASSERT_TRUE(copied.ok() && either.ok());
  EXPECT_GT(either.share[static_cast<int>(hp::memory_class::activations)].recomputed, 0);
  EXPECT_LT(either.step_time, copied.step_time);
}

constexpr hp::step_offload planned_by_the_compiler() {
  const planned_step s(searched::small_model{.layers = 4});
  return s.within(s.account.memory.peak * 3 / 4);
}
constexpr hp::step_offload constant = planned_by_the_compiler();
static_assert(constant.ok() && constant.bytes_in > 0);

TEST(StepOffload, ConstantExpressionsAgree) {
  const hp::step_offload now = planned_by_the_compiler();
  EXPECT_EQ(now, constant);
}

}  // namespace
