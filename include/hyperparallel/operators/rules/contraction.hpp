// SPDX-License-Identifier: Apache-2.0
#pragma once
// Products that sum over a factor which both operands run over.
//
// The contracted factor is a reduction: sharded alike in both operands it leaves the result a partial sum, and operands
// that disagree on it are not sliced to meet. Batch factors yield. A product is linear in each operand, so one of them
// may itself be a partial sum where the other is whole.

#include <hyperparallel/operators/rules/attributes.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace rules {

namespace parts {

/// What differs among products: how many dims, which matrices lie transposed, and which batch dims (of the result) an
/// operand has with size 1 and repeats.
struct product_side {
  int rank = 2;
  bool transposed = false;
  unsigned repeats = 0;
};

constexpr void add_batch(tensor_factors& t, const product_side& x, int batch) {
  for (int d = batch - (x.rank > 2 ? x.rank - 2 : 0); d < batch; ++d) {
    if (has(x.repeats, d))
      add_dim(t);
    else
      add_dim(t, d);
  }
}

/// Matrix dims, row and column where the matrix is not transposed; a vector has only that which is not -1.
constexpr void add_matrix(tensor_factors& t, const product_side& x, int row, int column) {
  const int first = x.transposed ? column : row, second = x.transposed ? row : column;
  if (first >= 0) add_dim(t, first);
  if (second >= 0) add_dim(t, second);
}

constexpr rule_result product(const char* name, const product_side& a, const product_side& b) {
  if (a.rank < 1 || a.rank > max_dims) return no_rule(name, rule_code::too_many_dims, a.rank);
  if (b.rank < 1 || b.rank > max_dims) return no_rule(name, rule_code::too_many_dims, b.rank);
  const int larger_rank = a.rank > b.rank ? a.rank : b.rank, batch = larger_rank > 2 ? larger_rank - 2 : 0;
  factor_rule r = rule_called(name, linear_in_each(0b11u), 2);
  add_factors(r, batch, true);
  const int m = a.rank > 1 ? add_factor(r) : -1;
  const int k = add_factor(r, factor_kind::reduction, 0, reduce_op::sum);
  const int n = b.rank > 1 ? add_factor(r) : -1;
  tensor_factors& left = add_operand(r);
  add_batch(left, a, batch);
  add_matrix(left, a, m, k);
  tensor_factors& right = add_operand(r);
  add_batch(right, b, batch);
  add_matrix(right, b, k, n);
  tensor_factors& result = add_result(r);
  add_dims(result, 0, batch);
  if (m >= 0) add_dim(result, m);
  if (n >= 0) add_dim(result, n);
  return checked_rule(r);
}

}  // namespace parts

/// a · b over the last two dims, batch dims aligned at the right; a tensor of one dim is a vector. `transpose_a`: a
/// lies as k × m, `transpose_b`: b lies as n × k. Fails with too_many_dims, naming the rank: 1 to 8.
constexpr rule_result matmul(int rank_a, int rank_b, bool transpose_a = false, bool transpose_b = false) {
  return parts::product("matmul", {rank_a, transpose_a}, {rank_b, transpose_b});
}

/// The same for operands of these shapes: batch dims of size 1 are repeated. Fails as well with sizes_do_not_fit,
/// naming the batch dim of the result.
constexpr rule_result matmul(const shape& a, const shape& b, bool transpose_a = false, bool transpose_b = false) {
  parts::product_side left{a.rank, transpose_a}, right{b.rank, transpose_b};
  const int batch = (a.rank > b.rank ? a.rank : b.rank) - 2;
  for (int d = 0; d < batch; ++d) {
    const int i = d - (batch + 2 - a.rank), j = d - (batch + 2 - b.rank);
    if (i < 0 || j < 0 || a.extent[i] == b.extent[j]) continue;
    if (a.extent[i] != 1 && b.extent[j] != 1) return no_rule("matmul", rule_code::sizes_do_not_fit, d);
    (a.extent[i] == 1 ? left : right).repeats |= 1u << d;
  }
  return parts::product("matmul", left, right);
}

/// x · wᵀ + bias for x of `rank` dims and a weight that lies out × in. The bias is added once, not once per term: where
/// the product is a partial sum it joins by a fill.
constexpr rule_result linear(int rank, bool bias = false) {
  if (rank < 1 || rank > max_dims) return no_rule("linear", rule_code::too_many_dims, rank);
  const operand_ranks ranks{bias ? 3 : 2, {rank, 2, 1}};
  rule_result r = written("linear", bias ? "*k,nk,n->*n" : "*k,nk->*n", contraction, ranks);
  if (bias) stand_outside(r.rule, 2);
  return r;
}

}}}  // namespace hyperparallel::v0_2::rules
