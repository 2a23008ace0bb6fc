// SPDX-License-Identifier: Apache-2.0
// The body of scaled_blocks.hpp.

#include "scaled_blocks.hpp"

#include <cmath>
#include <cstring>

#include "element_type.hpp"

namespace hp_tool::reshard {

scaled_blocks::scaled_blocks(std::int64_t rows, std::int64_t columns, scale_grid g)
    : columns_(columns),
      high_(g.rows == 0 ? std::max<std::int64_t>(rows, 1) : g.rows),
      block_(g.columns == 0 ? std::max<std::int64_t>(columns, 1) : g.columns),
      wide_((columns + block_ - 1) / block_),
      largest_(static_cast<std::size_t>((rows + high_ - 1) / high_ * wide_), 0.0f) {}

std::vector<std::int64_t> scaled_blocks::extents(std::int64_t rows, std::int64_t columns, scale_grid g) {
  if (g == scale_grid{}) return {1};
  return {(rows + g.rows - 1) / g.rows, (columns + g.columns - 1) / g.columns};
}

void scaled_blocks::see(std::string_view dtype, const std::byte* elements, std::int64_t first, std::int64_t count,
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

void scaled_blocks::finish(std::string_view dtype) {
  const auto top = static_cast<float>(largest_of(*find_float(dtype)));
  for (float& s : largest_) {
    s /= top;
    if (!(s > 0)) s = 1.0f;
  }
}

void scaled_blocks::convert(std::string_view from, const std::byte* source, std::string_view to, std::byte* target,
                            std::int64_t first, std::int64_t count) const {
  const std::int64_t source_bytes = unit_of(from).bytes, target_bytes = unit_of(to).bytes;
  visit(first, count, [&](std::int64_t at, std::int64_t n, std::size_t block) {
    convert_elements(from, source + at * source_bytes, to, target + at * target_bytes, static_cast<std::size_t>(n),
                     1.0 / static_cast<double>(largest_[block]));
  });
}

void scaled_blocks::set(std::string_view dtype, const std::byte* scales) {
  const auto bytes = static_cast<std::size_t>(unit_of(dtype).bytes);
  for (std::size_t i = 0; i < largest_.size(); ++i) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, scales + i * bytes, bytes);
    largest_[i] = static_cast<float>(dtype != "F8_E8M0" ? decoded(*find_float(dtype), bits)
                                     : bits == 255      ? std::nan("")
                                                        : power_of_two(static_cast<int>(bits) - 127));
  }
}

void scaled_blocks::apply(std::string_view from, const std::byte* source, std::string_view to, std::byte* target,
                          std::int64_t first, std::int64_t count) const {
  float number[256];
  for (std::uint64_t bits = 0; bits < 256; ++bits) number[bits] = static_cast<float>(decoded(*find_float(from), bits));
  const std::int64_t bytes = unit_of(to).bytes;
  constexpr std::int64_t together = 512;
  float product[together];
  visit(first, count, [&](std::int64_t at, std::int64_t n, std::size_t block) {
    const float scale = largest_[block];
    for (std::int64_t end = at + n; at < end; at += n) {
      n = std::min(together, end - at);
      for (std::int64_t i = 0; i < n; ++i) {
        const float one = number[std::to_integer<unsigned char>(source[at + i])];
        if (to != "F64") {
          product[i] = one * scale;
          continue;
        }
        const double exact = static_cast<double>(one) * static_cast<double>(scale);
        std::memcpy(target + (at + i) * 8, &exact, 8);
      }
      if (to == "F32") std::memcpy(target + at * 4, product, static_cast<std::size_t>(n) * 4);
      if (to == "F32" || to == "F64") continue;
      convert_elements("F32", reinterpret_cast<const std::byte*>(product), to, target + at * bytes,
                       static_cast<std::size_t>(n));
    }
  });
}

}  // namespace hp_tool::reshard
