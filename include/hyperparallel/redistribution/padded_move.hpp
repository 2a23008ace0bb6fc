// SPDX-License-Identifier: Apache-2.0
#pragma once
// Moves of a padded dim in several steps: planned as if the tensor went on to where the last chunk ends.
//
// A dim of n elements that layouts cut into flat ceil chunks lies within one of n' = chunk · pieces elements, which
// divides; so its digits refine and a move by levels of links exists. Elements behind the n-th are planned and not there:
// no block has them, but one between two steps has room for them, and no transfer brings them. In row-major order they
// are, of every `period` elements, those from `limit` on.
// Laws: a block of a layout of the longer tensor is, without what is not there, the block of the tensor's own, element
// for element in the same order; what is there of a box is at most as many boxes as it has dims.
// Units: elements. O(dims + cuts).

#include <hyperparallel/layout/digits.hpp>
#include <hyperparallel/layout/slice.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Which elements of a plan's shape are not there; a period of 0: all are.
struct move_padding {
  extent_t period = 0;
  extent_t limit = 0;
  constexpr bool none() const { return period == 0; }
  friend constexpr bool operator==(const move_padding&, const move_padding&) = default;
};

namespace detail {

/// A pair of layouts of the longer tensor.
struct extended_pair {
  bool exists = false;
  layout_value source{};
  layout_value target{};
  hyperparallel::shape shape{};
  move_padding padding{};
};

/// Exists where one dim is padded that does not divide, both sides end their chunks at the same places or leave it whole,
/// and no axis becomes partial. Domain: same mesh and rank, both accept `s`.
constexpr extended_pair extend(const layout_value& source, const layout_value& target, const shape& s) {
  extended_pair e{false, source, target, s, {}};
  if ((source.padded | target.padded) == 0) return e;
  const shard_counts held = count_shards(source), wanted = count_shards(target);
  int longer = -1;
  for (int a = 0; a < target.mesh.axis_count; ++a)
    if (target.partial[a] != reduce_op::none && target.partial[a] != source.partial[a]) return e;
  for (int d = 0; d < s.rank; ++d) {
    const extent_t pieces = larger(held.of[d], wanted.of[d]), least = smaller(held.of[d], wanted.of[d]);
    if (s.extent[d] == 0) return e;
    if (s.extent[d] % pieces == 0 && s.extent[d] % least == 0) continue;
    const extent_t n = ceil_divide(s.extent[d], pieces) * pieces;
    if (longer >= 0 || (least > 1 && (n % least != 0 || n / least != ceil_divide(s.extent[d], least)))) return e;
    longer = d;
    e.shape.extent[d] = n;
  }
  e.source.padded = e.target.padded = 0;
  if (longer < 0) return e;
  extent_t inner = 1;
  for (int d = longer + 1; d < s.rank; ++d) inner *= s.extent[d];
  e.padding = {e.shape.extent[longer] * inner, s.extent[longer] * inner};
  e.exists = true;
  return e;
}

/// The first dim of a plan's shape that a period consists of. Domain: some elements are not there.
constexpr int first_dim_of_period(const shape& s, const move_padding& padding) {
  int d = s.rank;
  for (extent_t inner = 1; inner < padding.period;) inner *= s.extent[--d];
  while (d > 0 && s.extent[d - 1] == 1) --d;
  return d;
}

/// Calls `visit(box)` for what is there of a box, without overlap, in row-major order within a period.
template <class Visit>
constexpr void visit_what_is_there(box part, const shape& s, const move_padding& padding, Visit&& visit) {
  if (volume(part) == 0) return;
  if (padding.none()) {
    visit(part);
    return;
  }
  extent_t inner = padding.period, left = padding.limit;
  for (int d = first_dim_of_period(s, padding); d < s.rank; ++d) {
    inner /= s.extent[d];
    const extent_t whole = left / inner;  // indices of this dim that are there with all behind them
    const interval own = part.dim[d];
    left -= whole * inner;
    if (own.begin < whole) {
      part.dim[d].end = smaller(own.end, whole);
      visit(part);
    }
    if (left == 0 || whole < own.begin || whole >= own.end) return;
    part.dim[d] = {whole, whole + 1};
  }
}

}  // namespace detail

/// Elements of a box that are there.
constexpr extent_t volume(const box& part, const shape& s, const move_padding& padding) {
  if (padding.none()) return volume(part);
  extent_t n = 0;
  detail::visit_what_is_there(part, s, padding, [&](const box& b) { n += volume(b); });
  return n;
}

}}  // namespace hyperparallel::v0_2
