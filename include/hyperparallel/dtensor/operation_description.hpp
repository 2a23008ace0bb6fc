// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the compiler asks of an operator's description (operation.hpp): its rule on operands of declared extents, what its
// kernel computes with, and what it makes.

#include <concepts>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include <hyperparallel/dtensor/apply.hpp>
#include <hyperparallel/support/array_bound.hpp>

namespace hyperparallel { inline namespace v0_2 {

template <class Description>
concept operation_description = requires(const Description& d, const shape* operands) {
  { d.rule(operands, 1) } -> std::same_as<rule_result>;
};

/// A description on operands of declared extents: the operator type that error lines name. Of a value as a template
/// argument clang before 16 prints the members alone, `{}` of most: there the type of the description stands before it.
#if defined(__clang__) && __clang_major__ < 16
template <class Type, auto Description, class... Extents>
struct typed_operation {
#else
template <auto Description, class... Extents>
struct operation {
#endif
  static constexpr rule_result made = [] {
    const shape list[sizeof...(Extents) + 1] = {Extents::declared...};
    return Description.rule(list, static_cast<int>(sizeof...(Extents)));
  }();
  static constexpr factor_rule rule = made.rule;
  static constexpr rule_status status = made.status;
};
#if defined(__clang__) && __clang_major__ < 16
template <auto Description, class... Extents>
using operation = typed_operation<std::remove_cvref_t<decltype(Description)>, Description, Extents...>;
#endif

namespace diag {
template <class Operation, rule_code, int Where>
struct attributes_do_not_fit_operands;
template <class Operation, class... Elements>
struct element_types_are_not_computed;
template <class Operation>
struct operation_needs_every_extent;
}  // namespace diag

namespace detail {

/// An attribute list of dims, right-aligned extents of which all but 1 become one: where a rule only asks which dims
/// broadcast, a dynamic extent stands for whatever the others have.
template <int Most>
struct aligned_shapes {
  shape at[array_bound(Most)] = {};
  constexpr aligned_shapes(const shape* operand, int count) {
    int rank = 0;
    for (int o = 0; o < count; ++o) rank = operand[o].rank > rank ? operand[o].rank : rank;
    for (int o = 0; o < count; ++o) at[o] = operand[o];
    for (int d = 1; d <= rank; ++d) {
      extent_t known = 2;  // where nothing tells: more than 1
      for (int o = 0; o < count; ++o)
        if (d <= at[o].rank && at[o].extent[at[o].rank - d] > 1) known = at[o].extent[at[o].rank - d];
      for (int o = 0; o < count; ++o)
        if (d <= at[o].rank && is_dynamic(at[o].extent[at[o].rank - d])) at[o].extent[at[o].rank - d] = known;
    }
  }
};

template <class Description, class... T>
struct result_elements {
  using type = std::tuple<std::tuple_element_t<0, std::tuple<T...>>>;
};
template <class Description, class... T>
  requires requires { typename Description::template results<T...>; }
struct result_elements<Description, T...> {
  using type = typename Description::template results<T...>;
};

template <class Description>
constexpr unsigned index_mask() {
  if constexpr (requires { Description::indices; })
    return Description::indices;
  else
    return 0;
}
template <class Description>
constexpr unsigned truth_mask() {
  if constexpr (requires { Description::truths; })
    return Description::truths;
  else
    return 0;
}
template <class Description>
constexpr bool is_view() {
  if constexpr (requires { Description::is_view; })
    return Description::is_view;
  else
    return false;
}
template <class Description>
constexpr bool needs_every_extent() {
  if constexpr (requires { Description::whole_extents; })
    return Description::whole_extents;
  else
    return false;
}

/// Whether the kernel computes with these element types.
template <class Description, class Operands, class Results>
inline constexpr bool computes = false;
template <class Description, class... X, class... R>
inline constexpr bool computes<Description, std::tuple<X...>, std::tuple<R...>> =
    is_view<Description>() || requires(const Description& d, const local_operation& at, const_view<X>... x,
                                       tensor_view<R>... r) { d.run(at, x..., r...); };

/// Whether the kernel computes with elements of type `T`, where an operand is neither an index nor a truth value.
template <class Description, class T, std::size_t... O>
constexpr bool computes_with(std::index_sequence<O...>) {
  constexpr unsigned index = index_mask<Description>(), truth = truth_mask<Description>();
  return []<class... X>(std::tuple<X...>*) {
    return computes<Description, std::tuple<X...>, typename result_elements<Description, X...>::type>;
  }(static_cast<std::tuple<std::conditional_t<(index >> O & 1u) != 0, std::int64_t,
                                              std::conditional_t<(truth >> O & 1u) != 0, bool, T>>...>*>(nullptr));
}

/// Why a kernel does not compute: elements of other types it would take, or it takes none.
template <class Operator, class Description, class... T>
struct kernel_refusal {
  using count = std::index_sequence_for<T...>;
  static constexpr bool computes_any =
      computes_with<Description, float>(count{}) || computes_with<Description, double>(count{}) ||
      computes_with<Description, std::int64_t>(count{}) || computes_with<Description, bool>(count{});
  using made = typename result_elements<Description, T...>::type;
  using type = std::conditional_t<
      computes_any, diag::element_types_are_not_computed<Operator, T...>,
      diag::kernel_does_not_take_its_operator<Operator, operands<static_cast<int>(sizeof...(T))>,
                                              tensors_made<static_cast<int>(std::tuple_size_v<made>)>>>;
};

}  // namespace detail

}}  // namespace hyperparallel::v0_2
