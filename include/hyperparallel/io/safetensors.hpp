// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tensors in one file of the safetensors format, written whole or not at all, and read back only undamaged. Its
// bodies need nlohmann-json (support/compiled.hpp); no front header includes this one.
//
// Checksums (checksum.hpp) stand in the file's metadata, where other tools see texts like any other:
//   "checksum": "crc-64/xz"
//   "checksum.NAME": of the bytes of tensor NAME
//   "checksum_header": of the header's length and the header, with zeros in this place
//
// Laws: a writer that is stopped at any moment leaves the file as it was or new, never a mixture (atomic_file.hpp).
// What is read is what was written, or an io_error names the tensor or the header that is damaged: always when the file
// was cut or the changes lie within 64 bits, otherwise but for the odds of checksum.hpp, as long as one of the marks
// above is left. Each tensor begins at a multiple of its element's size. Without any mark a file is taken for one of
// another tool, of which only the format is checked; a tool that rewrites the header has to leave the marks out.
// O(bytes): one pass over the data to read, two to write.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <hyperparallel/io/safetensors_header.hpp>
#include <hyperparallel/io/tensor_entry.hpp>
#include <hyperparallel/io/text_file.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// A tensor to be written: row-major, little-endian elements in the caller's memory.
struct tensor_source {
  std::string name;
  std::string dtype;
  std::vector<std::int64_t> extents;
  std::span<const std::byte> bytes;
};

inline constexpr const char* algorithm_key = "checksum";
inline constexpr const char* algorithm_name = "crc-64/xz";
inline constexpr const char* header_key = "checksum_header";
inline constexpr const char* tensor_key = "checksum.";
inline constexpr std::size_t checksum_digits = 16;

/// Where the header's own checksum stands in the length and header `text`; npos where it does not. The comma is there
/// because keys are sorted, and keeps a quotation mark inside a text, which has a backslash before it, from matching.
std::size_t seal_place(std::string_view text);

/// The checksum of `text` with zeros at `place`.
std::string seal_of(std::string text, std::size_t place);

/// Replaces `path` by a file of these tensors, larger elements first, and metadata. Throws io_error, with `path` as it
/// was, when a name, type, shape or size is wrong or the bytes cannot be kept.
void write_safetensors(const std::string& path, std::span<const tensor_source> tensors,
                       const std::map<std::string, std::string>& metadata = {});

/// A file that is open for reading. What it reads is of one version, also when the path is replaced meanwhile.
class safetensors_file {
 public:
  /// Reads and checks the header. Throws io_error.
  explicit safetensors_file(std::string path);
  safetensors_file(const safetensors_file&) = delete;
  safetensors_file& operator=(const safetensors_file&) = delete;

  const std::string& path() const { return path_; }
  /// The tensors and the metadata, those about checksums left out.
  const safetensors_header& header() const { return header_; }
  /// Whether damage of the data would be noticed.
  bool has_checksums() const { return has_checksums_; }
  /// The checksum of each tensor of the header, as checksum_text writes it; none where the file has none.
  const std::vector<std::string>& checksums() const { return checksums_; }
  /// The file's byte at which the tensors begin.
  std::int64_t data_begin() const { return data_begin_; }

  /// The tensor of that name, or null. O(log tensors).
  const tensor_entry* find(std::string_view name) const;

  /// Reads a tensor into the caller's memory. Throws io_error when there is none of that name, the sizes differ, the
  /// file cannot be read or the tensor is damaged; `to` then holds anything.
  void read(std::string_view name, std::span<std::byte> to) const;

 private:
  /// All bytes of `to` from the file's byte `at` on, which belong to `what`.
  void take(std::span<std::byte> to, std::int64_t at, const std::string& what) const;

  /// Takes the checksums out of the metadata and holds the header, whose `text` begins with its length, against its
  /// own. Two marks say that there are checksums, so that no change of one of them makes a file look like another
  /// tool's.
  void take_checksums(const std::string& text);

  std::string path_;
  detail::open_file file_;
  std::int64_t data_begin_ = 0;
  safetensors_header header_;
  std::map<std::string, std::size_t, std::less<>> places_;
  bool has_checksums_ = false;
  std::vector<std::string> checksums_;  ///< of header_.tensors
};

}}}  // namespace hyperparallel::v0_2::detail

#ifndef HYPERPARALLEL_COMPILED_JSON
#include <hyperparallel/io/safetensors.ipp>
#endif
