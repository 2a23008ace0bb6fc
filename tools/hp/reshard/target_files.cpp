// SPDX-License-Identifier: Apache-2.0
// The body of target_files.hpp.

#include "target_files.hpp"

#include "box_transfer.hpp"

#include <fcntl.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include <hyperparallel/io/checksum.hpp>
#include <hyperparallel/io/safetensors.hpp>

namespace hp_tool::reshard {

target_files::target_files(const std::vector<set_file>& files, const partial_set& partial)
    : files_(files), partial_(partial) {
  try {
    open_all();
  } catch (...) {
    close_all();
    throw;
  }
}

const tensor_entry& target_files::entry(int file, int tensor) const {
  return files_[static_cast<std::size_t>(file)].tensors[static_cast<std::size_t>(tensor)];
}

std::int64_t target_files::begin(int file, int tensor) const {
  return data_[static_cast<std::size_t>(file)] + entry(file, tensor).begin;
}

void target_files::read_again(int file, int tensor) {
  is_read_again_[static_cast<std::size_t>(file)][static_cast<std::size_t>(tensor)] = true;
}

bool target_files::is_read_again(int file, int tensor) const {
  return is_read_again_[static_cast<std::size_t>(file)][static_cast<std::size_t>(tensor)];
}

void target_files::finish(const std::vector<side_file>& beside) {
  for (std::size_t f = 0; f < files_.size(); ++f) {
    std::vector<std::uint64_t> values;
    for (std::size_t t = 0; t < files_[f].tensors.size(); ++t) values.push_back(value_of(f, t));
    const std::string file = partial_.path_of(files_[f].name), text = header_text(files_[f], values, file);
    write_all(open_[f], file, reinterpret_cast<const std::byte*>(text.data()), text.size(), 0);
    if (::fsync(open_[f]) != 0) throw io_error("write", file, errno);
    sync_folder(std::filesystem::path(file).parent_path().string());
  }
  for (const side_file& s : beside) write_side(s);
  sync_folder(partial_.path_of(""));
}

std::string target_files::header_text(const set_file& f, const std::vector<std::uint64_t>& checksums,
                                      const std::string& path) {
  namespace io = hyperparallel::detail;
  hp::detail::safetensors_header header;
  header.tensors = f.tensors;
  header.metadata = f.metadata;
  for (std::size_t t = 0; t < f.tensors.size(); ++t)
    header.metadata[io::tensor_key + f.tensors[t].name] = hp::detail::checksum_text(checksums[t]);
  header.metadata[io::algorithm_key] = io::algorithm_name;
  header.metadata[io::header_key] = std::string(io::checksum_digits, '0');
  std::string text = hp::detail::write_safetensors_header(header, path);
  const std::size_t place = io::seal_place(text);
  text.replace(place, io::checksum_digits, io::seal_of(text, place));
  return text;
}

void target_files::open_all() {
  std::int64_t bytes = 0;
  for (const set_file& f : files_) {
    const std::string file = partial_.path_of(f.name);
    std::error_code error;
    std::filesystem::create_directories(std::filesystem::path(file).parent_path(), error);
    if (error) throw io_error("write", file, error.value());
    const int number = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (number < 0) throw io_error("write", file, errno);
    open_.push_back(number);
    const std::vector<std::uint64_t> none(f.tensors.size(), 0);
    data_.push_back(static_cast<std::int64_t>(header_text(f, none, file).size()));
    const std::int64_t size = data_.back() + (f.tensors.empty() ? 0 : f.tensors.back().end);
    if (::ftruncate(number, static_cast<off_t>(size)) != 0) throw io_error("write", file, errno);
    bytes += size;
    sums_.add_file(bytes_of_tensors(f));
    is_read_again_.emplace_back(f.tensors.size(), false);
  }
  if (partial_.done().empty() && bytes > partial_.free_bytes())
    throw io_error("write", partial_.path_of(""),
                   "the set has " + std::to_string(bytes) + " bytes, the file system has " +
                       std::to_string(partial_.free_bytes()) + " left");
}

std::uint64_t target_files::value_of(std::size_t f, std::size_t t) const {
  if (!is_read_again_[f][t]) return sums_.value(f, t);
  const tensor_entry& e = files_[f].tensors[t];
  piecewise_checksum sum(e.end - e.begin);
  std::vector<std::byte> buffer(std::size_t{1} << 18);
  for (std::int64_t at = 0; at < e.end - e.begin;) {
    const auto n = static_cast<std::size_t>(std::min(e.end - e.begin - at, static_cast<std::int64_t>(buffer.size())));
    read_all(open_[f], partial_.path_of(files_[f].name), buffer.data(), n, data_[f] + e.begin + at);
    sum.add(at, {buffer.data(), n});
    at += static_cast<std::int64_t>(n);
  }
  return sum.value();
}

void target_files::write_side(const side_file& s) const {
  const std::string file = partial_.path_of(s.name);
  const int number = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (number < 0) throw io_error("write", file, errno);
  const hp::detail::open_file closes{number};
  write_all(number, file, reinterpret_cast<const std::byte*>(s.text.data()), s.text.size(), 0);
  if (::fsync(number) != 0) throw io_error("write", file, errno);
}

void target_files::close_all() {
  for (const int number : open_) ::close(number);
  open_.clear();
}

}  // namespace hp_tool::reshard
