// SPDX-License-Identifier: Apache-2.0
#pragma once
// Carrying out a move_plan between the blocks of a rank group.
//
// Each rank pulls what it needs from the blocks of others, which no one writes any more. Laws: the values of a tensor
// do not change by a move; a rank whose new block is a run of its own old block shares it, so local slices of the
// outermost dim, equal layouts and fills that change nothing copy nothing; terms are folded in the order of positions.
// What moves is the plan's to say; this header only executes its transfers.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <hyperparallel/dtensor/dynamic_dtensor.hpp>
#include <hyperparallel/exec/light_vector.hpp>
#include <hyperparallel/redistribution/busiest_receiver.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct move_error : dtensor_error {
  move_code code;
  explicit move_error(const move_plan& p) : dtensor_error(text(p)), code(p.code) {}

 private:
  static std::string text(const move_plan& p);
};

namespace detail {

/// The blocks of all positions between two steps, each framed by a box of the tensor.
struct framed_blocks {
  data_type type = data_type::f32;
  std::vector<dynamic_dtensor::block> block{};
  detail::light_vector<box> frame{};
};

/// `part` of a position's block as a row-major block of its own: shared where it is one run, else copied.
dynamic_dtensor::block part_of_block(const framed_blocks& x, int position, const box& part);

/// The new block of one position: what it receives in step `step` of `plan` from the blocks before that step.
dynamic_dtensor::block run_step(const move_plan& plan, int step, int position, const framed_blocks& from);

}  // namespace detail

/// `x` in layout `to`, as planned. Domain: `plan` is `plan_move(x.layout(), to, x.shape())`. Throws move_error.
dynamic_dtensor redistribute(const dynamic_dtensor& x, const layout_value& to, const move_plan& plan);

/// The same, planned now.
dynamic_dtensor redistribute(const dynamic_dtensor& x, const layout_value& to);

/// Every partial state resolved, on every device.
inline dynamic_dtensor reduce_partial(const dynamic_dtensor& x) {
  return redistribute(x, detail::reduced_layout(x.layout()));
}

}}  // namespace hyperparallel::v0_2

#ifndef HYPERPARALLEL_COMPILED
#include <hyperparallel/dtensor/move.ipp>
#endif
