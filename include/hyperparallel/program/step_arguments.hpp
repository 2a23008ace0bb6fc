// SPDX-License-Identifier: Apache-2.0
#pragma once
// The arguments of `train_step` behind the model: a strategy, an optimizer, hardware. One that is missing, or stands in
// another's place, is one error line that names the place and what was given.

#include <type_traits>

#include <hyperparallel/graph/optimizer_value.hpp>
#include <hyperparallel/program/step_account.hpp>
#include <hyperparallel/program/step_offload.hpp>
#include <hyperparallel/strategy/strategy_type.hpp>
#include <hyperparallel/support/diagnostic.hpp>
#include <hyperparallel/support/proof.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// An optimizer as a type: `sgd`, `adamw`, `muon`, or a struct with a `value` of its own.
template <class Optimizer>
concept optimizer_type = requires { optimizer_value(Optimizer::value); };

/// In an error line: no argument stands there.
struct no_argument {};

namespace diag {
template <class Given>
struct second_argument_of_a_step_is_no_strategy;
template <class Given>
struct third_argument_of_a_step_is_no_optimizer;
template <class Given>
struct fourth_argument_of_a_step_is_no_hardware;
}  // namespace diag

namespace detail {

/// The first argument behind the model that is none of its kind.
template <class Strategy = no_argument, class Optimizer = no_argument, class Hardware = no_argument, class... Options>
struct step_arguments_verdict {
  static constexpr auto choose() {
    if constexpr (!strategy_type<Strategy>)
      return std::type_identity<diag::second_argument_of_a_step_is_no_strategy<Strategy>>{};
    else if constexpr (!optimizer_type<Optimizer>)
      return std::type_identity<diag::third_argument_of_a_step_is_no_optimizer<Optimizer>>{};
    else
      return std::type_identity<diag::fourth_argument_of_a_step_is_no_hardware<Hardware>>{};
  }
  using type = typename decltype(choose())::type;
};

/// What a step of refused arguments still has, so that no error follows from the first.
struct step_without_arguments {
  static constexpr step_account account{};
  static constexpr extent_t parameters = 0, peak = 0;
  static constexpr proof verified{};
  static constexpr step_offload offload{};
};

}  // namespace detail

}}  // namespace hyperparallel::v0_2
