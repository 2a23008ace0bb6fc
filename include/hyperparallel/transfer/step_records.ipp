// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of step_records.hpp; see support/compiled.hpp.

#include <cstddef>
#include <cstdint>

#include <hyperparallel/support/compiled.hpp>
#include <hyperparallel/transfer/step_records.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// What two parts of a move have beyond their own: the extent of the dim that they share and where a part of it begins.
struct shared_dim {
  int dim = -1;
  extent_t extent = 0, begin = 0;

  /// The frame of a whole block in the coordinates of the part.
  box whole(box frame) const {
    if (dim >= 0) frame.dim[dim] = {-begin, extent - begin};
    return frame;
  }
};

/// What is carried out of a step.
struct carried_row {
  move_row row{};
  shared_dim shared{};
  bool fills = true;
};

/// The block of a source or a target, which has the tensor's own elements alone.
inline framed_block own_block(const box& frame, const move_plan& plan) {
  if (plan.padding.none()) return {frame};
  framed_block b{frame, first_dim_of_period(plan.shape, plan.padding), 0};
  box under = frame;
  for (int d = 0; d < b.cut_dim; ++d) under.dim[d] = {0, 1};
  b.under = volume(under, plan.shape, plan.padding);
  return b;
}

HYPERPARALLEL_BODY receiver_records records_of_part(const move_plan& plan, int step, int position,
                                                    moved_element element, const carried_row& of) {
  const shared_dim& shared = of.shared;
  const move_step& s = plan.step[step];
  const step_values values = values_of(s, element.type);
  receiver_records all;
  all.wanted.box = target_frame(s, plan.shape, position);
  if (step + 1 == plan.step_count)
    all.wanted = own_block(shared.whole(all.wanted.box), plan);
  else
    all.wanted.box = part_of_row(of.row, all.wanted.box);
  all.element_bytes = element.bytes;
  all.fold = values.fold;
  const extent_t elements = volume(all.wanted.box);
  if (of.fills && s.filled != 0 && s.kind != step_kind::collect)
    all.fill = {elements, elements * element.bytes, element.type, values.fill};
  const step_receiver r = receiver_of(s, plan.shape, position);
  for (extent_t k = 0; k < r.transfers; k += r.terms) {
    const transfer first = transfer_at(s, r, k);
    visit_what_is_there(part_of_row(of.row, first.part), plan.shape, plan.padding, [&](const box& part) {
      step_record one{part, {}, {}, static_cast<int>(all.sender.size()), r.terms};
      one.held = step == 0
                     ? own_block(shared.whole(source_frame(s, plan.shape, first.sender)), plan)
                     : framed_block{part_of_row(of.row, target_frame(plan.step[step - 1], plan.shape, first.sender))};
      one.copy = flatten(copy_between(one.held, all.wanted, one.part, element.bytes));
      all.record.push_back(one);
      for (int t = 0; t < r.terms; ++t) {
        const transfer term = t == 0 ? first : transfer_at(s, r, k + t);
        all.sender.push_back(term.sender);
        if (!detail::is_own(r, term)) all.received += volume(part) * element.bytes;
      }
    });
  }
  return all;
}

}  // namespace detail

HYPERPARALLEL_BODY receiver_records records_of(const move_plan& plan, int step, int position, moved_element element) {
  return detail::records_of_part(plan, step, position, element, {});
}

HYPERPARALLEL_BODY receiver_records records_of(const move_parts& move, const growing_array<move_row>& rows, int row,
                                               int position, moved_element element) {
  const int part = rows[row].part;
  detail::carried_row of{rows[row]};
  detail::shared_dim& shared = of.shared;
  if (move.count > 1) shared = {move.dim, 0, part == 0 ? 0 : move.split};
  for (int i = 0; i < move.count && move.count > 1; ++i) shared.extent += move.part[i].shape.extent[move.dim];
  for (int earlier = 0; earlier < row; ++earlier) of.fills = of.fills && (of.row.to >= 0 || rows[earlier].to >= 0);
  return detail::records_of_part(move.part[part], of.row.step, position, element, of);
}

namespace detail {

HYPERPARALLEL_BODY receiver_records whole_block_records(int sender, std::int64_t bytes, bool is_own) {
  receiver_records all;
  all.received = is_own ? 0 : bytes;
  step_record& one = all.record.emplace_back();
  one.copy.run = bytes;
  all.sender.push_back(sender);
  return all;
}

}  // namespace detail

}}  // namespace hyperparallel::v0_2
