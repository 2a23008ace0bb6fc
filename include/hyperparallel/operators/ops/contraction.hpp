// SPDX-License-Identifier: Apache-2.0
#pragma once
// Products as operator types: `ops::linear<3, true>` for x of three dims and a bias.

#include <hyperparallel/operators/rules/contraction.hpp>
#include <hyperparallel/operators/rules/convolution.hpp>

namespace hyperparallel::inline v0_2::ops {

/// a · b over the last two dims; `ops::matmul` is that of two matrices.
template <int RankA, int RankB, bool TransposeA = false, bool TransposeB = false>
struct batch_matmul {
  static constexpr rule_result built = rules::matmul(RankA, RankB, TransposeA, TransposeB);
  static constexpr const factor_rule& rule = built.rule;
};

/// The same with batch dims of size 1 repeated.
template <shape A, shape B, bool TransposeA = false, bool TransposeB = false>
struct broadcasting_matmul {
  static constexpr rule_result built = rules::matmul(A, B, TransposeA, TransposeB);
  static constexpr const factor_rule& rule = built.rule;
};

template <bool TransposeA = false, bool TransposeB = false>
struct bmm {
  static constexpr rule_result built = rules::bmm(TransposeA, TransposeB);
  static constexpr const factor_rule& rule = built.rule;
};

/// x · wᵀ, plus a bias where there is one.
template <int Rank, bool Bias = false>
struct linear {
  static constexpr rule_result built = rules::linear(Rank, Bias);
  static constexpr const factor_rule& rule = built.rule;
};

/// A product without attributes.
template <rule_result (*Function)()>
struct fixed_product {
  static constexpr rule_result built = Function();
  static constexpr const factor_rule& rule = built.rule;
};
using addmm = fixed_product<rules::addmm>;
using outer = fixed_product<rules::outer>;
using dot = fixed_product<rules::dot>;
using ragged_matmul = fixed_product<rules::ragged_matmul>;

/// Convolution of x by weights of these shapes.
template <shape X, shape Weights, rules::convolution_options Options = rules::convolution_options{}>
struct convolution {
  static constexpr rule_result built = rules::convolution(X, Weights, Options);
  static constexpr const factor_rule& rule = built.rule;
};

}  // namespace hyperparallel::inline v0_2::ops
