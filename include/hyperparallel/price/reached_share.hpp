// SPDX-License-Identifier: Apache-2.0
#pragma once
// The share of a device's matrix peak that attention and grouped products reach by their shapes, where the device has measured ones.
//
//   const hp::efficiency share = hp::reached_share(device, graph, op, hp::local_work_of(graph, op, placement, mesh));
//   share.parts_per_million == 0      as products of any shape
//
// Attention by the length of the keys, the heads of all sequences on the device and their width, forward and backward apart; products of several
// groups, as those of experts, by the rows of a group and the sides of its table. A grouped product is taken to reach no more than one product
// does in a step. Sources and interpolation: hardware/operator_time.hpp.
//
// Law: never above `gmm_cold`; 0 for all operators on a device without `as_measured`. O(shapes of a table).

#include <hyperparallel/graph/graph.hpp>
#include <hyperparallel/hardware/operator_time.hpp>
#include <hyperparallel/price/product_shape.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

constexpr efficiency share_of_attention(const attention_operands& a, const local_work& w) {
  const tensor_factors &queries = w.rule->operand[a.queries], &keys = w.rule->operand[a.keys];
  extent_t heads = 1;
  for (int d = 0; d + 1 < queries.rank; ++d)
    if (d != 1) heads *= w.extent[queries.term[d]];
  return attention_share(larger(heads, extent_t{1}), w.whole[keys.term[1]], w.width(a.queries), a.backward);
}

/// Of `count` products with these rows and columns, whose result is the gradient of a table where no operand is a parameter.
constexpr efficiency share_of_groups(const product_shape& s, extent_t inner, bool of_table) {
  return of_table ? grouped_share(s.count, s.count * inner, s.rows, s.columns)
                  : grouped_share(s.count, s.count * s.rows, inner, s.columns);
}

/// 0 where the operator reaches what any product does. Domain: `w` is the operator's on the device, its extents at least 1.
constexpr efficiency reached_share(const device_value& d, const graph& g, const graph_operator& o,
                                   const local_work& w) {
  if (!d.as_measured) return {0};
  const auto within = [&](efficiency e) { return e.parts_per_million < d.gmm_cold.parts_per_million ? e : d.gmm_cold; };
  const operator_value& value = g.value_of(o);
  if (value.attends.exist()) return within(detail::share_of_attention(value.attends, w));
  if (!value.is_product) return {0};
  const product_shape s = product_shape_of(w);
  if (s.count < 2) return {0};
  bool of_table = true;
  for (int i = 0; i < o.operand_count; ++i)
    of_table = of_table && g.tensor[o.operand[i]].kind != graph_tensor_kind::parameter;
  return within(detail::share_of_groups(s, larger(w.points / s.results(), extent_t{1}), of_table));
}

}}}  // namespace hyperparallel::v0_2::detail
