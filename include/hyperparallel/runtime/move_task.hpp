// SPDX-License-Identifier: Apache-2.0
#pragma once
// What one receiver does in one step of a move: it pulls boxes out of the senders' blocks and folds the terms that
// meet.
//
// All addresses are known when it is made, so a run computes nothing about layouts and allocates nothing. Laws: terms
// are folded in the order of the plan, element by element, so the bits do not depend on who runs when; where a step
// does not bring every element, the block first gets the identity of what it waits for; `received` is what the plan's
// certificate counts, in bytes. O(transfers of the receiver) to make.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include <hyperparallel/runtime/copy_boxes.hpp>
#include <hyperparallel/runtime/planned_tensor.hpp>

namespace hyperparallel { inline namespace v0_2 {

class move_task {
 public:
  /// Copies a whole block of `bytes`; others bring it if it is not `own`.
  move_task(const std::byte* source, std::byte* target, std::int64_t bytes, bool own);

  /// The transfers of step `i` of `plan` to `position`. `block(sender)` is the first byte of a sender's block before
  /// the step, `target` that of the receiver's own after it.
  template <class Block>
  move_task(const move_plan& plan, int i, int position, data_type type, const Block& block, std::byte* target)
      : target_(target), type_(type) {
    const move_step& step = plan.step[i];
    const step_values values = values_of(step, type);
    const int element = bytes_of(type);
    fold_ = values.fold;
    const box wanted = target_frame(step, plan.shape, position);
    if (step.filled != 0 && step.kind != step_kind::collect) {
      fill_ = values.fill;
      fill_elements_ = volume(wanted);
    }
    const step_receiver r = receiver_of(step, plan.shape, position);
    for (extent_t k = 0; k < r.transfers; k += r.terms) {
      const transfer first = transfer_at(step, r, k);
      const std::int64_t bytes = volume(first.part) * element;
      if (bytes == 0) continue;
      const box held = i == 0 ? source_frame(step, plan.shape, first.sender)
                              : target_frame(plan.step[i - 1], plan.shape, first.sender);
      part_.push_back(
          {flatten(copy_between(held, wanted, first.part, element)), static_cast<int>(term_.size()), r.terms});
      for (int t = 0; t < r.terms; ++t) {
        const transfer one = transfer_at(step, r, k + t);
        term_.push_back(block(one.sender));
        if (!detail::is_own(r, one)) received_ += bytes;
      }
    }
  }

  /// Bytes that others bring in one run.
  std::int64_t received() const { return received_; }

  void run() const;

 private:
  /// A box and its terms, which lie at equal offsets of their blocks.
  struct part {
    strided_copy copy{};
    int first_term = 0;
    int terms = 1;
  };

  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  void fold(const part& p) const;

  std::byte* target_ = nullptr;
  data_type type_ = data_type::f32;
  kernels::term_fold fold_{};
  reduce_op fill_ = reduce_op::none;
  extent_t fill_elements_ = 0;
  std::int64_t received_ = 0;
  std::vector<part> part_;
  std::vector<const std::byte*> term_;
};

}}  // namespace hyperparallel::v0_2

#ifndef HYPERPARALLEL_COMPILED
#include <hyperparallel/runtime/move_task.ipp>
#endif
