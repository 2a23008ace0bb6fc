// SPDX-License-Identifier: Apache-2.0
#pragma once
// What targets of libFuzzer share: a reader takes a text or refuses it in one line that names the file; anything else ends
// the process, and libFuzzer keeps the text.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include <hyperparallel/io/io_error.hpp>

namespace fuzz {

inline constexpr const char* file = "fuzzed.json";

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

inline void hold(bool condition, const char* law) {
  if (condition) return;
  std::fprintf(stderr, "broken: %s\n", law);
  std::abort();
}

inline void hold_one_line(const std::string& told) {
  hold(!told.empty() && told.find_first_of("\r\n") == std::string::npos, "an error is one line");
}

/// What `read` makes of a text; nothing where it refuses.
template <class Read>
auto read_or_refuse(Read read) -> std::optional<decltype(read())> {
  try {
    return read();
  } catch (const hyperparallel::io_error& e) {
    hold_one_line(e.what());
    hold(std::string_view(e.what()).find(file) != std::string_view::npos, "an error names the file");
    return {};
  }
}

}  // namespace fuzz
