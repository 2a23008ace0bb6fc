// SPDX-License-Identifier: Apache-2.0
// The body of source_files.hpp.

#include "source_files.hpp"

#include "box_transfer.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>
#include <cerrno>

#include <hyperparallel/io/checksum.hpp>

#include "element_type.hpp"

namespace hp_tool::reshard {

std::byte* room(std::vector<std::byte>& buffer, std::int64_t bytes) {
  if (buffer.size() < static_cast<std::size_t>(bytes)) buffer = std::vector<std::byte>(static_cast<std::size_t>(bytes));
  return buffer.data();
}

source_files::source_files(const std::vector<set_file>& files, const reshard_plan& plan,
                           const std::vector<tensor_work>& works)
    : files_(files) {
  allow_many_files();
  for (const set_file& f : files) {
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

const tensor_entry& source_files::entry(int file, int tensor) const {
  return files_[static_cast<std::size_t>(file)].tensors[static_cast<std::size_t>(tensor)];
}

std::int64_t source_files::begin(int file, int tensor) const {
  return files_[static_cast<std::size_t>(file)].data_begin + entry(file, tensor).begin;
}

bool source_files::is_held(int file, int tensor) const {
  return is_held_[static_cast<std::size_t>(file)][static_cast<std::size_t>(tensor)];
}

std::byte* source_files::read_boxes(const std::vector<file_box>& sources, std::string_view dtype, const index_box& box,
                                    std::vector<std::byte>& memory, std::vector<std::byte>& between,
                                    item_sums* sums) const {
  const std::int64_t unit = unit_of(dtype).bytes;
  std::byte* const tile = room(memory, volume_of(box) * unit);
  const std::vector<std::int64_t> strides = tensor_tiles::strides(box);
  for (const file_box& source : sources) {
    const auto both = intersection_of(source.place.box, box);
    if (!both) continue;
    const placed_box part = source.place.part(*both);
    const transfer_shape shape(*both, part.stride, strides);
    std::byte* const run = shape.is_in_place ? nullptr : room(between, shape.run * unit);
    const std::int64_t from = begin(source.file, source.tensor);
    const tensor_entry& e = entry(source.file, source.tensor);
    piecewise_checksum* const sum =
        sums != nullptr && is_held(source.file, source.tensor)
            ? &sums->try_emplace({source.file, source.tensor}, e.end - e.begin).first->second
            : nullptr;
    read_box(number(source.file), path(source.file), from + part.offset * unit, shape, unit,
             tile + tensor_tiles::place_in(box, *both, strides) * unit, run,
             [&](std::int64_t at, const std::byte* bytes, std::size_t count) {
               if (sum != nullptr) sum->add(at - from, {bytes, count});
             });
  }
  return tile;
}

void source_files::check() const {
  for (std::size_t f = 0; f < files_.size(); ++f)
    for (std::size_t t = 0; t < files_[f].tensors.size(); ++t)
      if (is_held_[f][t] && hp::detail::checksum_text(sums_.value(f, t)) != files_[f].checksums[t])
        throw io_error("read", files_[f].path,
                       tensor_title(files_[f].tensors[t].name) + " is damaged: its bytes differ from their checksum");
}

void source_files::allow_many_files() {
  rlimit most{};
  if (::getrlimit(RLIMIT_NOFILE, &most) != 0 || most.rlim_cur >= most.rlim_max) return;
  most.rlim_cur = most.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &most);
}

void source_files::find_held(const reshard_plan& plan, const std::vector<tensor_work>& works) {
  std::vector<std::vector<std::int64_t>> units(files_.size());
  for (std::size_t f = 0; f < files_.size(); ++f) units[f].resize(files_[f].tensors.size(), 0);
  for (std::size_t i = 0; i < plan.tensors.size(); ++i) {
    const tensor_plan& t = plan.tensors[i];
    const bool is_short = shortest_run(t.sources, works[i].tiles, unit_of(t.source_dtype).bytes) < short_run;
    const auto count = [&](const std::vector<file_box>& boxes, std::string_view dtype, bool is_held) {
      for (const file_box& b : boxes) {
        const auto file = static_cast<std::size_t>(b.file), tensor = static_cast<std::size_t>(b.tensor);
        units[file][tensor] += volume_of(b.place.box) * unit_of(dtype).bytes;
        if (!is_held) is_held_[file][tensor] = false;
      }
    };
    count(t.sources, t.source_dtype, !is_short);
    if (t.scales) count(t.scales->sources, t.scales->dtype, true);
  }
  for (std::size_t f = 0; f < files_.size(); ++f)
    for (std::size_t t = 0; t < files_[f].tensors.size(); ++t) {
      const tensor_entry& e = files_[f].tensors[t];
      if (units[f][t] != e.end - e.begin) is_held_[f][t] = false;
    }
}

void source_files::close_all() {
  for (const int number : open_) ::close(number);
  open_.clear();
}

}  // namespace hp_tool::reshard
