// SPDX-License-Identifier: Apache-2.0
#pragma once
// Attention on dtensors, and the rotary embedding of positions.
//
// Queries may be sharded along batch, heads and their sequence; keys and values along batch and heads. A causal mask
// counts queries from where their slice begins, and the embedding counts positions so.

#include <concepts>

#include <hyperparallel/dtensor/operation.hpp>
#include <hyperparallel/kernels/attention.hpp>
#include <hyperparallel/kernels/rope.hpp>
#include <hyperparallel/operators/rules/attention.hpp>
#include <hyperparallel/operators/rules/normalization.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace operations {

/// softmax(scale · q · kᵀ) · v for q [batch, heads, queries, dim] and k, v [batch, key heads, keys, dim].
struct attention {
  static constexpr bool whole_extents = true;
  bool causal = false;
  double scale = 0;  ///< 0 stands for 1 / √dim
  constexpr rule_result rule(const shape* x, int count) const {
    if (count != 3) return no_rule("attention", rule_code::too_many_operands, count);
    if (x[0].rank != 4 || x[1].rank != 4) return no_rule("attention", rule_code::too_many_dims, x[0].rank);
    return rules::attention(static_cast<int>(x[0].extent[1]), static_cast<int>(x[1].extent[1]));
  }
  template <class X>
    requires std::floating_point<kernels::computing<X>>
  void run(const local_operation& at, const_view<X> q, const_view<X> k, const_view<X> v, tensor_view<X> out) const {
    kernels::attention_options o;
    o.scale = scale;
    o.causal = causal;
    o.query_offset = at.operand[0].place.dim[2].begin;
    if (volume(q) > 0) kernels::attention(q, k, v, out, nullptr, o);
  }
};

/// Rows, the last dim, turned by their position, their index along `position_dim`.
struct rope {
  int position_dim = -2;
  double base = 10000;
  constexpr rule_result rule(const shape* x, int) const {
    const int d = rules::from_front(position_dim, x[0].rank);
    if (d < 0 || d == x[0].rank - 1) return no_rule("rope", rule_code::axis_is_out_of_range, position_dim);
    const rule_status s = status_of_width(x[0].extent[x[0].rank - 1]);
    if (s.code != rule_code::ok) return no_rule("rope", s.code, s.where);
    return rules::reads_along("rope", x[0].rank, -1, linear_in_each(0b1u), 3);
  }
  /// Pairs turn; a dynamic extent is looked at when the operator runs. The run throws rank_error then.
  static constexpr rule_status status_of_width(extent_t width) {
    if (width < 0 || width % 2 == 0) return {};
    return {rule_code::last_dim_is_no_multiple, static_cast<int>(width)};
  }
  template <class X>
    requires std::floating_point<kernels::computing<X>>
  void run(const local_operation& at, const_view<X> x, tensor_view<X> out) const {
    const rule_status s = status_of_width(x.extents.extent[x.extents.rank - 1]);
    if (s.code != rule_code::ok) throw operator_error("rope", s);
    const int d = rules::from_front(position_dim, x.extents.rank);
    kernels::rope_options o;
    o.base = base;
    o.first_position = at.operand[0].place.dim[d].begin;
    kernels::rope(x, out, d, o);
  }
};

}  // namespace operations

template <bool Causal = false, dtensor_type Q, dtensor_type K, dtensor_type V>
auto attention(const Q& q, const K& k, const V& v) {
  return apply<operations::attention{Causal}>(q, k, v);
}
template <int PositionDim = -2, dtensor_type X>
auto rope(const X& x, double base = 10000) {
  return apply_as<operations::rope{PositionDim}>(operations::rope{PositionDim, base}, x);
}

}}  // namespace hyperparallel::v0_2
