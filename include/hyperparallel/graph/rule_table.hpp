// SPDX-License-Identifier: Apache-2.0
#pragma once
// The factor rules of a graph: each read once, however many operators have it.
//
// A rule belongs to an operator, the ranks of its operands and its attributes (reduction; text, where its row has none);
// that of a backward operator to its forward operator's rule
// (gradient_rules.hpp). The operator says what its text does not: operations a point and how partial operands pass.

#include <hyperparallel/graph/graph.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

struct rule_place {
  rule_status status{};
  int rule = -1;  ///< of `graph::rule`
};

/// The rule that `text` writes for an operator of the kind and the reduction of `o`; it is added where the graph has
/// none like it. Fails as `rule_from`. O(rules of the kind · length), and reading the text once.
constexpr rule_place find_rule(graph& g, const graph_operator& o, const char* text, const operand_ranks& ranks) {
  for (int i = 0; i < g.rule.size; ++i) {
    const graph_rule& r = g.rule.item[i];
    if (r.kind == o.kind && r.forward < 0 && r.reduction == o.reduction && r.ranks == ranks &&
        same_text(g.text_at(r.text), text))
      return {{}, i};
  }
  const operator_value& row = g.value_of(o);
  const rule_traits traits{o.reduction, row.partials, row.flops_per_point};
  const rule_result read = rule_from(row.name, text, traits, ranks);
  if (read.status.code != rule_code::ok) return {read.status};
  return {{}, g.rule.push({o.kind, o.reduction, add_text(g, text), -1, ranks, read.rule})};
}

}}}  // namespace hyperparallel::v0_2::detail
