// SPDX-License-Identifier: Apache-2.0
#pragma once
// Listed operators on variables: forward as on dtensors, backward by the operator's own gradient.
//
//   hp::apply<hp::ops::rms_norm>({.real = {1e-6}}, x, weight);            // x or weight is a variable
//   hp::apply<hp::listed<hp::ops::reduce, "ab->a">{}>(x);                 // an instance whose rule its value says
//
// Gradients that a backward operator takes as they come stay pending sums; where its rule refuses them they are reduced
// to the layout of the value they belong to. A backward operator that reads the gradients of several results runs where
// one of these is there; the gradient of a result that nothing reads is zeros. An operator without a gradient is one
// error line where it is differentiated.

#include <concepts>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

#include <hyperparallel/dtensor/creation.hpp>
#include <hyperparallel/dtensor/kept_tensors.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace diag {
template <class Operator>
struct operator_on_dtensors_has_no_gradient;
template <class Operator>
struct backward_operator_has_no_kernel;
}  // namespace diag

namespace detail {

/// `applies` of a pack that is never empty.
template <auto Description, class... Tensor>
constexpr bool applies_to() {
  return []<class First, class... Rest>(std::tuple<First, Rest...>*) {
    return applies<Description, First, Rest...>;
  }(static_cast<std::tuple<Tensor...>*>(nullptr));
}

template <class Operator, class Operation, class Sources, class Operands, class Results>
struct operation_node;

/// A step of a program: `Operator` with the rule of `Operation`.
template <class Operator, class Operation, class... Source, class... Operand, class... Made>
struct operation_node<Operator, Operation, std::tuple<Source...>, std::tuple<Operand...>, std::tuple<Made...>>
    : gradient_node {
  using sources = std::tuple<Source...>;
  using reads = gradient_reads<Operator, sources>;
  using operator_type = Operator;
  static constexpr bool has_gradient =
      reads::passes_on || (reads::rules.count > 0 && operator_value_of<Operator>.has_gradient_for(Operation::rule));
  static constexpr int result_count = static_cast<int>(sizeof...(Made));
  static constexpr const gradient_writer& rules = gradient_of_type<Operator>;
  /// Whether all backward operators that are asked for can run.
  static constexpr bool has_kernels() {
    bool all = true;
    if constexpr (reads::rules.count > 0) {
      using element =
          typename lead_element<operator_value_of<Operator>.indices, 0, void, typename Operand::element...>::type;
      for (int n = 0; n < reads::rules.count; ++n)
        all = all && (!reads::wants(reads::rules.rule[n]) || has_backward_kernel<element, Operator>(n));
    }
    return all;
  }
  using kept_operands = decltype(kept_tensors<reads, 'x', sources>(std::declval<const Operand&>()...));
  using kept_results = decltype(kept_tensors<reads, 'y', made_here<Made...>>(std::declval<const Made&>()...));

  operation_node(const operator_attributes& given, at_step when, sources from, kept_operands x, kept_results y,
                 std::vector<shape> shapes)
      : gradient_node(&kind_of_node<operation_node>, std::move(shapes)),
        attributes(given),
        step(when),
        operand(std::move(from)),
        read(std::move(x)),
        made(std::move(y)) {}

  operator_attributes attributes;
  at_step step;
  sources operand;
  kept_operands read;
  kept_results made;

  /// Contributions to the operands from the gradients of the results, `nothing` where there is none.
  template <class... Gradient>
  auto backward(const std::tuple<Gradient...>& g) const {
    if constexpr (reads::passes_on) {
      return std::apply([&](const auto&... to) { return std::tuple_cat(contributed(to, std::get<0>(g))...); }, operand);
    } else {
      static_assert(insist<std::conditional_t<every_gradient_is_read<Gradient...>(), accepted,
                                              diag::operator_on_dtensors_has_no_gradient<Operator>>>::met);
      const auto x = unpacked(read);
      const auto y = unpacked(made);
      return [&]<std::size_t... N>(std::index_sequence<N...>) {
        return std::tuple_cat(by_rule<static_cast<int>(N)>(g, x, y)...);
      }(std::make_index_sequence<static_cast<std::size_t>(rules.count)>{});
    }
  }

 private:
  template <class... Gradient>
  static constexpr bool every_gradient_is_read() {
    const bool there[] = {!std::is_same_v<Gradient, nothing>...};
    for (int r = 0; r < result_count; ++r) {
      bool read = !there[r];
      for (int n = 0; n < rules.count; ++n) read = read || reads_gradient(rules.rule[n], r);
      if (!read) return false;
    }
    return true;
  }
  /// Whether the rule makes something that is not zero: a gradient that it reads is there, or it reads none.
  template <class... Gradient>
  static constexpr bool contributes(const gradient_rule& rule) {
    const bool there[] = {!std::is_same_v<Gradient, nothing>...};
    bool reads_some = false, reads_one_that_is_there = false;
    for (int r = 0; r < result_count; ++r) {
      if (!reads_gradient(rule, r)) continue;
      reads_some = true;
      reads_one_that_is_there = reads_one_that_is_there || there[r];
    }
    return reads_one_that_is_there || !reads_some;
  }

  template <int Number, class Operands, class Results, class... Gradient>
  auto by_rule(const std::tuple<Gradient...>& g, const Operands& x, const Results& y) const {
    constexpr gradient_rule rule = rules.rule[Number];
    if constexpr (!reads::wants(rule) || !contributes<Gradient...>(rule)) {
      return std::tuple<>();
    } else {
      const auto made_here = [&]<std::size_t... P>(std::index_sequence<P...>) {
        using description = listed_backward<Operator, Operation, Number>;
        if constexpr (applies_to<description{}, std::remove_cvref_t<decltype(part<Number, P, false>(g, x, y))>...>())
          return apply_as<description{}>(description{attributes, step}, part<Number, P, false>(g, x, y)...);
        else
          return apply_as<description{}>(description{attributes, step}, part<Number, P, true>(g, x, y)...);
      }(std::make_index_sequence<static_cast<std::size_t>(parts_read(rule))>{});
      return [&]<std::size_t... M>(std::index_sequence<M...>) {
        return std::tuple_cat(contributed(std::get<made_for(Number, M)>(operand), result_at<M>(made_here))...);
      }(std::make_index_sequence<static_cast<std::size_t>(parts_made(rule))>{});
    }
  }
  static constexpr std::size_t made_for(int rule, std::size_t m) {
    return static_cast<std::size_t>(gradients_made_by(rules.rule[rule])[m] - '0');
  }
  template <std::size_t M, class Results>
  static const auto& result_at(const Results& r) {
    if constexpr (dtensor_type<Results>)
      return r;
    else
      return std::get<M>(r);
  }

  /// What part `P` of a backward rule's text stands for; gradients lie as their values where `Reduced`.
  template <int Number, std::size_t P, bool Reduced, class Operands, class Results, class... Gradient>
  auto part(const std::tuple<Gradient...>& g, const Operands& x, const Results& y) const {
    constexpr gradient_part p = part_of_gradient(rules.rule[Number].text, static_cast<int>(P));
    constexpr std::size_t n = static_cast<std::size_t>(p.number);
    if constexpr (p.letter == 'x')
      return std::get<n>(x);
    else if constexpr (p.letter == 'y')
      return std::get<n>(y);
    else if constexpr (Reduced)
      return brought_to<gradient_tensor<made_at<n>>>(gradient_of<n>(g));
    else
      return gradient_of<n>(g);
  }
  template <std::size_t R>
  using made_at = std::tuple_element_t<R, std::tuple<Made...>>;

  /// The gradient of result `R`: zeros that lie as the result where nothing reads it.
  template <std::size_t R, class... Gradient>
  auto gradient_of(const std::tuple<Gradient...>& g) const {
    if constexpr (std::is_same_v<std::tuple_element_t<R, std::tuple<Gradient...>>, nothing>)
      return zeros<gradient_tensor<made_at<R>>>(group_of(g), results[R]);
    else
      return std::get<R>(g);
  }
  /// Domain: one of the gradients is there.
  template <std::size_t First = 0, class... Gradient>
  static const rank_group& group_of(const std::tuple<Gradient...>& g) {
    if constexpr (std::is_same_v<std::tuple_element_t<First, std::tuple<Gradient...>>, nothing>)
      return group_of<First + 1>(g);
    else
      return std::get<First>(g).group();
  }
};

/// Result `R` of a node as a variable; numbers, and what no gradient passes, as a dtensor.
template <class Operator, int R, class Node, class Tensor>
auto as_variable(const std::shared_ptr<const Node>& node, const Tensor& x) {
  if constexpr (is_in(operator_value_of<Operator>.constant | operator_value_of<Operator>.index_results, R))
    return x;
  else
    return variable<Node, R, Tensor>(node, x);
}

template <auto Rule, class Operator, class Run, class... Value>
auto traced(const Run& run, const Value&... x) {
  const auto made = apply_as<Rule>(run, value_of(x)...);
  using result_type = std::remove_cvref_t<decltype(made)>;
  const auto trace = [&]<class... Made>(const Made&... y) {
    using node = operation_node<Operator, operation<Rule, typename tensor_of<Value>::extents...>,
                                std::tuple<std::remove_cvref_t<decltype(source_of(x))>...>,
                                std::tuple<tensor_of<Value>...>, std::tuple<Made...>>;
    const std::shared_ptr<const node> maker =
        std::make_shared<node>(run.attributes, run.step, std::make_tuple(source_of(x)...),
                               kept_tensors<typename node::reads, 'x', typename node::sources>(value_of(x)...),
                               kept_tensors<typename node::reads, 'y', made_here<Made...>>(y...), shapes_of(y...));
    return [&]<std::size_t... R>(std::index_sequence<R...>) {
      if constexpr (sizeof...(Made) == 1)
        return as_variable<Operator, 0>(maker, y...);
      else
        return std::make_tuple(as_variable<Operator, static_cast<int>(R)>(maker, y)...);
    }(std::index_sequence_for<Made...>{});
  };
  if constexpr (dtensor_type<result_type>)
    return trace(made);
  else
    return std::apply(trace, made);
}

template <class Description>
struct operator_of_listed;
template <class Operator, fixed_string Text>
struct operator_of_listed<listed<Operator, Text>> {
  using type = Operator;
};

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
  requires traced_operands<First, Rest...>
auto apply(const First& first, const Rest&... rest) {
  using of = detail::operator_of_listed<std::remove_cvref_t<decltype(Listed)>>;
  return detail::traced<Listed, typename of::type>(Listed, first, rest...);
}

}}  // namespace hyperparallel::v0_2
