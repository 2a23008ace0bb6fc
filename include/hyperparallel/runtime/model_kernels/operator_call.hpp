// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the kernel of a model operator is called with: its operator, its box of loops, and dense blocks of that box.
//
// Law: the blocks of operands and results are row-major and hold exactly the box, dim by dim of the tensor as its loops
// say; no kernel reads or writes anything else, so a kernel knows nothing of devices.

#include <cstdint>

#include <hyperparallel/model/graph.hpp>

namespace hyperparallel::inline v0_2 {

/// The part of one loop that a call works on: [begin, begin + extent) of [0, whole).
struct loop_span {
  extent_t begin = 0;
  extent_t extent = 1;
  extent_t whole = 1;
};

struct operator_call {
  const graph_operator* op = nullptr;
  const factor_rule* rule = nullptr;  ///< the operator's: factors are the loops
  loop_span loop[max_operator_loops] = {};
  const void* operand[max_operator_operands] = {};  ///< float type of the run, or std::int32_t for index tensors
  void* result[max_operator_results] = {};          ///< may be the same memory as an operand that it replaces
  std::int64_t step = 1;                            ///< of training, from 1: bias correction of Adam

  /// Elements of operand `i`'s block.
  extent_t operand_elements(int i) const { return elements(rule->operand[i]); }
  extent_t result_elements(int i) const { return elements(rule->result[i]); }

 private:
  extent_t elements(const tensor_factors& t) const {
    extent_t n = 1;
    for (int d = 0; d < t.rank; ++d) n *= loop[t.term[d]].extent;
    return n;
  }
};

/// Throws std::exception with one line where a call cannot be computed.
using operator_kernel = void (*)(const operator_call&);

/// Which kernel computes an operator.
using kernel_choice = operator_kernel (*)(model_op);

}  // namespace hyperparallel::inline v0_2
