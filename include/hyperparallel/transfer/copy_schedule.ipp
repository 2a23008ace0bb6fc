// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of copy_schedule.hpp; see support/compiled.hpp.

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>

#include <hyperparallel/support/compiled.hpp>
#include <hyperparallel/transfer/copy_schedule.hpp>

namespace hyperparallel { inline namespace v0_2 {

HYPERPARALLEL_BODY copy_schedule::copy_schedule(std::span<const copy_record> copies,
                                                std::span<const fold_record> folds) {
  for (const copy_record& r : copies) add(r.copy, {r.source, r.target});
  for (const fold_record& r : folds) {
    add(r.copy, {r.sources.front(), r.target, static_cast<int>(term_.size()), static_cast<int>(r.sources.size()),
                 static_cast<int>(fold_.size())});
    for (const std::byte* const source : r.sources) term_.push_back(source);
    fold_.push_back(r.fold);
  }
  arrange();
}

HYPERPARALLEL_BODY void copy_schedule::add(const strided_copy& s, const blocks& where) {
  bytes_ += byte_count(s);
  const bool cut = s.run >= long_run && s.dims < max_box_dims;
  const detail::cut_copy parts = cut ? detail::cut_runs(s, piece) : detail::cut_copy{s, {}};
  if (parts.pieces.run > 0) member_.push_back({parts.pieces, where});
  if (parts.rest.run > 0) member_.push_back({parts.rest, where});
}

HYPERPARALLEL_BODY int copy_schedule::compare_loops(const strided_copy& a, const strided_copy& b) {
  if (a.dims != b.dims) return a.dims < b.dims ? -1 : 1;
  for (int d = 0; d < a.dims; ++d) {
    if (a.source_step[d] != b.source_step[d]) return a.source_step[d] < b.source_step[d] ? -1 : 1;
    if (a.count[d] != b.count[d]) return a.count[d] < b.count[d] ? -1 : 1;
  }
  return 0;
}

HYPERPARALLEL_BODY void copy_schedule::arrange() {
  std::sort(member_.begin(), member_.end(), [](const member& a, const member& b) {
    if (const int order = compare_loops(a.copy, b.copy); order != 0) return order < 0;
    if (a.first() != b.first()) return std::compare_three_way{}(a.first(), b.first()) < 0;
    return std::compare_three_way{}(a.where.target + a.copy.target_start, b.where.target + b.copy.target_start) < 0;
  });
  for (std::size_t i = 0; i < member_.size();) {
    const member& head = member_[i];
    const strided_copy& loops = head.copy;
    group g{static_cast<int>(i)};
    // The source bytes that one step may span, so that the next step begins behind it.
    const std::uintptr_t span = loops.dims == 0 ? std::numeric_limits<std::uintptr_t>::max()
                                                : static_cast<std::uintptr_t>(loops.source_step[loops.dims - 1]);
    const auto fits_in = [&](const member& m) {
      return compare_loops(loops, m.copy) == 0 && address(m) - address(head) + at(m.copy.run) <= span;
    };
    std::uintptr_t reach = 0, read = 0;  // of one step: where its source bytes end so far, how many they are
    do {
      const std::uintptr_t begin = address(member_[i]) - address(head), end = begin + at(member_[i].copy.run);
      if (end > reach) read += end - std::max(begin, std::exchange(reach, end));
      g.step_bytes += member_[i].copy.run;
      ++g.width;
    } while (++i < member_.size() && fits_in(member_[i]));
    for (int d = 0; d < loops.dims; ++d) g.steps *= loops.count[d];
    if (loops.dims > 0) {
      g.ahead_steps = ceil_divide(fetch_ahead, static_cast<std::int64_t>(read));
      g.ahead = read == span ? fetch_ahead : g.ahead_steps * static_cast<std::int64_t>(span);
    }
    group_.push_back(g);
  }
  std::sort(group_.begin(), group_.end(), [&](const group& a, const group& b) {
    const member &x = member_[at(a.begin)], &y = member_[at(b.begin)];
    return x.first() != y.first() ? std::compare_three_way{}(x.first(), y.first()) < 0 : a.begin < b.begin;
  });
}

HYPERPARALLEL_BODY copy_position copy_schedule::position_after(std::int64_t bytes) const {
  copy_position p;
  while (p.group < groups() && bytes >= group_[at(p.group)].steps * group_[at(p.group)].step_bytes) {
    bytes -= group_[at(p.group)].steps * group_[at(p.group)].step_bytes;
    ++p.group;
  }
  if (p.group == groups()) return p;
  const group& g = group_[at(p.group)];
  p.run = bytes / g.step_bytes * g.width;
  bytes %= g.step_bytes;
  for (int i = g.begin; bytes > 0; ++i, ++p.run) bytes -= member_[at(i)].copy.run;
  return p;
}

HYPERPARALLEL_BODY void copy_schedule::move_run(const member& m, std::int64_t offset, const std::int64_t* index,
                                                store_kind stores, std::int64_t ahead) const {
  std::byte* target = m.where.target + m.copy.target_start;
  for (int d = 0; d < m.copy.dims; ++d) target += index[d] * m.copy.target_step[d];
  offset += m.copy.source_start;
  if (m.where.terms == 0)
    copy_run(target, m.where.source + offset, m.copy.run, stores, ahead);
  else
    kernels::detail::fold_runs(fold_[at(m.where.fold)], m.where.terms, &term_[at(m.where.term)], offset, m.copy.run,
                               target, stores);
}

}}  // namespace hyperparallel::v0_2
