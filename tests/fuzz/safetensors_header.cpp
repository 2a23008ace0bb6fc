// SPDX-License-Identifier: Apache-2.0
// parse_safetensors_header: what is read, written again, is read as the same.

#include <hyperparallel/io/safetensors_header.hpp>

#include "target.hpp"

namespace hp = hyperparallel;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  // Data behind the header: as many bytes as the first byte says, so that headers can agree with it.
  const std::int64_t data_bytes = data[0];
  const std::string_view text = fuzz::text_of(data + 1, size - 1);
  const std::optional<hp::detail::safetensors_header> header =
      fuzz::read_or_refuse([&] { return hp::detail::parse_safetensors_header(text, data_bytes, fuzz::file); });
  if (!header) return 0;
  const std::string written = hp::detail::write_safetensors_header(*header, fuzz::file);
  const std::string_view again = std::string_view(written).substr(hp::detail::header_length_bytes);
  fuzz::hold(hp::detail::parse_safetensors_header(again, data_bytes, fuzz::file) == *header,
             "what is written is read as the same");
  return 0;
}
