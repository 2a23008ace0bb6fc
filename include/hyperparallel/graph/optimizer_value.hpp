// SPDX-License-Identifier: Apache-2.0
#pragma once
// What trains a model: the optimizer and its numbers, and which parameters it takes for matrices.
//
// A matrix is a parameter that only contractions read, [batch dims…, one side…, other side…]: a side is the dims that
// are summed, or those that the parameter alone gives to the result; batch dims (experts) are in all three tensors.
// Norm weights and tables of embeddings are none. Source: Jordan et al., "Muon", 2024.

#include <hyperparallel/graph/graph.hpp>

namespace hyperparallel { inline namespace v0_2 {

enum class optimizer_kind : unsigned char { sgd, adamw, muon };

constexpr const char* name_of(optimizer_kind kind) {
  constexpr const char* names[] = {"sgd", "adamw", "muon"};
  return names[static_cast<int>(kind)];
}

struct optimizer_value {
  optimizer_kind kind = optimizer_kind::adamw;
  double rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double epsilon = 1e-8;
  double weight_decay = 0.0;
  double momentum = 0.95;     ///< of sgd and muon
  double muon_rate = 0.02;    ///< of what muon updates; the rest has `rate`
  double clip = 1.0;          ///< largest global norm; 0: any
  double bias_rate = 1e-3;    ///< of router biases
  short_text without_muon{};  ///< pattern
  bool local_norms = false;   ///< monitors the squared norm of each parameter's gradient
  friend constexpr bool operator==(const optimizer_value&, const optimizer_value&) = default;
};

namespace detail {

/// A parameter as a matrix: dims [rows, columns) and [columns, rank) are its sides, those before are a batch.
struct matrix_sides {
  bool is_matrix = false;
  int rows = 0;
  int columns = 0;
  friend constexpr bool operator==(const matrix_sides&, const matrix_sides&) = default;
};

/// The sides of parameter `p` as its first reader sees them. O(operators).
constexpr matrix_sides sides_of(const graph& g, int p) {
  int reader = -1, place = 0;
  for (int o = 0; o < g.op.size && g.op[o].phase == graph_phase::forward; ++o) {
    for (int i = 0; i < g.op[o].operand_count; ++i) {
      if (g.op[o].operand[i] != p) continue;
      if (!g.value_of(g.op[o]).is_product) return {};
      if (reader < 0) place = i;
      if (reader < 0) reader = o;
    }
  }
  if (reader < 0) return {};
  const graph_operator& o = g.op[reader];
  const factor_rule& rule = g.rule_of(o);
  const tensor_factors& matrix = rule.operand[place];
  matrix_sides sides;
  int side = 0;  // 0: batch dims, 1, 2
  bool summed = false;
  for (int d = 0; d < matrix.rank; ++d) {
    const bool in_other = has_factor(rule.operand[1 - place], matrix.term[d]);
    const bool in_result = has_factor(rule.result[0], matrix.term[d]);
    if (in_other == in_result) {
      if (!in_other || side > 0) return {};
      continue;
    }
    if (side == 0 || summed != in_other) {
      if (side == 2) return {};
      (side == 0 ? sides.rows : sides.columns) = d;
      summed = in_other;
      ++side;
    }
  }
  sides.is_matrix = side == 2;
  return sides.is_matrix ? sides : matrix_sides{};
}

}  // namespace detail

}}  // namespace hyperparallel::v0_2
