// SPDX-License-Identifier: Apache-2.0
#pragma once
// Numbers stored in 8 bits with a scale for each block of rows and columns, or for the tensor.
//
//   stored = number / scale, scale = largest magnitude of the block / largest number of the type
//
// The scales of NAME are the tensor NAME_scale_inv, by which what is stored is multiplied, as DeepSeek-V3 names it. Of a block of zeros the
// scale is 1. Laws: the scale of a block depends on its numbers alone; each scale is a positive number of f32. Errors: plan_error of an
// infinity. O(elements).

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <hyperparallel/checkpoint/element_type.hpp>
#include <hyperparallel/checkpoint/reshard_plan.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace reshard {

class scaled_blocks {
 public:
  /// Of a tensor [rows, columns]; with `block` 0 one scale for all.
  scaled_blocks(std::int64_t rows, std::int64_t columns, std::int64_t block)
      : columns_(columns),
        block_(block == 0 ? std::max<std::int64_t>({rows, columns, 1}) : block),
        wide_((columns + block_ - 1) / block_),
        largest_(static_cast<std::size_t>((rows + block_ - 1) / block_ * wide_), 0.0f) {}

  /// Extents of the tensor of scales.
  static std::vector<std::int64_t> extents(std::int64_t rows, std::int64_t columns, std::int64_t block) {
    if (block == 0) return {1};
    return {(rows + block - 1) / block, (columns + block - 1) / block};
  }

  /// Takes numbers from the element `first` on into account.
  void see(std::string_view dtype, const std::byte* elements, std::int64_t first, std::int64_t count,
           const std::string& name) {
    const float_format f = *find_float(dtype);
    const auto bytes = static_cast<std::size_t>(unit_of(dtype).bytes);
    visit(first, count, [&](std::int64_t at, std::int64_t n, std::size_t block) {
      // In the order of their bits, which is that of magnitudes; what is above infinity is no number.
      const std::uint64_t magnitude = (std::uint64_t{1} << (f.exponent_bits + f.fraction_bits)) - 1;
      const std::uint64_t infinity = ((std::uint64_t{1} << f.exponent_bits) - 1) << f.fraction_bits;
      std::uint64_t most_bits = 0;
      for (std::int64_t i = 0; i < n; ++i) {
        std::uint64_t bits = 0;
        std::memcpy(&bits, elements + static_cast<std::size_t>(at + i) * bytes, bytes);
        bits &= magnitude;
        if (bits > most_bits && bits <= infinity) most_bits = bits;
      }
      const float most = std::max(largest_[block], static_cast<float>(decoded(f, most_bits)));
      if (std::isinf(most)) throw plan_error(tensor_title(name) + " has a number that no scale holds");
      largest_[block] = most;
    });
  }

  void finish(std::string_view dtype) {
    const auto top = static_cast<float>(largest_of(*find_float(dtype)));
    for (float& s : largest_) {
      s /= top;
      if (!(s > 0)) s = 1.0f;
    }
  }

  void convert(std::string_view from, const std::byte* source, std::string_view to, std::byte* target,
               std::int64_t first, std::int64_t count) const {
    const std::int64_t source_bytes = unit_of(from).bytes, target_bytes = unit_of(to).bytes;
    visit(first, count, [&](std::int64_t at, std::int64_t n, std::size_t block) {
      convert_elements(from, source + at * source_bytes, to, target + at * target_bytes, static_cast<std::size_t>(n),
                       1.0 / static_cast<double>(largest_[block]));
    });
  }

  std::span<const float> scales() const { return largest_; }

 private:
  /// Calls `part(begin within the numbers, count, block)` for runs within a block.
  template <class Part>
  void visit(std::int64_t first, std::int64_t count, const Part& part) const {
    for (std::int64_t at = 0; at < count;) {
      const std::int64_t row = (first + at) / columns_, column = (first + at) % columns_;
      const std::int64_t n = std::min({count - at, block_ - column % block_, columns_ - column});
      part(at, n, static_cast<std::size_t>(row / block_ * wide_ + column / block_));
      at += n;
    }
  }

  std::int64_t columns_, block_, wide_;
  std::vector<float> largest_;  ///< then the scales
};

}}}  // namespace hyperparallel::v0_2::reshard
