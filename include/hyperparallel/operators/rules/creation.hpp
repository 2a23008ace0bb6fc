// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tensors whose values do not come from an operand.

#include <hyperparallel/operators/rules/attributes.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace rules {

/// A new tensor of these extents. No operand says how it is laid out: it is whole on every device, or as its user
/// wants. Fails with attribute_is_invalid on an extent below 1, naming the dim.
constexpr rule_result creation(const char* name, const shape& sizes) {
  if (!is_rank(sizes.rank)) return no_rule(name, rule_code::too_many_dims, sizes.rank);
  factor_rule r = rule_called(name, refuse_partials(), 0);
  tensor_factors& t = add_result(r);
  for (int d = 0; d < sizes.rank; ++d) {
    if (sizes.extent[d] < 1) return no_rule(name, rule_code::attribute_is_invalid, d);
    add_dim(t, add_factor(r, factor_kind::pass_through, sizes.extent[d]));
  }
  return checked_rule(r);
}

/// Indices drawn from the rows of probabilities, of one or two dims. A row is whole: its draws depend on all of it.
/// Fails with too_many_dims, attribute_is_invalid (no sample).
constexpr rule_result multinomial(int rank, extent_t samples) {
  if (rank < 1 || rank > 2) return no_rule("multinomial", rule_code::too_many_dims, rank);
  if (samples < 1) return no_rule("multinomial", rule_code::attribute_is_invalid);
  rule_result r = written("multinomial", "*E->*K", {reduce_op::none, refuse_partials()}, {1, {rank}});
  r.rule.factor[rank].extent = samples;
  return r;
}

}}}  // namespace hyperparallel::v0_2::rules
