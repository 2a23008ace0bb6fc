// SPDX-License-Identifier: Apache-2.0
#pragma once
// `result_layout<ops::matmul, A, B>`: the layout of an operator's result as a type.
//
//   using h = hp::result_layout<hp::ops::matmul, hp::layout<mesh, "dp", hp::none>, hp::layout<mesh, hp::none, "tp">>;
//   static_assert(std::is_same_v<h, hp::layout<mesh, "dp", "tp">>);
//
// Law: the type is the canonical one of the value that `propagate` derives. A refusal is one error line that names the
// operator, operand, dim and axis.

#include <hyperparallel/layout/layout.hpp>
#include <hyperparallel/layout/layout_words.hpp>
#include <hyperparallel/operators/operator_rule.hpp>
#include <hyperparallel/operators/propagate.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// In an error line: which operand, from 0.
template <int>
struct operand {};
/// In an error line: how many operands, and how many the operator takes.
template <int>
struct operands {};
template <int>
struct operands_expected {};
/// In an error line: how many tensors an operator makes.
template <int>
struct tensors_made {};

namespace diag {
template <class Operator, rule_code>
struct factor_rule_is_not_valid;
template <class Operator, class Operands, class Results>
struct kernel_does_not_take_its_operator;
template <class Operator, class Given, class Expected>
struct operand_count_differs_from_rule;
template <class Operator, class Operand, class Given, class Expected>
struct operand_rank_differs_from_rule;
template <class Operator, class Operand>
struct operands_are_on_different_meshes;
template <class Operator, class Operand, class Dim, class Alias>
struct operands_disagree;
template <class Operator, class Operand, class Dim, class Alias>
struct axis_shards_two_factors;
template <class Operator, class Operand, class Dim, class Alias>
struct dim_must_be_whole;
template <class Operator, class Operand, class Alias>
struct partial_operand_is_refused;
template <class Operator, class Operand, class Alias>
struct partial_axis_is_used_by_another_operand;
template <class Operator, class Operand, class Alias>
struct partial_operands_differ;
template <class Operator, class Operand, class Alias>
struct rule_says_nothing_about_partial_operands;
template <class Operator, class Alias>
struct reductions_do_not_commute;
template <class Operator, class Operand, class Dim, class Alias>
struct dim_needs_a_halo;
template <class Operator, class Operand, class Dim, class Alias>
struct factors_of_dim_do_not_fit;
template <class Operator, class Operand, class Dim>
struct result_layout_has_no_type;
}  // namespace diag

namespace detail {

template <class A, class B>
inline constexpr bool same_type = false;
template <class A>
inline constexpr bool same_type<A, A> = true;

template <class Operator, class... Layouts>
using rule_with = rule_at_ranks<Operator, Layouts::rank...>;
template <class Operator, class... Layouts>
inline constexpr rule_code validity = rule_with<Operator, Layouts...>::code;

/// The derivation as a traits type. Different mesh types are different meshes, even of equal sizes.
template <class Operator, class First, class... Rest>
struct derived {
  using mesh = typename First::mesh;
  static constexpr const factor_rule& rule() { return rule_with<Operator, First, Rest...>::rule(); }
  static constexpr propagation_result evaluate() {
    const layout_value* const operand[] = {&First::value, &Rest::value...};
    const bool same_mesh[] = {true, same_type<mesh, typename Rest::mesh>...};
    for (int o = 1; o <= static_cast<int>(sizeof...(Rest)); ++o)
      if (!same_mesh[o])
        return {{propagation_code::operands_are_on_different_meshes, o, 0, 0}, {}, replicated(First::value.mesh, 0)};
    if (validity<Operator, First, Rest...> != rule_code::ok) return {{}, {}, replicated(First::value.mesh, 0)};
    propagation_result r = propagate(rule(), operand, 1 + static_cast<int>(sizeof...(Rest)));
    r.layout.mesh = First::value.mesh;
    return r;
  }
  static constexpr propagation_result result = evaluate();
  static constexpr bool ok =
      validity<Operator, First, Rest...> == rule_code::ok && result.status.code == propagation_code::ok;
};

template <propagation_code Code, class Operator, class Derived>
struct derivation_verdict {
  // The façade shows whole axes of at most max_axes, so sub-axes and too many cuts can not come here from spelled
  // layouts.
  using type = diag::result_layout_has_no_type<Operator, operand<Derived::result.status.operand>,
                                               dim<Derived::result.status.dim>>;
};
template <class Operator, class Derived>
struct derivation_verdict<propagation_code::ok, Operator, Derived> {
  using type = accepted;
};
template <class Operator, class Derived>
struct derivation_verdict<propagation_code::operand_count_differs_from_rule, Operator, Derived> {
  using type = diag::operand_count_differs_from_rule<Operator, operands<Derived::result.status.operand>,
                                                     operands_expected<Derived::rule().operand_count>>;
};
template <class Operator, class Derived>
struct derivation_verdict<propagation_code::operand_rank_differs_from_rule, Operator, Derived> {
  static constexpr int index = Derived::result.status.operand;
  using type = diag::operand_rank_differs_from_rule<Operator, operand<index>, map_entries<Derived::result.status.dim>,
                                                    tensor_dims<Derived::rule().operand[index].rank>>;
};
template <class Operator, class Derived>
struct derivation_verdict<propagation_code::operands_are_on_different_meshes, Operator, Derived> {
  using type = diag::operands_are_on_different_meshes<Operator, operand<Derived::result.status.operand>>;
};

/// Complaints about one axis along one dim, and about one axis along which an operand is partial.
template <template <class, class, class, class> class Rejected, class Operator, class Derived>
using blamed_dim =
    Rejected<Operator, operand<Derived::result.status.operand>, dim<Derived::result.status.dim>,
             spelled<alias, typename blamed_axis<typename Derived::mesh>::template of<Derived::result.status.axis>>>;
template <template <class, class, class> class Rejected, class Operator, class Derived>
using blamed_partial =
    Rejected<Operator, operand<Derived::result.status.operand>,
             spelled<alias, typename blamed_axis<typename Derived::mesh>::template of<Derived::result.status.axis>>>;

template <class Operator, class Derived>
struct derivation_verdict<propagation_code::operands_disagree, Operator, Derived> {
  using type = blamed_dim<diag::operands_disagree, Operator, Derived>;
};
template <class Operator, class Derived>
struct derivation_verdict<propagation_code::axis_shards_two_factors, Operator, Derived> {
  using type = blamed_dim<diag::axis_shards_two_factors, Operator, Derived>;
};
template <class Operator, class Derived>
struct derivation_verdict<propagation_code::dim_must_be_whole, Operator, Derived> {
  using type = blamed_dim<diag::dim_must_be_whole, Operator, Derived>;
};
template <class Operator, class Derived>
struct derivation_verdict<propagation_code::partial_operand_is_refused, Operator, Derived> {
  using type = blamed_partial<diag::partial_operand_is_refused, Operator, Derived>;
};
template <class Operator, class Derived>
struct derivation_verdict<propagation_code::partial_axis_is_used_by_another_operand, Operator, Derived> {
  using type = blamed_partial<diag::partial_axis_is_used_by_another_operand, Operator, Derived>;
};
template <class Operator, class Derived>
struct derivation_verdict<propagation_code::partial_operands_differ, Operator, Derived> {
  using type = blamed_partial<diag::partial_operands_differ, Operator, Derived>;
};
template <class Operator, class Derived>
struct derivation_verdict<propagation_code::rule_says_nothing_about_partial_operands, Operator, Derived> {
  using type = blamed_partial<diag::rule_says_nothing_about_partial_operands, Operator, Derived>;
};
template <class Operator, class Derived>
struct derivation_verdict<propagation_code::reductions_do_not_commute, Operator, Derived> {
  using type = diag::reductions_do_not_commute<
      Operator, spelled<alias, typename blamed_axis<typename Derived::mesh>::template of<Derived::result.status.axis>>>;
};
template <class Operator, class Derived>
struct derivation_verdict<propagation_code::dim_needs_a_halo, Operator, Derived> {
  using type = blamed_dim<diag::dim_needs_a_halo, Operator, Derived>;
};
template <class Operator, class Derived>
struct derivation_verdict<propagation_code::factors_of_dim_do_not_fit, Operator, Derived> {
  using type = blamed_dim<diag::factors_of_dim_do_not_fit, Operator, Derived>;
};

template <rule_code Validity, class Operator, class Derived>
struct operator_verdict {
  using type = diag::factor_rule_is_not_valid<Operator, Validity>;
};
template <class Operator, class Derived>
struct operator_verdict<rule_code::ok, Operator, Derived> {
  using type = typename derivation_verdict<Derived::result.status.code, Operator, Derived>::type;
};

/// Operands in words stand in the notes of a refusal, above the numbers of their layouts.
template <class... Words>
struct operands_placed {
  template <class Why>
  struct why {
    static constexpr bool met = insist<Why>::met;
  };
};
template <class Why>
struct insist_on_operands {
  template <class... Layouts>
  using type = typename operands_placed<in_words<Layouts>...>::template why<Why>;
};
template <>
struct insist_on_operands<accepted> {
  template <class...>
  using type = insist<accepted>;
};

/// Picks the canonical type. A refused derivation still gets one, unsharded, so no error cascades.
template <class Operator, class... Layouts>
struct result_selector {
  using derivation = derived<Operator, Layouts...>;
  using verdict = typename operator_verdict<validity<Operator, Layouts...>, Operator, derivation>::type;
  static_assert(insist_on_operands<verdict>::template type<Layouts...>::met);
  using type = placed_layout<typename derivation::mesh, digits_of_layout(derivation::result.layout)>;
};

}  // namespace detail

/// The layout of the first result of `Operator`, listed or not, on operands placed by `Layouts`, in the rule's order.
template <ruled_operator_type Operator, layout_type First, layout_type... Rest>
using result_layout = typename detail::result_selector<Operator, First, Rest...>::type;

/// Whether `result_layout<Operator, Layouts…>` would be accepted; silent when not.
template <class Operator, class First, class... Rest>
concept accepts = ruled_operator_type<Operator> && layout_type<First> && (layout_type<Rest> && ...) &&
                  detail::derived<Operator, First, Rest...>::ok;

}}  // namespace hyperparallel::v0_2
