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
#include <string_view>
#include <vector>

#include <hyperparallel/checkpoint/piecewise_checksum.hpp>
#include <hyperparallel/checkpoint/reshard_journal.hpp>
#include <hyperparallel/checkpoint/reshard_work.hpp>
#include <hyperparallel/checkpoint/tensor_set.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace reshard {

namespace detail {

/// At least so many bytes of a buffer.
inline std::byte* room(std::vector<std::byte>& buffer, std::int64_t bytes) {
  if (buffer.size() < static_cast<std::size_t>(bytes)) buffer = std::vector<std::byte>(static_cast<std::size_t>(bytes));
  return buffer.data();
}

}  // namespace detail

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
      sums_.add_file(detail::bytes_of_tensors(f));
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

  /// Reads a box of a tensor that lies in these boxes into `memory`, packed; runs that lie apart there go through `between`. Checksums
  /// of what is read go to `sums`.
  std::byte* read_boxes(const std::vector<file_box>& sources, std::string_view dtype, const index_box& box,
                        std::vector<std::byte>& memory, std::vector<std::byte>& between, item_sums* sums) const {
    const std::int64_t unit = unit_of(dtype).bytes;
    std::byte* const tile = detail::room(memory, detail::volume_of(box) * unit);
    const std::vector<std::int64_t> strides = detail::tensor_tiles::strides(box);
    for (const file_box& source : sources) {
      const auto both = detail::intersection_of(source.place.box, box);
      if (!both) continue;
      const placed_box part = source.place.part(*both);
      const detail::transfer_shape shape(*both, part.stride, strides);
      std::byte* const run = shape.is_in_place ? nullptr : detail::room(between, shape.run * unit);
      const std::int64_t from = begin(source.file, source.tensor);
      const tensor_entry& e = entry(source.file, source.tensor);
      piecewise_checksum* const sum =
          sums != nullptr && is_held(source.file, source.tensor)
              ? &sums->try_emplace({source.file, source.tensor}, e.end - e.begin).first->second
              : nullptr;
      detail::read_box(number(source.file), path(source.file), from + part.offset * unit, shape, unit,
                       tile + detail::tensor_tiles::place_in(box, *both, strides) * unit, run,
                       [&](std::int64_t at, const std::byte* bytes, std::size_t count) {
                         if (sum != nullptr) sum->add(at - from, {bytes, count});
                       });
    }
    return tile;
  }

  /// Throws io_error where a tensor that is held is damaged. Precondition: all is read.
  void check() const {
    for (std::size_t f = 0; f < set_.files.size(); ++f)
      for (std::size_t t = 0; t < set_.files[f].tensors.size(); ++t)
        if (is_held_[f][t] && hyperparallel::detail::checksum_text(sums_.value(f, t)) != set_.files[f].checksums[t])
          throw io_error("read", set_.files[f].path,
                         detail::tensor_title(set_.files[f].tensors[t].name) +
                             " is damaged: its bytes differ from their checksum");
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
      const auto count = [&](const std::vector<file_box>& boxes, std::string_view dtype, bool is_held) {
        for (const file_box& b : boxes) {
          const auto file = static_cast<std::size_t>(b.file), tensor = static_cast<std::size_t>(b.tensor);
          units[file][tensor] += detail::volume_of(b.place.box) * unit_of(dtype).bytes;
          if (!is_held) is_held_[file][tensor] = false;
        }
      };
      count(t.sources, t.source_dtype, !is_short);
      if (t.scales) count(t.scales->sources, t.scales->dtype, true);
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
