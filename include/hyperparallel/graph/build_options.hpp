// SPDX-License-Identifier: Apache-2.0
#pragma once
// What calls of a model's builder say beside names: short lists of numbers, how the model is built, and what an instance of
// an operator has beside its operands.

#include <hyperparallel/graph/operator_loops.hpp>
#include <hyperparallel/operators/operator_list.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// A short list of numbers in braces: dims of a tensor, operands of an operator.
struct number_list {
  int count = 0;
  int item[max_dims] = {};

  constexpr number_list() = default;
  template <class... Numbers>
    requires(sizeof...(Numbers) <= max_dims)
  constexpr number_list(Numbers... numbers) : count(static_cast<int>(sizeof...(Numbers))), item{numbers...} {}
};

/// How a model is built. `Default` is the element type where none is said.
template <data_type Default>
struct build_options_in {
  data_type activation = Default;
  data_type parameter = Default;
  bool unrolled = false;                   ///< repeated layers are written out: what runs must be; plans may be folded
  operator_list operators = builtin_list;  ///< `operators<builtin, …>::list`

  template <data_type Other>
  constexpr operator build_options_in<Other>() const {
    return {activation, parameter, unrolled, operators};
  }
};
using build_options = build_options_in<data_type::f32>;

/// What an operator's instance says beside its operands.
struct operator_options {
  const char* text = nullptr;  ///< instead of the row's
  created_dim created[3] = {};
  int created_count = 0;
  extent_t integer[2] = {};
  double real[5] = {};
  reduce_op reduction = reduce_op::sum;
};

}}  // namespace hyperparallel::v0_2
