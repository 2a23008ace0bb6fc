// SPDX-License-Identifier: Apache-2.0
#pragma once
// The factor rule of an operator type: what layouts, shapes and costs of its results are derived from.
//
// An operator says its rule as a text, as listed operators and a user's do (operator_list.hpp), which is read for the ranks of
// the operands at hand; or it carries `static constexpr factor_rule rule`. Beside a text count `partials` (pending operands
// are refused where it is not there), `flops_per_point` (1), `reduction` (sum) and `yields` (no).
//
// Here are the operators that stand in no list: the few that a layer of experts is made of. A packed gate|up dim is written
// as its two factors (2, f), so that sharding f keeps each gate beside its up and the 2 stays whole. Experts are two factors:
// g ranks, of e local experts each. Rows of one expert on one rank are c.

#include <type_traits>

#include <hyperparallel/operators/factor_extents.hpp>
#include <hyperparallel/operators/rule_text.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Any type that carries a factor rule.
template <class Operator>
concept operator_type = requires {
  { Operator::rule.operand_count };
  { Operator::rule.flops_per_point };
};

/// Any type with the name and the rule text of an operator.
template <class Operator>
concept named_operator_type = requires {
  requires std::is_convertible_v<decltype(Operator::name), const char*>;
  requires std::is_convertible_v<decltype(Operator::text), const char*>;
};

/// Any type with a factor rule on operands of some ranks.
template <class Operator>
concept ruled_operator_type = operator_type<Operator> || named_operator_type<Operator>;

namespace detail {

/// What `Operator` says beside its text.
template <class Operator>
constexpr rule_traits traits_of_type() {
  rule_traits t{reduce_op::sum, refuse_partials(), 1};
  if constexpr (requires { Operator::reduction; }) t.reduction = Operator::reduction;
  if constexpr (requires { Operator::partials; }) t.partials = Operator::partials;
  if constexpr (requires { Operator::flops_per_point; }) t.flops_per_point = Operator::flops_per_point;
  if constexpr (requires { Operator::yields; }) t.yields = Operator::yields;
  return t;
}

/// The rule that the text says of operands of these ranks; without `*` it says so by itself.
template <class Operator>
constexpr rule_result read_rule(const operand_ranks& ranks) {
  bool by_rank = false;
  for (const char* c = Operator::text; *c != '\0'; ++c) by_rank = by_rank || *c == '*';
  return rule_from(Operator::name, Operator::text, traits_of_type<Operator>(), by_rank ? ranks : operand_ranks{});
}

template <class Operator, int... Ranks>
struct rule_at_ranks {
  static constexpr rule_result made = read_rule<Operator>({static_cast<int>(sizeof...(Ranks)), {Ranks...}});
  static constexpr const factor_rule& rule() { return made.rule; }
  static constexpr rule_code code = made.status.code;
};
template <operator_type Operator, int... Ranks>
struct rule_at_ranks<Operator, Ranks...> {
  static constexpr const factor_rule& rule() { return Operator::rule; }
  static constexpr rule_code code = check_rule(Operator::rule).code;
};

template <class Operator, class... Shapes>
constexpr factor_rule rule_on(const Shapes&... operands) {
  if constexpr (operator_type<Operator>)
    return Operator::rule;
  else
    return read_rule<Operator>({static_cast<int>(sizeof...(Shapes)), {operands.rank...}}).rule;
}

}  // namespace detail

/// The rule of an operator on operands of these ranks; none need be named where its text has no `*`.
template <ruled_operator_type Operator, int... Ranks>
inline constexpr const factor_rule& rule_of = detail::rule_at_ranks<Operator, Ranks...>::rule();

/// Floating-point operations of `Operator` on operands of these shapes; see `work_of`.
template <ruled_operator_type Operator, class... Shapes>
constexpr work_result flops(const Shapes&... operands) {
  const shape list[sizeof...(Shapes) + 1] = {operands...};
  return work_of(detail::rule_on<Operator>(operands...), list, static_cast<int>(sizeof...(Shapes)));
}

/// Shape of the result of `Operator` on operands of these shapes; see the function of the same name on values.
template <ruled_operator_type Operator, class... Shapes>
constexpr result_shape_result result_shape(const Shapes&... operands) {
  const shape list[sizeof...(Shapes) + 1] = {operands...};
  return result_shape(detail::rule_on<Operator>(operands...), list, static_cast<int>(sizeof...(Shapes)));
}

namespace detail {

/// The rule that `Operator` writes as text, read where it is used and not by all who include this.
template <class Operator>
struct rule_by_text {
  static constexpr factor_rule rule = rule_from(Operator::name, Operator::text, traits_of_type<Operator>()).rule;
};

/// An operator that sums products, two operations a point.
struct sums_products {
  static constexpr partial_words partials = contraction.partials;
  static constexpr int flops_per_point = contraction.flops_per_point;
};

}  // namespace detail

namespace ops {

/// x · w. An axis on k leaves the product a partial sum.
struct matmul : detail::rule_by_text<matmul>, detail::sums_products {
  static constexpr const char *name = "matmul", *text = "mk,kn->mn";
};

/// One product per expert.
struct grouped_matmul : detail::rule_by_text<grouped_matmul>, detail::sums_products {
  static constexpr const char *name = "grouped_matmul", *text = "egch,eghf->egcf";
};

/// One product per expert with gate and up side by side.
struct grouped_matmul_gate_up : detail::rule_by_text<grouped_matmul_gate_up>, detail::sums_products {
  static constexpr const char *name = "grouped_matmul_gate_up", *text = "egch,egh2f->egc2f";
};

/// silu(gate) · up = gate / (1 + exp(-gate)) · up: four operations per pair, counted as two for each half of the pair.
struct grouped_swiglu : detail::rule_by_text<grouped_swiglu> {
  static constexpr const char *name = "grouped_swiglu", *text = "egc2f->egcf";
  static constexpr int flops_per_point = 2;
};

}  // namespace ops

}}  // namespace hyperparallel::v0_2
