// SPDX-License-Identifier: Apache-2.0
#pragma once
// Binds an operator of a graph to the tensors it is given: its rule and its loops.
//
// A loop is a factor of the operator's rule, under the same number. Laws: a loop has one extent wherever it stands; it
// takes its named dim from the first operand that has it, a loop that results alone have from the dims that the caller
// creates; every dim follows one loop. Failures name the operand, the dim and both extents.

#include <hyperparallel/graph/rule_table.hpp>
#include <hyperparallel/operators/factor_extents.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// A loop that no operand has: the letter of a result and the named dim that it makes.
struct created_dim {
  char letter = '\0';
  int dim = 0;
};

namespace detail {

constexpr int dim_of_created(char letter, const created_dim* created, int count) {
  for (int i = 0; i < count; ++i)
    if (created[i].letter == letter) return created[i].dim;
  return -1;
}

/// The first dim of the results that runs over factor `f`.
constexpr factor_place first_in_results(const factor_rule& rule, int f) {
  for (int r = 0; r < rule.result_count; ++r)
    for (int d = 0; d < rule.result[r].rank; ++d)
      if (rule.result[r].term[d] == f) return {r, d};
  return {};
}

/// Dims of an operator of a graph follow exactly one loop.
constexpr graph_status check_plain(const graph& g, const factor_rule& rule, const int* operands) {
  for (int i = 0; i < rule.operand_count; ++i)
    if (!rule.operand[i].plain) return {graph_code::text_is_malformed, -1, g.tensor[operands[i]].name, i};
  for (int r = 0; r < rule.result_count; ++r)
    if (!rule.result[r].plain) return {graph_code::text_is_malformed, -1, -1, r};
  return {};
}

constexpr graph_status status_of_text(const graph& g, const rule_status& s, const int* operands) {
  switch (s.code) {
    case rule_code::operand_rank_differs_from_text: {
      const graph_tensor& t = g.tensor[operands[s.where]];
      return {graph_code::rank_differs_from_text, -1, t.name, s.where, 0, t.shape.rank, 0};
    }
    case rule_code::factor_is_used_twice_in_one_tensor:
      return {graph_code::loop_is_used_twice_in_one_tensor};
    case rule_code::too_many_factors:
      return {graph_code::too_many_loops};
    case rule_code::words_of_a_group_differ:
      return {graph_code::words_of_a_group_differ, -1, g.tensor[operands[s.where]].name, s.where, 0, s.where};
    default:
      return {graph_code::text_is_malformed};
  }
}

/// Extents and dims of the loops of `o`: from its operands, or, of dims that only its results have, as `created`.
constexpr graph_status take_loops(const graph& g, graph_operator& o, const factor_rule& rule,
                                  const factor_extents& known, const created_dim* created, int created_count) {
  unsigned in_operands = 0;
  for (int i = o.operand_count; i-- > 0;) {
    in_operands |= rule.operand[i].mask;
    for (int d = 0; d < rule.operand[i].rank; ++d)
      o.loop[rule.operand[i].term[d]].dim = g.tensor.item[o.operand[i]].dim[d];
  }
  for (int l = 0; l < rule.factor_count; ++l) {
    operator_loop& loop = o.loop[l];
    loop.extent = known.extent[l];
    if ((in_operands >> l & 1u) != 0) continue;
    loop.dim = dim_of_created(rule.factor[l].letter, created, created_count);
    if (loop.dim < 0) {
      const factor_place at = first_in_results(rule, l);
      return {graph_code::dim_of_result_is_unknown, -1, -1, at.operand, at.dim};
    }
    loop.extent = g.dim[loop.dim].extent;
  }
  return {};
}

/// Whether the value of `o` is one for these loops.
constexpr graph_status check_instance(const graph& g, const graph_operator& o, const factor_rule& rule) {
  extent_t extent[max_factors] = {};
  for (int l = 0; l < rule.factor_count; ++l) extent[l] = o.loop[l].extent;
  const instance_fit fit = g.value_of(o).fits(rule, extent, o);
  const int first = o.operand_count > 0 ? g.tensor[o.operand[0]].name : -1;
  switch (fit.is) {
    case instance_fit::verdict::no_such_text:
      return {graph_code::text_is_malformed};
    case instance_fit::verdict::extent_differs:
      return {graph_code::created_dim_does_not_fit, -1, first, 0, 0, fit.made, fit.there};
    case instance_fit::verdict::not_a_multiple:
      return {graph_code::last_dim_is_no_multiple, -1, first, 0, rule.operand[0].rank - 1, fit.made, fit.there};
    default:
      return {};
  }
}

constexpr graph_status bind_loops_here(graph& g, graph_operator& o, const char* text, const int* operands, int count,
                                       const created_dim* created, int created_count) {
  if (count > max_operator_operands) return {graph_code::too_many_operands, -1, -1, count};
  operand_ranks ranks{count};
  shape shapes[max_operator_operands];
  for (int i = 0; i < count; ++i) {
    shapes[i] = g.tensor.item[operands[i]].shape;
    ranks.rank[i] = shapes[i].rank;
  }
  const rule_place found = find_rule(g, o, text, ranks);
  if (found.status.code != rule_code::ok) return status_of_text(g, found.status, operands);
  const factor_rule& rule = g.rule.item[found.rule].rule;
  if (const graph_status s = check_plain(g, rule, operands); s.code != graph_code::ok) return s;
  const factor_extents known = extents_of(rule, shapes, count);
  if (const extents_status& s = known.status; s.code != extents_code::ok)
    return {graph_code::dim_differs_between_operands,
            -1,
            g.tensor[operands[s.operand]].name,
            s.operand,
            s.dim,
            s.extent,
            s.expected};
  o.rule = found.rule;
  o.operand_count = count;
  o.result_count = rule.result_count;
  o.loop_count = rule.factor_count;
  for (int i = 0; i < count; ++i) o.operand[i] = operands[i];
  if (const graph_status s = take_loops(g, o, rule, known, created, created_count); s.code != graph_code::ok) return s;
  return check_instance(g, o, rule);
}
graph_status bind_loops_in_library(graph& g, graph_operator& o, const char* text, const int* operands, int count,
                                   const created_dim* created, int created_count);

}  // namespace detail

/// Gives `o` the rule that `text` writes, its loops and its operands, tensors of `g`; results are no tensors yet. The
/// status names the operand by its number; `op` is the caller's to add.
constexpr graph_status bind_loops(graph& g, graph_operator& o, const char* text, const int* operands, int count,
                                  const created_dim* created, int created_count) {
  HYPERPARALLEL_TWIN(detail::bind_loops_in_library(g, o, text, operands, count, created, created_count));
  return detail::bind_loops_here(g, o, text, operands, count, created, created_count);
}

}}  // namespace hyperparallel::v0_2
