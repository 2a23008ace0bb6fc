// SPDX-License-Identifier: Apache-2.0
#pragma once
// Copying an axis-aligned box from one row-major block into another: the only data movement of a redistribution.
//
// A box copy is first flattened: unit dims vanish, and an outer dim whose step on both sides equals the whole inner run
// joins it. Law: the flattened copy moves each element of the box exactly once, to the place that the two row-major
// addresses say, and its innermost run is the longest that is contiguous on both sides.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <hyperparallel/layout/shape.hpp>

namespace hyperparallel { inline namespace v0_2 {

inline constexpr int max_box_dims = 8;

/// Two blocks of the same rank, and a box of the same extents inside each. Offsets and shapes are in elements.
struct box_copy {
  int dims = 0;
  std::int64_t element_bytes = 0;
  std::int64_t extent[max_box_dims] = {};
  std::int64_t source_shape[max_box_dims] = {};
  std::int64_t source_offset[max_box_dims] = {};
  std::int64_t target_shape[max_box_dims] = {};
  std::int64_t target_offset[max_box_dims] = {};
  /// Elements of either block under one index of all dims before `cut_dim`, where they are not those of its shape: the
  /// last ones are not there. -1: all are.
  int cut_dim = -1;
  std::int64_t source_under = 0;
  std::int64_t target_under = 0;
};

/// A nest of `dims` loops (outermost first) around copies of `run` bytes. All in bytes.
struct strided_copy {
  int dims = 0;
  std::int64_t run = 0;
  std::int64_t source_start = 0;
  std::int64_t target_start = 0;
  std::int64_t count[max_box_dims] = {};
  std::int64_t source_step[max_box_dims] = {};
  std::int64_t target_step[max_box_dims] = {};
};

/// Whether the box lies inside both blocks. O(dims).
constexpr bool fits(const box_copy& b) {
  if (b.dims < 0 || b.dims > max_box_dims || b.element_bytes <= 0) return false;
  for (int d = 0; d < b.dims; ++d) {
    if (b.extent[d] < 0 || b.source_offset[d] < 0 || b.target_offset[d] < 0) return false;
    if (b.source_offset[d] + b.extent[d] > b.source_shape[d]) return false;
    if (b.target_offset[d] + b.extent[d] > b.target_shape[d]) return false;
  }
  return true;
}

/// The copy of `part` (in coordinates of the whole) out of a block that holds `from` into one that holds `to`.
/// Domain: both contain `part`. O(dims).
constexpr box_copy copy_between(const box& from, const box& to, const box& part, int element_bytes) {
  box_copy c;
  c.dims = part.rank;
  c.element_bytes = element_bytes;
  for (int d = 0; d < part.rank; ++d) {
    c.extent[d] = part.dim[d].end - part.dim[d].begin;
    c.source_shape[d] = from.dim[d].end - from.dim[d].begin;
    c.source_offset[d] = part.dim[d].begin - from.dim[d].begin;
    c.target_shape[d] = to.dim[d].end - to.dim[d].begin;
    c.target_offset[d] = part.dim[d].begin - to.dim[d].begin;
  }
  return c;
}

/// Bytes that the copy moves. Domain: fits(b).
constexpr std::int64_t byte_count(const box_copy& b) {
  std::int64_t n = b.element_bytes;
  for (int d = 0; d < b.dims; ++d) n *= b.extent[d];
  return n;
}

constexpr std::int64_t byte_count(const strided_copy& s) {
  std::int64_t n = s.run;
  for (int d = 0; d < s.dims; ++d) n *= s.count[d];
  return n;
}

/// The flattened form. Domain: fits(b). An empty box gives run = 0. O(dims).
constexpr strided_copy flatten(const box_copy& b) {
  strided_copy s;
  if (byte_count(b) == 0) return s;
  s.run = b.element_bytes;
  std::int64_t count[max_box_dims] = {};  // innermost first
  std::int64_t source_step[max_box_dims] = {};
  std::int64_t target_step[max_box_dims] = {};
  std::int64_t source_pitch = b.element_bytes;
  std::int64_t target_pitch = b.element_bytes;
  for (int d = b.dims - 1; d >= 0; --d) {
    s.source_start += b.source_offset[d] * source_pitch;
    s.target_start += b.target_offset[d] * target_pitch;
    if (b.extent[d] > 1) {
      const int last = s.dims - 1;
      const std::int64_t inner_source = s.dims == 0 ? s.run : count[last] * source_step[last];
      const std::int64_t inner_target = s.dims == 0 ? s.run : count[last] * target_step[last];
      const bool joins = source_pitch == inner_source && target_pitch == inner_target;
      if (joins && s.dims == 0)
        s.run *= b.extent[d];
      else if (joins)
        count[last] *= b.extent[d];
      else {
        count[s.dims] = b.extent[d];
        source_step[s.dims] = source_pitch;
        target_step[s.dims] = target_pitch;
        ++s.dims;
      }
    }
    source_pitch = d == b.cut_dim ? b.source_under * b.element_bytes : source_pitch * b.source_shape[d];
    target_pitch = d == b.cut_dim ? b.target_under * b.element_bytes : target_pitch * b.target_shape[d];
  }
  for (int i = 0; i < s.dims; ++i) {
    s.count[i] = count[s.dims - 1 - i];
    s.source_step[i] = source_step[s.dims - 1 - i];
    s.target_step[i] = target_step[s.dims - 1 - i];
  }
  return s;
}

namespace detail {

/// A copy with its runs cut: whole pieces, and what is left of each run. Either may be empty (run = 0).
struct cut_copy {
  strided_copy pieces{};
  strided_copy rest{};
};

/// Cuts every run into pieces of `piece` bytes, one loop more. Domain: piece > 0, s.dims < max_box_dims. O(dims).
constexpr cut_copy cut_runs(const strided_copy& s, std::int64_t piece) {
  cut_copy c;
  if (s.run >= piece) {
    c.pieces = s;
    c.pieces.run = piece;
    c.pieces.count[s.dims] = s.run / piece;
    c.pieces.source_step[s.dims] = c.pieces.target_step[s.dims] = piece;
    ++c.pieces.dims;
  }
  if (s.run % piece != 0) {
    c.rest = s;
    c.rest.run = s.run % piece;
    c.rest.source_start += s.run - c.rest.run;
    c.rest.target_start += s.run - c.rest.run;
  }
  return c;
}

/// Takes both sides, addresses or offsets, to their next place in the outermost `loops` loops; false after the last,
/// with both sides and `index`, which starts as zeros, back at the first. O(1) amortised.
template <class Source, class Target>
constexpr bool step_to_next(const strided_copy& s, int loops, std::int64_t (&index)[max_box_dims], Source& source,
                            Target& target) {
  for (int d = loops - 1; d >= 0; --d) {
    source += s.source_step[d];
    target += s.target_step[d];
    if (++index[d] < s.count[d]) return true;
    index[d] = 0;
    source -= s.count[d] * s.source_step[d];
    target -= s.count[d] * s.target_step[d];
  }
  return false;
}

}  // namespace detail

/// Carries the copy out; returns the bytes moved. Domain: the two blocks do not overlap. The innermost loop walks
/// addresses upwards on both sides; order of boxes is the caller's (source order streams best for large blocks).
inline std::int64_t copy_strided(const strided_copy& s, const std::byte* source, std::byte* target) {
  if (s.run == 0) return 0;
  source += s.source_start;
  target += s.target_start;
  const int outer = s.dims > 0 ? s.dims - 1 : 0;
  const std::int64_t rows = s.dims > 0 ? s.count[outer] : 1;
  std::int64_t index[max_box_dims] = {};
  std::int64_t moved = 0;
  do {
    for (std::int64_t r = 0; r < rows; ++r)
      std::memcpy(target + r * s.target_step[outer], source + r * s.source_step[outer],
                  static_cast<std::size_t>(s.run));
    moved += rows * s.run;
  } while (detail::step_to_next(s, outer, index, source, target));
  return moved;
}

namespace detail {

/// The first byte in which the two differ, or -1.
inline std::int64_t first_byte_apart(const std::byte* a, const std::byte* b, std::int64_t bytes) {
  if (bytes == 0 || std::memcmp(a, b, static_cast<std::size_t>(bytes)) == 0) return -1;
  return std::mismatch(a, a + bytes, b).first - a;
}

}  // namespace detail

inline std::int64_t copy_box(const box_copy& b, const std::byte* source, std::byte* target) {
  return copy_strided(flatten(b), source, target);
}

}}  // namespace hyperparallel::v0_2
