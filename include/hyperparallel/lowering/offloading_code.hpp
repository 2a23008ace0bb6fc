// SPDX-License-Identifier: Apache-2.0
#pragma once
// What may come of planning a program's memory tiers.

namespace hyperparallel { inline namespace v0_2 {

enum class offloading_code : unsigned char {
  ok,
  not_planned,        ///< `planned.status` says why
  rules_are_refused,  ///< `ruled` says why
  budget_is_too_small,
  no_plan_was_found,  ///< though the budget is not below the least one
  not_inserted,       ///< `inserted` says why
  addresses_do_not_fit,
  hardware_is_refused,  ///< by the account: no step has a duration
};

constexpr const char* to_text(offloading_code c) {
  constexpr const char* texts[] = {"ok",
                                   "the planner refuses the program",
                                   "the rules are refused",
                                   "the budget is too small",
                                   "no plan was found for the budget",
                                   "the plan cannot be put into the program",
                                   "addresses need more than the budget",
                                   "the hardware is refused"};
  return texts[static_cast<int>(c)];
}

}}  // namespace hyperparallel::v0_2
