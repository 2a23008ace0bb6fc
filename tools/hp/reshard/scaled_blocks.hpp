// SPDX-License-Identifier: Apache-2.0
#pragma once
// Numbers stored in 8 bits with a scale for each block of rows and columns, or for the tensor.
//
//   stored = number / scale, scale = largest magnitude of the block / largest number of the type
//
// The scales of NAME are the tensor NAME_scale_inv, by which what is stored is multiplied, as DeepSeek-V3 names it. Of a block of zeros the
// scale is 1. Laws: the scale of a block depends on its numbers alone; each scale is a positive number of f32. Errors: plan_error of an
// infinity. O(elements). Scales that a source has beside its numbers (stored_scales.hpp) are applied: the product is rounded to f32 and
// then to the type, as the converters that are published do; to F64 it is exact.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stored_scales.hpp"

namespace hp_tool::reshard {

class scaled_blocks {
 public:
  /// Of a tensor [rows, columns].
  scaled_blocks(std::int64_t rows, std::int64_t columns, scale_grid g);

  /// Extents of the tensor of scales that are made.
  static std::vector<std::int64_t> extents(std::int64_t rows, std::int64_t columns, scale_grid g);

  /// Takes numbers from the element `first` on into account.
  void see(std::string_view dtype, const std::byte* elements, std::int64_t first, std::int64_t count,
           const std::string& name);
  void finish(std::string_view dtype);
  void convert(std::string_view from, const std::byte* source, std::string_view to, std::byte* target,
               std::int64_t first, std::int64_t count) const;

  /// Takes the scales as they are stored.
  void set(std::string_view dtype, const std::byte* scales);

  /// Numbers of 8 bits times their scales.
  void apply(std::string_view from, const std::byte* source, std::string_view to, std::byte* target, std::int64_t first,
             std::int64_t count) const;
  std::span<const float> scales() const { return largest_; }

 private:
  /// Calls `part(begin within the numbers, count, block)` for runs within a block.
  template <class Part>
  void visit(std::int64_t first, std::int64_t count, const Part& part) const {
    for (std::int64_t at = 0; at < count;) {
      const std::int64_t row = (first + at) / columns_, column = (first + at) % columns_;
      const std::int64_t n = std::min({count - at, block_ - column % block_, columns_ - column});
      part(at, n, static_cast<std::size_t>(row / high_ * wide_ + column / block_));
      at += n;
    }
  }
  std::int64_t columns_, high_, block_, wide_;  ///< rows and columns of a block, blocks side by side
  std::vector<float> largest_;                  ///< then the scales
};

}  // namespace hp_tool::reshard
