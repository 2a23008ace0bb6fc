// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of bound_plan.hpp; see support/compiled.hpp.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <hyperparallel/runtime/bound_plan.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 {

HYPERPARALLEL_BODY int plan_view::written_slot(int number) const {
  const hyperparallel::task& t = task[number];
  for (int a = t.access_begin; a < t.access_end; ++a)
    if (access[a].mode == access_mode::write) return access[a].slot + t.first_slot;
  return -1;
}

}}  // namespace hyperparallel::v0_2
