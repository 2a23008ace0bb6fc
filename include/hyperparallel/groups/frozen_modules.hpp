// SPDX-License-Identifier: Apache-2.0
#pragma once
// Modules that are not trained: their parameters get no gradient, no state and no update, and what nothing trained leads to
// has no gradient either.
//
//   hp::group_table t = …;                     a module of it says `frozen`
//   hp::freeze_modules(model, t);              before hp::differentiate(model)
//
// Laws: after `freeze_modules` a parameter or state is frozen exactly where it was before, or where a module that is frozen
// reads it. Gradients pass a frozen module on to trained ones that it reads. A parameter that a frozen and a trained module
// read is refused, and nothing is changed then. O(operators · operands) beside the claims of operators.

#include <hyperparallel/groups/submodels.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// Of each tensor that no operator makes and no one feeds: a module that reads it, frozen or not; -1: none does.
struct module_readers {
  growing_array<int> frozen, trained;
};

constexpr module_readers readers_of_parameters(const graph& g, const group_table& t, const module_claims& claims) {
  module_readers r{growing_array<int>(g.tensor.size, -1), growing_array<int>(g.tensor.size, -1)};
  for (int o = 0; o < g.op.size && g.op.item[o].phase == graph_phase::forward; ++o) {
    const int m = claims.module_of_op.item[o];
    for (int i = 0; i < g.op.item[o].operand_count; ++i) {
      const int tensor = g.op.item[o].operand[i];
      const graph_tensor_kind kind = g.tensor.item[tensor].kind;
      if (kind != graph_tensor_kind::parameter && kind != graph_tensor_kind::state) continue;
      int& first = (t.placed.item[m].frozen ? r.frozen : r.trained).item[tensor];
      if (first < 0) first = m;
    }
  }
  return r;
}

}  // namespace detail

/// Freezes what frozen modules read. To be called before `differentiate`.
constexpr submodel_status freeze_modules(graph& g, const group_table& t) {
  const module_claims claims = claim_operators(g, t);
  if (!claims.status.ok()) return {.code = submodel_code::groups_are_refused, .groups = claims.status};
  const detail::module_readers r = detail::readers_of_parameters(g, t, claims);
  for (int p = 0; p < g.tensor.size; ++p)
    if (r.frozen.item[p] >= 0 && r.trained.item[p] >= 0)
      return {.code = submodel_code::parameter_is_half_frozen,
              .other = r.trained.item[p],
              .module = r.frozen.item[p],
              .named = p};
  for (int p = 0; p < g.tensor.size; ++p)
    if (r.frozen.item[p] >= 0) g.tensor.item[p].frozen = true;
  return {};
}

namespace detail {

/// Whether no parameter of a frozen module has a gradient, as where the graph was frozen before it was differentiated.
/// Domain: the table's modules have the operators of the graph.
constexpr submodel_status check_frozen(const graph& g, const group_table& t) {
  bool any = false;
  for (const placed_module& m : t.placed) any = any || m.frozen;
  if (!any) return {};
  const module_claims claims = claim_operators(g, t);
  const detail::module_readers r = detail::readers_of_parameters(g, t, claims);
  for (int p = 0; p < g.tensor.size; ++p)
    if (r.frozen.item[p] >= 0 && g.tensor.item[p].gradient >= 0)
      return {.code = submodel_code::frozen_parameter_has_gradient, .module = r.frozen.item[p], .named = p};
  return {};
}

}  // namespace detail

}}  // namespace hyperparallel::v0_2
