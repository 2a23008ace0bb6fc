// SPDX-License-Identifier: Apache-2.0
#pragma once
// A piece of a tensor cut by a slice of that tensor.
//
// The tensor is taken as if each dim were followed by a gap, so that the place of an element says its index along each dim. Laws: the pieces
// are disjoint and have the elements of the piece that lie in the slice. Errors: io_error of one line. O(factors of a dim, multiplied) at
// most, where a cut parts each of them.

#include <cstdint>
#include <string>
#include <vector>

#include "set_layout.hpp"
#include "set_view.hpp"

namespace hp_tool::reshard {

/// Strides of dims with a gap behind each.
std::vector<std::int64_t> gapped_strides(const std::vector<std::int64_t>& extents, const std::string& path,
                                         const std::string& name);

/// A piece of the whole tensor, of these strides, cut by one slice; the pieces have their places in the slice, packed.
std::vector<set_piece> cut_by(const set_piece& piece, const std::vector<std::int64_t>& strides, const index_box& slice);

/// What of a joined tensor a rank has; no slice: all, in slices of its parts.
struct joined_cut {
  index_box slice{};
  std::vector<std::int64_t> strides{};  ///< of the whole, with gaps
  joined_cut() = default;
  joined_cut(index_box s, const std::vector<std::int64_t>& whole, const std::string& path, const std::string& name);
  bool is_cut() const { return !slice.empty(); }

  /// Appends a piece of the whole, or those of the slice.
  void append(std::vector<set_piece>& to, set_piece p) const;
};

/// The slice of a joined tensor that a rank has. Throws layout_error where its parts are cut into other numbers of shards.
index_box joined_slice(const set_layout& l, const std::vector<std::string>& parts,
                       const std::vector<std::int64_t>& whole, std::int64_t rank);

}  // namespace hp_tool::reshard
