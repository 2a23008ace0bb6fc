// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of tensor_entry.hpp; see support/compiled.hpp.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <hyperparallel/io/tensor_entry.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

HYPERPARALLEL_BODY std::string extents_text(const std::vector<std::int64_t>& extents) {
  std::string text = "[";
  for (const std::int64_t extent : extents) text += (text.size() > 1 ? ", " : "") + std::to_string(extent);
  return text + "]";
}

HYPERPARALLEL_BODY checked_extent count_elements(const std::vector<std::int64_t>& extents) {
  checked_extent count{1, false};
  for (const std::int64_t extent : extents)
    if (!count.overflow) count = checked_multiply(count.value, extent);
  return count;
}

HYPERPARALLEL_BODY std::int64_t entry_bytes(const char* deed, const std::string& path, const tensor_entry& t) {
  const int bits = dtype_bits(t.dtype);
  if (bits == 0) throw io_error(deed, path, tensor_title(t.name) + " has the unknown dtype " + quoted_path(t.dtype));
  for (const std::int64_t extent : t.extents)
    if (extent < 0)
      throw io_error(deed, path, tensor_title(t.name) + " has the negative extent " + std::to_string(extent));
  const checked_extent elements = count_elements(t.extents);
  const checked_extent total = checked_multiply(elements.value, bits);
  const std::string what = tensor_title(t.name) + ", " + typed_extents(t.dtype, t.extents) + ",";
  if (elements.overflow || total.overflow) throw io_error(deed, path, what + " has more bits than can be counted");
  if (total.value % 8 != 0) throw io_error(deed, path, what + " does not fill whole bytes");
  return total.value / 8;
}

}}}  // namespace hyperparallel::v0_2::detail
