// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which numbers a tensor of row numbers or labels may hold, by the operators that read it.
//
// Rows of a table are 0 to rows - 1. Labels are below the number of columns; a negative one is no label. Chosen experts
// are 0 to experts - 1. Where several operators read a tensor, all of them have to take the number.

#include <hyperparallel/graph/graph.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct index_range {
  extent_t limit = extent_t{1} << 31;  ///< numbers lie below it
  bool or_negative = true;             ///< negative numbers are allowed
  int op = -1;                         ///< the operator that sets the limit, or -1
  constexpr bool has(extent_t number) const { return number < limit && (or_negative || number >= 0); }
};

/// The range of operand `i`, where the operator takes it for numbers of rows, experts or labels.
constexpr index_range index_range_of(const graph& g, const graph_operator& o, int i) {
  const operator_value& value = g.value_of(o);
  if (!is_in(value.indices, i) || value.index_below == '\0') return {};
  const factor_rule& rule = g.rule_of(o);
  for (int f = 0; f < rule.factor_count; ++f)
    if (rule.factor[f].letter == value.index_below) return {o.loop[f].extent, value.index_or_negative};
  return {};
}

/// What all forward operators that read the tensor take; everything where none of them reads it as numbers.
/// O(operators · operands).
constexpr index_range index_range_of(const graph& g, int tensor) {
  index_range all;
  for (int o = 0; o < g.op.size; ++o)
    for (int i = 0; i < g.op[o].operand_count && g.op[o].phase == graph_phase::forward; ++i) {
      if (g.op[o].operand[i] != tensor) continue;
      const index_range one = index_range_of(g, g.op[o], i);
      all.or_negative = all.or_negative && one.or_negative;
      if (one.limit < all.limit || (all.op < 0 && !one.or_negative)) all.op = o;
      if (one.limit < all.limit) all.limit = one.limit;
    }
  return all;
}

namespace detail {

/// Numbers that an index input may hold lie below this; 1 where no operator reads it as one.
constexpr extent_t index_limit(const graph& g, int input) {
  const index_range r = index_range_of(g, input);
  return r.op < 0 ? 1 : r.limit;
}

}  // namespace detail

}}  // namespace hyperparallel::v0_2
