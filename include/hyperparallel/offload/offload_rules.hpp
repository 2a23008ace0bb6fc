// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a user says of memory tiers: patterns of tensor names, and what becomes of the storages that they describe.
//
// Patterns are those of sharding plans, `*` for any run of characters and `?` for one. Later rules win, so that a list
// goes from the general to the particular: activation swap is {"*.hidden", offload}, optimizer offload
// {"*.moment?", offload}, activation checkpointing {"layers.*", recompute}, exceptions follow. A rule that recomputes
// speaks only of what can be recomputed, so that a pattern may cover a whole layer with its parameters.
// Laws: every accepted rule decides something; two rules with one pattern that say different things are refused; so is
// a rule that describes no storage, none that can do what it says, or only storages that later rules decide.
// O(rules · storages · length of a name).

#include <hyperparallel/graph/sharding_plan.hpp>
#include <hyperparallel/offload/use_chains.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// `tier`: where offload sends it, -1: the planner's choice.
struct offload_rule {
  const char* pattern = "*";
  offload_control control = offload_control::automatic;
  int tier = -1;
};

enum class offload_rule_code : unsigned char {
  ok,
  pattern_matches_nothing,
  rules_contradict,
  rule_is_overridden,
  tier_does_not_exist,
  nothing_can_be_offloaded,
  nothing_can_be_recomputed,
};

/// `other`: the rule that contradicts.
struct offload_rule_status {
  offload_rule_code code = offload_rule_code::ok;
  int rule = -1, other = -1;
  friend constexpr bool operator==(const offload_rule_status&, const offload_rule_status&) = default;
};

constexpr const char* to_text(offload_rule_code c) {
  constexpr const char* texts[] = {"ok",
                                   "the rule's pattern describes no storage",
                                   "two rules with the same pattern say different things",
                                   "later rules decide everything that the rule describes",
                                   "the rule offloads to a tier that does not exist",
                                   "nothing that the rule describes can leave tier 0",
                                   "nothing that the rule describes can be recomputed"};
  return texts[static_cast<int>(c)];
}

namespace detail {

constexpr bool same_pattern(const char* a, const char* b) {
  while (*a != '\0' && *a == *b) {
    ++a;
    ++b;
  }
  return *a == *b;
}

/// Whether storage s has a gap in which it could do what the rule says.
constexpr bool can_follow(const offload_program& p, const use_chains& c, int s, offload_control control) {
  if (control == offload_control::offload) return p.tier.size > 1 && c.first_gap[s] < c.first_gap[s + 1];
  if (control != offload_control::recompute) return true;
  for (int g = c.first_gap[s]; g < c.first_gap[s + 1]; ++g)
    if (c.gap[g].recomputable) return true;
  return false;
}

/// Which rule decides each of `storages` storages, -1: none. `name_of(i)` is a storage's name, `can_follow(i, control)`
/// whether it could do so. Law: what the status refuses is the first rule at fault, contradictions before all.
template <class NameOf, class CanFollow>
constexpr offload_rule_status decide_rules(int storages, int tiers, const offload_rule* rule, int rules,
                                           const NameOf& name_of, const CanFollow& can_follow,
                                           growing_array<int>& decided_by) {
  using enum offload_rule_code;
  for (int r = 0; r < rules; ++r) {
    const offload_rule& one = rule[r];
    if (one.tier == 0 || one.tier < -1 || one.tier >= tiers) return {tier_does_not_exist, r};
    for (int before = 0; before < r; ++before)
      if (detail::same_pattern(rule[before].pattern, one.pattern) &&
          (rule[before].control != one.control || rule[before].tier != one.tier))
        return {rules_contradict, r, before};
  }
  decided_by.clear();
  decided_by.resize(storages, -1);
  for (int r = 0; r < rules; ++r) {
    bool matches = false, follows = false;
    for (int s = 0; s < storages; ++s) {
      if (!name_matches(rule[r].pattern, name_of(s))) continue;
      matches = true;
      if (!can_follow(s, rule[r].control)) continue;
      follows = true;
      decided_by[s] = r;
    }
    if (!matches) return {pattern_matches_nothing, r};
    if (!follows)
      return {rule[r].control == offload_control::offload ? nothing_can_be_offloaded : nothing_can_be_recomputed, r};
  }
  for (int r = 0; r < rules; ++r) {
    bool decides = false;
    for (const int by : decided_by) decides = decides || by == r;
    if (!decides) return {rule_is_overridden, r};
  }
  return {};
}

}  // namespace detail

/// Writes control and tier of the storages that rules describe; `name_of(label)` is a storage's name. Where the status
/// is bad the program is left as it was. Domain: a checked program.
template <class NameOf>
constexpr offload_rule_status apply_rules(offload_program& p, const offload_rule* rule, int rules,
                                          const NameOf& name_of) {
  const use_chains c = chains_of(p);
  growing_array<int> decided_by;
  const offload_rule_status status = detail::decide_rules(
      p.storage.size, p.tier.size, rule, rules, [&](int s) { return name_of(p.storage[s].label); },
      [&](int s, offload_control control) { return detail::can_follow(p, c, s, control); }, decided_by);
  if (status.code != offload_rule_code::ok) return status;
  for (int s = 0; s < p.storage.size; ++s)
    if (decided_by[s] >= 0) {
      p.storage[s].control = rule[decided_by[s]].control;
      p.storage[s].tier = rule[decided_by[s]].tier;
    }
  return {};
}

}}  // namespace hyperparallel::v0_2
