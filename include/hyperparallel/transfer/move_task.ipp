// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of move_task.hpp; see support/compiled.hpp.

#include <cstddef>
#include <cstdint>
#include <vector>

#include <hyperparallel/support/compiled.hpp>
#include <hyperparallel/transfer/move_task.hpp>

namespace hyperparallel { inline namespace v0_2 {

HYPERPARALLEL_BODY void move_task::run() const {
  fill_.write(target_);
  for (const part& p : part_) {
    if (p.terms == 1)
      copy_strided(p.copy, term_[static_cast<std::size_t>(p.first_term)], target_);
    else
      fold(p);
  }
}

HYPERPARALLEL_BODY void move_task::fold(const part& p) const {
  const strided_copy& s = p.copy;
  std::int64_t source = s.source_start, target = s.target_start, index[max_box_dims] = {};
  do {
    kernels::fold_runs(fold_, p.terms, term_.data() + p.first_term, source, s.run, target_ + target,
                       store_kind::cached);
  } while (detail::step_to_next(s, s.dims, index, source, target));
}

}}  // namespace hyperparallel::v0_2
