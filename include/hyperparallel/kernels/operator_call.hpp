// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the kernel of an operator is called with: its attributes, its box of loops, and dense blocks of that box.
//
// Law: the blocks of operands and results are row-major and hold exactly the box, dim by dim of the tensor as its loops
// say; no kernel reads or writes anything else, so a kernel knows nothing of devices.

#include <cstdint>

#include <hyperparallel/operators/operator_list.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// The part of one loop that a call works on: [begin, begin + extent) of [0, whole).
struct loop_span {
  extent_t begin = 0;
  extent_t extent = 1;
  extent_t whole = 1;
};

namespace detail {

/// The number that kernels are given in forward and backward of a micro-batch of a training step, so that random numbers
/// differ between micro-batches. Norm and update have that of micro-batch 0: the step.
constexpr std::int64_t number_of_call(std::int64_t step, int micro_batch) {
  return step + (static_cast<std::int64_t>(micro_batch) << 40);
}

}  // namespace detail

struct operator_call {
  const operator_attributes* attributes = nullptr;
  const factor_rule* rule = nullptr;  ///< the operator's: factors are the loops
  loop_span loop[max_factors] = {};
  const void* operand[max_operands] =
      {};                          ///< float or double, as the kernel computes, or std::int32_t for index tensors
  void* result[max_results] = {};  ///< may be the same memory as an operand that it replaces
  /// `number_of_call`; steps of training count from 1, for the bias correction of Adam.
  std::int64_t step = 1;

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

/// The kernel of a built-in operator; none where no header that binds one is included.
template <class T, class Operator>
inline constexpr operator_kernel kernel_for = nullptr;

/// Which kernel computes an operator.
using kernel_choice = operator_kernel (*)(operator_id);

}}  // namespace hyperparallel::v0_2
