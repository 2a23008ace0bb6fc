// SPDX-License-Identifier: Apache-2.0
#pragma once
// Functions of dtensors that move elements, on variables: those whose description (operation.hpp) has
//
//   constexpr auto back(const shape* operands, int number) const;   // the description of operand `number`'s gradient
//
// Law: the value is that of the function of this name on dtensors, bit for bit, in the same layout; refusals are the
// same. The gradient of each operand is one such function of the result's gradient, which stays a pending sum where that
// function takes it as it lies, and is reduced to the value's layout where not.

#include <memory>
#include <tuple>
#include <type_traits>

#include <hyperparallel/dtensor/variable.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// For each operand, the description (operation.hpp) of the function that makes its gradient of the result's.
template <auto... Back>
struct ways_back {};

template <class Ways, class Made, class Sources>
struct moved_node;
template <auto... Back, class Made, class... Source>
struct moved_node<ways_back<Back...>, Made, std::tuple<Source...>> : gradient_node {
  using sources = std::tuple<Source...>;
  static constexpr int result_count = 1;
  static constexpr auto refusal() { return std::type_identity<accepted>{}; }
  moved_node(sources from, const Made& made)
      : gradient_node(&kind_of_node<moved_node>, shapes_of(made)), operand(std::move(from)) {}
  sources operand;

  template <class Gradient>
  auto backward(const std::tuple<Gradient>& g) const {
    if constexpr (((!Source::is_variable || applies<Back, Gradient>) && ...))
      return of(std::get<0>(g));
    else
      return of(brought_to<gradient_tensor<Made>>(std::get<0>(g)));
  }

 private:
  template <class Gradient>
  auto of(const Gradient& g) const {
    return std::apply([&](const Source&... to) { return std::tuple_cat(by<Back>(to, g)...); }, operand);
  }
  template <auto Description, class To, class Gradient>
  static auto by(const To& to, const Gradient& g) {
    if constexpr (To::is_variable)
      return contributed(to, apply<Description>(g));
    else
      return std::tuple<>();
  }
};

template <auto Function, auto... Back, class... Value>
auto moved(const Value&... x) {
  const auto made = apply<Function>(value_of(x)...);
  using result = std::remove_cvref_t<decltype(made)>;
  using node = moved_node<ways_back<Back...>, result, std::tuple<std::remove_cvref_t<decltype(source_of(x))>...>>;
  return variable<node, 0, result>(std::make_shared<const node>(std::make_tuple(source_of(x)...), made), made);
}

template <auto Description, std::size_t Operand, class... Value>
inline constexpr auto way_back = [] {
  const shape list[] = {Value::extents::declared...};
  return Description.back(list, static_cast<int>(Operand));
}();

}  // namespace detail

/// A function of dtensors whose gradient of each operand is a function of the result's: what `back` gives of the shapes of
/// the operands and the operand's number.
template <class Description>
concept goes_back = requires(const Description& d, const shape* operands) {
  { d.back(operands, 0) } -> operation_description;
};

template <auto Description, class First, class... Rest>
  requires traced_operands<First, Rest...> && goes_back<std::remove_cvref_t<decltype(Description)>>
auto apply(const First& first, const Rest&... rest) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return detail::moved<Description, detail::way_back<Description, I, First, Rest...>...>(first, rest...);
  }(std::make_index_sequence<1 + sizeof...(Rest)>{});
}

}}  // namespace hyperparallel::v0_2
