// SPDX-License-Identifier: Apache-2.0
#pragma once
// A simulated timeline as a picture in text: one row per resource class, one column per equal share of the makespan,
// each cell as dark as the class is busy.
//
//   AIC  x24 |▁▄███████████████▇▂|  86.10 %
//   link x1  |████████▆▃         |  52.40 %
//            0                    9.870 ms
//
// Laws: a cell is blank only when nothing of the class is busy in it, and full only when all of it is busy all the
// time; busy times are summed exactly, in integer picoseconds. The ASCII mode has the same cells in other characters.

#include <cstdint>
#include <string>
#include <vector>

#include <hyperparallel/report/format_units.hpp>
#include <hyperparallel/report/queue_name.hpp>
#include <hyperparallel/taskflow/simulate.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace report {

struct picture_options {
  int columns = 72;
  bool ascii = false;
  int rank = -1;  ///< -1: all ranks together
};

namespace detail {

/// Darkness of a cell, 0 … `darkest`.
inline constexpr int darkest = 8;

constexpr const char* shade(int level, bool ascii) {
  constexpr const char* blocks[darkest + 1] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  constexpr const char* letters[darkest + 1] = {" ", ".", ":", "-", "=", "+", "*", "%", "#"};
  return ascii ? letters[level] : blocks[level];
}

/// 0 for idle, `darkest` for fully busy, between them 1 … darkest - 1 in proportion. Domain: 0 <= busy <= capacity.
constexpr int darkness(std::int64_t busy, std::int64_t capacity) {
  if (busy <= 0) return 0;
  if (busy >= capacity) return darkest;
  const std::int64_t step = capacity / (darkest - 1) + 1;
  const std::int64_t level = 1 + busy / step;
  return static_cast<int>(level < darkest ? level : darkest - 1);
}

/// Where column c of `columns` begins: makespan · c / columns, without leaving 64 bits.
constexpr std::int64_t column_begin(std::int64_t makespan, int columns, int c) {
  return makespan / columns * c + makespan % columns * c / columns;
}

/// Picoseconds that the tasks of `kind` are busy in each column. O(tasks + columns met).
template <class Flow, class Timeline>
std::vector<std::int64_t> busy_columns(const Flow& f, const Timeline& line, std::int64_t makespan, resource kind,
                                       int rank, int columns) {
  std::vector<std::int64_t> busy(static_cast<std::size_t>(columns), 0);
  for (int t = 0; t < f.size.tasks; ++t) {
    if (f.task[t].kind != kind || (rank >= 0 && f.task[t].rank != rank)) continue;
    const std::int64_t start = line.start[t], end = line.end[t];
    int c = makespan > 0 ? static_cast<int>(static_cast<double>(start) / static_cast<double>(makespan) * columns) : 0;
    while (c > 0 && (c >= columns || column_begin(makespan, columns, c) > start)) --c;
    for (; c < columns && column_begin(makespan, columns, c) < end; ++c) {
      const std::int64_t from = column_begin(makespan, columns, c), to = column_begin(makespan, columns, c + 1);
      const std::int64_t met = (end < to ? end : to) - (start > from ? start : from);
      if (met > 0) busy[static_cast<std::size_t>(c)] += met;
    }
  }
  return busy;
}

}  // namespace detail

/// The picture, each line ended by a line break. Classes without queues are left out. `makespan` is the picture's right
/// edge; pass the longer one to compare two plans on one scale. Domain: a timeline that `simulate` filled, makespan at
/// least its own, columns >= 1.
template <class Flow, class Schedule, class Timeline>
std::string timeline_text(const Flow& f, const Schedule& s, const Timeline& line, std::int64_t makespan,
                          const picture_options& options = {}) {
  std::string out;
  const int ranks = options.rank < 0 ? s.machine.ranks : 1;
  for (int k = 0; k < resource_count; ++k) {
    const std::int64_t queues = std::int64_t{ranks} * s.machine.queues[k];
    if (queues == 0) continue;
    const resource kind = static_cast<resource>(k);
    const std::vector<std::int64_t> busy = detail::busy_columns(f, line, makespan, kind, options.rank, options.columns);
    out += fmt::format("{:<4} {:<5}|", name_of(kind), fmt::format("x{}", queues));
    std::int64_t total = 0;
    for (int c = 0; c < options.columns; ++c) {
      const std::int64_t width =
          detail::column_begin(makespan, options.columns, c + 1) - detail::column_begin(makespan, options.columns, c);
      total += busy[static_cast<std::size_t>(c)];
      out += detail::shade(detail::darkness(busy[static_cast<std::size_t>(c)], width * queues), options.ascii);
    }
    const std::int64_t share = makespan == 0 ? 0 : total / queues * 10000 / makespan;
    out += fmt::format("|{:>10}\n", percent{share});
  }
  return out + fmt::format("{:11}0 {:>{}}\n", "", duration{makespan}, options.columns > 2 ? options.columns - 2 : 0);
}

}}}  // namespace hyperparallel::v0_2::report
