// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tensors in one file of the safetensors format, written whole or not at all, and read back only undamaged. Needs
// nlohmann-json on the include path; no front header includes this one.
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

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <hyperparallel/io/atomic_file.hpp>
#include <hyperparallel/io/checksum.hpp>
#include <hyperparallel/io/io_error.hpp>
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

inline bool is_checksum_key(const std::string& key) {
  return key == algorithm_key || key == header_key || key.starts_with(tensor_key);
}

/// Whether anything in the header says that there are checksums. Each file has two marks or more, too far from each
/// other to be lost together within 64 bits.
inline bool has_checksum_mark(const safetensors_header& header) {
  const auto& metadata = header.metadata;
  const auto algorithm = metadata.find(algorithm_key);
  return metadata.contains(header_key) || (algorithm != metadata.end() && algorithm->second.starts_with("crc")) ||
         std::any_of(header.tensors.begin(), header.tensors.end(),
                     [&](const tensor_entry& t) { return metadata.contains(tensor_key + t.name); });
}

/// Where the header's own checksum stands in the length and header `text`; npos where it does not. The comma is there
/// because keys are sorted, and keeps a quotation mark inside a text, which has a backslash before it, from matching.
inline std::size_t seal_place(std::string_view text) {
  const std::string before = std::string(",\"") + header_key + "\":\"";
  const std::size_t found = text.find(before);
  if (found == std::string_view::npos || text.size() - found - before.size() < checksum_digits)
    return std::string_view::npos;
  return found + before.size();
}

/// The checksum of `text` with zeros at `place`.
inline std::string seal_of(std::string text, std::size_t place) {
  return checksum_text(checksum_of(text.replace(place, checksum_digits, checksum_digits, '0')));
}

/// The length and the header that hold `tensors` in this order, checksums included.
inline std::string sealed_header(const std::string& path, const std::vector<const tensor_source*>& tensors,
                                 std::map<std::string, std::string> metadata) {
  safetensors_header header;
  for (const auto& [key, value] : metadata)
    if (is_checksum_key(key)) throw io_error("write", path, "the metadata key " + quoted_path(key) + " is reserved");
  std::int64_t at = 0;
  for (const tensor_source* t : tensors) {
    const auto size = static_cast<std::int64_t>(t->bytes.size());
    header.tensors.push_back({t->name, t->dtype, t->extents, at, at + size});
    if (const std::int64_t bytes = entry_bytes("write", path, header.tensors.back()); bytes != size)
      throw io_error("write", path,
                     tensor_title(t->name) + ", " + typed_extents(t->dtype, t->extents) + ", has " +
                         std::to_string(bytes) + " bytes, " + std::to_string(size) + " are given");
    metadata[tensor_key + t->name] = checksum_text(checksum_of(t->bytes));
    at += size;
  }
  metadata[algorithm_key] = algorithm_name;
  metadata[header_key] = std::string(checksum_digits, '0');
  header.metadata = std::move(metadata);
  std::string text = write_safetensors_header(header, path);
  const std::size_t place = seal_place(text);
  text.replace(place, checksum_digits, seal_of(text, place));
  return text;
}

/// Replaces `path` by a file of these tensors, larger elements first, and metadata. Throws io_error, with `path` as it
/// was, when a name, type, shape or size is wrong or the bytes cannot be kept.
inline void write_safetensors(const std::string& path, std::span<const tensor_source> tensors,
                              const std::map<std::string, std::string>& metadata = {}) {
  std::vector<const tensor_source*> order;
  for (const tensor_source& t : tensors) order.push_back(&t);
  std::sort(order.begin(), order.end(), [](const tensor_source* a, const tensor_source* b) {
    const int bits_a = dtype_bits(a->dtype), bits_b = dtype_bits(b->dtype);
    return bits_a != bits_b ? bits_a > bits_b : a < b;
  });
  const std::string header = detail::sealed_header(path, order, metadata);
  atomic_file file(path);
  file.write(header);
  for (const tensor_source* t : order) file.write({reinterpret_cast<const char*>(t->bytes.data()), t->bytes.size()});
  file.commit();
}

/// A file that is open for reading. What it reads is of one version, also when the path is replaced meanwhile.
class safetensors_file {
 public:
  /// Reads and checks the header. Throws io_error.
  explicit safetensors_file(std::string path)
      : path_(std::move(path)), file_{::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)} {
    if (file_.number < 0) throw io_error("read", path_, errno);
    struct stat found{};
    if (::fstat(file_.number, &found) != 0) throw io_error("read", path_, errno);
    if (S_ISDIR(found.st_mode)) throw io_error("read", path_, EISDIR);
    if (!S_ISREG(found.st_mode)) throw io_error("read", path_, "it is no regular file");
    const auto size = static_cast<std::int64_t>(found.st_size);
    std::string text(static_cast<std::size_t>(std::min(size, header_length_bytes)), '\0');
    take(std::as_writable_bytes(std::span(text)), 0, "the header");
    data_begin_ = header_length_bytes + safetensors_header_length(text, size, path_);
    text.resize(static_cast<std::size_t>(data_begin_));
    take(std::as_writable_bytes(std::span(text)), 0, "the header");
    header_ = parse_safetensors_header(std::string_view(text).substr(header_length_bytes), size - data_begin_, path_);
    for (std::size_t i = 0; i < header_.tensors.size(); ++i) places_[header_.tensors[i].name] = i;
    take_checksums(text);
  }
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
  const tensor_entry* find(std::string_view name) const {
    const auto found = places_.find(name);
    return found == places_.end() ? nullptr : &header_.tensors[found->second];
  }

  /// Reads a tensor into the caller's memory. Throws io_error when there is none of that name, the sizes differ, the
  /// file cannot be read or the tensor is damaged; `to` then holds anything.
  void read(std::string_view name, std::span<std::byte> to) const {
    const auto found = places_.find(name);
    if (found == places_.end()) throw io_error("read", path_, "there is no " + tensor_title(name));
    const tensor_entry& t = header_.tensors[found->second];
    if (static_cast<std::int64_t>(to.size()) != t.end - t.begin)
      throw io_error("read", path_,
                     tensor_title(name) + " has " + std::to_string(t.end - t.begin) + " bytes, there is room for " +
                         std::to_string(to.size()));
    take(to, data_begin_ + t.begin, tensor_title(name));
    if (has_checksums_ && checksums_[found->second] != checksum_text(checksum_of(to)))
      throw io_error("read", path_, tensor_title(name) + " is damaged: its bytes differ from their checksum");
  }

 private:
  /// All bytes of `to` from the file's byte `at` on, which belong to `what`.
  void take(std::span<std::byte> to, std::int64_t at, const std::string& what) const {
    constexpr std::size_t most = std::size_t{1} << 30;  // in one call, which the operating system limits too
    while (!to.empty()) {
      const ssize_t got = ::pread(file_.number, to.data(), std::min(to.size(), most), static_cast<off_t>(at));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) throw io_error("read", path_, what + ": " + std::generic_category().message(errno), errno);
      if (got == 0) throw io_error("read", path_, what + ": the file ends at byte " + std::to_string(at));
      to = to.subspan(static_cast<std::size_t>(got));
      at += got;
    }
  }

  /// Takes the checksums out of the metadata and holds the header, whose `text` begins with its length, against its
  /// own. Two marks say that there are checksums, so that no change of one of them makes a file look like another
  /// tool's.
  void take_checksums(const std::string& text) {
    auto& metadata = header_.metadata;
    has_checksums_ = detail::has_checksum_mark(header_);
    if (!has_checksums_) return;
    const std::size_t place = detail::seal_place(text);
    if (place == std::string_view::npos || metadata[detail::algorithm_key] != detail::algorithm_name ||
        text.substr(place, detail::checksum_digits) != detail::seal_of(text, place))
      throw io_error("read", path_, "the header is damaged: it differs from its checksum");
    for (const tensor_entry& t : header_.tensors) {
      const auto found = metadata.find(detail::tensor_key + t.name);
      if (found == metadata.end()) throw io_error("read", path_, tensor_title(t.name) + " has no checksum");
      checksums_.push_back(found->second);
    }
    std::erase_if(metadata, [](const auto& pair) { return detail::is_checksum_key(pair.first); });
  }

  std::string path_;
  detail::open_file file_;
  std::int64_t data_begin_ = 0;
  safetensors_header header_;
  std::map<std::string, std::size_t, std::less<>> places_;
  bool has_checksums_ = false;
  std::vector<std::string> checksums_;  ///< of header_.tensors
};

}}}  // namespace hyperparallel::v0_2::detail
