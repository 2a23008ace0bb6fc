// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of safetensors_header.hpp; see support/compiled.hpp.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <nlohmann/json.hpp>

#include <hyperparallel/io/io_error.hpp>
#include <hyperparallel/io/json_text.hpp>
#include <hyperparallel/io/safetensors_header.hpp>
#include <hyperparallel/io/tensor_entry.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// JSON of a text; throws io_error where it is no UTF-8.
HYPERPARALLEL_JSON_BODY std::string json_text(const std::string& path, const std::string& text) {
  try {
    return nlohmann::json(text).dump();
  } catch (const nlohmann::json::exception&) {
    throw io_error("write", path, quoted_path(text) + " is not UTF-8");
  }
}

HYPERPARALLEL_JSON_BODY std::string write_safetensors_header(const safetensors_header& header,
                                                             const std::string& path) {
  std::string text = "{";
  if (!header.metadata.empty()) {
    text += "\"__metadata__\":{";
    const char* comma = "";
    for (const auto& [key, value] : header.metadata) {
      text += comma + detail::json_text(path, key) + ":" + detail::json_text(path, value);
      comma = ",";
    }
    text += "}";
  }
  std::set<std::string_view> names;
  std::int64_t at = 0;
  for (const tensor_entry& t : header.tensors) {
    if (t.name == "__metadata__" || !names.insert(t.name).second)
      throw io_error("write", path,
                     tensor_title(t.name) + (t.name == "__metadata__" ? " has a reserved name" : " occurs twice"));
    const std::int64_t bytes = entry_bytes("write", path, t);
    if (t.begin != at || t.end < at || t.end - at != bytes)
      throw io_error("write", path,
                     tensor_title(t.name) + ", " + typed_extents(t.dtype, t.extents) + ", cannot lie at [" +
                         std::to_string(t.begin) + ", " + std::to_string(t.end) + ")");
    at = t.end;
    text += (text.size() > 1 ? "," : "") + detail::json_text(path, t.name) + R"(:{"dtype":")" + t.dtype +
            R"(","shape":)" + nlohmann::json(t.extents).dump() + R"(,"data_offsets":[)" + std::to_string(t.begin) +
            "," + std::to_string(t.end) + "]}";
  }
  text += "}";
  while (text.size() % 8 != 0) text += ' ';
  if (static_cast<std::int64_t>(text.size()) > largest_safetensors_header)
    throw io_error("write", path, "the header is longer than " + std::to_string(largest_safetensors_header) + " bytes");
  std::string length(header_length_bytes, '\0');
  for (std::size_t i = 0; i < length.size(); ++i) length[i] = static_cast<char>((text.size() >> (8 * i)) & 0xFFu);
  return length + text;
}

HYPERPARALLEL_JSON_BODY std::int64_t safetensors_header_length(std::string_view front, std::int64_t file_bytes,
                                                               const std::string& path) {
  if (file_bytes < header_length_bytes || static_cast<std::int64_t>(front.size()) < header_length_bytes)
    throw io_error("read", path, "the file has " + std::to_string(file_bytes) + " bytes, too few for a header");
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < 8; ++i) length |= std::uint64_t{static_cast<unsigned char>(front[i])} << (8 * i);
  if (length > static_cast<std::uint64_t>(file_bytes - header_length_bytes))
    throw io_error(
        "read", path,
        "the header is said to have " + std::to_string(length) + " bytes, the file has " + std::to_string(file_bytes));
  if (length > static_cast<std::uint64_t>(largest_safetensors_header))
    throw io_error("read", path, "the header is longer than " + std::to_string(largest_safetensors_header) + " bytes");
  return static_cast<std::int64_t>(length);
}

/// A list of counts, each 0 ≤ count < 2^63.
HYPERPARALLEL_JSON_BODY std::vector<std::int64_t> parse_counts(const nlohmann::json& list, const std::string& path,
                                                               const std::string& name, const char* field) {
  std::vector<std::int64_t> counts;
  bool good = list.is_array();
  for (std::size_t i = 0; good && i < list.size(); ++i) {
    good = list[i].is_number_unsigned() && list[i].get<std::uint64_t>() <= std::uint64_t{INT64_MAX};
    if (good) counts.push_back(list[i].get<std::int64_t>());
  }
  if (!good) throw io_error("read", path, tensor_title(name) + ": '" + field + "' is no list of counts");
  return counts;
}

HYPERPARALLEL_JSON_BODY tensor_entry parse_entry(const std::string& name, const nlohmann::json& fields,
                                                 const std::string& path) {
  if (!fields.is_object() || fields.size() != 3 || !fields.contains("dtype") || !fields.contains("shape") ||
      !fields.contains("data_offsets") || !fields["dtype"].is_string())
    throw io_error("read", path, tensor_title(name) + " is not described by 'dtype', 'shape' and 'data_offsets'");
  const std::vector<std::int64_t> offsets = parse_counts(fields["data_offsets"], path, name, "data_offsets");
  if (offsets.size() != 2 || offsets[1] < offsets[0])
    throw io_error("read", path, tensor_title(name) + ": 'data_offsets' is no begin and end");
  return {name, fields["dtype"].get<std::string>(), parse_counts(fields["shape"], path, name, "shape"), offsets[0],
          offsets[1]};
}

HYPERPARALLEL_JSON_BODY safetensors_header parse_safetensors_header(std::string_view text, std::int64_t data_bytes,
                                                                    const std::string& path) {
  safetensors_header header;
  if (text.empty() || text.front() != '{') throw io_error("read", path, "the header does not begin with '{'");
  constexpr int deepest = 8;  // twice the format's depth, so that most errors name the entry
  const nlohmann::json parsed = parse_json_object(text, path, "the header", deepest);
  for (const auto& [name, value] : parsed.items()) {
    if (name != "__metadata__") {
      header.tensors.push_back(detail::parse_entry(name, value, path));
      continue;
    }
    if (!value.is_object()) throw io_error("read", path, "'__metadata__' of the header is no object");
    for (const auto& [key, words] : value.items()) {
      if (!words.is_string()) throw io_error("read", path, "the metadata " + quoted_path(key) + " is no text");
      header.metadata[key] = words.get<std::string>();
    }
  }
  std::sort(header.tensors.begin(), header.tensors.end(), [](const tensor_entry& a, const tensor_entry& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  std::int64_t at = 0;
  for (const tensor_entry& t : header.tensors) {
    const std::int64_t bytes = entry_bytes("read", path, t);
    const std::string place = " lies at [" + std::to_string(t.begin) + ", " + std::to_string(t.end) + ")";
    if (t.end > data_bytes)
      throw io_error("read", path, tensor_title(t.name) + place + " of " + std::to_string(data_bytes) + " bytes");
    if (t.end - t.begin != bytes)
      throw io_error("read", path,
                     tensor_title(t.name) + place + ", but " + typed_extents(t.dtype, t.extents) + " has " +
                         std::to_string(bytes) + " bytes");
    if (t.begin != at)
      throw io_error("read", path,
                     tensor_title(t.name) + place + (t.begin < at ? " and overlaps" : " behind a hole after") +
                         " what ends at " + std::to_string(at));
    at = t.end;
  }
  if (at != data_bytes)
    throw io_error("read", path,
                   "the header's tensors end at " + std::to_string(at) + ", the data has " +
                       std::to_string(data_bytes) + " bytes");
  return header;
}

}}}  // namespace hyperparallel::v0_2::detail
