// SPDX-License-Identifier: Apache-2.0
#pragma once
// Values of a program of dtensors that remember how they were made, so that `gradient` (gradient.hpp) can go back.
//
//   const auto h = hp::apply<hp::ops::silu>(x);              // a variable where x is one
//   const auto r = h.redistribute<by_row>();                 // its gradient comes back reduced, to where h lies
//   const auto c = r.redistribute_gradient<by_column>();     // r, whose gradient is brought to this layout first
//
// A variable is a dtensor and the node that made it. A node's type says its operator and the nodes of its operands, so
// the compiler knows every gradient's layout and partial state. Law: the value of an operator on variables is that on
// their values. Nodes keep only those operands and results that a backward operator reads; saving takes no copy.

#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <boost/mp11/list.hpp>

#include <hyperparallel/dtensor/gradient_parts.hpp>
#include <hyperparallel/dtensor/listed_backward.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// What a node keeps of something that no backward operator reads.
struct nothing {};

/// An address that nodes of one type share.
template <class Node>
inline constexpr char kind_of_node = 0;

template <class... Tensor>
std::vector<shape> shapes_of(const Tensor&... x) {
  return {x.shape()...};
}

/// The layout of a gradient that nothing else is said of: that of the value, its sums complete.
template <class Tensor>
using gradient_tensor =
    dtensor<typename Tensor::element, typename Tensor::extents,
            placed_layout<typename Tensor::mesh, digits_of_layout(reduced_layout(Tensor::layout::value))>>;

template <class To, class Tensor>
To brought_to(const Tensor& x) {
  if constexpr (std::is_same_v<To, Tensor>)
    return x;
  else
    return x.template redistribute<typename To::layout>();
}

/// An operand that is a variable: result `Result` of a node.
template <class Node, int Result, class Tensor>
struct source {
  using node_type = Node;
  using tensor = Tensor;
  static constexpr int result = Result;
  static constexpr bool is_variable = true;
  std::shared_ptr<const gradient_node> node;
};
/// An operand that is no variable.
struct no_source {
  static constexpr bool is_variable = false;
};

/// What a step back gives operand `Operand`, as a type. A node's `way_back::backward` adds the tensors themselves to the
/// parts, and returns a list of these. It names no node before it, so that steps of different programs share it.
template <int Operand, class Tensor>
struct operand_gradient {
  static constexpr int operand = Operand;
  using tensor = Tensor;
};

template <int Operand, class Tensor>
auto give_gradient(gradient_parts& to, const gradient_node& at, const Tensor& gradient) {
  add_gradient_part(to, at, static_cast<std::size_t>(Operand), gradient.dynamic());
  return boost::mp11::mp_list<operand_gradient<Operand, Tensor>>();
}

/// Argument `Number` of a program.
template <int Number, class Tensor>
struct argument_node {
  using sources = std::tuple<>;
};

/// `To`: the layout of the gradient.
template <class To>
struct redistribute_back {
  template <class Gradient>
  static auto backward(const gradient_node& at, const std::tuple<Gradient>& g, gradient_parts& to) {
    return give_gradient<0>(to, at, std::get<0>(g).template redistribute<To>());
  }
};

template <class To, class Source>
struct redistribute_node {
  using sources = std::tuple<Source>;
  using way_back = redistribute_back<To>;
  static constexpr int result_count = 1;
  static constexpr auto refusal() { return std::type_identity<accepted>{}; }
};

/// What a variable is beside its value.
class made_by_node {
 public:
  explicit made_by_node(gradient_target from) : from_(std::move(from)) {}
  const gradient_target& target() const { return from_; }

 private:
  gradient_target from_;
};

}  // namespace detail

/// A dtensor that an operator on variables, or the start of a program, made.
template <class Node, int Result, dtensor_type Tensor>
class variable : public detail::made_by_node {
 public:
  using tensor = Tensor;
  using element = typename Tensor::element;
  using extents = typename Tensor::extents;
  using layout = typename Tensor::layout;
  using mesh = typename Tensor::mesh;
  using source = detail::source<Node, Result, Tensor>;

  variable(std::shared_ptr<const detail::gradient_node> node, Tensor value)
      : made_by_node({std::move(node), Result}), value_(std::move(value)) {}

  const Tensor& value() const { return value_; }
  source origin() const { return {target().node}; }

  /// As of a dtensor. The gradient, reduced, comes back to this layout without its partial states.
  template <layout_type To>
  auto redistribute() const {
    return through<typename detail::gradient_tensor<Tensor>::layout>(value_.template redistribute<To>());
  }
  auto reduce_partial() const {
    return through<typename detail::gradient_tensor<Tensor>::layout>(value_.reduce_partial());
  }
  /// The same value, whose gradient is redistributed to `To` before it goes on: where a pending sum is reduced.
  template <layout_type To>
  auto redistribute_gradient() const {
    return through<To>(value_);
  }

 private:
  template <class To, class Value>
  auto through(const Value& made) const {
    using node = detail::redistribute_node<To, source>;
    return variable<node, 0, Value>(detail::plain_node(&detail::kind_of_node<node>, made.shape(), {target()}), made);
  }

  Tensor value_;
};

template <class Value>
inline constexpr bool is_variable = false;
template <class Node, int Result, class Tensor>
inline constexpr bool is_variable<variable<Node, Result, Tensor>> = true;

template <class Value>
concept variable_type = is_variable<Value>;

template <class Value>
concept tensor_or_variable = dtensor_type<Value> || variable_type<Value>;

/// Operands of a program of which some depend on its arguments: dtensors, and at least one variable.
template <class... Value>
concept traced_operands = (tensor_or_variable<Value> && ...) && (variable_type<Value> || ...);

namespace detail {

template <dtensor_type Tensor>
const Tensor& value_of(const Tensor& x) {
  return x;
}
template <variable_type Variable>
const typename Variable::tensor& value_of(const Variable& x) {
  return x.value();
}
template <class Value>
using tensor_of = std::remove_cvref_t<decltype(value_of(std::declval<const Value&>()))>;

template <dtensor_type Tensor>
no_source source_of(const Tensor&) {
  return {};
}
template <variable_type Variable>
typename Variable::source source_of(const Variable& x) {
  return x.origin();
}
template <class Value>
using source_type = decltype(source_of(std::declval<const Value&>()));

template <dtensor_type Tensor>
gradient_target target_of(const Tensor&) {
  return {};
}
inline gradient_target target_of(const made_by_node& x) { return x.target(); }

}  // namespace detail

}}  // namespace hyperparallel::v0_2
