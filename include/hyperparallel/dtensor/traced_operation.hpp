// SPDX-License-Identifier: Apache-2.0
#pragma once
// Listed operators on variables: forward as on dtensors, backward by the operator's own gradient.
//
//   hp::apply<hp::ops::rms_norm>({.real = {1e-6}}, x, weight);            // x or weight is a variable
//   hp::apply<hp::listed<hp::ops::reduce, "ab->a">{}>(x);                 // an instance whose rule its value says
//
// The way back is that of operation_node.hpp; an operator without a gradient is one error line where it is
// differentiated.

#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

#include <hyperparallel/dtensor/operation_node.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// Result `R` of a node as a variable; numbers, and what no gradient passes, as a dtensor.
template <class Operator, int R, class Node, class Tensor>
auto as_variable(const std::shared_ptr<const gradient_node>& node, const Tensor& x) {
  if constexpr (is_in(operator_value_of<Operator>.constant | operator_value_of<Operator>.index_results, R))
    return x;
  else
    return variable<Node, R, Tensor>(node, x);
}

/// What an operator gave, one dtensor or a tuple of several, as a tuple.
template <dtensor_type Tensor>
std::tuple<const Tensor&> listed_results_of(const Tensor& made) {
  return {made};
}
template <class... Tensor>
std::tuple<const Tensor&...> listed_results_of(const std::tuple<Tensor...>& made) {
  return std::apply([](const Tensor&... y) { return std::tuple<const Tensor&...>(y...); }, made);
}
template <class Result>
struct results_as_tuple {
  using type = std::tuple<Result>;
};
template <class... Result>
struct results_as_tuple<std::tuple<Result...>> {
  using type = std::tuple<Result...>;
};

/// `made`, what the operator gives of these operands, as variables that remember it.
template <auto Rule, class Operator, class Run, class Result, class... Value>
auto remembered(const Result& made, const Run& run, const Value&... x) {
  using node = operation_node<Operator, operation<Rule, typename tensor_of<Value>::extents...>,
                              std::tuple<source_type<Value>...>, std::tuple<tensor_of<Value>...>,
                              typename results_as_tuple<Result>::type>;
  const std::shared_ptr<const gradient_node> maker = node::node(&kind_of_node<node>, {target_of(x)...}, run.attributes,
                                                                run.step, listed_results_of(made), value_of(x)...);
  if constexpr (dtensor_type<Result>)
    return as_variable<Operator, 0, node>(maker, made);
  else
    return [&]<std::size_t... R>(std::index_sequence<R...>) {
      return std::make_tuple(as_variable<Operator, static_cast<int>(R), node>(maker, std::get<R>(made))...);
    }(std::make_index_sequence<std::tuple_size_v<Result>>{});
}

template <auto Rule, class Operator, class Run, class... Value>
auto traced(const Run& run, const Value&... x) {
  return remembered<Rule, Operator>(apply_as<Rule>(run, value_of(x)...), run, x...);
}

template <class Description>
struct operator_of_listed;
template <class Operator, fixed_string Text>
struct operator_of_listed<listed<Operator, Text>> {
  using type = Operator;
};

template <class Operator>
concept says_gradient =
    requires { Operator::passes_gradient; } || requires(gradient_writer& w) { Operator::gradient(w); };

template <class Description>
concept is_listed = requires { typename operator_of_listed<Description>::type; };

}  // namespace detail

/// The operator on variables and dtensors, see listed_operation.hpp.
template <named_operator_type Operator, fixed_string Text = "", class First, class... Rest>
  requires traced_operands<First, Rest...>
auto apply(at_step step, const operator_attributes& attributes, const First& first, const Rest&... rest) {
  return detail::traced<listed<Operator, Text>{}, Operator>(listed<Operator, Text>{attributes, {}, step}, first,
                                                            rest...);
}
template <named_operator_type Operator, fixed_string Text = "", class First, class... Rest>
  requires traced_operands<First, Rest...>
auto apply(const operator_attributes& attributes, const First& first, const Rest&... rest) {
  return apply<Operator, Text>(at_step{}, attributes, first, rest...);
}
template <named_operator_type Operator, fixed_string Text = "", class First, class... Rest>
  requires traced_operands<First, Rest...>
auto apply(const First& first, const Rest&... rest) {
  return apply<Operator, Text>(operator_attributes{}, first, rest...);
}
/// With attributes, a text and created extents known to the compiler.
template <auto Listed, class First, class... Rest>
  requires traced_operands<First, Rest...> && detail::is_listed<std::remove_cvref_t<decltype(Listed)>>
auto apply(const First& first, const Rest&... rest) {
  using of = detail::operator_of_listed<std::remove_cvref_t<decltype(Listed)>>;
  return detail::traced<Listed, typename of::type>(Listed, first, rest...);
}

/// Operands of a function whose description says `on_variables`: the listed operator, with a gradient, that it is there.
template <class Description, class... X>
concept traced_by = traced_operands<X...> && requires {
  requires detail::says_gradient<
      typename detail::operator_of_listed<std::remove_cvref_t<decltype(Description::on_variables)>>::type>;
};
namespace detail {

/// Operands of a function on dtensors, and on variables where it is such.
template <class Description, class... X>
concept tensors_of_function = (dtensor_type<X> && ...) || traced_by<Description, X...>;
template <class X, class Description>
concept tensor_of_function = tensors_of_function<Description, X>;

}  // namespace detail

template <auto Description, class First, class... Rest>
  requires traced_by<std::remove_cvref_t<decltype(Description)>, First, Rest...>
auto apply(const First& first, const Rest&... rest) {
  return apply<std::remove_cvref_t<decltype(Description)>::on_variables>(first, rest...);
}

}}  // namespace hyperparallel::v0_2
