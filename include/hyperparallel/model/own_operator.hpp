// SPDX-License-Identifier: Apache-2.0
#pragma once
// Operators that a graph has beside the built-in ones: a user's.
//
// A graph points at the list of its own operators; number `model_op_count + i` is the i-th of them. Lists are made of
// types (operator_list.hpp), so that they live as long as the program.

#include <hyperparallel/model/model_operator.hpp>

namespace hyperparallel::inline v0_2 {

class gradient_writer;

struct own_operator {
  operator_row row{};
  void (*gradient)(gradient_writer&) = nullptr;  ///< says the backward operators; none: it has no gradient
  bool differentiable = true;                    ///< its results change with its operands at all
};

struct own_operators {
  const own_operator* const* item = nullptr;
  int count = 0;

  /// The number of an operator of the list; that of no operator where it is not there.
  constexpr model_op number_of(const own_operator* o) const {
    int i = 0;
    while (i < count && item[i] != o) ++i;
    return static_cast<model_op>(model_op_count + i);
  }
  constexpr bool has(model_op op) const { return static_cast<int>(op) < model_op_count + count; }
  /// Domain: `has(op)`.
  constexpr const operator_row& row_of(model_op op) const {
    const int own = static_cast<int>(op) - model_op_count;
    return own < 0 ? hyperparallel::row_of(op) : item[own]->row;
  }
};

}  // namespace hyperparallel::inline v0_2
