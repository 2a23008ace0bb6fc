// SPDX-License-Identifier: Apache-2.0
#pragma once
// Boxes of a tensor in factored dims, and where their elements lie in another array.
//
//   logical tensor [8, 6] in factors {4, 2, 6}:     box {1..3, 0..2, 0..6} is rows 2 to 5
//   place {offset 0, strides {6, 12, 1}}:           element (a, b, c) of the box lies at (a - 1) · 6 + b · 12 + c
//
// A factored view of a dim is a list of extents whose product is the dim's, outermost first; of two views of one dim there is a
// common refinement where the suffix products of both, put in order, divide one another.
//
// Laws: refining keeps the set of elements and the place of each; parts of a difference are disjoint and together with the
// intersection are the whole. Complexity: of a refinement O(factors) boxes a box, of a difference O(dims).

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace hyperparallel { inline namespace v0_2 { namespace reshard {

/// Indexes from `begin` to `end`.
struct index_range {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  constexpr std::int64_t extent() const { return end - begin; }
  friend constexpr bool operator==(const index_range&, const index_range&) = default;
};

using index_box = std::vector<index_range>;

namespace detail {

/// All of a tensor.
index_box whole_box(const std::vector<std::int64_t>& extents);

std::vector<std::int64_t> extents_of_box(const index_box& b);

std::int64_t volume_of(const index_box& b);

std::optional<index_box> intersection_of(const index_box& a, const index_box& b);

/// Appends what of `from` is not in `taken`, which lies within it.
void append_difference(std::vector<index_box>& to, index_box from, const index_box& taken);

}  // namespace detail

/// Elements of a box in another array: element `x` lies at offset + Σ (x_d - begin_d) · stride_d.
struct placed_box {
  index_box box;
  std::int64_t offset = 0;
  std::vector<std::int64_t> stride;

  /// The part within `inner`, which lies within the box.
  placed_box part(const index_box& inner) const;
};

/// Factors of each dim.
using factored_dims = std::vector<std::vector<std::int64_t>>;

/// The finest of both views of one dim; nothing where neither divides the other.
std::optional<std::vector<std::int64_t>> refined(const std::vector<std::int64_t>& a,
                                                 const std::vector<std::int64_t>& b);

namespace detail {

/// The boxes of `p`, in the view `from`, in its refinement `to`. Precondition: `to` refines `from`, dim by dim.
std::vector<placed_box> refine_box(const placed_box& p, const factored_dims& from, const factored_dims& to);

/// Two boxes that meet, or nothing. O(n log n + pairs that meet along the first dim that cuts the boxes).
std::optional<std::pair<std::size_t, std::size_t>> overlap_in(const std::vector<index_box>& boxes);

}  // namespace detail

}}}  // namespace hyperparallel::v0_2::reshard

#ifndef HYPERPARALLEL_COMPILED_JSON
#include <hyperparallel/checkpoint/strided_box.ipp>
#endif
