// SPDX-License-Identifier: Apache-2.0
#pragma once
// A table of process groups held against a model: which module each operator belongs to, and so which ranks run it.
//
//   const hp::module_claims c = hp::claim_operators(graph, table);
//   c.module_of_op[o]      the module of operator o
//
// Forward operators belong to the one module that has their name; what a backward or recomputed operator stands for goes
// with its forward operator. Laws of accepted claims: every forward operator has exactly one module, and every module at
// least one of them. O(operators · patterns · length²).

#include <hyperparallel/graph/graph.hpp>
#include <hyperparallel/groups/check_groups.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct module_claims {
  group_status status{};
  growing_array<int> module_of_op;  ///< of each operator; -1: behind backward, where it goes with a parameter
};

namespace detail {

/// The module of each of `count` names; `name_at` says -1 as null: a name that is not asked for.
template <class NameAt>
constexpr module_claims claim_each(const group_table& t, int count, const NameAt& name_at) {
  module_claims c;
  c.status = check_groups(t);
  c.module_of_op.resize(count, -1);
  growing_array<bool> has_one(t.placed.size, false);
  int asked = 0;
  for (int i = 0; i < count && c.status.ok(); ++i) {
    const char* const name = name_at(i);
    if (name == nullptr) continue;
    ++asked;
    int& mine = c.module_of_op.item[i];
    for (int m = 0; m < t.placed.size && c.status.ok(); ++m) {
      if (!has_operator(t.placed.item[m], name)) continue;
      if (mine >= 0) c.status = {.code = group_code::operator_has_two_modules, .module = m, .other = mine, .named = i};
      mine = m;
      has_one.item[m] = true;
    }
    if (mine < 0) c.status = {.code = group_code::operator_has_no_module, .named = i};
  }
  for (int m = 0; m < t.placed.size && c.status.ok(); ++m)
    if (!has_one.item[m])
      c.status = {.code = group_code::module_has_no_operator,
                  .group = find_group(t, t.placed.item[m].group.text),
                  .module = m,
                  .given = asked};
  return c;
}

}  // namespace detail

/// Of names that stand in a list, as of a model in another framework.
constexpr module_claims claim_names(const group_table& t, const char* const* name, int count) {
  return detail::claim_each(t, count, [&](int i) { return name[i]; });
}

/// Of the operators of a model or its training graph.
constexpr module_claims claim_operators(const graph& g, const group_table& t) {
  if (g.status.code != graph_code::ok) return {{.code = group_code::graph_is_refused}, {}};
  module_claims c = detail::claim_each(t, g.op.size, [&](int o) -> const char* {
    return g.op.item[o].phase == graph_phase::forward ? g.name_of_op(o) : nullptr;
  });
  for (int o = 0; o < g.op.size; ++o)
    if (const int forward = g.op.item[o].forward; g.op.item[o].phase != graph_phase::forward && forward >= 0)
      c.module_of_op.item[o] = c.module_of_op.item[forward];
  return c;
}

}}  // namespace hyperparallel::v0_2
