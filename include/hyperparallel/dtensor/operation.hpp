// SPDX-License-Identifier: Apache-2.0
#pragma once
// An operator with its attributes as a value: the rule it has on operands of given shapes, and the kernel that obeys
// it.
//
//   struct cumsum {
//     int dim = -1;
//     constexpr rule_result rule(const shape* x, int) const { return rules::cumsum(x[0].rank, dim); }
//     template <class X>
//     void run(const local_operation&, const_view<X> x, tensor_view<X> out) const { … }
//   };
//
// From one such description come both faces: `apply<cumsum{1}>(x)` on dtensors, checked by the compiler, and
// `apply(cumsum{1}, x)` on dynamic ones, checked when it runs, with the same words. A description may add
//   results<T…>     a tuple, the element types of the results; one of the first operand's unless it says so
//   indices, truths masks of operands that hold indices (i32, i64) or truth values, whatever the others hold
//   is_view         the result's blocks are the operand's (no kernel)
//   whole_extents   the rule needs every extent, so that no dynamic one is taken
//   rule_when_run() the rule with the extents of what the operator creates, where run time alone knows them
// A user's operator is such a struct; nothing is registered.

#include <array>
#include <concepts>
#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <hyperparallel/dtensor/operation_description.hpp>
#include <hyperparallel/support/array_bound.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// The verdict before any layout is looked at.
template <auto Description, class... Operands>
struct operation_verdict {
  using description = std::remove_cvref_t<decltype(Description)>;
  using type_of = operation<Description, typename Operands::extents...>;
  using elements = typename result_elements<description, typename Operands::element...>::type;
  static constexpr bool refused = (is_refused_extents<typename Operands::extents> || ...);
  static constexpr bool known = !needs_every_extent<description>() || (Operands::extents::is_static && ...);
  static constexpr bool attributes_fit = !refused && known && type_of::status.code == rule_code::ok;
  static constexpr bool computed = computes<description, std::tuple<typename Operands::element...>, elements>;
  static constexpr bool ok = attributes_fit && computed;

  template <bool Known, bool Fit, bool Computed, class = void>
  struct choose {
    using type = typename kernel_refusal<type_of, description, typename Operands::element...>::type;
  };
  template <class Unused>
  struct choose<true, true, true, Unused> {
    using type = accepted;
  };
  template <bool Computed, class Unused>
  struct choose<true, false, Computed, Unused> {
    using type = diag::attributes_do_not_fit_operands<type_of, type_of::status.code, type_of::status.where>;
  };
  template <bool Computed, class Unused>
  struct choose<false, false, Computed, Unused> {
    using type = diag::operation_needs_every_extent<description>;
  };
  using type =
      typename std::conditional_t<refused, std::type_identity<accepted>, choose<known, attributes_fit, computed>>::type;
};

/// What a refused operation gives: the operand that is refused already, or else the first.
template <class First, class... Rest>
decltype(auto) refused_operand(const First& first, const Rest&... rest) {
  if constexpr (sizeof...(Rest) == 0 || is_refused_extents<typename First::extents> ||
                !(is_refused_extents<typename Rest::extents> || ...))
    return (first);
  else
    return refused_operand(rest...);
}

template <class Description, class X, class R>
struct typed_run;
template <class Description, class... X, class... R>
struct typed_run<Description, std::tuple<X...>, std::tuple<R...>> {
  template <std::size_t... O, std::size_t... I>
  static void call(const Description& d, const local_operation& at, std::index_sequence<O...>,
                   std::index_sequence<I...>) {
    d.run(at, const_view<X>(at.operand[O].template view<X>())..., at.result[I].template view<R>()...);
  }
  static void run(const Description& d, const local_operation& at) {
    call(d, at, std::index_sequence_for<X...>{}, std::index_sequence_for<R...>{});
  }
  static void run_erased(const void* d, const local_operation& at) { run(*static_cast<const Description*>(d), at); }
};

/// The rule that an operation is run by.
template <class Operation, class Description>
decltype(auto) rule_when_run(const Description& d) {
  if constexpr (requires { d.rule_when_run(); })
    return d.rule_when_run();
  else
    return (Operation::rule);
}

}  // namespace detail

/// Whether `apply<Description>(operands…)` would be accepted; silent when not.
template <auto Description, class First, class... Rest>
concept applies =
    dtensor_type<First> && (dtensor_type<Rest> && ...) && detail::operation_verdict<Description, First, Rest...>::ok &&
    takes<operation<Description, typename First::extents, typename Rest::extents...>, First, Rest...>;

/// The operator on dtensors: `Rule` says which, and `run`, a description of the same kind, may have other values where
/// only the kernel reads them. Refusals are one error line: what `result_layout` and extents refuse, an attribute, or
/// element types that the kernel does not compute.
template <auto Rule, class Description, dtensor_type First, dtensor_type... Rest>
  requires operation_description<Description>
auto apply_as(const Description& run, const First& first, const Rest&... rest) {
  using verdict = detail::operation_verdict<Rule, First, Rest...>;
  static_assert(insist<typename verdict::type>::met);
  using operation_type = typename verdict::type_of;
  using elements = typename verdict::elements;
  if constexpr (!verdict::ok) {
    return detail::refused_operand(first, rest...);
  } else if constexpr (detail::is_view<Description>()) {
    return detail::apply_as_view<operation_type>(first);
  } else {
    using runner =
        detail::typed_run<Description, std::tuple<typename First::element, typename Rest::element...>, elements>;
    using results = detail::result_tensors<operation_type, elements, First, Rest...>;
    static_assert(detail::tells_all_elements<operation_type, elements>, "one element type for each result");
    const dynamic_dtensor operands[] = {first.dynamic(), rest.dynamic()...};
    return detail::as_typed(static_cast<results*>(nullptr),
                            detail::apply_rule(detail::rule_when_run<operation_type>(run), operands,
                                               detail::types_of_elements<elements>::list, &runner::run_erased, &run));
  }
}

/// The same with all attributes known to the compiler.
template <auto Description, dtensor_type First, dtensor_type... Rest>
  requires operation_description<std::remove_cvref_t<decltype(Description)>>
auto apply(const First& first, const Rest&... rest) {
  return apply_as<Description>(Description, first, rest...);
}

namespace detail {

template <class Description, std::size_t Count>
struct dynamic_run {
  const Description& d;
  const char* name;

  [[noreturn]] void refuse(data_type type) const {
    throw dtensor_error(std::string(name) + ": element_types_are_not_computed: " + name_of(type));
  }

  /// Calls f with a tuple of the operands' element types: `T`, or `I` for indices, or bool.
  template <class T, class I, class F, std::size_t... O>
  static void with(std::index_sequence<O...>, const F& f) {
    constexpr unsigned index = index_mask<Description>(), truth = truth_mask<Description>();
    f(static_cast<std::tuple<
          std::conditional_t<(index >> O & 1u) != 0, I, std::conditional_t<(truth >> O & 1u) != 0, bool, T>>...>*>(
        nullptr));
  }

  /// Picks the types of the operands at hand. Throws dtensor_error where they fit no kernel.
  template <class F>
  void pick(const data_type* type, const F& f) const {
    constexpr unsigned index = index_mask<Description>(), truth = truth_mask<Description>();
    std::size_t lead = 0;  // an operand that is neither an index nor a truth value; all of these are alike
    while (lead + 1 < Count && (((index | truth) >> lead) & 1u) != 0) ++lead;
    std::size_t indexed = 0;
    while (indexed < Count && ((index >> indexed) & 1u) == 0) ++indexed;
    for (std::size_t o = 0; o < Count; ++o) {
      const bool is_index = ((index >> o) & 1u) != 0, is_truth = ((truth >> o) & 1u) != 0;
      const bool fits = is_index ? type[o] == type[indexed] && (type[o] == data_type::i32 || type[o] == data_type::i64)
                                 : type[o] == (is_truth ? data_type::boolean : type[lead]);
      if (!fits) refuse(type[o]);
    }
    const bool wide = indexed < Count && type[indexed] == data_type::i64;
    visit_element_type(type[lead], [&](auto lead_type) {
      using T = typename decltype(lead_type)::type;
      if (index == 0 || wide)
        with<T, std::int64_t>(std::make_index_sequence<Count>{}, f);
      else
        with<T, std::int32_t>(std::make_index_sequence<Count>{}, f);
    });
  }

  template <class... X>
  static void add_types(std::tuple<X...>*, std::vector<data_type>& list) {
    (list.push_back(data_type_of<X>), ...);
  }
};

/// The operator on dynamic tensors: every result. Throws operator_error (attributes, layouts or shapes do not fit),
/// layout_error (a result's layout does not divide it), dtensor_error (element types, groups), rank_error.
template <operation_description Description, std::size_t Count>
std::vector<dynamic_dtensor> apply_all(const Description& d, const std::array<dynamic_dtensor, Count>& operands) {
  shape shapes[Count];
  data_type types[Count];
  for (std::size_t o = 0; o < Count; ++o) {
    shapes[o] = operands[o].shape();
    types[o] = operands[o].type();
  }
  const rule_result made = d.rule(shapes, static_cast<int>(Count));
  if (made.status.code != rule_code::ok) throw operator_error(made.rule.name.text, made.status);
  if constexpr (detail::is_view<Description>()) {
    return {apply_view(made.rule, operands[0])};
  } else {
    const detail::dynamic_run<Description, Count> run{d, made.rule.name.text};
    void (*work)(const Description&, const local_operation&) = nullptr;
    std::vector<data_type> results;
    run.pick(types, [&]<class... X>(std::tuple<X...>*) {
      using elements = typename detail::result_elements<Description, X...>::type;
      if constexpr (detail::computes<Description, std::tuple<X...>, elements>) {
        work = &detail::typed_run<Description, std::tuple<X...>, elements>::run;
        run.add_types(static_cast<elements*>(nullptr), results);
      }
    });
    if (work == nullptr) run.refuse(types[0]);
    return apply_rule(made.rule, operands, results, [&](const local_operation& at) { work(d, at); });
  }
}

}  // namespace detail

/// The same: the first result.
template <operation_description Description, std::same_as<dynamic_dtensor>... Operands>
dynamic_dtensor apply(const Description& d, const Operands&... operands) {
  return detail::apply_all(d, std::array<dynamic_dtensor, sizeof...(Operands)>{operands...})[0];
}

}}  // namespace hyperparallel::v0_2
