// SPDX-License-Identifier: Apache-2.0
#pragma once
// A proof that strided sets of numbers tile 0 … n - 1: each number lies in exactly one of them.
//
// Every set is a box in the mixed radix that all strides span, where each stride divides the next: then the boxes are held against one
// another, and their volumes against n. Where strides do not divide one another, or a set passes the end of a digit, each number is
// counted.
//
// Laws: where `tiles` is true each number lies in exactly one set; up to 2^34 numbers the other way round, too. O(sets · dims + pairs of boxes that meet in the first digit).

#include <cstdint>
#include <utility>
#include <vector>

#include "library.hpp"

namespace hp_tool::reshard {

/// The numbers begin + Σ i_d · stride_d, 0 ≤ i_d < extent_d.
struct strided_set {
  std::int64_t begin = 0;
  std::vector<std::pair<std::int64_t, std::int64_t>> dims{};  ///< extents and strides
};

bool tiles_by_count(std::int64_t n, const std::vector<strided_set>& sets);

/// Whether each of 0 … n - 1 lies in exactly one set. Precondition: extents are positive.
bool tiles(std::int64_t n, std::vector<strided_set> sets);

}  // namespace hp_tool::reshard
