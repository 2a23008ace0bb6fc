// SPDX-License-Identifier: Apache-2.0
#pragma once
// Functions of dtensors that move elements, by their names on variables: permute, transpose, reshape, flatten, squeeze,
// expand_dims, slice_dim, concat.
//
// Law: the value is that of the function of this name on dtensors, bit for bit, in the same layout; refusals are the
// same. The gradient of each operand is one such function of the result's gradient, which stays a pending sum where that
// function takes it as it lies, and is reduced to the value's layout where not.

#include <memory>
#include <tuple>
#include <type_traits>

#include <hyperparallel/dtensor/operations/movement.hpp>
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

/// The order that undoes `order`; any where that is none.
constexpr rules::dim_list inverse(const rules::dim_list& order, int rank) {
  const rules::chosen_dims c = rules::choose(order, rank);
  rules::dim_list back = rules::all_dims(rank);
  if (c.status.code != rule_code::ok || order.count != rank) return back;
  for (int d = 0; d < rank; ++d) back.at[c.dims.at[d]] = d;
  return back;
}

/// The way back from a slice of dim `dim` of a tensor of this shape.
constexpr operations::place_slice back_from(const operations::slice_dim& s, const shape& from) {
  const int d = rules::from_front(s.dim, from.rank);
  if (d < 0) return {};
  return {d, rules::take(from.extent[d], s.begin, s.end, s.step).begin, s.step, from.extent[d]};
}

/// The part of a joined dim that operand `number` is.
template <class... Extents>
constexpr operations::slice_dim part_of_joined(int dim, int number) {
  const shape list[] = {Extents::declared...};
  const int d = rules::from_front(dim, list[0].rank);
  extent_t begin = 0;
  for (int i = 0; i < number && d >= 0; ++i) begin += list[i].extent[d];
  return {dim, begin, d < 0 ? begin : begin + list[number].extent[d], 1};
}

}  // namespace detail

template <int... Order, variable_type X>
auto permute(const X& x) {
  constexpr rules::dim_list order{Order...};
  return detail::moved<operations::permute{order},
                       operations::permute{detail::inverse(order, X::extents::declared.rank)}>(x);
}
template <int A = -2, int B = -1, variable_type X>
auto transpose(const X& x) {
  return detail::moved<operations::transpose{A, B}, operations::transpose{A, B}>(x);
}
template <extent_t... Extents, variable_type X>
auto reshape(const X& x) {
  return detail::moved<operations::reshape{shape{Extents...}}, operations::reshape{X::extents::declared}>(x);
}
template <int First = 0, int Last = -1, variable_type X>
auto flatten(const X& x) {
  return detail::moved<operations::flatten{First, Last}, operations::reshape{X::extents::declared}>(x);
}
template <int... Dims, variable_type X>
auto squeeze(const X& x) {
  return detail::moved<operations::squeeze{{Dims...}}, operations::reshape{X::extents::declared}>(x);
}
template <int Dim, variable_type X>
auto expand_dims(const X& x) {
  return detail::moved<operations::expand_dims{Dim}, operations::squeeze{{Dim}}>(x);
}
template <int Dim, extent_t Begin, extent_t End, extent_t Step = 1, variable_type X>
auto slice_dim(const X& x) {
  constexpr operations::slice_dim taken{Dim, Begin, End, Step};
  return detail::moved<taken, detail::back_from(taken, X::extents::declared)>(x);
}
template <int Dim, class First, class... Rest>
  requires traced_operands<First, Rest...>
auto concat(const First& first, const Rest&... rest) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return detail::moved<operations::concat{Dim},
                         detail::part_of_joined<typename First::extents, typename Rest::extents...>(
                             Dim, static_cast<int>(I))...>(first, rest...);
  }(std::make_index_sequence<1 + sizeof...(Rest)>{});
}

}}  // namespace hyperparallel::v0_2
