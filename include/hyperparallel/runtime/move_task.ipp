// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of move_task.hpp; see support/compiled.hpp.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include <hyperparallel/runtime/move_task.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 {

HYPERPARALLEL_BODY move_task::move_task(const std::byte* source, std::byte* target, std::int64_t bytes, bool own)
    : target_(target), received_(own ? 0 : bytes), term_{source} {
  strided_copy whole;
  whole.run = source == target ? 0 : bytes;
  part_.push_back({whole, 0, 1});
}

HYPERPARALLEL_BODY void move_task::run() const {
  if (fill_elements_ > 0) {
    std::memset(target_, 0, static_cast<std::size_t>(fill_elements_ * bytes_of(type_)));
    write_identity(fill_, type_, fill_elements_, target_);
  }
  for (const part& p : part_) {
    if (p.terms == 1)
      copy_strided(p.copy, term_[at(p.first_term)], target_);
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
