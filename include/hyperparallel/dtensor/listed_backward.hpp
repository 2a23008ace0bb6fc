// SPDX-License-Identifier: Apache-2.0
#pragma once
// Backward operators of a listed operator as descriptions (operation.hpp): what its gradient says, on dtensors.
//
// Law: rule, attributes and kernel are those of the backward operators that `differentiate` appends to a graph, so the
// gradient of a program of dtensors has the bits of a model's that lies alike. A factor that the backward operator
// creates (the rows of a table, what a sum ran over) has the extent that it had in the forward operands. An operand that
// passes as a pending sum because the forward operator is linear in it passes here as well: what is linear in x has
// gradients for its other operands that are linear in x.

#include <tuple>
#include <type_traits>
#include <utility>

#include <hyperparallel/dtensor/listed_operation.hpp>
#include <hyperparallel/operators/gradient_fit.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

constexpr gradient_writer written_gradient(const operator_value& o, int operands) {
  gradient_writer w(builtin_list, operands);
  o.gradient(w);
  return w;
}

/// What the gradient of an operator type says of an instance with so many operands.
template <class Operator, int Operands = 0>
inline constexpr gradient_writer gradient_of_type = written_gradient(operator_value_of<Operator>, Operands);
inline constexpr gradient_writer no_gradient{builtin_list};

/// The letter and the digit of part `n` of what a gradient text reads.
struct written_part {
  char letter;
  int number;
};
constexpr written_part part_of_gradient(const char* text, int n) {
  for (; n > 0; --n) text += 3;
  return {text[0], text[1] - '0'};
}
constexpr int parts_read(const gradient_rule& rule) {
  return static_cast<int>(gradients_made_by(rule) - rule.text) / 3;
}
constexpr int parts_made(const gradient_rule& rule) { return text_length(gradients_made_by(rule)); }

/// Whether the rule reads operand, or result, `number`.
constexpr bool reads_part(const gradient_rule& rule, char letter, int number) {
  for (int n = 0; n < parts_read(rule); ++n) {
    const written_part p = part_of_gradient(rule.text, n);
    if (p.letter == letter && p.number == number) return true;
  }
  return false;
}

/// Calls `each(std::type_identity<Backward>, number)` for the backward operators that a gradient names, in its order.
template <class Each>
class gradient_visitor {
 public:
  constexpr explicit gradient_visitor(const Each& each) : each_(each) {}
  /// Any number shows the same types in the same order; the most shows all.
  static constexpr int operands() { return max_operands; }
  template <class Backward>
  constexpr gradient_rule& backward(const char*) {
    each_(std::type_identity<Backward>{}, count_++);
    return rule_;
  }

 private:
  const Each& each_;
  int count_ = 0;
  gradient_rule rule_;
};
template <class Operator, class Each>
constexpr void visit_gradient(const Each& each) {
  gradient_visitor<Each> visitor(each);
  Operator::gradient(visitor);
}

/// Whether backward operator `wanted` of `Operator` has a kernel that computes in T.
template <class T, class Operator>
constexpr bool has_backward_kernel(int wanted) {
  bool has = false;
  visit_gradient<Operator>([&]<class Backward>(std::type_identity<Backward>, int number) {
    has = has || (number == wanted && computes_elements<Backward, T>);
  });
  return has;
}

/// The backward rule of a forward rule on operands of these extents. Factors that it creates have the extents of `list`,
/// the shapes of the forward operands; as declared, a dynamic one is minus its multiple.
template <class Operation>
struct backward_rule_on;
template <auto Forward, class... Extents>
struct backward_rule_on<operation<Forward, Extents...>> {
  static constexpr rule_result of(const gradient_rule& gradient) {
    const shape declared[] = {Extents::declared...};
    return of(gradient, declared);
  }
  static constexpr rule_result of(const gradient_rule& gradient, const shape* list) {
    using forward = operation<Forward, Extents...>;
    factor_rule rule = backward_rule(forward::rule, *gradient.value, gradient.text);
    for (int n = 0; n < rule.operand_count; ++n) {
      const written_part read = part_of_gradient(gradient.text, n);
      if (read.letter != 'x' || !passes_sums_of(forward::rule, read.number)) continue;
      say_all(rule.partials, 1u << n, reduce_op::sum, partial_mode::each);
      say_all(rule.partials, 1u << n, reduce_op::avg, partial_mode::each);
    }
    const factor_knowledge known = know_factors(forward::rule, list, static_cast<int>(sizeof...(Extents)));
    unsigned read = 0;
    for (int i = 0; i < rule.operand_count; ++i) read |= rule.operand[i].mask;
    for (int f = 0; f < rule.factor_count; ++f)
      if (!(read >> f & 1u) && known.status.code == extents_code::ok) rule.factor[f].extent = known.extent[f];
    return checked_rule(without_unused_factors(rule));
  }
};

template <class T, class Number>
struct repeated_element;
template <class T, std::size_t... I>
struct repeated_element<T, std::index_sequence<I...>> {
  template <std::size_t>
  using same = T;
  using type = std::tuple<same<I>...>;
};

/// Backward operator `Number` of `Operator`, whose forward operation was `Operation`. Results have the element type of
/// the operands.
template <named_operator_type Operator, class Operation, int Number>
struct listed_backward {
  operator_attributes attributes{};
  at_step step{};

  static constexpr gradient_rule gradient =
      detail::gradient_of_type<Operator, Operation::rule.operand_count>.rule[Number];
  static constexpr unsigned indices = gradient.value->indices;

  constexpr rule_result rule(const shape*, int) const { return detail::backward_rule_on<Operation>::of(gradient); }

  template <class... X>
  using results = typename detail::repeated_element<
      typename detail::lead_element<indices, 0, void, X...>::type,
      std::make_index_sequence<static_cast<std::size_t>(detail::parts_made(gradient))>>::type;

  template <class... T>
    requires(detail::element_of_views<indices, T...>::ok &&
             detail::has_backward_kernel<typename detail::element_of_views<indices, T...>::type, Operator>(Number))
  void run(const local_operation& at, tensor_view<T>...) const {
    using computed = kernels::computing<typename detail::element_of_views<indices, T...>::type>;
    operator_kernel function = nullptr;
    detail::visit_gradient<Operator>([&]<class Backward>(std::type_identity<Backward>, int number) {
      if (number == Number) function = kernel_of<computed, Backward>();
    });
    operator_attributes turned = attributes;
    if (gradient.reverses) turned.integer[0] = attributes.integer[0] < 0 ? 1 : -1;
    detail::run_at<computed>(at, *gradient.value, function, turned, step);
  }
};

/// The same on forward operands whose extents run time knows.
template <named_operator_type Operator, class Operation, int Number>
struct listed_backward_of_shapes : listed_backward<Operator, Operation, Number> {
  const shape* operand = nullptr;

  factor_rule rule_when_run() const {
    return detail::backward_rule_on<Operation>::of(listed_backward<Operator, Operation, Number>::gradient, operand)
        .rule;
  }
};

}}}  // namespace hyperparallel::v0_2::detail
