// SPDX-License-Identifier: Apache-2.0
#pragma once
// The copies and folds that one step of a move consists of, between blocks that all can be reached.
//
// Blocks are row-major in the boxes that frame them. Laws: over all copies and folds of a receiver the targets cover
// what the step brings it exactly once; those of other senders bring what the certificate counts. The terms of a fold
// lie at equal offsets of their blocks, because contributors differ only on axes that do not shard the source.

#include <vector>

#include <hyperparallel/runtime/copy_schedule.hpp>
#include <hyperparallel/runtime/planned_tensor.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// What a step does to all receivers. Folds read the addresses of their terms from `term`.
struct step_copies {
  std::vector<copy_record> copies{};
  std::vector<std::vector<const std::byte*>> term{};
  std::vector<fold_record> folds{};

  copy_schedule schedule() const { return copy_schedule(copies, folds); }
};

/// The work of step `step` of `x`. `address(stage, position)` is the first byte of a block; `received[position]` counts
/// up the bytes that others bring. O(positions · transfers of a receiver).
template <class Address>
step_copies copies_of_step(const planned_tensor& x, int step, const Address& address, std::int64_t* received) {
  step_copies work;
  const move_plan& plan = x.plan();
  const move_step& s = plan.step[step];
  const step_values values = values_of(s, x.element.type);
  for (int p = 0; p < x.positions(step + 1); ++p) {
    const box wanted = x.flow.frame(step + 1, p);
    std::byte* const target = address(step + 1, p);
    const step_receiver r = receiver_of(s, plan.shape, p);
    for (extent_t k = 0; k < r.transfers; k += r.terms) {
      const transfer first = transfer_at(s, r, k);
      const std::int64_t bytes = volume(first.part) * x.element.bytes;
      if (bytes == 0) continue;
      const strided_copy copy =
          flatten(copy_between(x.flow.frame(step, first.sender), wanted, first.part, x.element.bytes));
      std::vector<const std::byte*> terms;
      for (int i = 0; i < r.terms; ++i) {
        const transfer t = transfer_at(s, r, k + i);
        terms.push_back(address(step, t.sender));
        if (!detail::is_own(r, t)) received[p] += bytes;
      }
      if (r.terms == 1) {
        work.copies.push_back({copy, terms[0], target});
      } else {
        work.term.push_back(std::move(terms));
        work.folds.push_back({copy, {}, target, values.fold});
      }
    }
  }
  for (std::size_t i = 0; i < work.folds.size(); ++i) work.folds[i].sources = work.term[i];
  return work;
}

}}  // namespace hyperparallel::v0_2
