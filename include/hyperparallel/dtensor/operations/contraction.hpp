// SPDX-License-Identifier: Apache-2.0
#pragma once
// Products on dtensors: matmul with broadcast batches and transposed operands, and the linear map of a layer.

#include <hyperparallel/dtensor/traced_operation.hpp>
#include <hyperparallel/kernels/contraction.hpp>
#include <hyperparallel/operators/rules/contraction.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace operations {

/// a · b over the last two dims; a tensor of one dim is a vector.
struct matmul {
  bool transpose_a = false;
  bool transpose_b = false;
  constexpr rule_result rule(const shape* x, int count) const {
    if (count != 2) return no_rule("matmul", rule_code::too_many_operands, count);
    const detail::aligned_shapes<max_operands> s(x, count);
    return rules::matmul(s.at[0], s.at[1], transpose_a, transpose_b);
  }
  template <class X>
    requires(!std::same_as<X, bool>)
  void run(const local_operation&, const_view<X> a, const_view<X> b, tensor_view<X> out) const {
    const bool row = a.extents.rank == 1, column = b.extents.rank == 1;
    if (row) a.extents = shape(extent_t{1}, a.extents.extent[0]);
    if (column) b.extents = shape(b.extents.extent[0], extent_t{1});
    const kernels::transposition t{transpose_a && !row, transpose_b && !column};
    out.extents = kernels::detail::matmul_shape(a.extents, b.extents, t);
    kernels::matmul(a, b, out, t);
  }
};

/// x · weightᵀ, plus a bias where there is a third operand; the weight lies out × in.
struct linear {
  constexpr rule_result rule(const shape* x, int count) const { return rules::linear(x[0].rank, count == 3); }
  template <class X>
    requires(!std::same_as<X, bool>)
  void run(const local_operation&, const_view<X> x, const_view<X> weight, tensor_view<X> out) const {
    kernels::linear(x, weight, const_view<X>{}, out);
  }
  template <class X>
    requires(!std::same_as<X, bool>)
  void run(const local_operation&, const_view<X> x, const_view<X> weight, const_view<X> bias,
           tensor_view<X> out) const {
    kernels::linear(x, weight, bias, out);
  }
};

}  // namespace operations

/// On variables a product of matrices as they lie.
template <bool TransposeA = false, bool TransposeB = false, tensor_or_variable A, tensor_or_variable B>
  requires(!traced_operands<A, B> || (!TransposeA && !TransposeB && B::extents::declared.rank == 2))
auto matmul(const A& a, const B& b) {
  if constexpr (traced_operands<A, B>)
    return apply<listed<ops::contract, "*k,kn->*n">{.linear = 0b11}>(a, b);
  else
    return apply<operations::matmul{TransposeA, TransposeB}>(a, b);
}
template <tensor_or_variable X, tensor_or_variable W>
  requires(!traced_operands<X, W> || W::extents::declared.rank == 2)
auto linear(const X& x, const W& weight) {
  if constexpr (traced_operands<X, W>)
    return apply<listed<ops::contract, "*k,nk->*n">{.linear = 0b11}>(x, weight);
  else
    return apply<operations::linear{}>(x, weight);
}
template <dtensor_type X, dtensor_type W, dtensor_type B>
auto linear(const X& x, const W& weight, const B& bias) {
  return apply<operations::linear{}>(x, weight, bias);
}

}}  // namespace hyperparallel::v0_2
