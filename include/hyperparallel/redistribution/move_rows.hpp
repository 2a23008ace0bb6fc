// SPDX-License-Identifier: Apache-2.0
#pragma once
// The steps of a move in the order in which they are carried out, and the memory that lies between them.
//
// A move in two parts (move_parts.hpp) takes step k of both parts before step k + 1 of either. What a step leaves to the
// next step of its part is a *staged block*; blocks of a part take turns in two buffers, since a step reads one while it
// writes the next. A move that would stage more than `most_staged_bytes` goes in up to eight chunks of a dim that no step
// cuts, one after the other through the same buffers. Laws: the first row of a part or chunk reads the source, the last
// one writes the target, and every other block is written by one row and read by the next of its part and chunk; no row
// reads and writes one buffer; staged blocks begin at multiples of `staged_alignment`; the chunks are the dim. Units:
// bytes. O(steps · chunks).

#include <hyperparallel/redistribution/move_parts.hpp>
#include <hyperparallel/support/growing_array.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

inline constexpr extent_t staged_alignment = 64;

}  // namespace detail
/// Copies of so many bytes hide the latencies of eight times as many steps.
inline constexpr extent_t most_staged_bytes = extent_t{128} << 20;
inline constexpr int most_chunks = 8;

struct move_row {
  int part = 0;
  int step = 0;
  int from = -1;  ///< the staged block that it reads; -1: the source
  int to = -1;    ///< the staged block that it writes; -1: the target
  int dim = -1;   ///< of the plan's shape: the row moves what lies in `along` of it alone; -1: everything
  interval along{};
  friend constexpr bool operator==(const move_row&, const move_row&) = default;
};

/// A block of a device, the same on all of them.
struct staged_block {
  extent_t offset = 0;  ///< in the memory that the move stages in
  extent_t bytes = 0;
  friend constexpr bool operator==(const staged_block&, const staged_block&) = default;
};

namespace detail {

/// What the row moves of a box.
constexpr box part_of_row(const move_row& row, box b) {
  if (row.dim < 0) return b;
  interval& own = b.dim[row.dim];
  own.begin = larger(own.begin, row.along.begin);
  own.end = larger(own.begin, smaller(own.end, row.along.end));
  return b;
}

}  // namespace detail

struct move_rows {
  growing_array<move_row> row;
  growing_array<staged_block> staged;
  extent_t staged_bytes = 0;  ///< up to the end of the last block
};

namespace detail {

constexpr extent_t staged_up(extent_t bytes) { return ceil_divide(bytes, staged_alignment) * staged_alignment; }

/// The blocks between the steps of a part: those before even steps in one buffer, the others in another behind it.
constexpr void stage_part(const move_plan& p, int element_bytes, move_rows& r) {
  extent_t begin = staged_up(r.staged_bytes), size[2] = {};
  const auto bytes_after = [&](int step) { return volume(target_frame(p.step[step], p.shape, 0)) * element_bytes; };
  for (int k = 0; k + 1 < p.step_count; ++k) size[k % 2] = larger(size[k % 2], bytes_after(k));
  for (int k = 0; k + 1 < p.step_count; ++k) {
    const extent_t offset = begin + (k % 2 == 0 ? 0 : staged_up(size[0]));
    r.staged.push({offset, bytes_after(k)});
    r.staged_bytes = larger(r.staged_bytes, offset + r.staged.last().bytes);
  }
}

/// The largest dim that no step cuts, or -1.
constexpr int uncut_dim(const move_plan& p) {
  unsigned cut = 0;
  for (int k = 0; k < p.step_count; ++k) {
    for (int i = 0; i < p.step[k].source.cut_count; ++i) cut |= 1u << p.step[k].source.cut[i].dim;
    for (int i = 0; i < p.step[k].target.cut_count; ++i) cut |= 1u << p.step[k].target.cut[i].dim;
  }
  int best = -1;
  for (int d = 0; d < p.shape.rank; ++d)
    if ((cut >> d & 1u) == 0 && (best < 0 || p.shape.extent[d] > p.shape.extent[best])) best = d;
  return best;
}

/// A plan in chunks, each of which takes all steps before the next one begins.
constexpr move_rows rows_in_chunks(const move_plan& p, int dim, int chunks, int element_bytes) {
  const extent_t n = p.shape.extent[dim];
  const auto bytes_after = [&](int step, const interval& along) {
    return volume(part_of_row({0, step, -1, -1, dim, along}, target_frame(p.step[step], p.shape, 0))) * element_bytes;
  };
  extent_t size[2] = {};
  for (int k = 0; k + 1 < p.step_count; ++k)
    size[k % 2] = larger(size[k % 2], bytes_after(k, {0, ceil_divide(n, chunks)}));
  move_rows r;
  for (int c = 0; c < chunks; ++c) {
    const interval along{n * c / chunks, n * (c + 1) / chunks};
    for (int k = 0; k < p.step_count; ++k) {
      const int read = k == 0 ? -1 : r.staged.size - 1;
      if (k + 1 < p.step_count) {
        const extent_t offset = k % 2 == 0 ? 0 : staged_up(size[0]);
        r.staged.push({offset, bytes_after(k, along)});
        r.staged_bytes = larger(r.staged_bytes, offset + r.staged.last().bytes);
      }
      r.row.push({0, k, read, k + 1 < p.step_count ? r.staged.size - 1 : -1, dim, along});
    }
  }
  return r;
}

}  // namespace detail

/// Of `count` ≤ 2 plans that are the parts of a move on one mesh, whose device 0 has the largest blocks.
constexpr move_rows rows_of(const move_plan* part, int count, int element_bytes,
                            extent_t most_staged = most_staged_bytes) {
  move_rows r;
  int first_staged[2] = {}, most = 0;
  for (int i = 0; i < count; ++i) {
    first_staged[i] = r.staged.size;
    detail::stage_part(part[i], element_bytes, r);
    most = part[i].step_count > most ? part[i].step_count : most;
  }
  if (const int dim = count == 1 && r.staged_bytes > most_staged ? detail::uncut_dim(part[0]) : -1; dim >= 0) {
    const extent_t wanted = smaller(most_chunks, ceil_divide(r.staged_bytes, most_staged));
    return detail::rows_in_chunks(part[0], dim, static_cast<int>(smaller(wanted, part[0].shape.extent[dim])),
                                  element_bytes);
  }
  for (int k = 0; k < most; ++k)
    for (int i = 0; i < count; ++i) {
      const int steps = part[i].step_count, staged = first_staged[i] + k;
      if (k < steps) r.row.push({i, k, k == 0 ? -1 : staged - 1, k + 1 == steps ? -1 : staged});
    }
  return r;
}
constexpr move_rows rows_of(const move_parts& m, int element_bytes, extent_t most_staged = most_staged_bytes) {
  return rows_of(m.part, m.count, element_bytes, most_staged);
}

}}  // namespace hyperparallel::v0_2
