// SPDX-License-Identifier: Apache-2.0
#pragma once
// Parts of a dim by begin, end and step, and tensors with a margin.
//
// A dim that is taken only partly, or padded, needs a halo and is refused where it is sharded; a dim taken as a whole
// keeps its axes. Begin and end may count from the end of the dim and are clamped to it, as in Python.

#include <hyperparallel/operators/rules/attributes.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace rules {

/// The end of a dim, whatever its extent.
inline constexpr extent_t to_the_end = extent_t{1} << 62;

/// What a range takes of a dim of `n` elements. Domain: step > 0.
struct taken {
  extent_t begin = 0;
  extent_t extent = 0;
  bool whole = false;
};

constexpr taken take(extent_t n, extent_t begin, extent_t end, extent_t step) {
  const extent_t b = smaller(n, larger(extent_t{0}, begin < 0 ? begin + n : begin));
  const extent_t e = smaller(n, larger(b, end < 0 ? end + n : end));
  const extent_t extent = ceil_divide(e - b, step);
  return {b, extent, extent == n && step == 1};
}

namespace parts {

/// One operand and one result that differ in `dim`, of `extent` elements in the result, unless it is taken `whole`.
constexpr rule_result differ_in(const char* name, int rank, int dim, bool whole, extent_t extent) {
  rule_result r = same_dims(name, rank, whole ? 0 : 1u << dim, factor_kind::permutation, moves_elements(0b1u), 0);
  if (!whole) r.rule.result[0].extent[dim] = extent;
  return checked_rule(r.rule);
}

}  // namespace parts

/// [begin, end) of one dim, `step` apart. Fails with axis_is_out_of_range, and attribute_is_invalid, naming the dim (an empty
/// range, or a step below 1).
constexpr rule_result slice_dim(const shape& from, int dim, extent_t begin, extent_t end, extent_t step = 1) {
  const int d = from_front(dim, from.rank);
  if (d < 0) return no_rule("slice", rule_code::axis_is_out_of_range, dim);
  if (step < 1) return no_rule("slice", rule_code::attribute_is_invalid, d);
  const taken t = take(from.extent[d], begin, end, step);
  if (t.extent == 0 && from.extent[d] != 0) return no_rule("slice", rule_code::attribute_is_invalid, d);
  return parts::differ_in("slice", from.rank, d, t.whole, t.extent);
}

/// The transpose of a slice: element i of `dim` at begin + i · step of a dim of `extent` elements, zeros elsewhere. Fails
/// with axis_is_out_of_range, attribute_is_invalid where an element has no place.
constexpr rule_result place_slice(const shape& from, int dim, extent_t begin, extent_t step, extent_t extent) {
  const int d = from_front(dim, from.rank);
  if (d < 0) return no_rule("place_slice", rule_code::axis_is_out_of_range, dim);
  const extent_t n = from.extent[d];
  if (begin < 0 || step < 1 || (n > 0 && begin + (n - 1) * step >= extent))
    return no_rule("place_slice", rule_code::attribute_is_invalid, d);
  return parts::differ_in("place_slice", from.rank, d, n == extent, extent);
}

/// before[d] and after[d] zeros more along each dim. Fails with axes_differ_from_rank, attribute_is_invalid.
constexpr rule_result pad(const shape& from, const shape& before, const shape& after) {
  if (before.rank != from.rank || after.rank != from.rank)
    return no_rule("pad", rule_code::axes_differ_from_rank, before.rank);
  factor_rule r = rule_called("pad", moves_elements(0b1u), 0);
  tensor_factors &x = add_operand(r), &y = add_result(r);
  for (int d = 0; d < from.rank; ++d) {
    const extent_t margin = before.extent[d] + after.extent[d];
    if (before.extent[d] < 0 || after.extent[d] < 0) return no_rule("pad", rule_code::attribute_is_invalid, d);
    const int f = add_factor(r, margin == 0 ? factor_kind::pass_through : factor_kind::permutation);
    add_dim(x, f);
    add_dim(y, f);
    if (margin != 0) y.extent[d] = from.extent[d] + margin;
  }
  return checked_rule(r);
}

}}}  // namespace hyperparallel::v0_2::rules
