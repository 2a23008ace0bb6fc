// SPDX-License-Identifier: Apache-2.0
#pragma once
// The order in which the copies of one move are carried out: sources are read once, with ascending addresses.
//
// Box by box, a move jumps through its sources by whole rows, and even rows of 16 KiB then reach two thirds of the
// speed of memory. Therefore records whose rows follow one another in the source are one group, which is walked row by
// row: row r of every record, then row r + 1. Records that read the same row for several targets stand side by side, so
// all but the first find it in the cache. Long contiguous runs are cut into pieces and are such rows as well.
// Law: every byte of every record is moved exactly once; the parts of a split follow one another in that order, are
// together the whole, and carry equal bytes up to one run. All sizes are bytes; groups are built once, walking
// allocates nothing.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>

#include <hyperparallel/exec/light_vector.hpp>
#include <hyperparallel/kernels/fold_terms.hpp>
#include <hyperparallel/kernels/streaming_copy.hpp>
#include <hyperparallel/transfer/copy_boxes.hpp>
#include <hyperparallel/transfer/copy_way.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// The loops of `copy`, between two blocks. Targets of one schedule overlap neither each other nor any source.
struct copy_record {
  strided_copy copy{};
  const std::byte* source = nullptr;
  std::byte* target = nullptr;
};

/// Each target element is the fold of the elements at one offset in all source blocks, in their order. Domain: at least
/// one source; blocks are aligned for the fold's type; a target element may lie on one of its own terms.
struct fold_record {
  strided_copy copy{};
  std::span<const std::byte* const> sources{};  ///< read when the schedule is made
  std::byte* target = nullptr;
  kernels::term_fold fold{};
};

/// A place in a schedule: the `run`-th run of a group.
struct copy_position {
  int group = 0;
  std::int64_t run = 0;
};

/// What one thread moves, [begin, end) in the order of the schedule.
struct copy_part {
  copy_position begin{}, end{};
};

class copy_schedule {
 public:
  /// Runs from here on stream well by themselves and are cut, so that threads can share them and their source stays in
  /// the first-level cache while it goes to several targets.
  static constexpr std::int64_t long_run = std::int64_t{256} << 10;
  static constexpr std::int64_t piece = std::int64_t{16} << 10;

  copy_schedule() = default;

  /// O(records · log(records)).
  explicit copy_schedule(std::span<const copy_record> copies, std::span<const fold_record> folds = {});

  /// Bytes of all targets.
  std::int64_t bytes() const { return bytes_; }
  int groups() const { return static_cast<int>(group_.size()); }
  copy_part whole() const { return {{}, {groups(), 0}}; }

  /// The part of worker w of n: equal bytes up to one run. O(groups + records of a group).
  copy_part part(int w, int n) const { return {position_after(bytes_ * w / n), position_after(bytes_ * (w + 1) / n)}; }

  /// Moves a part, then fences its stores. `go_on(bytes)` (noexcept) is told what was moved since the last call, about
  /// every MiB and at the end; where it says false in between, the walk stops.
  template <class GoOn>
  void run(const copy_part& part, copy_way way, const GoOn& go_on) const {
    std::int64_t moved = 0;
    for (int g = part.begin.group; g <= part.end.group && g < groups(); ++g) {
      const group& one = group_[at(g)];
      const std::int64_t first = g == part.begin.group ? part.begin.run : 0;
      const std::int64_t last = g == part.end.group ? part.end.run : one.steps * one.width;
      if (first < last && !walk(one, first, last, way, moved, go_on)) break;
    }
    store_fence();
    go_on(moved);
  }

 private:
  static constexpr std::int64_t report_bytes = std::int64_t{1} << 20;
  static constexpr std::int64_t fetch_ahead = std::int64_t{16} << 10;

  /// Where the runs of a record lie; `terms` > 0 says that it folds.
  struct blocks {
    const std::byte* source = nullptr;
    std::byte* target = nullptr;
    int term = 0, terms = 0, fold = 0;
  };
  struct member {
    strided_copy copy{};
    blocks where{};
    const std::byte* first() const { return where.source + copy.source_start; }
  };
  /// Members [begin, begin + width) with the same loops over their sources.
  struct group {
    int begin = 0;
    std::int64_t width = 0;
    std::int64_t steps = 1;  ///< of the loops; each is one run of every member
    std::int64_t step_bytes = 0;
    /// While a step is copied, the sources `ahead` bytes behind it are fetched: those of the step `ahead_steps` later
    /// or, where steps leave no gaps, simply what follows. 0: nothing is fetched.
    std::int64_t ahead = 0, ahead_steps = 0;
  };

  static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

  void add(const strided_copy& s, const blocks& where);

  /// Orders by the loops over the source: -1, 0 or 1.
  static int compare_loops(const strided_copy& a, const strided_copy& b);

  void arrange();
  static std::uintptr_t address(const member& m) { return reinterpret_cast<std::uintptr_t>(m.first()); }

  /// The first run that is not among the first `bytes` bytes.
  copy_position position_after(std::int64_t bytes) const;

  /// Runs [first, last) of a group. False when `go_on` said so.
  template <class GoOn>
  bool walk(const group& g, std::int64_t first, std::int64_t last, copy_way way, std::int64_t& moved,
            const GoOn& go_on) const {
    const strided_copy& loops = member_[at(g.begin)].copy;
    std::int64_t index[max_box_dims] = {};
    for (std::int64_t d = loops.dims - 1, step = first / g.width; d >= 0; --d) {
      index[d] = step % loops.count[d];
      step /= loops.count[d];
    }
    for (std::int64_t column = first % g.width; first < last; column = 0) {
      std::int64_t offset = 0;
      const int inner = loops.dims - 1;
      const std::int64_t ahead =
          way.fetches_ahead && g.ahead > 0 && index[inner] + g.ahead_steps < loops.count[inner] ? g.ahead : 0;
      for (int d = 0; d < loops.dims; ++d) offset += index[d] * loops.source_step[d];
      const std::int64_t end = last - first < g.width - column ? column + (last - first) : g.width;
      first += end - column;
      for (; column < end; ++column) {
        move_run(member_[at(g.begin + column)], offset, index, way.stores, ahead);
        moved += member_[at(g.begin + column)].copy.run;
        if (moved < report_bytes) continue;
        if (!go_on(moved)) {
          moved = 0;
          return false;
        }
        moved = 0;
      }
      for (int d = loops.dims - 1; d >= 0 && ++index[d] == loops.count[d]; --d) index[d] = 0;
    }
    return true;
  }

  void move_run(const member& m, std::int64_t offset, const std::int64_t* index, store_kind stores,
                std::int64_t ahead) const;

  detail::light_vector<member> member_;  ///< by group, in a group by source address
  detail::light_vector<group> group_;    ///< by the source address of their first member
  detail::light_vector<const std::byte*> term_;
  detail::light_vector<kernels::term_fold> fold_;
  std::int64_t bytes_ = 0;
};

}}  // namespace hyperparallel::v0_2

#ifndef HYPERPARALLEL_COMPILED
#include <hyperparallel/transfer/copy_schedule.ipp>
#endif
