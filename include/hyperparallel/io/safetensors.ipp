// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of safetensors.hpp; see support/compiled.hpp.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
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
#include <hyperparallel/io/safetensors.hpp>
#include <hyperparallel/io/safetensors_header.hpp>
#include <hyperparallel/io/tensor_entry.hpp>
#include <hyperparallel/io/text_file.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

HYPERPARALLEL_JSON_BODY bool is_checksum_key(const std::string& key) {
  return key == algorithm_key || key == header_key || key.starts_with(tensor_key);
}

/// Whether anything in the header says that there are checksums. Each file has two marks or more, too far from each
/// other to be lost together within 64 bits.
HYPERPARALLEL_JSON_BODY bool has_checksum_mark(const safetensors_header& header) {
  const auto& metadata = header.metadata;
  const auto algorithm = metadata.find(algorithm_key);
  return metadata.contains(header_key) || (algorithm != metadata.end() && algorithm->second.starts_with("crc")) ||
         std::any_of(header.tensors.begin(), header.tensors.end(),
                     [&](const tensor_entry& t) { return metadata.contains(tensor_key + t.name); });
}

HYPERPARALLEL_JSON_BODY std::size_t seal_place(std::string_view text) {
  const std::string before = std::string(",\"") + header_key + "\":\"";
  const std::size_t found = text.find(before);
  if (found == std::string_view::npos || text.size() - found - before.size() < checksum_digits)
    return std::string_view::npos;
  return found + before.size();
}

HYPERPARALLEL_JSON_BODY std::string seal_of(std::string text, std::size_t place) {
  return checksum_text(checksum_of(text.replace(place, checksum_digits, checksum_digits, '0')));
}

/// The length and the header that hold `tensors` in this order, checksums included.
HYPERPARALLEL_JSON_BODY std::string sealed_header(const std::string& path,
                                                  const std::vector<const tensor_source*>& tensors,
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

HYPERPARALLEL_JSON_BODY void write_safetensors(const std::string& path, std::span<const tensor_source> tensors,
                                               const std::map<std::string, std::string>& metadata) {
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

HYPERPARALLEL_JSON_BODY safetensors_file::safetensors_file(std::string path)
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

HYPERPARALLEL_JSON_BODY const tensor_entry* safetensors_file::find(std::string_view name) const {
  const auto found = places_.find(name);
  return found == places_.end() ? nullptr : &header_.tensors[found->second];
}

HYPERPARALLEL_JSON_BODY void safetensors_file::read(std::string_view name, std::span<std::byte> to) const {
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

HYPERPARALLEL_JSON_BODY void safetensors_file::take(std::span<std::byte> to, std::int64_t at,
                                                    const std::string& what) const {
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

HYPERPARALLEL_JSON_BODY void safetensors_file::take_checksums(const std::string& text) {
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

}}}  // namespace hyperparallel::v0_2::detail
