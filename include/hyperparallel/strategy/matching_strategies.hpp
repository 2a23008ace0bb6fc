// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which named strategies find the dims that their rules name in a model.
//
//   hp::visit_matching_strategies(graph, "dp-ep", [](const char* name) { … });   // the nearest names first
//
// Law: a named strategy is one of them exactly where partitioning the model by it, over axes of two devices, does not end
// with `rule_matches_nothing`. Degrees that do not divide are not asked. O(strategies · operators · rules · loops).

#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/strategy/strategy_layouts.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// Whether every rule of computing that has to decide something does so for an operator of forward.
/// Domain: the graph is not refused, rules of stages are optional, as those of named strategies are.
constexpr bool matches_model(const graph& g, const strategy_value& s) {
  strategy_layouts rules(g, s);
  for (int o = 0; o < g.op.size; ++o)
    if (g.op[o].phase == graph_phase::forward) rules.place(g, o);
  rules.check_use();
  return rules.status().code != strategy_code::rule_matches_nothing;
}

/// Names of the strategies that shard something and match the model, those most like `name` first. Domain: the graph is not
/// refused.
template <class Visit>
constexpr void visit_matching_strategies(const graph& g, const char* name, const Visit& visit) {
  growing_array<const char*> names;
  for (int i = 0; i < named_strategy_count; ++i) {
    const named_strategy& one = named_strategy_at(i);
    const strategy_value s = strategy_called(one.name, 1 << one.axis_count).strategy;
    if (s.rule.size > 0 && matches_model(g, s)) names.push(one.name);
  }
  visit_by_likeness(names.size, [&](int i) { return names[i]; }, name, [&](int i) { visit(names[i]); });
}

}}}  // namespace hyperparallel::v0_2::detail
