// SPDX-License-Identifier: Apache-2.0
#pragma once
// Forms on dtensors: `apply_form<description>(x…)`, the thin face of form.hpp.
//
// The operator's own derivation runs on the layouts without the working dims' cuts, so that its refusals are one error
// line and in its words; the results get the cuts back. Law: layouts are those of the run-time face.

#include <array>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <hyperparallel/dtensor/forms/form.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace distributed {

namespace detail {

template <auto Form, class First, class... Rest>
struct typed_form {
  static constexpr working_dims working = [] {
    const shape list[] = {First::extents::declared, Rest::extents::declared...};
    return Form.working(list, 1 + static_cast<int>(sizeof...(Rest)));
  }();
  static constexpr layout_value lead = First::layout::value;
  template <std::size_t O, class X>
  using strict = dtensor<typename X::element, typename X::extents,
                         placed_layout<typename X::mesh, hyperparallel::detail::digits_of_layout(strict_layout(
                                                             working, static_cast<int>(O), X::layout::value, lead))>>;
};

/// What the operator says of the strict layouts, and its results there. Nothing of a refused form is asked for.
template <auto Form, class Rest, class Operands>
struct strict_form;
template <auto Form, std::size_t... O, class First, class... Rest>
struct strict_form<Form, std::index_sequence<O...>, std::tuple<First, Rest...>> {
  using typed = typed_form<Form, First, Rest...>;
  using verdict = hyperparallel::detail::operation_verdict<Form, First, Rest...>;
  template <class Operator>
  static constexpr bool accepted =
      takes<Operator, typename typed::template strict<0, First>, typename typed::template strict<O + 1, Rest>...>;
  template <class Operator>
  using results = hyperparallel::detail::result_tensors<Operator, typename verdict::elements,
                                                        typename typed::template strict<0, First>,
                                                        typename typed::template strict<O + 1, Rest>...>;
};

/// A strict result with the cuts of the working dims.
template <class Typed, std::size_t I, class Strict>
struct form_result;
template <class Typed, std::size_t I, class T, class Extents, class Layout>
struct form_result<Typed, I, dtensor<T, Extents, Layout>> {
  using layout = placed_layout<typename Layout::mesh, hyperparallel::detail::digits_of_layout(with_cuts(
                                                          Layout::value, Typed::working.result[I], Typed::lead))>;
  static constexpr bool fits = divides<Extents, layout>;
  using type = dtensor<T, Extents, layout>;
};

/// All results as form_result.
template <class Typed, class Strict, class Indices>
struct form_results;
template <class Typed, class... Strict, std::size_t... I>
struct form_results<Typed, std::tuple<Strict...>, std::index_sequence<I...>> {
  static constexpr bool fit = (form_result<Typed, I, Strict>::fits && ...);
  static auto make(const std::vector<dynamic_dtensor>& made) {
    if constexpr (sizeof...(I) == 1)
      return (typename form_result<Typed, I, Strict>::type(made[I]), ...);
    else
      return std::tuple(typename form_result<Typed, I, Strict>::type(made[I])...);
  }
};

template <auto Form, class First, class... Rest>
using strict_form_of = strict_form<Form, std::index_sequence_for<Rest...>, std::tuple<First, Rest...>>;
template <auto Form, class First, class... Rest>
using form_results_of =
    form_results<typed_form<Form, First, Rest...>,
                 typename strict_form_of<Form, First, Rest...>::template results<
                     typename hyperparallel::detail::operation_verdict<Form, First, Rest...>::type_of>,
                 std::make_index_sequence<std::tuple_size_v<
                     typename hyperparallel::detail::operation_verdict<Form, First, Rest...>::elements>>>;

template <auto Form, class First, class... Rest>
constexpr bool form_fits() {
  using verdict = hyperparallel::detail::operation_verdict<Form, First, Rest...>;
  if constexpr (!verdict::ok)
    return false;
  else if constexpr (!strict_form_of<Form, First, Rest...>::template accepted<typename verdict::type_of>)
    return false;
  else
    return form_results_of<Form, First, Rest...>::fit;
}

}  // namespace detail

/// Whether `apply_form<Form>(operands…)` would be accepted; silent when not.
template <auto Form, class First, class... Rest>
concept applies_form = dtensor_type<First> && (dtensor_type<Rest> && ...) && detail::form_fits<Form, First, Rest...>();

/// The form on dtensors. `run` may have other values than `Form` where only the work reads them. One result comes back
/// as a dtensor, several as a tuple; refusals are one error line, as of the operator itself.
template <auto Form, dtensor_type First, dtensor_type... Rest>
auto apply_form_as(const std::remove_cvref_t<decltype(Form)>& run, const First& first, const Rest&... rest) {
  using verdict = hyperparallel::detail::operation_verdict<Form, First, Rest...>;
  static_assert(insist<typename verdict::type>::met);
  if constexpr (!verdict::ok)
    return first;  // already refused
  else
    return detail::form_results_of<Form, First, Rest...>::make(
        apply_form_all(run, std::array<dynamic_dtensor, 1 + sizeof...(Rest)>{first.dynamic(), rest.dynamic()...}));
}
template <auto Form, dtensor_type... Operands>
auto apply_form(const Operands&... operands) {
  return apply_form_as<Form>(Form, operands...);
}

}}}  // namespace hyperparallel::v0_2::distributed
