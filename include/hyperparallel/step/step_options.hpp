// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a step of training is said to be beside its model, strategy and hardware: the optimizer, and options.
//
//   using step = hp::train_step<my_model, my_strategy, hp::adamw, hp::matrix384, hp::accumulating<8>, hp::recomputing<"attention.*">>;

#include <hyperparallel/graph/optimizer_value.hpp>
#include <hyperparallel/step/arguments.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct sgd {
  static constexpr optimizer_value value{.kind = optimizer_kind::sgd};
};
struct adamw {
  static constexpr optimizer_value value{};
};
struct muon {
  static constexpr optimizer_value value{.kind = optimizer_kind::muon};
};

namespace detail {

template <fixed_string Pattern>
inline constexpr bool is_short = text_length(Pattern.text) <= short_text::capacity;

}  // namespace detail

/// Options of a step. The model's batch is that of one micro-batch. An argument that cannot be is refused
/// where it is applied: the option stays one, so the line stands alone. Of options with the same type `sets` one may stand.
template <int MicroBatches>
struct accumulating {
  using sets = setting<"micro-batches">;
  static constexpr void apply(step_settings& s) {
    static_assert(MicroBatches >= 1, "a step has at least one micro-batch");
    s.micro_batches = MicroBatches >= 1 ? MicroBatches : 1;
  }
};
template <fixed_string Pattern>
struct recomputing {
  static constexpr void apply(step_settings& s) {
    static_assert(detail::is_short<Pattern>, "a pattern has at most 31 characters");
    if (detail::is_short<Pattern>) s.recomputed.push(short_text(Pattern.text));
  }
};
template <data_type Parameters, data_type Activations = Parameters>
struct precision {
  using sets = setting<"element types">;
  static constexpr bool are_floats = detail::is_float(Parameters) && detail::is_float(Activations);
  static constexpr void apply(step_settings& s) {
    static_assert(are_floats,
                  "precision: no integer type can train parameters, or hold activations: name bf16, f16, f32 or f64");
    if (are_floats) s.build.parameter = Parameters, s.build.activation = Activations;
  }
};
/// A world of the step can read this tensor after a step of training.
template <fixed_string Name>
struct keeping_value {
  static constexpr void apply(step_settings& s) { s.kept.push(Name.text); }
};
/// Operators whose names the pattern describes are computed tile by tile, and their gradients, so that the moves beside them
/// hide behind them (tiles/tile_program.hpp). `lowered` says where a pattern names none, or stands beside no move.
template <fixed_string Pattern>
struct tiled {
  static constexpr void apply(step_settings& s) { s.tiles.push(Pattern.text); }
};
/// In at most so many tiles.
template <int Tiles>
struct with_most_tiles {
  using sets = setting<"tiles">;
  static constexpr void apply(step_settings& s) {
    static_assert(Tiles >= 2, "a step in tiles has two at least");
    if (Tiles >= 2) s.most_tiles = Tiles;
  }
};
/// Moves may run so many steps ahead of where they are needed; takes memory beyond the least.
template <int Steps>
struct looking_ahead {
  using sets = setting<"lookahead">;
  static constexpr void apply(step_settings& s) {
    static_assert(Steps >= 0, "moves look ahead by 0 steps at least");
    if (Steps >= 0) s.lookahead = Steps;
  }
};
/// Moves run so far ahead that the plan is fastest within so many bytes of a device's fastest memory (price/lookahead.hpp): up to
/// eight plans are tried, which costs compile time.
template <extent_t Bytes>
struct looking_ahead_within {
  using sets = setting<"lookahead">;
  static constexpr void apply(step_settings& s) {
    static_assert(Bytes >= 1, "a memory to look ahead in is at least one byte");
    if (Bytes >= 1) s.lookahead_memory = Bytes;
  }
};
/// Vector operators have a queue of their own, beside the matrix operators'.
struct with_vector_queue {
  using sets = setting<"vector queue">;
  static constexpr void apply(step_settings& s) { s.vector_queue = true; }
};
/// What does not fit into so many bytes of the fastest memory leaves for slower tiers, and comes back in time.
template <extent_t Bytes>
struct offloaded_within {
  using sets = setting<"budget of memory">;
  static constexpr void apply(step_settings& s) {
    static_assert(Bytes >= 1, "a budget of memory is at least one byte");
    s.offload.budget = Bytes;
  }
};
/// Under a budget: what a layer leaves for backward may be made again where that is cheaper than a copy.
struct allowing_recomputation {
  static constexpr void apply(step_settings& s) { s.offload.recomputation = true; }
};
/// Under a budget: a period of so many operators where the model has more, and how many operators and gaps are run in
/// all to plan it. Both cost compile time: about a fifth of a second for a thousand run.
template <int Operators, extent_t Effort>
struct planning_effort {
  using sets = setting<"effort of planning">;
  static constexpr void apply(step_settings& s) {
    static_assert(Operators >= 1 && Effort >= 1, "a plan is of one operator at least, and takes some effort");
    if (Operators >= 1) s.offload.most_operators = Operators;
    if (Effort >= 1) s.offload.planning.effort = Effort;
  }
};
/// Under a budget: tensors of that name never leave; they leave whenever nothing uses them; their layer is run again.
/// Later ones win.
template <fixed_string Pattern, offload_control Control, int Tier = -1>
struct memory_rule {
  static constexpr void apply(step_settings& s) {
    static_assert(detail::is_short<Pattern>, "a pattern has at most 31 characters");
    if (detail::is_short<Pattern>) s.offload.rule.push({short_text(Pattern.text), Control, Tier});
  }
};
template <fixed_string Pattern>
using keeping = memory_rule<Pattern, offload_control::keep>;
template <fixed_string Pattern, int Tier = -1>
using offloading = memory_rule<Pattern, offload_control::offload, Tier>;
template <fixed_string Pattern>
using making_again = memory_rule<Pattern, offload_control::recompute>;

namespace detail {

template <class Option>
inline constexpr int memory_rules_in = 0;
template <fixed_string Pattern, offload_control Control, int Tier>
inline constexpr int memory_rules_in<memory_rule<Pattern, Control, Tier>> = 1;
template <class Option>
inline constexpr int recomputed_patterns_in = 0;
template <fixed_string Pattern>
inline constexpr int recomputed_patterns_in<recomputing<Pattern>> = 1;
template <class Option>
inline constexpr int kept_values_in = 0;
template <fixed_string Name>
inline constexpr int kept_values_in<keeping_value<Name>> = 1;

}  // namespace detail

}}  // namespace hyperparallel::v0_2
