// SPDX-License-Identifier: Apache-2.0
#pragma once
// The records of a receiver with the addresses of their blocks, ready to run.
//
// All addresses are known when it is made, so a run computes nothing about layouts and allocates nothing. Laws: terms
// are folded in the order of the records; where the step does not bring every element, the block first gets the
// identity of what it waits for; a record whose block is the receiver's own, as it lies, copies nothing.
// O(records · terms) to make.

#include <cstddef>
#include <cstdint>

#include <hyperparallel/exec/light_vector.hpp>
#include <hyperparallel/transfer/step_records.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

class move_task {
 public:
  /// `block(sender)` is the first byte of a sender's block before the step, `target` that of the receiver's own after
  /// it.
  template <class Block>
  move_task(const receiver_records& records, const Block& block, std::byte* target)
      : target_(target), fold_(records.fold), fill_(records.fill), received_(records.received) {
    for (const step_record& r : records.record) {
      part_.push_back({r.copy, static_cast<int>(term_.size()), r.terms});
      for (int t = 0; t < r.terms; ++t) term_.push_back(block(records.senders(r)[t]));
      if (r.part.rank == 0 && term_.back() == target) part_.pop_back();
    }
  }

  /// Bytes that others bring in one run.
  std::int64_t received() const { return received_; }

  void run() const { run_into(target_); }
  /// The same into other memory, laid out as the target.
  void run_into(std::byte* target) const;
  /// Bytes of the target's block up to the last one that is written.
  std::int64_t reach() const;
  /// The first byte that is written whose value in `other` is another than in the target, or -1.
  std::int64_t first_difference(const std::byte* other) const;

 private:
  /// A box and its terms, which lie at equal offsets of their blocks.
  struct part {
    strided_copy copy{};
    int first_term = 0;
    int terms = 1;
  };

  void fold(const part& p, std::byte* target) const;

  std::byte* target_ = nullptr;
  kernels::term_fold fold_{};
  block_fill fill_{};
  std::int64_t received_ = 0;
  detail::light_vector<part> part_;
  detail::light_vector<const std::byte*> term_;
};

}}}  // namespace hyperparallel::v0_2::detail

#ifndef HYPERPARALLEL_COMPILED
#include <hyperparallel/transfer/move_task.ipp>
#endif
