// SPDX-License-Identifier: Apache-2.0
#pragma once
// Functions of dtensors on variables where they have no gradient: one error line that names the function.
//
//   const auto best = argmax(y);            // refused where y is a variable
//   const auto best = argmax(y.value());    // the dtensor: no gradient passes it
//
// Every name of dtensor/operations/ without a gradient has an overload that takes any operands of which one is a variable:
// functions of elements there, the others here. A function with a gradient is more specialized, so it is chosen where it
// fits: what is left are names without one, and forms without one of names that have it, as `softmax<0>(x)`.

#include <tuple>
#include <type_traits>

#include <boost/mp11/algorithm.hpp>
#include <boost/mp11/list.hpp>

#include <hyperparallel/dtensor/variable.hpp>
#include <hyperparallel/support/name_key.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace diag {
template <class Name>
struct function_has_no_gradient;
}  // namespace diag

namespace detail {

template <class Value>
using is_a_variable = std::bool_constant<variable_type<Value>>;
/// The first variable: what a refused function gives, so that no further error follows.
template <class... X>
using first_variable_of = boost::mp11::mp_first<boost::mp11::mp_copy_if<boost::mp11::mp_list<X...>, is_a_variable>>;

template <fixed_string Name, class... X>
const first_variable_of<X...>& without_gradient(const X&... x) {
  static_assert(insist<diag::function_has_no_gradient<spelled<alias, name_spelling<Name>>>>::met);
  return std::get<boost::mp11::mp_find_if<boost::mp11::mp_list<X...>, is_a_variable>::value>(std::tie(x...));
}

}  // namespace detail

// The pack is less specialized than any operand, so every other overload that takes the operands is preferred.
// Functions with a gradient take numbers that convert (an epsilon): a call with numbers is left to them.
#define HYPERPARALLEL_UNTRACED(name, operands)                  \
  template <auto... Options, class... X>                        \
    requires operands                                           \
  auto name(const X&... x) -> detail::first_variable_of<X...> { \
    return detail::without_gradient<#name>(x...);               \
  }
#define HYPERPARALLEL_WITHOUT_GRADIENT(name) HYPERPARALLEL_UNTRACED(name, (variable_type<X> || ...))
#define HYPERPARALLEL_WITHOUT_GRADIENT_IN_FORMS(name) HYPERPARALLEL_UNTRACED(name, (traced_operands<X...>))
HYPERPARALLEL_WITHOUT_GRADIENT(where)
HYPERPARALLEL_WITHOUT_GRADIENT(masked_fill)
HYPERPARALLEL_WITHOUT_GRADIENT(prod)
HYPERPARALLEL_WITHOUT_GRADIENT(max)
HYPERPARALLEL_WITHOUT_GRADIENT(min)
HYPERPARALLEL_WITHOUT_GRADIENT(all)
HYPERPARALLEL_WITHOUT_GRADIENT(any)
HYPERPARALLEL_WITHOUT_GRADIENT(argmax)
HYPERPARALLEL_WITHOUT_GRADIENT(max_with_index)
HYPERPARALLEL_WITHOUT_GRADIENT(log_softmax)
HYPERPARALLEL_WITHOUT_GRADIENT(packed_swiglu)
HYPERPARALLEL_WITHOUT_GRADIENT(expand)
HYPERPARALLEL_WITHOUT_GRADIENT(repeat_interleave)
HYPERPARALLEL_WITHOUT_GRADIENT(stack)
HYPERPARALLEL_WITHOUT_GRADIENT(flip)
HYPERPARALLEL_WITHOUT_GRADIENT(roll)
HYPERPARALLEL_WITHOUT_GRADIENT(tril)
HYPERPARALLEL_WITHOUT_GRADIENT(gather)
HYPERPARALLEL_WITHOUT_GRADIENT(index_select)
HYPERPARALLEL_WITHOUT_GRADIENT(gather_nd)
HYPERPARALLEL_WITHOUT_GRADIENT(one_hot)
HYPERPARALLEL_WITHOUT_GRADIENT(isin)
HYPERPARALLEL_WITHOUT_GRADIENT(scatter)
HYPERPARALLEL_WITHOUT_GRADIENT(scatter_add)
HYPERPARALLEL_WITHOUT_GRADIENT(scatter_update)
HYPERPARALLEL_WITHOUT_GRADIENT(masked_scatter)
HYPERPARALLEL_WITHOUT_GRADIENT(cumsum)
HYPERPARALLEL_WITHOUT_GRADIENT(cumprod)
HYPERPARALLEL_WITHOUT_GRADIENT(sort)
HYPERPARALLEL_WITHOUT_GRADIENT(argsort)
HYPERPARALLEL_WITHOUT_GRADIENT(topk)
HYPERPARALLEL_WITHOUT_GRADIENT(attention)
HYPERPARALLEL_WITHOUT_GRADIENT(rope)
HYPERPARALLEL_WITHOUT_GRADIENT(convolution)
HYPERPARALLEL_WITHOUT_GRADIENT_IN_FORMS(sum)
HYPERPARALLEL_WITHOUT_GRADIENT_IN_FORMS(mean)
HYPERPARALLEL_WITHOUT_GRADIENT_IN_FORMS(matmul)
HYPERPARALLEL_WITHOUT_GRADIENT_IN_FORMS(linear)
HYPERPARALLEL_WITHOUT_GRADIENT_IN_FORMS(softmax)
HYPERPARALLEL_WITHOUT_GRADIENT_IN_FORMS(layer_norm)
HYPERPARALLEL_WITHOUT_GRADIENT_IN_FORMS(rms_norm)
HYPERPARALLEL_WITHOUT_GRADIENT_IN_FORMS(embedding)
HYPERPARALLEL_WITHOUT_GRADIENT_IN_FORMS(cross_entropy)
#undef HYPERPARALLEL_WITHOUT_GRADIENT
#undef HYPERPARALLEL_WITHOUT_GRADIENT_IN_FORMS
#undef HYPERPARALLEL_UNTRACED

/// Elements as another type.
template <class To, variable_type X>
auto cast(const X& x) -> X {
  return detail::without_gradient<"cast">(x);
}

}}  // namespace hyperparallel::v0_2
