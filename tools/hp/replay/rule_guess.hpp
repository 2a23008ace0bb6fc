// SPDX-License-Identifier: Apache-2.0
#pragma once
// Vectors of factor rules against the rules of the library, where a vector says enough to know its operator.
//
// Operators are known by `op_guess`, held against `id`; attributes are read off the factors (which dims are summed,
// permuted, written) and the sizes.

#include <hyperparallel/operators/rules/contraction.hpp>
#include <hyperparallel/operators/rules/convolution.hpp>
#include <hyperparallel/operators/rules/elementwise.hpp>
#include <hyperparallel/operators/rules/joining.hpp>
#include <hyperparallel/operators/rules/movement.hpp>
#include <hyperparallel/operators/rules/normalization.hpp>
#include <hyperparallel/operators/rules/ordering.hpp>
#include <hyperparallel/operators/rules/reduction.hpp>
#include <hyperparallel/operators/rules/slicing.hpp>
#include <hyperparallel/operators/shape_factors.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "reference_rules.hpp"
#include "rule_view.hpp"

namespace replay {

/// A vector beside what its operator is taken for.
struct guess_case {
  const read_rule& rule;
  rule_view theirs;
  /// Dims of operand 0 with a factor of `kind`.
  hp::rules::dim_list dims_of_kind(hp::factor_kind kind) const {
    hp::rules::dim_list dims;
    for (std::size_t d = 0; d < theirs.operand[0].size(); ++d)
      for (const int f : theirs.operand[0][d])
        if (theirs.factor[static_cast<std::size_t>(f)].kind == kind) {
          dims.at[dims.count++] = static_cast<int>(d);
          break;
        }
    return dims;
  }
  const hp::shape& shape() const { return rule.operand_shape[0]; }
  int rank() const { return shape().rank; }
  bool matches(const hp::rule_result& ours) const { return matches(ours, rule.operand_shape, theirs); }
  static bool matches(const hp::rule_result& ours, const std::vector<hp::shape>& shapes, const rule_view& part) {
    return ours.status.code == hp::rule_code::ok && same_rule(part, view_of(ours.rule, shapes));
  }
  /// The same of each operand k that has a shape beside result k, as operators of several tensors treat them alike.
  bool each_matches(const hp::rule_result& ours) const {
    if (theirs.result.size() > theirs.operand.size()) return false;
    for (int k = 0; k < static_cast<int>(theirs.result.size()); ++k) {
      const rule_view part = part_of(theirs, {k}, {k});
      rule_view one = view_of(ours.rule, {rule.operand_shape[static_cast<std::size_t>(k)]});
      one.result.resize(1);
      if (ours.status.code != hp::rule_code::ok || !same_rule(part, one)) return false;
    }
    return true;
  }
};

inline bool guess_reshape(const guess_case& c) {
  return c.matches(hp::rules::reshape(c.shape(), c.rule.result_shape[0]));
}

inline bool guess_elementwise(const guess_case& c) {
  return c.matches(
      hp::rules::same_shape("elementwise", c.rank(), static_cast<int>(c.theirs.operand.size()), hp::refuse_partials()));
}

inline bool guess_dot(const guess_case& c) {
  if (c.theirs.operand.size() != 2) return false;
  const hp::shape &a = c.shape(), &b = c.rule.operand_shape[1];
  return c.matches(hp::rules::matmul(a.rank, b.rank));
}

inline bool guess_transpose(const guess_case& c) {
  hp::rules::dim_list order;
  for (const std::vector<int>& dim : c.theirs.result[0])
    order.at[order.count++] = static_cast<int>(std::find(c.theirs.operand[0].begin(), c.theirs.operand[0].end(), dim) -
                                               c.theirs.operand[0].begin());
  return c.matches(hp::rules::permute(c.rank(), order));
}

inline bool guess_reverse(const guess_case& c) {
  return c.matches(hp::rules::flip(c.rank(), c.dims_of_kind(hp::factor_kind::permutation)));
}

/// The vectors keep the dim whole, but where all parts are slices of one tensor; ours needs a halo of it. Both refuse
/// it where it is sharded.
inline bool guess_concatenate(const guess_case& c) {
  for (int dim = 0; dim < c.rank(); ++dim) {
    hp::rule_result ours =
        hp::rules::concat(c.rule.operand_shape.data(), static_cast<int>(c.rule.operand_shape.size()), dim);
    if (c.matches(ours)) return true;
    if (ours.status.code != hp::rule_code::ok) continue;
    ours.rule.factor[dim].kind = hp::factor_kind::need_replication;
    for (int o = 0; o < ours.rule.operand_count; ++o) ours.rule.operand[o].extent[dim] = 0;
    ours.rule.factor[dim].extent = 0;
    if (c.matches(ours)) return true;
  }
  return false;
}

/// Dims of the operand at their places among those of the result, where ours has dims of size 1.
inline bool guess_broadcast(const guess_case& c) {
  hp::shape from = c.rule.result_shape[0];
  rule_view placed = c.theirs;
  placed.operand[0].assign(placed.result[0].size(), {});
  for (std::size_t d = 0; d < placed.result[0].size(); ++d) {
    const std::vector<int>& dim = placed.result[0][d];
    const bool is_there =
        std::find(c.theirs.operand[0].begin(), c.theirs.operand[0].end(), dim) != c.theirs.operand[0].end();
    if (is_there)
      placed.operand[0][d] = dim;
    else
      from.extent[d] = 1;
  }
  return guess_case::matches(hp::rules::expand(from, c.rule.result_shape[0]), {from}, placed);
}

/// Functions that read whole dims and keep the others apart: transforms, decompositions.
inline bool guess_whole_dims(const guess_case& c) {
  return c.matches(hp::rules::reads_along("whole_dims", c.rank(), c.dims_of_kind(hp::factor_kind::need_replication),
                                          hp::refuse_partials(), 1));
}

inline bool guess_sort(const guess_case& c) {
  for (int dim = 0; dim < c.rank(); ++dim)
    if (c.each_matches(hp::rules::sort(c.rank(), dim))) return true;
  return false;
}

inline bool guess_reduce(const guess_case& c) {
  const hp::rules::dim_list dims = c.dims_of_kind(hp::factor_kind::reduction);
  return dims.count > 0 && c.each_matches(hp::rules::reduce(hp::reduce_op::sum, c.rank(), dims));
}

inline bool guess_pad(const guess_case& c) {
  hp::shape margin = c.shape();
  for (int d = 0; d < margin.rank; ++d) margin.extent[d] = 0;
  const hp::rules::dim_list dims = c.dims_of_kind(hp::factor_kind::permutation);
  for (int i = 0; i < dims.count; ++i) margin.extent[dims.at[i]] = 1;
  return c.each_matches(hp::rules::pad(c.shape(), margin, margin));
}

inline bool guess_slice(const guess_case& c) {
  hp::shape begin = c.shape(), step = c.shape();
  for (int d = 0; d < begin.rank; ++d) {
    begin.extent[d] = 0;
    step.extent[d] = 1;
  }
  const hp::rules::dim_list dims = c.dims_of_kind(hp::factor_kind::permutation);
  for (int i = 0; i < dims.count; ++i) begin.extent[dims.at[i]] = 1;
  return c.matches(reference::slice(c.shape(), begin, c.shape(), step));
}

/// Batch and channels of a convolution in the order that the vectors have: batch, space, channels; window, in, out.
/// Space is left out: ours keeps a halo of it, or windows side by side as factors of a dim (see convolution.hpp).
inline bool guess_convolution(const guess_case& c) {
  if (c.theirs.operand.size() != 2 || c.rank() < 3) return false;
  const hp::shape &x = c.shape(), &w = c.rule.operand_shape[1];
  const int last = x.rank - 1;
  hp::shape image{x.extent[0], x.extent[last], 1}, kernel{w.extent[last], w.extent[last - 1], 1};
  if (kernel.extent[1] == 0 || image.extent[1] % kernel.extent[1] != 0) return false;
  hp::rules::convolution_options o;
  o.groups = image.extent[1] / kernel.extent[1];
  const hp::rule_result ours = hp::rules::convolution(image, kernel, o);
  if (ours.status.code != hp::rule_code::ok) return false;
  rule_view mine = view_of(ours.rule, {image, kernel}), part = c.theirs;
  mine.operand[0].resize(2);
  mine.operand[1].resize(2);
  mine.result[0].resize(2);
  part.operand[0] = {part.operand[0].front(), part.operand[0].back()};
  part.operand[1] = {part.operand[1].back(), part.operand[1][part.operand[1].size() - 2]};
  part.result[0] = {part.result[0].front(), part.result[0].back()};
  return same_rule(part, mine);
}

/// Dims in which operand 1 has another factor than operand 0 are written at some place, the others whole.
inline bool guess_update(const guess_case& c) {
  if (c.theirs.operand.size() < 2 || c.rule.operand_shape[1].rank != c.rank()) return false;
  reference::index_entry entry[hp::max_dims];
  for (int d = 0; d < c.rank(); ++d) {
    const std::size_t at = static_cast<std::size_t>(d);
    if (!(c.theirs.operand[0][at] == c.theirs.operand[1][at]))
      entry[d] = reference::range(0, c.rule.operand_shape[1].extent[d]);
    else
      entry[d] = reference::range();
  }
  return guess_case::matches(reference::assign(c.shape(), entry, c.rank()),
                             {c.rule.operand_shape[0], c.rule.operand_shape[1]}, part_of(c.theirs, {0, 1}, {0}));
}

enum class confidence : unsigned char {
  certain,   ///< sizes and factors leave no room for another rule, unless there are no elements to agree on
  likely,    ///< attributes that the vector does not show may ask for another
  possible,  ///< one of many operators that go by the name
};

struct guessed_operator {
  const char* id;        ///< how the id begins, after its last slash
  const char* op_guess;  ///< what it has to agree with, without "stablehlo."
  bool (*guess)(const guess_case&);
  replay::confidence confidence;
};

// The first entry whose two texts fit counts.
inline constexpr guessed_operator guessed_operators[] = {
    {"reshape", "reshape", guess_reshape, confidence::certain},
    {"pointwise", "add", guess_elementwise, confidence::certain},
    {"clamp", "clamp", guess_elementwise, confidence::likely},
    {"select_and_scatter", "", nullptr, confidence::possible},
    {"select", "select", guess_elementwise, confidence::likely},
    {"bitcast_convert", "bitcast_convert", guess_elementwise, confidence::possible},
    {"custom_call", "custom_call", guess_elementwise, confidence::possible},
    {"dot", "dot", guess_dot, confidence::likely},
    {"transpose", "transpose", guess_transpose, confidence::likely},
    {"reverse", "reverse", guess_reverse, confidence::likely},
    {"concat", "", guess_concatenate, confidence::likely},
    {"broadcast_in_dim", "broadcast_in_dim", guess_broadcast, confidence::likely},
    {"sort", "sort", guess_sort, confidence::likely},
    {"fft", "fft", guess_whole_dims, confidence::likely},
    {"cholesky", "cholesky", guess_whole_dims, confidence::likely},
    {"reduce_window", "", nullptr, confidence::possible},
    {"reduce_scatter", "", nullptr, confidence::possible},
    {"reduce", "", guess_reduce, confidence::likely},
    {"pad", "pad", guess_pad, confidence::likely},
    {"slice", "slice", guess_slice, confidence::likely},
    {"conv", "convolution", guess_convolution, confidence::likely},
    {"dynamic_update_slice", "", guess_update, confidence::likely},
};

/// The rule of ours that a vector was compared with: not equal where that is certain is a failure, else a note.
struct guess_outcome {
  std::string with{};
  bool equal = false;
  replay::confidence confidence = replay::confidence::possible;
};

inline guess_outcome compare_with_ours(const json& v, const read_rule& r) {
  std::string id = text_of(v, "id"), op = text_of(v, "op_guess");
  id = id.substr(id.rfind('/') + 1);
  op = op.substr(op.find('.') + 1);
  if (r.operand.empty() || id.find('#') != std::string::npos) return {};  // a later operator of its function
  for (const guessed_operator& g : guessed_operators) {
    if (!id.starts_with(g.id) || !op.starts_with(g.op_guess)) continue;
    if (g.guess == nullptr) return {};
    const bool empty = hp::element_count(r.operand_shape[0]).value == 0;
    return {g.id, g.guess({r, view_of(r)}), empty ? confidence::likely : g.confidence};
  }
  return {};
}

}  // namespace replay
