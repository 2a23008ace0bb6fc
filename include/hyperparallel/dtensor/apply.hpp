// SPDX-License-Identifier: Apache-2.0
#pragma once
// Typed operators: a rule and a kernel make a function on dtensors.
//
//   template <class X, class W>
//   auto matmul(const X& x, const W& w) {
//     return hp::apply<hp::ops::matmul>([](auto a, auto b, auto c) { hp::kernels::matmul(a, b, c); }, x, w);
//   }
//
// The result's layout and extents stand in its type; an operand that the rule refuses is one error line with operator,
// operand, dim and axis, or the extents. A kernel takes views of the operands' blocks, then of the results', and before
// them, if it wants to know where the blocks lie, the `local_operation`. Law: as apply_rule, which does the work.

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include <hyperparallel/dtensor/apply_rule.hpp>
#include <hyperparallel/dtensor/dtensor.hpp>
#include <hyperparallel/operators/derive.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace diag {
template <class Operator, class Operand, class Dim, class Extent, class Expected>
struct operand_extent_differs_from_rule;
template <class Operator, class Result, class Dim>
struct extent_of_result_is_not_known;
}  // namespace diag

/// In an error line: what an extent had to be.
template <extent_t>
struct expected {};
/// In an error line: which result, from 0.
template <int>
struct result {};

namespace detail {

template <class Operator, class... Operands>
struct typed_shapes {
  template <int Index>
  static constexpr result_shape_result of() {
    const shape list[] = {Operands::extents::declared...};
    return result_extents(Operator::rule, list, static_cast<int>(sizeof...(Operands)), Index);
  }
  static constexpr extents_status status = of<0>().status;
};

template <extents_code Code, class Operator, class Shapes>
struct extents_verdict {
  static constexpr extents_status s = Shapes::status;
  using type = diag::operand_extent_differs_from_rule<Operator, operand<s.operand>, dim<s.dim>, extent<s.extent>,
                                                      expected<s.expected>>;
};
template <class Operator, class Shapes>
struct extents_verdict<extents_code::ok, Operator, Shapes> {
  using type = accepted;
};
template <class Operator, class Shapes>
struct extents_verdict<extents_code::factor_extent_is_not_known, Operator, Shapes> {
  using type = diag::extent_of_result_is_not_known<Operator, result<0>, dim<Shapes::status.dim>>;
};

/// Refused layouts speak alone. Not asked where they do.
template <bool Asked, class Operator, class Shapes>
struct shapes_insist {
  static constexpr bool ok = false;
};
template <class Operator, class Shapes>
struct shapes_insist<true, Operator, Shapes> {
  static_assert(insist<typename extents_verdict<Shapes::status.code, Operator, Shapes>::type>::met);
  static constexpr bool ok = Shapes::status.code == extents_code::ok;
};

/// The layout of the first result. Where sizes disagree, layouts are not asked, and it is replicated.
template <bool SizesDisagree, class Operator, class First, class... Rest>
struct first_layout {
  static constexpr bool accepted = derived<Operator, First, Rest...>::ok;
  using type = result_layout<Operator, First, Rest...>;
};
template <class Operator, class First, class... Rest>
struct first_layout<true, Operator, First, Rest...> {
  static constexpr bool accepted = true;
  using type = placed_layout<typename First::mesh,
                             digits_of_layout(replicated(First::value.mesh, Operator::rule.result[0].rank))>;
};

template <class Shape, class Indices>
struct spell_extents;
template <class Shape, int... I>
struct spell_extents<Shape, indices<I...>> {
  using type = extents<Shape::value.extent[I]...>;
};
template <class Shape>
using extents_of_shape = typename spell_extents<Shape, typename make_indices<Shape::value.rank>::type>::type;

/// The layout of a later result: the first is `result_layout`.
template <int Index, class Operator, class First, class... Rest>
struct later_layout {
  static constexpr layout_value evaluate() {
    const layout_value* const list[] = {&First::value, &Rest::value...};
    full_propagation p = propagate_fully(Operator::rule, list, 1 + static_cast<int>(sizeof...(Rest)));
    if (p.status.code == propagation_code::ok) return p.result[Index];
    return replicated(First::value.mesh, Operator::rule.result[Index].rank);
  }
  using type = placed_layout<typename First::mesh, digits_of_layout(evaluate())>;
};

/// Types of the results. A refused operator still has some, so that no error cascades: where the layouts alone are refused
/// the extents are those of the rule.
template <class Operator, class First, class... Rest>
struct typed_results {
  using shapes = typed_shapes<Operator, First, Rest...>;
  using first =
      first_layout<sizes_disagree(shapes::status.code), Operator, typename First::layout, typename Rest::layout...>;
  static constexpr bool ok = shapes_insist<first::accepted, Operator, shapes>::ok;

  template <int Index>
  struct told_shape {
    static constexpr shape value = shapes::template of<Index>().shape;
  };
  template <int Index, class Layout>
  static constexpr auto extents_at() {
    if constexpr (ok || shapes::status.code == extents_code::ok)
      return std::type_identity<extents_of_shape<told_shape<Index>>>{};
    else
      return std::type_identity<refused_extents<Layout::rank>>{};
  }

  template <int Index>
  static constexpr auto layout_at() {
    if constexpr (Index == 0)
      return std::type_identity<typename first::type>{};
    else
      return std::type_identity<
          typename later_layout<Index, Operator, typename First::layout, typename Rest::layout...>::type>{};
  }
  template <int Index, class T>
  using at = dtensor<T, typename decltype(extents_at<Index, typename decltype(layout_at<Index>())::type>())::type,
                     typename decltype(layout_at<Index>())::type>;
};

template <class Operator, class Operands, class Elements, class Indices>
struct result_list;
template <class Operator, class... Operands, class... T, std::size_t... I>
struct result_list<Operator, std::tuple<Operands...>, std::tuple<T...>, std::index_sequence<I...>> {
  using type = std::tuple<typename typed_results<Operator, Operands...>::template at<static_cast<int>(I), T>...>;
};

template <class Operator, int Operands, class Kernel, class... Views>
void run_kernel(const Kernel& function, const local_operation& at, Views... views) {
  if constexpr (std::is_invocable_v<const Kernel&, const local_operation&, Views...>)
    function(at, views...);
  else if constexpr (std::is_invocable_v<const Kernel&, Views...>)
    function(views...);
  else
    static_assert(insist<diag::kernel_does_not_take_its_operator<
                      Operator, operands<Operands>, tensors_made<static_cast<int>(sizeof...(Views)) - Operands>>>::met);
}

template <class Operator, class... X, class... R, std::size_t... O, std::size_t... I, class Kernel>
void run_on_views(std::tuple<X...>*, std::tuple<R...>*, std::index_sequence<O...>, std::index_sequence<I...>,
                  const Kernel& function, const local_operation& at) {
  run_kernel<Operator, static_cast<int>(sizeof...(X))>(function, at, at.operand[O].template view<X>()...,
                                                       at.result[I].template view<R>()...);
}

/// Handles of the tensors that an operator made, with their types: one alone, several as a tuple.
template <class First, class... Rest>
auto as_typed(std::tuple<First, Rest...>*, const std::vector<dynamic_dtensor>& made) {
  if constexpr (sizeof...(Rest) == 0)
    return First(made[0]);
  else
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return std::tuple<First, Rest...>(First(made[0]), Rest(made[1 + I])...);
    }(std::index_sequence_for<Rest...>{});
}

template <class ElementTuple>
struct types_of_elements;
template <class... T>
struct types_of_elements<std::tuple<T...>> {
  static constexpr data_type list[] = {data_type_of<T>...};
};

/// One element type for each result.
template <class Operator, class ElementTuple>
inline constexpr bool tells_all_elements =
    Operator::rule.result_count == 0 ||
    std::tuple_size_v<ElementTuple> == static_cast<std::size_t>(Operator::rule.result_count);

/// The types of the results of `Operator` on these operands, one for each element type of `Elements…`.
template <operator_type Operator, class ElementTuple, dtensor_type... Operands>
using result_tensors = typename detail::result_list<Operator, std::tuple<Operands...>, ElementTuple,
                                                    std::make_index_sequence<std::tuple_size_v<ElementTuple>>>::type;

}  // namespace detail

/// Whether `Operator` takes these tensors, layouts and extents; silent when not.
template <class Operator, class First, class... Rest>
concept takes = operator_type<Operator> && dtensor_type<First> && (dtensor_type<Rest> && ...) &&
                accepts<Operator, typename First::layout, typename Rest::layout...> &&
                detail::typed_shapes<Operator, First, Rest...>::status.code == extents_code::ok;

/// Runs the kernel `function` on every rank. `Elements…`: the element type of each result; none means one result of the
/// first operand's. One result comes back as a dtensor, several as a tuple. `rule` is the operator's, with the extents of
/// what it creates where these are known at run time alone. Throws as apply_rule.
template <operator_type Operator, element_type... Elements, class Kernel, dtensor_type First, dtensor_type... Rest>
auto apply_by(const factor_rule& rule, const Kernel& function, const First& first, const Rest&... rest) {
  using elements =
      std::conditional_t<sizeof...(Elements) == 0, std::tuple<typename First::element>, std::tuple<Elements...>>;
  using results = detail::result_tensors<Operator, elements, First, Rest...>;
  using operand_elements = std::tuple<typename First::element, typename Rest::element...>;
  static_assert(detail::tells_all_elements<Operator, elements>, "one element type for each result");
  const dynamic_dtensor operands[] = {first.dynamic(), rest.dynamic()...};
  const auto work = [&](const local_operation& at) {
    detail::run_on_views<Operator>(static_cast<operand_elements*>(nullptr), static_cast<elements*>(nullptr),
                                   std::make_index_sequence<1 + sizeof...(Rest)>{},
                                   std::make_index_sequence<std::tuple_size_v<elements>>{}, function, at);
  };
  return detail::as_typed(static_cast<results*>(nullptr),
                          detail::apply_rule(rule, operands, detail::types_of_elements<elements>::list, work));
}

/// The same with the operator's own rule.
template <operator_type Operator, element_type... Elements, class Kernel, dtensor_type First, dtensor_type... Rest>
auto apply(const Kernel& function, const First& first, const Rest&... rest) {
  return apply_by<Operator, Elements...>(Operator::rule, function, first, rest...);
}

namespace detail {

/// An operator that only tells the extents of each block anew, see apply_view.
template <operator_type Operator, dtensor_type X>
auto apply_as_view(const X& x) {
  using results = result_tensors<Operator, std::tuple<typename X::element>, X>;
  return std::tuple_element_t<0, results>(apply_view(Operator::rule, x.dynamic()));
}

}  // namespace detail

}}  // namespace hyperparallel::v0_2
