// SPDX-License-Identifier: Apache-2.0
#pragma once
// Whether a program of dtensors has a gradient, asked of its type: `hp::differentiable<program, std::index_sequence<0>, x>`.
//
// It has one where the arguments that are named are dtensors of floats, what it gives is one number, every operator on the
// way has a gradient that fits it and whose operators have kernels, and the number depends on all of these arguments. The
// first that fails is one error line.

#include <cstddef>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

#include <boost/mp11/algorithm.hpp>
#include <boost/mp11/list.hpp>

#include <hyperparallel/dtensor/slots.hpp>
#include <hyperparallel/dtensor/traced_operation.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace diag {
template <class Argument>
struct argument_has_no_gradient;
template <class Argument>
struct value_does_not_depend_on_argument;
template <class Extents>
struct gradient_is_of_no_single_number;
}  // namespace diag

namespace detail {

namespace mp = boost::mp11;

template <class Nodes, class Sources>
struct nodes_before;
/// Appends a node behind the nodes that it depends on. Arguments are not listed.
template <class Nodes, class Node>
struct listed_nodes
    : std::conditional_t<
          mp::mp_contains<Nodes, Node>::value, std::type_identity<Nodes>,
          std::type_identity<mp::mp_push_back<typename nodes_before<Nodes, typename Node::sources>::type, Node>>> {};
template <class Nodes, int Number, class Tensor>
struct listed_nodes<Nodes, argument_node<Number, Tensor>> : std::type_identity<Nodes> {};
template <class Nodes>
struct nodes_before<Nodes, std::tuple<>> : std::type_identity<Nodes> {};
template <class Nodes, class... Rest>
struct nodes_before<Nodes, std::tuple<no_source, Rest...>> : nodes_before<Nodes, std::tuple<Rest...>> {};
template <class Nodes, class Node, int Result, class Tensor, class... Rest>
struct nodes_before<Nodes, std::tuple<source<Node, Result, Tensor>, Rest...>>
    : nodes_before<typename listed_nodes<Nodes, Node>::type, std::tuple<Rest...>> {};

template <bool Wanted, int Number, class Argument>
auto argument_of(const Argument& x) {
  if constexpr (Wanted) {
    using node = argument_node<Number, Argument>;
    return variable<node, 0, Argument>(plain_node(&kind_of_node<node>, x.shape(), {}), x);
  } else {
    return x;
  }
}

/// Whether an argument may be differentiated: a dtensor of floats.
template <class Argument>
inline constexpr bool is_float_dtensor = false;
template <class T, class Extents, class Layout>
inline constexpr bool is_float_dtensor<dtensor<T, Extents, Layout>> = !std::is_integral_v<T>;

template <std::size_t Number, class... Argument>
constexpr bool may_be_differentiated() {
  if constexpr (Number < sizeof...(Argument))
    return is_float_dtensor<mp::mp_at_c<mp::mp_list<Argument...>, Number>>;
  else
    return false;
}

template <class Wanted, class... Argument>
struct traced_arguments;
template <std::size_t... Wanted, class... Argument>
struct traced_arguments<std::index_sequence<Wanted...>, Argument...> {
  static constexpr bool is_wanted(std::size_t number) { return ((number == Wanted) || ...); }
  /// The first of them that may not be, -1 where all may.
  static constexpr int refused() {
    int first = -1;
    ((first = first < 0 && !may_be_differentiated<Wanted, Argument...>() ? static_cast<int>(Wanted) : first), ...);
    return first;
  }
  static auto of(const Argument&... x) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return std::make_tuple(argument_of<is_wanted(I), static_cast<int>(I)>(x)...);
    }(std::index_sequence_for<Argument...>{});
  }
  using type = decltype(of(std::declval<const Argument&>()...));
};

/// Why a node hands no gradients back: `accepted` where it does.
template <class Node>
using refusal_of_node = typename decltype(Node::refusal())::type;
template <class Node>
using is_refused = std::bool_constant<!std::is_same_v<refusal_of_node<Node>, accepted>>;

template <int Number>
struct reads_argument {
  template <class Source>
  struct is_it : std::false_type {};
  template <class Tensor>
  struct is_it<source<argument_node<Number, Tensor>, 0, Tensor>> : std::true_type {};
  template <class Node>
  using fn = mp::mp_any_of<mp::mp_rename<typename Node::sources, mp::mp_list>, is_it>;
};

/// Why there is no gradient of a value that a program made of its arguments.
template <class Value, class Wanted>
struct gradient_verdict {
  using type = diag::value_does_not_depend_on_argument<argument<0>>;
};
template <class Value, std::size_t First, std::size_t... Rest>
  requires(!variable_type<Value>)
struct gradient_verdict<Value, std::index_sequence<First, Rest...>> {
  using type = diag::value_does_not_depend_on_argument<argument<static_cast<int>(First)>>;
};
template <class Node, int Result, class Tensor, std::size_t... Wanted>
struct gradient_verdict<variable<Node, Result, Tensor>, std::index_sequence<Wanted...>> {
  using nodes = typename listed_nodes<mp::mp_list<>, Node>::type;
  using refused = mp::mp_copy_if<nodes, is_refused>;
  static constexpr int unread() {
    int first = -1;
    constexpr bool direct = mp::mp_empty<nodes>::value;  // the value is an argument
    ((first = first < 0 && !direct && !mp::mp_any_of_q<nodes, reads_argument<static_cast<int>(Wanted)>>::value
                  ? static_cast<int>(Wanted)
                  : first),
     ...);
    return first;
  }
  static constexpr auto choose() {
    if constexpr (is_refused_extents<typename Tensor::extents>)
      return std::type_identity<refused_before>{};
    else if constexpr (Tensor::extents::declared.rank != 0)
      return std::type_identity<diag::gradient_is_of_no_single_number<typename Tensor::extents>>{};
    else if constexpr (!mp::mp_empty<refused>::value)
      return std::type_identity<refusal_of_node<mp::mp_front<refused>>>{};
    else if constexpr (unread() >= 0)
      return std::type_identity<diag::value_does_not_depend_on_argument<argument<unread()>>>{};
    else
      return std::type_identity<accepted>{};
  }
  using type = typename decltype(choose())::type;
};

template <int Refused, class Program, class Traced, class Wanted>
struct program_verdict {
  using type = diag::argument_has_no_gradient<argument<Refused>>;
};
template <class Program, class... Traced, class Wanted>
struct program_verdict<-1, Program, std::tuple<Traced...>, Wanted> {
  using value = std::remove_cvref_t<std::invoke_result_t<const Program&, const Traced&...>>;
  using type = typename gradient_verdict<value, Wanted>::type;
};
template <class Program, class Wanted, class... Argument>
using verdict_of_program = typename program_verdict<traced_arguments<Wanted, Argument...>::refused(), Program,
                                                    typename traced_arguments<Wanted, Argument...>::type, Wanted>::type;

}  // namespace detail

/// Whether `value_and_gradient<Wanted…>(program, arguments…)` would be accepted; silent when not. `Wanted` is a
/// std::index_sequence.
template <class Program, class Wanted, class... Argument>
concept differentiable = std::is_same_v<detail::verdict_of_program<Program, Wanted, Argument...>, accepted>;

}}  // namespace hyperparallel::v0_2
