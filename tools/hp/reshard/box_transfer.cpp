// SPDX-License-Identifier: Apache-2.0
// The body of box_transfer.hpp.

#include "box_transfer.hpp"

#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <type_traits>

namespace hp_tool::reshard {

namespace {

/// Copies units between a packed run and memory.
template <bool ToMemory>
void copy_run(const transfer_shape& s, std::byte* packed, std::byte* memory, std::int64_t unit) {
  std::vector<std::int64_t> index(s.dims.size(), 0);
  const std::size_t last = s.dims.size() - 1;
  const transfer_dim inner = s.dims[last];
  const auto bytes = static_cast<std::size_t>(unit);
  for (;;) {
    if (inner.in_memory == 1) {
      const std::size_t n = static_cast<std::size_t>(inner.extent) * bytes;
      ToMemory ? std::memcpy(memory, packed, n) : std::memcpy(packed, memory, n);
    } else {
      const auto each = [&](auto width) {
        for (std::int64_t i = 0; i < inner.extent; ++i) {
          std::byte *const p = packed + i * unit, *const m = memory + i * inner.in_memory * unit;
          ToMemory ? std::memcpy(m, p, width) : std::memcpy(p, m, width);
        }
      };
      if (unit == 2)
        each(std::integral_constant<std::size_t, 2>{});
      else if (unit == 4)
        each(std::integral_constant<std::size_t, 4>{});
      else if (unit == 1)
        each(std::integral_constant<std::size_t, 1>{});
      else
        each(bytes);
    }
    packed += inner.extent * unit;
    std::size_t d = last;
    while (d-- > s.outer) {
      memory += s.dims[d].in_memory * unit;
      if (++index[d] < s.dims[d].extent) break;
      memory -= s.dims[d].in_memory * s.dims[d].extent * unit;
      index[d] = 0;
    }
    if (d == static_cast<std::size_t>(-1) || d < s.outer) return;
  }
}

/// Calls `run(file, memory)` with offsets in units for each run of the file, in order of the file's dims.
template <class Run>
void visit_runs(const transfer_shape& s, const Run& run) {
  std::vector<std::int64_t> index(s.outer, 0);
  std::int64_t file = 0, memory = 0;
  for (;;) {
    run(file, memory);
    std::size_t d = s.outer;
    while (d-- > 0) {
      file += s.dims[d].in_file;
      memory += s.dims[d].in_memory;
      if (++index[d] < s.dims[d].extent) break;
      file -= s.dims[d].in_file * s.dims[d].extent;
      memory -= s.dims[d].in_memory * s.dims[d].extent;
      index[d] = 0;
    }
    if (d == static_cast<std::size_t>(-1)) return;
  }
}

}  // namespace

transfer_shape::transfer_shape(const index_box& box, const std::vector<std::int64_t>& in_file,
                               const std::vector<std::int64_t>& in_memory) {
  for (std::size_t d = 0; d < box.size(); ++d)
    if (box[d].extent() != 1) dims.push_back({box[d].extent(), in_file[d], in_memory[d]});
  std::sort(dims.begin(), dims.end(), [](const transfer_dim& a, const transfer_dim& b) {
    return a.in_file != b.in_file ? a.in_file > b.in_file : a.in_memory > b.in_memory;
  });
  for (std::size_t i = dims.size(); i-- > 1;)
    if (dims[i - 1].in_file == dims[i].in_file * dims[i].extent &&
        dims[i - 1].in_memory == dims[i].in_memory * dims[i].extent) {
      dims[i - 1] = {dims[i - 1].extent * dims[i].extent, dims[i].in_file, dims[i].in_memory};
      dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(i));
    }
  outer = dims.size();
  while (outer > 0 && dims[outer - 1].in_file == run) run *= dims[--outer].extent;
  is_in_place = outer == dims.size() || (outer + 1 == dims.size() && dims[outer].in_memory == 1);
}

void read_all(int file, const std::string& path, std::byte* to, std::size_t count, std::int64_t at) {
  while (count > 0) {
    const ssize_t n = ::pread(file, to, count, static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw io_error("read", path, errno);
    if (n == 0)
      throw io_error("read", path, "the file ends at byte " + std::to_string(at) + ": it was cut while it was read");
    to += n;
    at += n;
    count -= static_cast<std::size_t>(n);
  }
}

void write_all(int file, const std::string& path, const std::byte* from, std::size_t count, std::int64_t at) {
  while (count > 0) {
    const ssize_t n = ::pwrite(file, from, count, static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw io_error("write", path, errno);
    from += n;
    at += n;
    count -= static_cast<std::size_t>(n);
  }
}

void read_box(int file, const std::string& path, std::int64_t at, const transfer_shape& s, std::int64_t unit,
              std::byte* memory, std::byte* buffer, const run_visitor& read) {
  const auto bytes = static_cast<std::size_t>(s.run * unit);
  visit_runs(s, [&](std::int64_t in_file, std::int64_t in_memory) {
    std::byte* const to = memory + in_memory * unit;
    std::byte* const run = s.is_in_place ? to : buffer;
    read_all(file, path, run, bytes, at + in_file * unit);
    read(at + in_file * unit, run, bytes);
    if (!s.is_in_place) copy_run<true>(s, run, to, unit);
  });
}

void write_box(int file, const std::string& path, std::int64_t at, const transfer_shape& s, std::int64_t unit,
               std::byte* memory, std::byte* buffer, const run_visitor& wrote) {
  const auto bytes = static_cast<std::size_t>(s.run * unit);
  visit_runs(s, [&](std::int64_t in_file, std::int64_t in_memory) {
    std::byte* from = memory + in_memory * unit;
    if (!s.is_in_place) {
      copy_run<false>(s, buffer, from, unit);
      from = buffer;
    }
    write_all(file, path, from, bytes, at + in_file * unit);
    wrote(at + in_file * unit, from, bytes);
  });
}

}  // namespace hp_tool::reshard
