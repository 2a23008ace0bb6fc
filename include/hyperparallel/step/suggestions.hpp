// SPDX-License-Identifier: Apache-2.0
#pragma once
// What an error suggests for a pattern or a dim of a strategy that a model does not have: the names that it has, those most
// like the mistake first.
//
//   suggestion_for("*.qeury", nearest_match(count, name_at, "*.qeury"))   →   layers.0.attention.query
//
// Laws: of names equally like it the first; a suggestion changes at most about a third of the pattern. O(names · length²).

#include <hyperparallel/graph/graph.hpp>
#include <hyperparallel/graph/sharding_plan.hpp>
#include <hyperparallel/step/refusal_text.hpp>
#include <hyperparallel/strategy/strategy.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// The name of fewest edits until the pattern matches it, the first of equals, among those `name_at(0)` to
/// `name_at(count - 1)` that are not null; `name` is null of none.
struct pattern_match {
  const char* name = nullptr;
  int edits = 0;
};
template <class NameAt>
constexpr pattern_match nearest_match(int count, const NameAt& name_at, const char* pattern) {
  pattern_match nearest;
  for (int i = 0; i < count; ++i) {
    const char* const name = name_at(i);
    if (name == nullptr) continue;
    const int edits = edits_to_match(pattern, name);
    if (nearest.name == nullptr || edits < nearest.edits) nearest = {name, edits};
  }
  return nearest;
}
/// The same as a suggestion: empty where more than a third of the pattern would change.
constexpr refusal_text suggestion_for(const char* pattern, const pattern_match& nearest) {
  const bool is_like = nearest.name != nullptr && 3 * nearest.edits <= text_length(pattern) + 2;
  return refusal_text(is_like ? nearest.name : "");
}

/// The dims of the operators that the rule speaks of, those called most like its own first.
constexpr void list_dims_for(const graph& g, const strategy_rule& rule, refusal_list& list) {
  growing_array<bool> there;
  for (int d = 0; d < g.dim.size; ++d) there.push(false);
  for (int o = 0; o < g.op.size; ++o) {
    if (g.op[o].phase != graph_phase::forward || !name_matches(rule.where.text, g.name_of_op(o))) continue;
    for (int l = 0; l < g.op[o].loop_count; ++l)
      if (const int d = g.op[o].loop[l].dim; d >= 0 && !is_whole(g.rule_of(g.op[o]), l)) there[d] = true;
  }
  growing_array<const char*> names;
  for (int d = 0; d < g.dim.size; ++d)
    if (there[d]) names.push(g.name_of_dim(d));
  visit_by_likeness(names.size, [&](int i) { return names[i]; }, rule.dim.text, [&](int i) { list.add(names[i]); });
}

}}}  // namespace hyperparallel::v0_2::detail
