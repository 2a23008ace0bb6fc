// SPDX-License-Identifier: Apache-2.0
#pragma once
// The operators of a program as a type: the built-in ones, and a user's.
//
//   struct squared_relu_gradient {
//     static constexpr const char *name = "squared_relu_gradient", *text = "*,*->*";
//     template <class T> static void run(hp::const_view<T> dy, hp::const_view<T> x, hp::tensor_view<T> dx) { … }
//   };
//   struct squared_relu {
//     static constexpr const char *name = "squared_relu", *text = "*->*";
//     static constexpr int flops_per_point = 2;
//     template <class Builder>
//     static constexpr void gradient(Builder& b) { b.template backward<squared_relu_gradient>("g0,x0>0"); }
//     template <class T> static void run(hp::const_view<T> x, hp::tensor_view<T> y) { … }
//   };
//   using mine = hp::operators<hp::builtin, squared_relu, squared_relu_gradient>;
//
// `text` is the operator's factor rule (rule_text.hpp), and all that strategies ask. `gradient` names the backward
// operators by the texts of gradient_rules.hpp; an operator without one is refused where a gradient reaches it, unless
// it says `not_differentiable`. Further members, all optional: `unit` (vector), `flops_per_point` (1), `partials`
// (refuse_partials()). Kernels are the business of those who run the graph (own_kernels.hpp).
// Laws: no operator and no name stands twice in a list; built-in operators come first in every list.

#include <concepts>

#include <hyperparallel/model/gradient_rules.hpp>
#include <hyperparallel/support/diagnostic.hpp>

namespace hyperparallel::inline v0_2 {

/// The operators of the library.
struct builtin {};

/// Any type with the name and the rule text of an operator.
template <class Operator>
concept named_operator_type = requires {
  { Operator::name } -> std::convertible_to<const char*>;
  { Operator::text } -> std::convertible_to<const char*>;
};

namespace diag {
template <class Operator>
struct operator_stands_twice_in_the_list;
template <class Operator>
struct operator_has_no_name_or_no_rule;
}  // namespace diag

namespace detail {

template <class Operator>
constexpr own_operator own_operator_from() {
  own_operator o{{Operator::name, Operator::text, compute_unit::vector, 1}};
  if constexpr (requires { Operator::unit; }) o.row.unit = Operator::unit;
  if constexpr (requires { Operator::flops_per_point; }) o.row.flops_per_point = Operator::flops_per_point;
  if constexpr (requires { Operator::partials; }) o.row.partials = Operator::partials;
  if constexpr (requires { Operator::not_differentiable; }) o.differentiable = !Operator::not_differentiable;
  if constexpr (requires(gradient_writer& b) { Operator::gradient(b); })
    o.gradient = [](gradient_writer& b) { Operator::gradient(b); };
  return o;
}

}  // namespace detail

/// A user's operator as a value.
template <named_operator_type Operator>
inline constexpr own_operator own_operator_of = detail::own_operator_from<Operator>();

template <class Backward>
constexpr void gradient_writer::backward(const char* text) {
  backward(own_.number_of(&own_operator_of<Backward>), text);
}

namespace detail {

template <class Operator>
constexpr bool name_is_built_in() {
  for (int k = 0; k < model_op_count; ++k)
    if (same_text(name_of(static_cast<model_op>(k)), Operator::name)) return true;
  return false;
}

/// Whether another operator of the list, or a built-in one, has the same name.
template <class Operator, class... All>
constexpr bool stands_twice() {
  if constexpr ((named_operator_type<All> && ...))
    return (0 + ... + (same_text(All::name, Operator::name) ? 1 : 0)) > 1 || name_is_built_in<Operator>();
  else
    return false;
}

template <bool Named, bool Twice, class Operator>
struct listed_verdict {
  using type = accepted;
};
template <bool Twice, class Operator>
struct listed_verdict<false, Twice, Operator> {
  using type = diag::operator_has_no_name_or_no_rule<Operator>;
};
template <class Operator>
struct listed_verdict<true, true, Operator> {
  using type = diag::operator_stands_twice_in_the_list<Operator>;
};

template <bool Named, class... Own>
struct listed {
  static constexpr const own_operator* item[sizeof...(Own) + 1] = {&own_operator_of<Own>...};
  static constexpr own_operators value{item, static_cast<int>(sizeof...(Own))};
};
template <class... Own>
struct listed<false, Own...> {
  static constexpr own_operators value{};
};

}  // namespace detail

/// The built-in operators and these. An option of `train_step`; `list` is for `build_options::operators`.
template <class... Own>
struct operators {
  static_assert((insist<typename detail::listed_verdict<named_operator_type<Own>, detail::stands_twice<Own, Own...>(),
                                                        Own>::type>::met &&
                 ...));
  static constexpr own_operators list = detail::listed<(named_operator_type<Own> && ...), Own...>::value;

  template <class Settings>
  static constexpr void apply(Settings& s) {
    s.build.operators = list;
  }
};
template <class... Own>
struct operators<builtin, Own...> : operators<Own...> {};

}  // namespace hyperparallel::inline v0_2
