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

/// `Wanted`: whether the operand is a variable.
template <class Ways, class Made, bool... Wanted>
struct move_back;
template <auto... Back, class Made, bool... Wanted>
struct move_back<ways_back<Back...>, Made, Wanted...> {
  template <class Gradient>
  static auto backward(const gradient_node& at, const std::tuple<Gradient>& g, gradient_parts& to) {
    if constexpr (((!Wanted || applies<Back, Gradient>) && ...))
      return of(at, std::get<0>(g), to);
    else
      return of(at, brought_to<gradient_tensor<Made>>(std::get<0>(g)), to);
  }

 private:
  template <class Gradient>
  static auto of(const gradient_node& at, const Gradient& g, gradient_parts& to) {
    return [&]<int... I>(std::integer_sequence<int, I...>) {
      (by<I, Wanted, Back>(at, g, to), ...);
      return boost::mp11::mp_append<decltype(by<I, Wanted, Back>(at, g, to))...>();
    }(std::make_integer_sequence<int, static_cast<int>(sizeof...(Back))>{});
  }
  template <int Operand, bool Asked, auto Description, class Gradient>
  static auto by([[maybe_unused]] const gradient_node& at, [[maybe_unused]] const Gradient& g,
                 [[maybe_unused]] gradient_parts& to) {
    if constexpr (Asked)
      return give_gradient<Operand>(to, at, apply<Description>(g));
    else
      return boost::mp11::mp_list<>();
  }
};

template <class Ways, class Made, class Sources>
struct moved_node;
template <class Ways, class Made, class... Source>
struct moved_node<Ways, Made, std::tuple<Source...>> {
  using sources = std::tuple<Source...>;
  using way_back = move_back<Ways, Made, Source::is_variable...>;
  static constexpr int result_count = 1;
  static constexpr auto refusal() { return std::type_identity<accepted>{}; }
};

template <auto Function, auto... Back, class... Value>
auto moved(const Value&... x) {
  const auto made = apply<Function>(value_of(x)...);
  using result = std::remove_cvref_t<decltype(made)>;
  using node = moved_node<ways_back<Back...>, result, std::tuple<source_type<Value>...>>;
  return variable<node, 0, result>(plain_node(&kind_of_node<node>, made.shape(), {target_of(x)...}), made);
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
