// SPDX-License-Identifier: Apache-2.0
#pragma once
// Gradients of a program of dtensors, by reverse mode.
//
//   const auto [loss, gradients] = hp::value_and_gradient<0, 1>(program, up, down, x, labels);
//   const auto& [d_up, d_down] = gradients;             // what `program` gives has no dims
//   static_assert(…decltype(d_up)::layout… == hp::layout<mesh, hp::none, hp::partial("dp")>);
//
// `program` is a function of any tensors: it is called once, with variables for the arguments that are named and the
// others as they are. Laws: backward operators, their order and the order of sums are those of `differentiate` on a graph
// of the same operators, so equal layouts give equal bits; a gradient is a pending sum where nothing reduced it, and its
// type says so; several contributions that lie alike are summed as they lie, others where the value lies. Source of the
// face: JAX's value_and_grad. O(operators) backward operators.

#include <cstddef>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

#include <boost/mp11/algorithm.hpp>
#include <boost/mp11/list.hpp>

#include <hyperparallel/dtensor/creation.hpp>
#include <hyperparallel/dtensor/gradient_verdict.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// Result `Source::result` of the nodes of one type has parts of this type.
template <class Source, class Gradient>
struct part_type {
  using to = Source;
  using node = typename Source::node_type;
  using tensor = Gradient;
};
template <class Contribution>
using part_type_of = part_type<typename Contribution::to, typename Contribution::tensor>;
template <class Part>
using tensor_of_part = typename Part::tensor;

template <class Node>
struct is_for_node {
  template <class Part>
  using fn = std::is_same<typename Part::node, Node>;
};
template <class Node, int Result>
struct is_for_result {
  template <class Part>
  using fn = std::bool_constant<std::is_same_v<typename Part::node, Node> && Part::to::result == Result>;
};

/// The one type of a result's gradient: that of its parts where they lie alike, else that of the value, reduced;
/// `nothing` where there are none.
template <class Parts>
struct joined_type {
  using first = mp::mp_front<Parts>;
  using type = std::conditional_t<mp::mp_size<mp::mp_unique<mp::mp_transform<tensor_of_part, Parts>>>::value == 1,
                                  typename first::tensor, gradient_tensor<typename first::to::tensor>>;
};
template <>
struct joined_type<mp::mp_list<>> {
  using type = nothing;
};
template <class Parts, class Node, int Result>
using joined_of = typename joined_type<mp::mp_copy_if_q<Parts, is_for_result<Node, Result>>>::type;

template <class Gradient>
Gradient joined_as(const gradient_parts& parts, const gradient_node& node, int result) {
  if constexpr (std::is_same_v<Gradient, nothing>)
    return {};
  else
    return Gradient(
        joined_gradient(parts, node, result, data_type_of<typename Gradient::element>, Gradient::layout::value));
}

/// One step back, over all nodes of a type. `Parts`: types of the parts that there are before it.
template <class Node, class Parts>
struct step_back {
  template <std::size_t... R>
  static auto through(const Node& node, const gradient_parts& parts, std::index_sequence<R...>) {
    return node.backward(
        std::make_tuple(joined_as<joined_of<Parts, Node, static_cast<int>(R)>>(parts, node, static_cast<int>(R))...));
  }
  using results = std::make_index_sequence<static_cast<std::size_t>(Node::result_count)>;
  using made = decltype(through(std::declval<const Node&>(), std::declval<const gradient_parts&>(), results{}));
  /// Types of the parts that there are after it.
  using type = mp::mp_append<mp::mp_remove_if_q<Parts, is_for_node<Node>>,
                             mp::mp_transform<part_type_of, mp::mp_rename<made, mp::mp_list>>>;

  static void run(gradient_parts& parts) {
    gradient_parts next;
    for (const auto& node : nodes_of_kind(parts, &kind_of_node<Node>)) {
      const auto add = [&](const auto& part) {
        next.push_back({part.source.node, part.to_result, node->number, part.gradient.dynamic()});
      };
      std::apply([&](const auto&... part) { (add(part), ...); },
                 through(static_cast<const Node&>(*node), parts, results{}));
    }
    forget_kind(parts, &kind_of_node<Node>);
    for (auto& one : next) parts.push_back(std::move(one));
  }
};

/// Back over all nodes; what is left are parts of the arguments' gradients, of the types that are returned.
template <class Parts>
Parts walk_back(gradient_parts&, mp::mp_list<>) {
  return {};
}
template <class Parts, class Node, class... Rest>
auto walk_back(gradient_parts& parts, mp::mp_list<Node, Rest...>) {
  if constexpr (mp::mp_any_of_q<Parts, is_for_node<Node>>::value) {
    using step = step_back<Node, Parts>;
    step::run(parts);
    return walk_back<typename step::type>(parts, mp::mp_list<Rest...>{});
  } else {  // nothing that needs its results has a gradient
    return walk_back<Parts>(parts, mp::mp_list<Rest...>{});
  }
}

template <int Number, class Parts, class Arguments>
auto gradient_of_argument(const Arguments& arguments, const gradient_parts& parts) {
  const auto& argument = std::get<static_cast<std::size_t>(Number)>(arguments);
  using node = typename std::remove_cvref_t<decltype(argument)>::source::node_type;
  return joined_as<joined_of<Parts, node, 0>>(parts, *argument.origin().node, 0);
}

}  // namespace detail

/// What a program gives, and its gradients for the arguments that were named, in their order.
template <class Value, class... Gradient>
struct differentiated {
  Value value;
  std::tuple<Gradient...> gradient;
};

namespace detail {

template <class Value, class... Gradient>
differentiated<Value, Gradient...> with_gradients(const Value& value, const std::tuple<Gradient...>& all) {
  return {value, all};
}

/// Something of the right form, so that no error cascades.
template <std::size_t... Wanted, class... Argument>
auto refused_gradients(std::index_sequence<Wanted...>, const std::tuple<const Argument&...>& arguments) {
  return with_gradients(std::get<0>(arguments),
                        std::make_tuple(std::get<(Wanted < sizeof...(Argument) ? Wanted : 0)>(arguments)...));
}

}  // namespace detail

/// The value of `program(arguments…)`, one number, and its gradients for the arguments `Wanted…`, dtensors of floats;
/// argument 0 where none is named. Throws what the operators throw.
template <std::size_t... Wanted, class Program, class... Argument>
auto value_and_gradient(const Program& program, const Argument&... arguments) {
  using wanted = std::conditional_t<sizeof...(Wanted) == 0, std::index_sequence<0>, std::index_sequence<Wanted...>>;
  using verdict = detail::verdict_of_program<Program, wanted, Argument...>;
  static_assert(insist<verdict>::met);
  if constexpr (!std::is_same_v<verdict, accepted>) {
    return detail::refused_gradients(wanted{}, std::tie(arguments...));  // already refused
  } else {
    const auto traced = detail::traced_arguments<wanted, Argument...>::of(arguments...);
    const auto made = std::apply(program, traced);
    using source = typename std::remove_cvref_t<decltype(made)>::source;
    using tensor = typename source::tensor;
    using seed = detail::gradient_tensor<tensor>;
    using nodes = typename detail::listed_nodes<boost::mp11::mp_list<>, typename source::node_type>::type;
    detail::gradient_parts parts{{made.origin().node, source::result, 0, ones<seed>(made.value().group()).dynamic()}};
    const auto left = detail::walk_back<boost::mp11::mp_list<detail::part_type<source, seed>>>(
        parts, boost::mp11::mp_reverse<nodes>{});
    return [&]<std::size_t... Number>(std::index_sequence<Number...>) {
      const auto gradients =
          std::make_tuple(detail::gradient_of_argument<static_cast<int>(Number), std::remove_const_t<decltype(left)>>(
              traced, parts)...);
      return detail::with_gradients(made.value(), gradients);
    }(wanted{});
  }
}

/// The gradients alone: one dtensor, or a tuple where several arguments are named.
template <std::size_t... Wanted, class Program, class... Argument>
auto gradient(const Program& program, const Argument&... arguments) {
  auto all = value_and_gradient<Wanted...>(program, arguments...).gradient;
  if constexpr (std::tuple_size_v<decltype(all)> == 1)
    return std::get<0>(std::move(all));
  else
    return all;
}

}}  // namespace hyperparallel::v0_2
