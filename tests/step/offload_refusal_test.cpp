// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/step/offload_refusal.hpp>

#include <gtest/gtest.h>

#include <type_traits>

namespace hp = hyperparallel;

namespace {

struct evaluation {
  hp::step_offload offload{};
};

constexpr evaluation small() {
  evaluation e;
  e.offload.code = hp::offloading_code::budget_is_too_small;
  e.offload.budget = 100;
  e.offload.least_budget = 250;
  e.offload.alive_count = 2;
  e.offload.alive[0] = {hp::refusal_text("ab"), hp::memory_class::activations, 200};
  e.offload.alive[1] = {hp::refusal_text("c"), hp::memory_class::parameters, 50};
  return e;
}
constexpr evaluation refused_rule() {
  evaluation e;
  e.offload.code = hp::offloading_code::rules_are_refused;
  e.offload.ruled = {hp::offload_rule_code::pattern_matches_nothing, 0};
  e.offload.pattern = hp::refusal_text("x*");
  return e;
}
constexpr evaluation refused_link() {
  evaluation e;
  e.offload.code = hp::offloading_code::not_planned;
  e.offload.status.code = hp::offload_code::bandwidth_is_not_positive;
  return e;
}
constexpr evaluation missed() {
  evaluation e;
  e.offload.code = hp::offloading_code::no_plan_was_found;
  e.offload.budget = 7;
  return e;
}

template <evaluation (*Evaluate)()>
struct evaluated {
  static constexpr evaluation result = Evaluate();
};
constexpr evaluation fine() { return {}; }
constexpr evaluation unpriced() {
  evaluation e;
  e.offload.code = hp::offloading_code::hardware_is_refused;
  e.offload.budget = 7;
  return e;
}
template <hp::cost_code Price>
struct priced : evaluated<unpriced> {
  static constexpr hp::cost_code price() { return Price; }
};

template <evaluation (*Evaluate)()>
using verdict = typename hp::detail::offload_verdict<evaluated<Evaluate>>::type;

TEST(OffloadRefusal, LeavesWhatHasNoPriceToTheLineOfThePrice) {
  using no_price = hp::detail::offload_verdict<priced<hp::cost_code::rate_is_not_positive>>::type;
  using refused = hp::detail::offload_verdict<priced<hp::cost_code::ok>>::type;
  EXPECT_TRUE((std::is_same_v<no_price, hp::accepted>));
  EXPECT_TRUE((std::is_same_v<refused, hp::diag::memory_budget_is_not_met<hp::bytes_given<7>>>));
}

TEST(OffloadRefusal, IsOneTypeThatNamesTheSizes) {
  EXPECT_TRUE((std::is_same_v<verdict<fine>, hp::accepted>));
  EXPECT_TRUE(
      (std::is_same_v<verdict<small>, hp::diag::memory_budget_is_too_small<hp::bytes_given<100>, hp::bytes_needed<250>,
                                                                           hp::alive<"ab", 200>, hp::alive<"c", 50>>>));
  EXPECT_TRUE((std::is_same_v<verdict<refused_rule>,
                              hp::diag::offload_rule_does_not_hold<hp::offload_rule_code::pattern_matches_nothing,
                                                                   hp::rule_for<'x', '*'>>>));
  EXPECT_TRUE((std::is_same_v<verdict<refused_link>,
                              hp::diag::memory_tiers_cannot_be_planned<hp::offload_code::bandwidth_is_not_positive>>));
  EXPECT_TRUE((std::is_same_v<verdict<missed>, hp::diag::memory_budget_is_not_met<hp::bytes_given<7>>>));
}

}  // namespace
