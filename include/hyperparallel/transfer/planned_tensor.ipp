// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of planned_tensor.hpp; see support/compiled.hpp.

#include <cstddef>
#include <cstdint>

#include <hyperparallel/support/compiled.hpp>
#include <hyperparallel/transfer/planned_tensor.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

HYPERPARALLEL_BODY step_values values_of(const move_step& step, data_type type) {
  step_values v{{type, reduce_op::sum, 1}, reduce_op::none};
  for (int a = 0; a < step.source.mesh.axis_count; ++a) {
    if ((step.reduced >> a & 1u) == 0) continue;
    v.fold.op = step.source.partial[a];
    if (v.fold.op == reduce_op::avg) v.fold.divisor *= step.source.mesh.size[a];
  }
  for (int a = 0; a < step.target.mesh.axis_count; ++a)
    if ((step.filled >> a & 1u) != 0) v.fill = step.target.partial[a];
  return v;
}

HYPERPARALLEL_BODY void write_identity(reduce_op op, data_type type, std::int64_t n, std::byte* to) {
  if (op != reduce_op::prod) return;
  visit_element_type(type, [&](auto t) {
    using T = typename decltype(t)::type;
    for (std::int64_t i = 0; i < n; ++i) reinterpret_cast<T*>(to)[i] = kernels::store<T>(1);
  });
}

}  // namespace detail

HYPERPARALLEL_BODY planned_tensor::planned_tensor(const layout_value& source, const layout_value& target,
                                                  const shape& s, moved_element element_)
    : planned_tensor(plan_move(source, target, s), element_) {
  move_plan& p = flow.plan;
  if (p.code != move_code::ok || p.step_count > 0) return;
  p.step[0].source = source;
  p.step[0].target = target;
  p.step_count = 1;
}

HYPERPARALLEL_BODY bool planned_tensor::needs_type() const {
  for (int i = 0; i < plan().step_count; ++i)
    if (plan().step[i].reduced != 0 || detail::values_of(plan().step[i], element.type).fill == reduce_op::prod)
      return true;
  return false;
}

}}  // namespace hyperparallel::v0_2
