// SPDX-License-Identifier: Apache-2.0
#pragma once
// A plan that the compiler has found by search, as a strategy type.
//
//   constexpr hp::search_result found = hp::search_strategies(&graph, 1, device, topology, 8);   // static storage
//   using step = hp::train_step<my_model, hp::strategy_from<found>, hp::adamw, hp::matrix384>;
//   static_assert(step::verified && step::account.times.total.picoseconds == found.plan[0].evaluation.time);
//
// Law: `value` is the strategy of that plan. What the search chose beside it, `graph` and micro-batches, is a question of the
// model and of the options of the step. A search without such a plan, and a pipeline, which a step does not run, is one error
// line; the type is then that of one device, so that no error of a model follows.

#include <hyperparallel/search/result.hpp>
#include <hyperparallel/strategy/strategy_type.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// `Row` counts the plans of the result, from the winner on.
template <const search_result& Result, int Row = 0>
struct strategy_from {
  static constexpr bool is_found = Row >= 0 && Row < Result.plan.size;
  static constexpr bool is_a_pipeline = is_found && Result.plan.item[is_found ? Row : 0].frame.pipeline > 1;
  static_assert(Result.ok(), "strategy_from: the search has found no plan; its certificate says why");
  static_assert(!Result.ok() || is_found, "strategy_from: the search has found fewer plans than this row");
  static_assert(
      !is_a_pipeline,
      "strategy_from: the plan has pipeline stages, which a step does not run; search with limits.pipeline = 1");
  static constexpr strategy_value value = [] {
    if constexpr (is_found && !is_a_pipeline) {
      return Result.plan.item[Row].strategy;
    } else {
      strategy_value alone;
      alone.mesh = device_matrix<axis{"replica", 1}>::value;
      return alone;
    }
  }();
};

}}  // namespace hyperparallel::v0_2
