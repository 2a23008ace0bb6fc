// SPDX-License-Identifier: Apache-2.0
#pragma once
// Elements moved and not computed with: transpose, reshape, concat, slice. Each instance has its own text, and dims that
// results alone have are created with the extent that the operator's words below give them: others do not fit.
// A dim that is cut, joined or regrouped is a capital letter, hence whole on every device; small letters may be sharded.

#include <hyperparallel/operators/operator_value.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace ops {

/// The dim in which `part` and `whole` alone differ; -1 where there is no such one.
constexpr int dim_that_differs(const tensor_factors& whole, const tensor_factors& part) {
  int axis = -1;
  for (int d = 0; d < whole.rank && whole.rank == part.rank; ++d) {
    if (part.term[d] == whole.term[d]) continue;
    if (axis >= 0) return -1;
    axis = d;
  }
  return axis;
}

/// Whether `parts` tensors make `whole` along the one dim in which they differ from it.
constexpr instance_fit fit_of_joined(const tensor_factors& whole, const tensor_factors* part, int parts,
                                     const extent_t* extent) {
  const int axis = dim_that_differs(whole, part[0]);
  extent_t total = 0;
  for (int p = 0; p < parts; ++p) {
    if (axis < 0 || dim_that_differs(whole, part[p]) != axis) return {instance_fit::verdict::no_such_text};
    total += extent[part[p].term[axis]];
  }
  const extent_t made = extent[whole.term[axis]];
  if (made == total) return {};
  return {instance_fit::verdict::extent_differs, made, total};
}

/// Elements from one of a slice to the next.
constexpr extent_t step_of_slice(const operator_attributes& a) { return a.integer[1] == 0 ? 1 : a.integer[1]; }

/// Whether `whole` has as many elements for `part` as it takes.
constexpr instance_fit fit_of_slice(const tensor_factors& whole, const tensor_factors& part, const extent_t* extent,
                                    const operator_attributes& a) {
  const int axis = dim_that_differs(whole, part);
  if (axis < 0) return {instance_fit::verdict::no_such_text};
  const extent_t first = a.integer[0], step = step_of_slice(a), n = extent[whole.term[axis]];
  const extent_t made = extent[part.term[axis]],
                 there = first < 0 || step < 0 || first >= n ? 0 : (n - first - 1) / step + 1;
  if (made <= there) return {};
  return {instance_fit::verdict::extent_differs, made, there};
}

/// Dims in another order: "abc->cab". Its gradient is the transpose whose text is turned around.
struct transpose {
  static constexpr const char *name = "transpose", *text = "";
  static constexpr int flops_per_point = 0;
  static constexpr partial_words partials = linear_in_each(0b1u);
  template <class Builder>
  static constexpr void gradient(Builder& b) {
    b.template backward<transpose>("g0>0");
  }
  static constexpr instance_fit fits(const factor_rule& r, const extent_t*, const operator_attributes&) {
    if (r.operand[0].rank == r.result[0].rank && r.operand[0].mask == r.result[0].mask) return {};
    return {instance_fit::verdict::no_such_text};
  }
};

/// Neighbouring dims as others of as many elements: "bAB->bC" merges, "bC->bAB" splits; small letters stay in order.
struct reshape {
  static constexpr const char *name = "reshape", *text = "";
  static constexpr int flops_per_point = 0;
  static constexpr partial_words partials = linear_in_each(0b1u);
  template <class Builder>
  static constexpr void gradient(Builder& b) {
    b.template backward<reshape>("g0>0");
  }
  /// Between dims that stay, and before and after them, both sides have as many elements.
  static constexpr instance_fit fits(const factor_rule& r, const extent_t* extent, const operator_attributes&) {
    const tensor_factors &x = r.operand[0], &y = r.result[0];
    for (int i = 0, j = 0;; ++i, ++j) {
      extent_t from = 1, to = 1;
      for (; i < x.rank && !has_factor(y, x.term[i]); ++i) from *= extent[x.term[i]];
      for (; j < y.rank && !has_factor(x, y.term[j]); ++j) to *= extent[y.term[j]];
      if (from != to) return {instance_fit::verdict::extent_differs, to, from};
      if (i == x.rank && j == y.rank) return {};
      if (i == x.rank || j == y.rank || x.term[i] != y.term[j]) return {instance_fit::verdict::no_such_text};
    }
  }
};

/// One tensor cut along a dim: "bC->bA,bB", where A + B = C. The transpose of concat. integer[0] = -1: the results are
/// the last of the parts, so that A + B may be less than C.
struct split {
  static constexpr const char *name = "split", *text = "";
  static constexpr int flops_per_point = 0;
  static constexpr partial_words partials = linear_in_each(0b1u);
};

/// Two to eight tensors one after the other along a dim: "bA,bB->bC", where C = A + B.
struct concat {
  static constexpr const char *name = "concat", *text = "";
  static constexpr int flops_per_point = 0;
  static constexpr partial_words partials = linear_together(~0u);
  /// A rule has five results at most: of more operands, the others are the last parts.
  template <class Builder>
  static constexpr void gradient(Builder& b) {
    constexpr const char* first[] = {"g0>0", "g0>01", "g0>012", "g0>0123", "g0>01234"};
    constexpr const char* rest[] = {"g0>5", "g0>56", "g0>567"};
    const int parts = b.operands();
    b.template backward<split>(first[parts < 1 ? 0 : parts > 5 ? 4 : parts - 1]);
    if (parts > 5) b.template backward<split>(rest[parts > 8 ? 2 : parts - 6]).reverses = true;
  }
  static constexpr instance_fit fits(const factor_rule& r, const extent_t* extent, const operator_attributes&) {
    return fit_of_joined(r.result[0], r.operand, r.operand_count, extent);
  }
};

/// dy -> dx: the slice at its place, zeros around and between.
struct slice_gradient {
  static constexpr const char *name = "slice_gradient", *text = "";
  static constexpr int flops_per_point = 0;
  static constexpr partial_words partials = linear_in_each(0b1u);
};

/// Some elements of one dim: "bA->bC" takes as many as C has, the first at integer[0], integer[1] apart (0: side by side).
struct slice {
  static constexpr const char *name = "slice", *text = "";
  static constexpr int flops_per_point = 0;
  static constexpr partial_words partials = linear_in_each(0b1u);
  template <class Builder>
  static constexpr void gradient(Builder& b) {
    b.template backward<slice_gradient>("g0>0");
  }
  static constexpr instance_fit fits(const factor_rule& r, const extent_t* extent, const operator_attributes& a) {
    return fit_of_slice(r.operand[0], r.result[0], extent, a);
  }
};

}}}  // namespace hyperparallel::v0_2::ops
