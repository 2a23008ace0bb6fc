// SPDX-License-Identifier: Apache-2.0
#pragma once
// Updates of parameters that are dtensors, by the operators that update a model's.
//
//   auto state = hp::adamw_state<weights>(ranks);                          // zeros that lie as the parameter
//   const auto g = d_up.redistribute<weights::layout>();                   // reduced to where the parameter lies
//   const auto clip = hp::clip_factor(1.0, g, h);                          // of the norm of all gradients together
//   hp::adamw_update({.rate = 1e-3}, step, up, g, state, clip);
//
// Law: with the layouts of a model's run the bits are its bits (graph/optimizer.hpp).

#include <cstdint>
#include <vector>

#include <hyperparallel/dtensor/gradient.hpp>
#include <hyperparallel/graph/optimizer_value.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// First and second moments of a parameter's gradient.
template <dtensor_type Parameter>
struct adamw_state {
  explicit adamw_state(const rank_group& group)
      : first_moment(zeros<Parameter>(group)), second_moment(zeros<Parameter>(group)) {}
  Parameter first_moment, second_moment;
};

/// min(1, largest / norm of all gradients together), one number on every device. Domain: at least one gradient, none a
/// pending sum. O(elements).
template <dtensor_type First, dtensor_type... Rest>
auto clip_factor(double largest, const First& first, const Rest&... rest) {
  const auto squares = std::make_tuple(apply<ops::sum_of_squares>(first), apply<ops::sum_of_squares>(rest)...);
  const auto together = [&](const auto&... square) {
    using number = std::tuple_element_t<0, std::remove_const_t<decltype(squares)>>;
    if constexpr ((std::is_same_v<number, std::remove_cvref_t<decltype(square)>> && ...))
      return number(detail::joined_sum({square.dynamic()...})).reduce_partial();
    else  // pending along different axes
      return decltype(std::get<0>(squares).reduce_partial())(
          detail::joined_sum({square.reduce_partial().dynamic()...}));
  };
  return apply<ops::clip_factor>({.real = {largest}}, std::apply(together, squares));
}

namespace detail {

/// The factor that clips nothing.
template <dtensor_type Parameter>
auto no_clipping(const rank_group& group) {
  return ones<dtensor<typename Parameter::element, extents<>, layout<typename Parameter::mesh>>>(group);
}

}  // namespace detail

/// One step of AdamW, from 1. The gradient lies as the parameter. Source: Loshchilov & Hutter, "Decoupled Weight Decay
/// Regularization", 2019.
template <dtensor_type Parameter, dtensor_type Clip>
void adamw_update(const optimizer_value& o, std::int64_t step, Parameter& parameter, const Parameter& gradient,
                  adamw_state<Parameter>& state, const Clip& clip) {
  const operator_attributes numbers{.real = {o.rate, o.beta1, o.beta2, o.epsilon, o.weight_decay}};
  auto [p, m, v] =
      apply<ops::adamw>(at_step{step}, numbers, parameter, gradient, state.first_moment, state.second_moment, clip);
  parameter = std::move(p);
  state.first_moment = std::move(m);
  state.second_moment = std::move(v);
}

/// One step of gradient descent with momentum, where `momentum` lies as the parameter.
template <dtensor_type Parameter, dtensor_type Clip>
void sgd_update(const optimizer_value& o, Parameter& parameter, const Parameter& gradient, Parameter& momentum,
                const Clip& clip) {
  auto [p, next] = apply<ops::sgd>({.real = {o.rate, o.momentum, o.weight_decay}}, parameter, gradient, momentum, clip);
  parameter = std::move(p);
  momentum = std::move(next);
}

}}  // namespace hyperparallel::v0_2
