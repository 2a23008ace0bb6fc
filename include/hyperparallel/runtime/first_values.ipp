// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of first_values.hpp; see support/compiled.hpp.

#include <cmath>

#include <hyperparallel/runtime/first_values.hpp>

namespace hyperparallel { inline namespace v0_2 {

HYPERPARALLEL_BODY first_values first_values_of(const graph& g, int parameter) {
  for (const graph_operator& op : g.op) {
    for (int i = 0; i < op.operand_count; ++i) {
      if (op.operand[i] != parameter) continue;
      if (op.kind == id_of<ops::rms_norm>) return {0, 1};
      const factor_rule& rule = g.rule_of(op);
      const shape& s = g.tensor[parameter].shape;
      extent_t summed = 1;
      for (int d = 0; d < s.rank; ++d)
        if (op.kind == id_of<ops::contract> && !has_factor(rule.result[0], rule.operand[i].term[d]))
          summed *= s.extent[d];
      if (op.kind != id_of<ops::contract> && s.rank > 0) summed = s.extent[s.rank - 1];
      return {1 / std::sqrt(static_cast<double>(summed)), 0};
    }
  }
  return {1, 0};
}

}}  // namespace hyperparallel::v0_2
