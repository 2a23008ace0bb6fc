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
/// What a step of a node gives one of its operands, as a part.
template <class Node>
struct part_of_node {
  template <class Given>
  using fn = part_type<std::tuple_element_t<static_cast<std::size_t>(Given::operand), typename Node::sources>,
                       typename Given::tensor>;
};
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

/// The type of an argument's gradient. `Parts`: what is left of them.
template <class Parts, class Argument>
using gradient_of_argument = joined_of<Parts, typename Argument::source::node_type, 0>;

template <class Gradient>
Gradient joined_as(const gradient_parts& parts, const gradient_node& node, int result) {
  if constexpr (std::is_same_v<Gradient, nothing>)
    return {};
  else
    return Gradient(
        joined_gradient(parts, node, result, data_type_of<typename Gradient::element>, Gradient::layout::value));
}

/// One step back, the gradients of the results being of these types. It names the way alone, not the nodes before it.
template <class Way, class... Gradient>
struct step_through {
  static auto given(const gradient_node& node, const gradient_parts& parts, gradient_parts& to) {
    return [&]<int... R>(std::integer_sequence<int, R...>) {
      return Way::backward(node, std::tuple<Gradient...>(joined_as<Gradient>(parts, node, R)...), to);
    }(std::make_integer_sequence<int, static_cast<int>(sizeof...(Gradient))>{});
  }
  using made = decltype(given(std::declval<const gradient_node&>(), std::declval<const gradient_parts&>(),
                              std::declval<gradient_parts&>()));
  static void run(const gradient_node& node, const gradient_parts& parts, gradient_parts& to) {
    given(node, parts, to);
  }
};

template <class Node, class Parts, class Results>
struct step_through_node;
template <class Node, class Parts, int... R>
struct step_through_node<Node, Parts, std::integer_sequence<int, R...>> {
  using type = step_through<typename Node::way_back, joined_of<Parts, Node, R>...>;
};

struct kind_and_step {
  const void* kind;
  backward_step step;
};

/// Back over all nodes: the steps, and the types of the parts that are left, which are of the arguments' gradients.
template <class Parts, class Nodes, class... Walked>
struct walk_back {
  using left = Parts;
  static constexpr kind_and_step steps[sizeof...(Walked) + 1] = {Walked::value..., {nullptr, nullptr}};
};
template <class Node, class Step>
struct walked_step {
  static constexpr kind_and_step value{&kind_of_node<Node>, &Step::run};
};
template <class Parts, class Node, class... Rest, class... Walked>
  requires(!mp::mp_any_of_q<Parts, is_for_node<Node>>::value)  // nothing that needs its results has a gradient
struct walk_back<Parts, mp::mp_list<Node, Rest...>, Walked...> : walk_back<Parts, mp::mp_list<Rest...>, Walked...> {};
template <class Parts, class Node, class... Rest, class... Walked>
  requires(mp::mp_any_of_q<Parts, is_for_node<Node>>::value)
struct walk_back<Parts, mp::mp_list<Node, Rest...>, Walked...> {
  using step = typename step_through_node<Node, Parts, std::make_integer_sequence<int, Node::result_count>>::type;
  using after = mp::mp_append<mp::mp_remove_if_q<Parts, is_for_node<Node>>,
                              mp::mp_transform_q<part_of_node<Node>, typename step::made>>;
  using rest = walk_back<after, mp::mp_list<Rest...>, Walked..., walked_step<Node, step>>;
  using left = typename rest::left;
  static constexpr const kind_and_step* steps = rest::steps;
};

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
    using seed = detail::gradient_tensor<typename source::tensor>;
    using nodes = typename detail::listed_nodes<boost::mp11::mp_list<>, typename source::node_type>::type;
    using walk =
        detail::walk_back<boost::mp11::mp_list<detail::part_type<source, seed>>, boost::mp11::mp_reverse<nodes>>;
    detail::gradient_parts parts{{made.target().node, source::result, 0, ones<seed>(made.value().group()).dynamic()}};
    for (const detail::kind_and_step* at = walk::steps; at->step != nullptr; ++at)
      detail::step_back(parts, at->kind, at->step);
    return [&]<std::size_t... Number>(std::index_sequence<Number...>) {
      return detail::with_gradients(
          made.value(),
          std::make_tuple(
              detail::joined_as<
                  detail::gradient_of_argument<typename walk::left, std::tuple_element_t<Number, decltype(traced)>>>(
                  parts, *std::get<Number>(traced).target().node, 0)...));
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
