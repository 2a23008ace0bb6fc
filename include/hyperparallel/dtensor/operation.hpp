// SPDX-License-Identifier: Apache-2.0
#pragma once
// An operator with its attributes as a value: the rule it has on operands of given shapes, and the kernel that obeys
// it.
//
//   struct softmax {
//     int dim = -1;
//     constexpr rule_result rule(const shape* x, int) const { return rules::softmax(x[0].rank, dim); }
//     template <class X>
//     void run(const local_operation&, const_view<X> x, tensor_view<X> out) const { … }
//   };
//
// From one such description come both faces: `apply<softmax{1}>(x)` on dtensors, checked by the compiler, and
// `apply(softmax{1}, x)` on dynamic ones, checked when it runs, with the same words. A description may add
//   results<T…>     a tuple, the element types of the results; one of the first operand's unless it says so
//   indices, truths masks of operands that hold indices (i32, i64) or truth values, whatever the others hold
//   is_view         the result's blocks are the operand's (no kernel)
//   whole_extents   the rule needs every extent, so that no dynamic one is taken
// A user's operator is such a struct; nothing is registered.

#include <array>
#include <concepts>
#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <hyperparallel/dtensor/apply.hpp>
#include <hyperparallel/support/array_bound.hpp>

namespace hyperparallel::inline v0_2 {

template <class Description>
concept operation_description = requires(const Description& d, const shape* operands) {
  { d.rule(operands, 1) } -> std::same_as<rule_result>;
};

/// A description on operands of declared extents: the operator type that error lines name.
template <auto Description, class... Extents>
struct operation {
  static constexpr rule_result made = [] {
    const shape list[sizeof...(Extents) + 1] = {Extents::declared...};
    return Description.rule(list, static_cast<int>(sizeof...(Extents)));
  }();
  static constexpr factor_rule rule = made.rule;
  static constexpr rule_status status = made.status;
};

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

/// The verdict before any layout is looked at.
template <auto Description, class... Operands>
struct operation_verdict {
  using description = std::remove_cvref_t<decltype(Description)>;
  using type_of = operation<Description, typename Operands::extents...>;
  using elements = typename result_elements<description, typename Operands::element...>::type;
  static constexpr bool known = !needs_every_extent<description>() || (Operands::extents::is_static && ...);
  static constexpr bool attributes_fit = known && type_of::status.code == rule_code::ok;
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
  using type = typename choose<known, attributes_fit, computed>::type;
};

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
};

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
    return first;  // already refused
  } else if constexpr (detail::is_view<Description>()) {
    return apply_as_view<operation_type>(first);
  } else {
    using runner =
        detail::typed_run<Description, std::tuple<typename First::element, typename Rest::element...>, elements>;
    return [&]<class... E>(std::tuple<E...>*) {
      return apply<operation_type, E...>([&run](const local_operation& at, auto...) { runner::run(run, at); }, first,
                                         rest...);
    }(static_cast<elements*>(nullptr));
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

}  // namespace detail

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

/// The same: the first result.
template <operation_description Description, std::same_as<dynamic_dtensor>... Operands>
dynamic_dtensor apply(const Description& d, const Operands&... operands) {
  return apply_all(d, std::array<dynamic_dtensor, sizeof...(Operands)>{operands...})[0];
}

}  // namespace hyperparallel::inline v0_2
