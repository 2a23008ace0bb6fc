// SPDX-License-Identifier: Apache-2.0
#pragma once
// The files that a run reads, and the checksums of what it has read of them.
//
// Where a file has checksums and a run reads each byte of a tensor once, in runs that are not short, what was read is held against them.
// Laws: damage of a tensor that is held is named before the target appears. Errors: io_error of one line. O(bytes).

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <hyperparallel/checkpoint/piecewise_checksum.hpp>
#include <hyperparallel/checkpoint/reshard_work.hpp>
#include <hyperparallel/checkpoint/tensor_set.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace reshard {

class source_files {
 public:
  source_files(const tensor_set& set, const reshard_plan& plan, const std::vector<detail::tensor_work>& works)
      : set_(set) {
    allow_many_files();
    for (const set_file& f : set.files) {
      const int number = ::open(f.path.c_str(), O_RDONLY | O_CLOEXEC);
      if (number < 0) {
        const int why = errno;
        close_all();
        throw io_error("read", f.path, why);
      }
      open_.push_back(number);
      sums_.add_file(bytes_of_tensors(f));
      is_held_.emplace_back(f.tensors.size(), !f.checksums.empty());
    }
    find_held(plan, works);
  }
  source_files(const source_files&) = delete;
  source_files& operator=(const source_files&) = delete;
  ~source_files() { close_all(); }

  int number(int file) const { return open_[static_cast<std::size_t>(file)]; }
  const std::string& path(int file) const { return set_.files[static_cast<std::size_t>(file)].path; }
  const tensor_entry& entry(int file, int tensor) const {
    return set_.files[static_cast<std::size_t>(file)].tensors[static_cast<std::size_t>(tensor)];
  }
  std::int64_t begin(int file, int tensor) const {
    return set_.files[static_cast<std::size_t>(file)].data_begin + entry(file, tensor).begin;
  }
  bool is_held(int file, int tensor) const {
    return is_held_[static_cast<std::size_t>(file)][static_cast<std::size_t>(tensor)];
  }
  /// Adds what was read. False where there is no such tensor.
  bool combine(std::int64_t file, std::int64_t tensor, std::uint64_t part) { return sums_.combine(file, tensor, part); }

  /// Throws io_error where a tensor that is held is damaged. Precondition: all is read.
  void check() const {
    for (std::size_t f = 0; f < set_.files.size(); ++f)
      for (std::size_t t = 0; t < set_.files[f].tensors.size(); ++t)
        if (is_held_[f][t] && checksum_text(sums_.value(f, t)) != set_.files[f].checksums[t])
          throw io_error(
              "read", set_.files[f].path,
              tensor_title(set_.files[f].tensors[t].name) + " is damaged: its bytes differ from their checksum");
  }

 private:
  static void allow_many_files() {
    rlimit most{};
    if (::getrlimit(RLIMIT_NOFILE, &most) != 0 || most.rlim_cur >= most.rlim_max) return;
    most.rlim_cur = most.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &most);
  }

  /// Tensors that are read whole, in runs that are not short.
  void find_held(const reshard_plan& plan, const std::vector<detail::tensor_work>& works) {
    std::vector<std::vector<std::int64_t>> units(set_.files.size());
    for (std::size_t f = 0; f < set_.files.size(); ++f) units[f].resize(set_.files[f].tensors.size(), 0);
    for (std::size_t i = 0; i < plan.tensors.size(); ++i) {
      const tensor_plan& t = plan.tensors[i];
      const bool is_short =
          detail::shortest_run(t.sources, works[i].tiles, unit_of(t.source_dtype).bytes) < detail::short_run;
      for (const file_box& b : t.sources) {
        const auto file = static_cast<std::size_t>(b.file), tensor = static_cast<std::size_t>(b.tensor);
        units[file][tensor] += volume_of(b.place.box) * unit_of(t.source_dtype).bytes;
        if (is_short) is_held_[file][tensor] = false;
      }
    }
    for (std::size_t f = 0; f < set_.files.size(); ++f)
      for (std::size_t t = 0; t < set_.files[f].tensors.size(); ++t) {
        const tensor_entry& e = set_.files[f].tensors[t];
        if (units[f][t] != e.end - e.begin) is_held_[f][t] = false;
      }
  }

  void close_all() {
    for (const int number : open_) ::close(number);
    open_.clear();
  }

  const tensor_set& set_;
  std::vector<int> open_;
  set_checksums sums_;
  std::vector<std::vector<bool>> is_held_;
};

}}}  // namespace hyperparallel::v0_2::reshard
