// SPDX-License-Identifier: Apache-2.0
#pragma once
// Operators that move elements as operator types: `ops::permute<2, 0, 1>`, `ops::reshape<shape{8, 4}, shape{32}>`.

#include <hyperparallel/operators/rules/creation.hpp>
#include <hyperparallel/operators/rules/joining.hpp>
#include <hyperparallel/operators/rules/movement.hpp>
#include <hyperparallel/operators/rules/slicing.hpp>

namespace hyperparallel::inline v0_2::ops {

/// Result dim i is dim Order[i].
template <int... Order>
struct permute {
  static constexpr rule_result built = rules::permute(static_cast<int>(sizeof...(Order)), {Order...});
  static constexpr const factor_rule& rule = built.rule;
};

template <int Rank, int A, int B>
struct transpose {
  static constexpr rule_result built = rules::transpose(Rank, A, B);
  static constexpr const factor_rule& rule = built.rule;
};

template <int Rank, int Dim>
struct expand_dims {
  static constexpr rule_result built = rules::expand_dims(Rank, Dim);
  static constexpr const factor_rule& rule = built.rule;
};

template <shape From, int... Dims>
struct squeeze {
  static constexpr rule_result built = rules::squeeze(From, {Dims...});
  static constexpr const factor_rule& rule = built.rule;
};

template <shape From, shape To>
struct expand {
  static constexpr rule_result built = rules::expand(From, To);
  static constexpr const factor_rule& rule = built.rule;
};

template <shape From, shape To>
struct reshape {
  static constexpr rule_result built = rules::reshape(From, To);
  static constexpr const factor_rule& rule = built.rule;
};

template <shape From, int First = 0, int Last = -1>
struct flatten {
  static constexpr rule_result built = rules::flatten(From, First, Last);
  static constexpr const factor_rule& rule = built.rule;
};

template <int Rank, shape Times>
struct repeat {
  static constexpr rule_result built = rules::repeat(Rank, Times);
  static constexpr const factor_rule& rule = built.rule;
};

template <int Rank, int Dim, extent_t Times>
struct repeat_interleave {
  static constexpr rule_result built = rules::repeat_interleave(Rank, Dim, Times);
  static constexpr const factor_rule& rule = built.rule;
};

template <int Rank, int... Dims>
struct roll {
  static constexpr rule_result built = rules::roll(Rank, {Dims...});
  static constexpr const factor_rule& rule = built.rule;
};

template <int Rank, int... Dims>
struct flip {
  static constexpr rule_result built = rules::flip(Rank, {Dims...});
  static constexpr const factor_rule& rule = built.rule;
};

template <int Rank>
struct tril {
  static constexpr rule_result built = rules::tril(Rank);
  static constexpr const factor_rule& rule = built.rule;
};

/// `Count` tensors along a new dim.
template <int Rank, int Count, int Dim>
struct stack {
  static constexpr rule_result built = rules::stack(Rank, Count, Dim);
  static constexpr const factor_rule& rule = built.rule;
};

/// Tensors of these shapes one after the other.
template <int Dim, shape... Operands>
struct concat {
  static constexpr rule_result evaluate() {
    const shape operand[] = {Operands...};
    return rules::concat(operand, static_cast<int>(sizeof...(Operands)), Dim);
  }
  static constexpr rule_result built = evaluate();
  static constexpr const factor_rule& rule = built.rule;
};

/// Any tensor along a dim.
template <int Rank, int Dim>
struct unbind {
  static constexpr rule_result built = rules::unbind(Rank, Dim);
  static constexpr const factor_rule& rule = built.rule;
};

/// One of the parts of `Size` elements.
template <shape From, int Dim, extent_t Size, extent_t Part = 0>
struct split {
  static constexpr rule_result built = rules::split(From, Dim, Size, Part);
  static constexpr const factor_rule& rule = built.rule;
};

template <shape From, shape Begin, shape End, shape Step>
struct slice {
  static constexpr rule_result built = rules::slice(From, Begin, End, Step);
  static constexpr const factor_rule& rule = built.rule;
};

template <shape From, shape Before, shape After, rules::padding With = rules::padding::zeros>
struct pad {
  static constexpr rule_result built = rules::pad(From, Before, After, With);
  static constexpr const factor_rule& rule = built.rule;
};

/// A new tensor, of no operand.
template <shape Sizes>
struct new_tensor {
  static constexpr rule_result built = rules::creation("new_tensor", Sizes);
  static constexpr const factor_rule& rule = built.rule;
};

}  // namespace hyperparallel::inline v0_2::ops
