// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of move.hpp; see support/compiled.hpp.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <hyperparallel/dtensor/move.hpp>
#include <hyperparallel/exec/light_vector.hpp>
#include <hyperparallel/support/compiled.hpp>
#include <hyperparallel/transfer/move_task.hpp>

namespace hyperparallel { inline namespace v0_2 {

HYPERPARALLEL_BODY std::string move_error::text(const move_plan& p) {
  if (p.code == move_code::layouts_are_on_different_meshes) return "layouts_are_on_different_meshes";
  if (p.code == move_code::traffic_overflows) return "traffic_overflows: elements times devices leave 64 bits";
  if (p.code == move_code::reductions_do_not_commute)
    return "reductions_do_not_commute: axis " + std::to_string(p.axis);
  if (p.code == move_code::filled_axis_is_cut_in_parts)
    return "filled_axis_is_cut_in_parts: axis " + std::to_string(p.axis);
  return layout_error(p.layout).what();
}

namespace detail {

HYPERPARALLEL_BODY dynamic_dtensor::block part_of_block(const framed_blocks& x, int position, const box& part) {
  const std::size_t p = static_cast<std::size_t>(position);
  const strided_copy run = flatten(copy_between(x.frame[p], part, part, bytes_of(x.type)));
  if (run.dims == 0) return {x.block[p], x.block[p].get() + run.source_start};
  const std::shared_ptr<std::byte> bytes = allocate_block(volume(part) * bytes_of(x.type));
  copy_strided(run, x.block[p].get(), bytes.get());
  return bytes;
}

HYPERPARALLEL_BODY dynamic_dtensor::block run_step(const move_plan& plan, int step, int position,
                                                   const framed_blocks& from) {
  const receiver_records all = records_of(plan, step, position, from.type);
  if (all.record.size() == 1 && all.record[0].terms == 1 && all.sender[0] == position &&
      all.record[0].part == all.wanted.box)
    return part_of_block(from, position, all.wanted.box);
  const std::shared_ptr<std::byte> bytes = allocate_block(volume(all.wanted.box) * bytes_of(from.type));
  move_task(all, [&](int sender) { return from.block[static_cast<std::size_t>(sender)].get(); }, bytes.get()).run();
  return bytes;
}

}  // namespace detail

HYPERPARALLEL_BODY dynamic_dtensor redistribute(const dynamic_dtensor& x, const layout_value& to,
                                                const move_plan& plan) {
  if (x.layout() == to) return x;
  if (plan.code != move_code::ok) throw move_error(plan);
  const std::size_t positions = static_cast<std::size_t>(x.ranks());
  detail::framed_blocks held{x.type(), {}, {}};
  for (int p = 0; p < x.ranks(); ++p) {
    held.block.push_back(x.shared_block(p));
    held.frame.push_back(x.local_box(p));
  }
  for (int i = 0; i < plan.step_count; ++i) {
    const move_step& step = plan.step[i];
    detail::framed_blocks next{x.type(), std::vector<dynamic_dtensor::block>(positions),
                               detail::light_vector<box>(positions)};
    x.group().for_each_rank(name_of(step.kind), [&](int p) {
      const std::size_t at = static_cast<std::size_t>(p);
      next.frame[at] = target_frame(step, plan.shape, p);
      next.block[at] = detail::run_step(plan, i, p, held);
    });
    held = std::move(next);
  }
  return {x.group(), {x.type(), x.shape(), to}, std::move(held.block)};
}

HYPERPARALLEL_BODY dynamic_dtensor redistribute(const dynamic_dtensor& x, const layout_value& to) {
  if (x.layout() == to) return x;
  return redistribute(x, to, plan_move(x.layout(), to, x.shape()));
}

}}  // namespace hyperparallel::v0_2
