// SPDX-License-Identifier: Apache-2.0
#pragma once
// One tensor of a file: its name, element type, extents and place, with the words in which errors speak of it.
//
// Law: every text is one line, whatever the name is made of. O(dims).

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <hyperparallel/io/io_error.hpp>
#include <hyperparallel/support/integer.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// `begin` and `end` count bytes from the beginning of the file's data.
struct tensor_entry {
  std::string name;
  std::string dtype;  ///< as the safetensors format spells it: "F32", "BF16", "I64", ...
  std::vector<std::int64_t> extents;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  friend bool operator==(const tensor_entry&, const tensor_entry&) = default;
};

namespace detail {

/// An element type of the safetensors format.
struct dtype_name {
  std::string_view name;
  int bits;
};

/// Every element type of the format. Types of fewer than 8 bits are packed, without a gap from one byte to the next.
/// Source: https://github.com/huggingface/safetensors, safetensors/src/tensor.rs.
inline constexpr dtype_name all_dtypes[] = {
    {"BOOL", 8},    {"U8", 8},      {"I8", 8},          {"U16", 16},        {"I16", 16}, {"F16", 16},
    {"BF16", 16},   {"U32", 32},    {"I32", 32},        {"F32", 32},        {"U64", 64}, {"I64", 64},
    {"F64", 64},    {"C64", 64},    {"F8_E4M3", 8},     {"F8_E5M2", 8},     {"F4", 4},   {"F6_E2M3", 6},
    {"F6_E3M2", 6}, {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8},
};

/// Bits of one element; 0 for a type that the safetensors format does not know.
constexpr int dtype_bits(std::string_view dtype) {
  for (const dtype_name& k : all_dtypes)
    if (k.name == dtype) return k.bits;
  return 0;
}

/// "[2, 3]"
std::string extents_text(const std::vector<std::int64_t>& extents);

/// "F32 [2, 3]"
inline std::string typed_extents(const std::string& dtype, const std::vector<std::int64_t>& extents) {
  return dtype + " " + extents_text(extents);
}

/// "tensor 'name'"
inline std::string tensor_title(std::string_view name) { return "tensor " + quoted_path(name); }

/// Elements of a tensor; `overflow` is set where they cannot be counted in 64 bits. Domain: extents ≥ 0.
checked_extent count_elements(const std::vector<std::int64_t>& extents);

/// Bytes that the tensor's type and extents say, wherever it lies. Throws io_error, as of doing `deed` to `path`, when
/// there is no such number: an unknown type, a negative extent, more than 64 bits can count, part of a byte.
std::int64_t entry_bytes(const char* deed, const std::string& path, const tensor_entry& t);

}  // namespace detail

}}  // namespace hyperparallel::v0_2

#ifndef HYPERPARALLEL_COMPILED
#include <hyperparallel/io/tensor_entry.ipp>
#endif
