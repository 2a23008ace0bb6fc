// SPDX-License-Identifier: Apache-2.0
#pragma once
// A tensor cut into tiles that fit into memory: ranges of its elements in row-major order, each a box of its factored dims.
//
// Laws: tiles follow each other and are the tensor; none has more units than asked. O(dims) a tile.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "library.hpp"

namespace hp_tool::reshard {

class tensor_tiles {
 public:
  /// Tiles of at most `most` units. Preconditions: most ≥ 1, extents are not negative.
  tensor_tiles(std::vector<std::int64_t> dims, std::int64_t most);
  std::int64_t count() const { return count_; }
  index_box box(std::int64_t tile) const;

  /// The number in row-major order of the first unit of a box of this class.
  std::int64_t first_unit(const index_box& b) const;

  /// Strides of a tile that is packed.
  static std::vector<std::int64_t> strides(const index_box& b);

  /// The unit of a tile with these strides at which a part of it begins.
  static std::int64_t place_in(const index_box& tile, const index_box& part, const std::vector<std::int64_t>& strides);

 private:
  std::vector<std::int64_t> dims_;
  std::size_t cut_ = 0;
  std::int64_t inner_ = 1, step_ = 1, steps_ = 1, count_ = 1;
  bool is_cut_ = false;
};

}  // namespace hp_tool::reshard
