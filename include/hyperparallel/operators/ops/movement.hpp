// SPDX-License-Identifier: Apache-2.0
#pragma once
// Elements moved and not computed with: transpose, reshape, concat, slice. Each instance has its own text, and dims that
// results alone have are created with the extent that the operator's words below give them; the kernel refuses others.
// A dim that is cut, joined or regrouped is a capital letter, hence whole on every device; small letters may be sharded.

#include <hyperparallel/operators/operator_value.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace ops {

/// Dims in another order: "abc->cab". Its gradient is the transpose whose text is turned around.
struct transpose {
  static constexpr const char *name = "transpose", *text = "";
  static constexpr int flops_per_point = 0;
  static constexpr partial_words partials = linear_in_each(0b1u);
  template <class Builder>
  static constexpr void gradient(Builder& b) {
    b.template backward<transpose>("g0>0");
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
};

}}}  // namespace hyperparallel::v0_2::ops
