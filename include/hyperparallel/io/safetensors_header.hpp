// SPDX-License-Identifier: Apache-2.0
#pragma once
// The header of a safetensors file: which tensors it holds, of which type and shape, and where. Its bodies need
// nlohmann-json (support/compiled.hpp); no front header includes this one.
//
//   bytes 0-7       length of the header, unsigned, little-endian
//   the header      a JSON object, {"NAME": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ...,
//                   "__metadata__": {"KEY": "TEXT", ...}}, then spaces; offsets in bytes from the end of the header
//   the data        the tensors, row-major, little-endian, one behind the other without holes
//
// Laws: what is written begins its data at a multiple of 8 and is parsed back equal, but for the order of empty tensors
// at one place; what is parsed covers the data of its file exactly, each tensor with the bytes its shape and type say;
// everything else is an io_error that names the file and, where one is concerned, the tensor.
// O(bytes of the header + tensors · log tensors).
// Source: https://github.com/huggingface/safetensors, README and safetensors/src/tensor.rs.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <hyperparallel/io/tensor_entry.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

struct safetensors_header {
  std::vector<tensor_entry> tensors;  ///< by begin, end, name
  std::map<std::string, std::string> metadata;
  friend bool operator==(const safetensors_header&, const safetensors_header&) = default;
};

/// Bytes before the header, which hold its length.
inline constexpr std::int64_t header_length_bytes = 8;
/// Longer headers are refused, as by the format's own library.
inline constexpr std::int64_t largest_safetensors_header = 100'000'000;

/// The length and the header of a file. Throws io_error, as of writing `path`, where `parse_safetensors_header` would
/// refuse the result. The metadata come first, by key, then the tensors as listed.
std::string write_safetensors_header(const safetensors_header& header, const std::string& path);

/// Length of the header of a file of `file_bytes` bytes that begins with `front`, which need not be longer than
/// `header_length_bytes`. Throws io_error when the file cannot hold such a header.
std::int64_t safetensors_header_length(std::string_view front, std::int64_t file_bytes, const std::string& path);

/// The header `text`, without its length and with its spaces, of a file `path` that holds `data_bytes` bytes behind it.
safetensors_header parse_safetensors_header(std::string_view text, std::int64_t data_bytes, const std::string& path);

}}}  // namespace hyperparallel::v0_2::detail

#ifndef HYPERPARALLEL_COMPILED_JSON
#include <hyperparallel/io/safetensors_header.ipp>
#endif
