// SPDX-License-Identifier: Apache-2.0
#pragma once
// Transports of a pipeline as hp names them: unbounded, ordered, buffered=K, blocking.

#include <hyperparallel/pipeline/transport.hpp>

#include <charconv>
#include <optional>
#include <string>
#include <string_view>

namespace hp_tool {

inline constexpr int most_buffers = 1 << 20;

inline std::optional<hyperparallel::transport> transport_called(std::string_view name) {
  constexpr std::string_view buffered = "buffered=";
  if (name == "unbounded") return hyperparallel::unbounded::value;
  if (name == "ordered") return hyperparallel::ordered_queues::value;
  if (name == "blocking") return hyperparallel::blocking_rows::value;
  if (!name.starts_with(buffered)) return {};
  name.remove_prefix(buffered.size());
  int buffers = 0;
  const char* const end = name.data() + name.size();
  const std::from_chars_result read = std::from_chars(name.data(), end, buffers);
  if (read.ec != std::errc{} || read.ptr != end || buffers < 1 || buffers > most_buffers) return {};
  return hyperparallel::transport{hyperparallel::transport_kind::buffered, buffers};
}

inline std::string name_of(const hyperparallel::transport& t) {
  switch (t.kind) {
    case hyperparallel::transport_kind::unbounded:
      return "unbounded";
    case hyperparallel::transport_kind::ordered_queues:
      return "ordered";
    case hyperparallel::transport_kind::buffered:
      return "buffered=" + std::to_string(t.buffers);
    case hyperparallel::transport_kind::blocking_rows:
      return "blocking";
  }
  return "unknown";
}

}  // namespace hp_tool
