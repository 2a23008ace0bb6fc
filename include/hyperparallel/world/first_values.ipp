// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of first_values.hpp; see support/compiled.hpp.

#include <cmath>

#include <hyperparallel/world/first_values.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// Terms of one sum over the loops of operand `i`; the last extent where the operator sums over none of them.
inline extent_t width_of_operand(const graph& g, const graph_operator& op, int i) {
  const factor_rule& rule = g.rule_of(op);
  const shape& s = g.tensor[op.operand[i]].shape;
  unsigned in_results = 0;
  for (int r = 0; r < rule.result_count; ++r) in_results |= rule.result[r].mask;
  const unsigned summed = is_in(g.value_of(op).gathered, i) ? 0 : rule.operand[i].mask & ~in_results;
  if (summed == 0) return s.rank > 0 ? s.extent[s.rank - 1] : 1;
  extent_t width = 1;
  for (int l = 0; l < op.loop_count; ++l)
    if (is_in(summed, l)) width *= op.loop[l].extent;
  return width;
}

HYPERPARALLEL_BODY first_values first_values_of(const graph& g, int parameter) {
  const first_value declared = g.tensor[parameter].first;
  if (declared == first_value::zeros) return {0, 0};
  if (declared == first_value::ones) return {0, 1};
  for (const graph_operator& op : g.op) {
    for (int i = 0; i < op.operand_count; ++i) {
      if (op.operand[i] != parameter) continue;
      const operator_value& reader = g.value_of(op);
      if (declared == first_value::by_reader && is_in(reader.starts_at_one, i)) return {0, 1};
      if (declared == first_value::by_reader && is_in(reader.starts_at_zero, i)) return {0, 0};
      return {1 / std::sqrt(static_cast<double>(detail::width_of_operand(g, op, i))), 0};
    }
  }
  return {};
}

}}}  // namespace hyperparallel::v0_2::detail
