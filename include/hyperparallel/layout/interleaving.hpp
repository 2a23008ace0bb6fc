// SPDX-License-Identifier: Apache-2.0
#pragma once
// Micro-interleaving: a tensor that is cut along the virtual axis comes as several copies of a slice on each device,
// which an operator works on in turn.
//
// Law: the operands of one operator come in the same number of copies, or copy i of one would meet copy j of another.

#include <hyperparallel/layout/tensor_map.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Copies of a slice that each device holds of a tensor under `l`. Domain: `l` is a layout on `m`. O(cuts).
constexpr int copies_of(const mesh_value& m, const layout_value& l) {
  if (!m.interleaved) return 1;
  int copies = 1;
  for (int i = 0; i < l.cut_count; ++i)
    if (l.cut[i].axis == m.shape.axis_count - 1) copies *= l.cut[i].size;
  return copies;
}

/// Whether operands under `a` and `b` may meet in one operator: both are cut along the virtual axis of `m`, or neither.
constexpr bool interleaving_agrees(const mesh_value& m, const layout_value& a, const layout_value& b) {
  return copies_of(m, a) == copies_of(m, b);
}

}}  // namespace hyperparallel::v0_2
