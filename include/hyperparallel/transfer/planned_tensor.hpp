// SPDX-License-Identifier: Apache-2.0
#pragma once
// A tensor with the plan that moves it, and what its elements have to be for that.
//
// Stage 0 is the source, the last stage the target, those between are what the steps leave to the next. Elements that
// are only copied need no type; those that are folded, or filled up with a one, do.

#include <cstddef>
#include <cstdint>

#include <hyperparallel/kernels/fold_terms.hpp>
#include <hyperparallel/redistribution/lower_move.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// The element of a moved tensor: its size alone, or a type where terms are reduced. Any object whose bytes may be
/// copied can be moved; only elements with a `data_type` can be folded.
struct moved_element {
  int bytes = 0;
  data_type type = data_type::f32;
  bool has_type = false;

  constexpr moved_element(std::size_t bytes_) : bytes(static_cast<int>(bytes_)) {}
  constexpr moved_element(data_type type_) : bytes(bytes_of(type_)), type(type_), has_type(true) {}
};

namespace detail {

/// How the terms of a step become one, and what an element holds that nobody brings.
struct step_values {
  kernels::term_fold fold{};
  reduce_op fill = reduce_op::none;
};

/// O(axes).
step_values values_of(const move_step& step, data_type type);

/// Writes the identity of `op` into `n` elements of a block that reads as zero.
void write_identity(reduce_op op, data_type type, std::int64_t n, std::byte* to);

}  // namespace detail

struct planned_tensor {
  move_flow flow{};
  moved_element element;

  /// Any plan that has a step.
  planned_tensor(const move_plan& plan, moved_element element_) : flow{plan, element_.bytes, 1}, element(element_) {}

  /// Planned by fewest bytes. A move between equal layouts becomes one step in which every rank copies its own block.
  planned_tensor(const layout_value& source, const layout_value& target, const shape& s, moved_element element_);

  const move_plan& plan() const { return flow.plan; }
  int stages() const { return flow.blocks(); }
  /// Positions of a stage.
  int positions(int stage) const { return position_count(flow.mesh_of(stage)); }
  /// Whether some step folds terms or fills with a number other than zero, which bytes alone do not tell how.
  bool needs_type() const;
};

}}  // namespace hyperparallel::v0_2

#ifndef HYPERPARALLEL_COMPILED
#include <hyperparallel/transfer/planned_tensor.ipp>
#endif
