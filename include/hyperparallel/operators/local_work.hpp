// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the cost of an operator is counted from: its loops on one device.
//
//   static constexpr extent_t flops(const local_work& w) { return 2 * w.points * w.width(0); }
//
// Law: where no device repeats another's work, devices · flops on one of them = flops on a single device.

#include <hyperparallel/operators/rule_text.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct local_work {
  const factor_rule* rule = nullptr;
  const extent_t* attribute = nullptr;  ///< the operator's integers
  extent_t extent[max_factors] = {};    ///< of each loop on the device
  extent_t whole[max_factors] = {};     ///< of each loop
  extent_t points = 1;                  ///< of the device's box
  int flops_per_point = 0;
  int turns = 0;      ///< of an operator of a ring: how far its block of keys has travelled
  int ring_size = 1;  ///< devices of that ring

  /// Whole extent of the last dim of operand `i`.
  constexpr extent_t width(int i) const {
    const tensor_factors& t = rule->operand[i];
    return whole[t.term[t.rank - 1]];
  }
  constexpr extent_t per_point() const { return flops_per_point * points; }
};

}}  // namespace hyperparallel::v0_2
