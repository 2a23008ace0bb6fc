// SPDX-License-Identifier: Apache-2.0
#pragma once
// Why a step of training cannot keep its budget of memory, as one error line.

#include <hyperparallel/step/refusal.hpp>
#include <hyperparallel/step/step_offload.hpp>

namespace hyperparallel { inline namespace v0_2 {

template <char...>
struct rule_for {};
/// A tensor by its name.
template <fixed_string Tensor, extent_t Bytes>
struct alive {};

namespace diag {
template <class Given, class Needed, class... Alive>
struct memory_budget_is_too_small;
template <class Given>
struct memory_budget_is_not_met;
template <offload_rule_code, class Rule>
struct offload_rule_does_not_hold;
template <offload_code>
struct memory_tiers_cannot_be_planned;
}  // namespace diag

namespace detail {

template <class Evaluated>
struct refused_offload_names {
  static constexpr const step_offload& why = Evaluated::result.offload;
  struct pattern {
    static constexpr const auto& text = why.pattern.text;
    static constexpr int length = why.pattern.length;
  };
  template <int I>
  struct alive_name {
    static constexpr const auto& text = why.alive[I].name.text;
    static constexpr int length = why.alive[I].name.length;
  };
  template <class Indices>
  struct too_small;
  template <int... I>
  struct too_small<indices<I...>> {
    using type = diag::memory_budget_is_too_small<bytes_given<why.budget>, bytes_needed<why.least_budget>,
                                                  alive<quoted_name<alive_name<I>>(), why.alive[I].bytes>...>;
  };
};

template <class Evaluated, offloading_code Code>
struct refused_offload {
  using type = diag::memory_budget_is_not_met<bytes_given<Evaluated::result.offload.budget>>;
};
template <class Evaluated>
struct refused_offload<Evaluated, offloading_code::ok> {
  using type = accepted;
};
/// What cannot be priced has a line of its own.
template <class Evaluated>
struct refused_offload<Evaluated, offloading_code::hardware_is_refused>
    : std::conditional<Evaluated::price() == cost_code::ok,
                       diag::memory_budget_is_not_met<bytes_given<Evaluated::result.offload.budget>>, accepted> {};
template <class Evaluated>
struct refused_offload<Evaluated, offloading_code::not_planned> {
  using type = diag::memory_tiers_cannot_be_planned<Evaluated::result.offload.status.code>;
};
template <class Evaluated>
struct refused_offload<Evaluated, offloading_code::rules_are_refused> {
  using names = refused_offload_names<Evaluated>;
  using type = diag::offload_rule_does_not_hold<names::why.ruled.code, spelled<rule_for, typename names::pattern>>;
};
template <class Evaluated>
struct refused_offload<Evaluated, offloading_code::budget_is_too_small> {
  using names = refused_offload_names<Evaluated>;
  using type = typename names::template too_small<typename make_indices<names::why.alive_count>::type>::type;
};

template <class Evaluated>
struct offload_verdict : refused_offload<Evaluated, Evaluated::result.offload.code> {};

}  // namespace detail

}}  // namespace hyperparallel::v0_2
