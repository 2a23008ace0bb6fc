// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of bound_plan.hpp; see support/compiled.hpp.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <hyperparallel/exec/bound_plan.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 {

HYPERPARALLEL_BODY int plan_view::written_slot(int number) const {
  const hyperparallel::task& t = task[number];
  for (int a = t.access_begin; a < t.access_end; ++a)
    if (access[a].mode == access_mode::write) return access[a].slot + t.first_slot;
  return -1;
}

HYPERPARALLEL_BODY plan_view plan_view::of(const grown_execution_table& t) {
  plan_view v;
  v.size = t.size;
  v.first_operation = t.first_operation;
  v.operations = t.operations;
  v.time_shift = t.time_shift;
  v.record = t.record.item;
  v.queue_begin = t.queue_begin.item;
  v.wait = t.wait.item;
  v.reader = t.reader.item;
  v.use = t.use.item;
  return v;
}

HYPERPARALLEL_BODY bound_plan::bound_plan(grown_execution_table&& table)
    : grown_(detail::make_owned<grown_execution_table>(static_cast<grown_execution_table&&>(table))),
      view_(plan_view::of(*grown_)) {}

}}  // namespace hyperparallel::v0_2
