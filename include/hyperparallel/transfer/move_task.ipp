// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of move_task.hpp; see support/compiled.hpp.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <hyperparallel/support/compiled.hpp>
#include <hyperparallel/transfer/move_task.hpp>

namespace hyperparallel { inline namespace v0_2 {

HYPERPARALLEL_BODY void detail::move_task::run_into(std::byte* target) const {
  fill_.write(target);
  for (const part& p : part_) {
    if (p.terms == 1)
      copy_strided(p.copy, term_[static_cast<std::size_t>(p.first_term)], target);
    else
      fold(p, target);
  }
}

HYPERPARALLEL_BODY void detail::move_task::fold(const part& p, std::byte* block) const {
  const strided_copy& s = p.copy;
  std::int64_t source = s.source_start, target = s.target_start, index[max_box_dims] = {};
  do {
    kernels::detail::fold_runs(fold_, p.terms, term_.data() + p.first_term, source, s.run, block + target,
                               store_kind::cached);
  } while (detail::step_to_next(s, s.dims, index, source, target));
}

HYPERPARALLEL_BODY std::int64_t detail::move_task::reach() const {
  std::int64_t most = fill_.elements == 0 ? 0 : fill_.bytes;
  for (const part& p : part_) {
    std::int64_t end = p.copy.target_start + p.copy.run;
    for (int d = 0; d < p.copy.dims; ++d) end += (p.copy.count[d] - 1) * p.copy.target_step[d];
    most = std::max(most, end);
  }
  return most;
}

HYPERPARALLEL_BODY std::int64_t detail::move_task::first_difference(const std::byte* other) const {
  std::int64_t first = -1;
  const auto compare = [&](std::int64_t begin, std::int64_t bytes) {
    const std::int64_t at = detail::first_byte_apart(target_ + begin, other + begin, bytes);
    if (at >= 0 && (first < 0 || begin + at < first)) first = begin + at;
  };
  if (fill_.elements != 0) compare(0, fill_.bytes);
  for (const part& p : part_) {
    std::int64_t source = 0, target = p.copy.target_start, index[max_box_dims] = {};
    do compare(target, p.copy.run);
    while (detail::step_to_next(p.copy, p.copy.dims, index, source, target));
  }
  return first;
}

}}  // namespace hyperparallel::v0_2
