// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of first_values.hpp; see support/compiled.hpp.

#include <cmath>

#include <hyperparallel/runtime/first_values.hpp>

namespace hyperparallel::inline v0_2 {

HYPERPARALLEL_BODY first_values first_values_of(const graph& g, int parameter) {
  for (const graph_operator& op : g.op) {
    for (int i = 0; i < op.operand_count; ++i) {
      const operator_tensor& t = op.operand[i];
      if (t.tensor != parameter) continue;
      if (op.kind == model_op::rms_norm) return {0, 1};
      extent_t summed = 1;
      for (int d = 0; d < t.rank; ++d)
        if (op.kind == model_op::contract && op.loop[t.loop[d]].reduced) summed *= op.loop[t.loop[d]].extent;
      if (op.kind != model_op::contract && t.rank > 0) summed = op.loop[t.loop[t.rank - 1]].extent;
      return {1 / std::sqrt(static_cast<double>(summed)), 0};
    }
  }
  return {1, 0};
}

}  // namespace hyperparallel::inline v0_2
