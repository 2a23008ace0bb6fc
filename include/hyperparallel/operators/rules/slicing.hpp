// SPDX-License-Identifier: Apache-2.0
#pragma once
// Parts of a tensor by begin, end and step, and tensors with a margin.
//
// A dim that is taken only partly, or padded, needs a halo and is refused where it is sharded; a dim taken as a whole
// keeps its axes. Begin and end may count from the end of the dim and are clamped to it, as in Python.

#include <hyperparallel/operators/rules/attributes.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace rules {

/// One entry between the brackets of x[…].
struct index_entry {
  enum class form : unsigned char { range, one, fresh };
  form is = form::range;
  extent_t begin = 0;
  extent_t end = last;
  extent_t step = 1;
  static constexpr extent_t last = extent_t{1} << 62;
  friend constexpr bool operator==(const index_entry&, const index_entry&) = default;
};

/// x[begin:end:step]
constexpr index_entry range(extent_t begin = 0, extent_t end = index_entry::last, extent_t step = 1) {
  return {index_entry::form::range, begin, end, step};
}
/// x[at]: the dim vanishes.
constexpr index_entry one(extent_t at) { return {index_entry::form::one, at, at, 1}; }
/// x[None]: a new dim of size 1.
constexpr index_entry fresh() { return {index_entry::form::fresh, 0, 0, 1}; }

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

/// Dims of operand and result for one dim of `n` elements of which a range is taken.
constexpr rule_status add_range(factor_rule& r, tensor_factors& x, tensor_factors& y, extent_t n,
                                const index_entry& e) {
  if (e.step < 1) return {rule_code::attribute_is_invalid, x.rank};
  const taken t = take(n, e.begin, e.end, e.step);
  if (t.extent == 0 && n != 0) return {rule_code::attribute_is_invalid, x.rank};
  const int f = add_factor(r, t.whole ? factor_kind::pass_through : factor_kind::permutation);
  add_dim(x, f);
  add_dim(y, f);
  if (!t.whole) y.extent[y.rank - 1] = t.extent;
  return {};
}

}  // namespace parts

/// x[entry, entry, …]; dims without an entry are taken whole. Fails with axes_differ_from_rank (more entries than
/// dims), axis_is_out_of_range (no such element), attribute_is_invalid (an empty range, or a step below 1), naming the
/// dim.
constexpr rule_result index(const shape& from, const index_entry* entry, int count) {
  factor_rule r = rule_called("index", moves_elements(0b1u), 0);
  tensor_factors &x = add_operand(r), &y = add_result(r);
  for (int i = 0; i < count || x.rank < from.rank; ++i) {
    const index_entry e = i < count ? entry[i] : range();
    if (e.is == index_entry::form::fresh) {
      if (y.rank == max_dims) return no_rule("index", rule_code::too_many_dims, y.rank + 1);
      add_dim(y);
      continue;
    }
    if (x.rank == from.rank) return no_rule("index", rule_code::axes_differ_from_rank, x.rank);
    if (y.rank == max_dims) return no_rule("index", rule_code::too_many_dims, y.rank + 1);
    const extent_t n = from.extent[x.rank];
    if (e.is == index_entry::form::one) {
      if (e.begin < -n || e.begin >= n) return no_rule("index", rule_code::axis_is_out_of_range, x.rank);
      add_dim(x, add_whole(r));
      continue;
    }
    const rule_status s = parts::add_range(r, x, y, n, e);
    if (s.code != rule_code::ok) return refused("index", s);
  }
  return checked_rule(r);
}

/// [begin, end) by steps, of every dim. Fails with axes_differ_from_rank and like `index`.
constexpr rule_result slice(const shape& from, const shape& begin, const shape& end, const shape& step) {
  if (begin.rank != from.rank || end.rank != from.rank || step.rank != from.rank)
    return no_rule("slice", rule_code::axes_differ_from_rank, begin.rank);
  index_entry entry[max_dims];
  for (int d = 0; d < from.rank; ++d) entry[d] = range(begin.extent[d], end.extent[d], step.extent[d]);
  rule_result r = index(from, entry, from.rank);
  r.rule.name = short_text("slice");
  return r;
}

/// The same of one dim.
constexpr rule_result slice_dim(const shape& from, int dim, extent_t begin, extent_t end, extent_t step = 1) {
  const int d = from_front(dim, from.rank);
  if (d < 0) return no_rule("slice", rule_code::axis_is_out_of_range, dim);
  index_entry entry[max_dims];
  entry[d] = range(begin, end, step);
  rule_result r = index(from, entry, from.rank);
  r.rule.name = short_text("slice");
  return r;
}

/// The transpose of a slice: element i of `dim` at begin + i · step of a dim of `extent` elements, zeros elsewhere. Fails
/// with axis_is_out_of_range, attribute_is_invalid where an element has no place.
constexpr rule_result place_slice(const shape& from, int dim, extent_t begin, extent_t step, extent_t extent) {
  const int d = from_front(dim, from.rank);
  if (d < 0) return no_rule("place_slice", rule_code::axis_is_out_of_range, dim);
  const extent_t n = from.extent[d];
  if (begin < 0 || step < 1 || (n > 0 && begin + (n - 1) * step >= extent))
    return no_rule("place_slice", rule_code::attribute_is_invalid, d);
  factor_rule r = rule_called("place_slice", moves_elements(0b1u), 0);
  add_factors(r, from.rank);
  add_dims(add_operand(r), 0, from.rank);
  add_dims(add_result(r), 0, from.rank);
  if (n == extent) return checked_rule(r);
  r.factor[d].kind = factor_kind::permutation;
  r.result[0].extent[d] = extent;
  return checked_rule(r);
}

/// A value of the shape that the entries take, written into x at their place: x[entry, …] = value. Operands x and
/// value.
constexpr rule_result assign(const shape& to, const index_entry* entry, int count) {
  rule_result r = index(to, entry, count);
  r.rule.name = short_text("assign");
  if (r.status.code != rule_code::ok) return r;
  const tensor_factors whole = r.rule.operand[0];
  add_operand(r.rule) = r.rule.result[0];
  r.rule.result[0] = whole;
  r.rule.partials = moves_elements(0b11u, partial_mode::together);
  return checked_rule(r.rule);
}

/// What is written into the margin.
enum class padding : unsigned char {
  zeros,
  constant,  ///< another number: once in every term, so that sums and products refuse it
  elements,  ///< those of the tensor, mirrored or repeated
};

/// before[d] and after[d] elements more along each dim. Fails with axes_differ_from_rank, attribute_is_invalid.
constexpr rule_result pad(const shape& from, const shape& before, const shape& after, padding with = padding::zeros) {
  if (before.rank != from.rank || after.rank != from.rank)
    return no_rule("pad", rule_code::axes_differ_from_rank, before.rank);
  const partial_words words = with == padding::constant ? partial_algebra::overwrites : moves_elements(0b1u);
  factor_rule r = rule_called("pad", words, 0);
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
