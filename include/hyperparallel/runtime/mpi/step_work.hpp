// SPDX-License-Identifier: Apache-2.0
#pragma once
// What one process does in one step of a move, worked out once: its share of the plan's transfers.
//
// A transfer between blocks that its sender's process reaches is a copy by that process, which reads its own block in
// ascending order and writes where the bytes belong; between others it is a piece of a message. Terms are folded by the
// receiver's process: in place where it reaches all their blocks, else from a staging buffer, in the plan's order
// either way, so results do not depend on the transport. Laws: over all processes every transfer is carried out exactly
// once; no two processes write the same byte; blocks are written between the agreements that begin and end a step, but
// for fills, which a process does to its own blocks before the first one.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <vector>

#include <hyperparallel/runtime/copy_schedule.hpp>
#include <hyperparallel/runtime/mpi/blocks.hpp>
#include <hyperparallel/runtime/mpi/messages.hpp>
#include <hyperparallel/runtime/planned_tensor.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

class step_work {
 public:
  /// Works out the step that ends in stage `stage` of every tensor that has it. `received` is counted up by the bytes
  /// that others bring to each rank hosted here. O(ranks · transfers of a receiver).
  step_work(const mpi_world& world, const move_blocks& blocks, const std::vector<planned_tensor>& tensors, int stage,
            mpi_transport transport, std::vector<std::int64_t>& received)
      : world_(world), blocks_(blocks), received_(received) {
    for (std::size_t t = 0; t < tensors.size(); ++t)
      if (stage <= tensors[t].plan().step_count) add(static_cast<int>(t), tensors[t], stage);
    std::vector<fold_record> folds;
    for (const staged_fold& f : folds_) folds.push_back({f.copy, f.terms, f.target, f.fold});
    stores_ = stores_for(host_bytes_);
    copies_ = copy_schedule(copy_);
    fold_schedule_ = copy_schedule({}, folds);
    // Measured: MPI's own packing keeps up with MPI_Alltoallw at every size; ours only wins where memory has room that
    // the cores do not use.
    if (transport != mpi_transport::packed) transport = mpi_transport::derived_types;
    messages_.prepare(transport, stores_);
    copy_.clear();
  }
  step_work(const step_work&) = delete;
  step_work& operator=(const step_work&) = delete;

  /// Writes the identity into the own blocks that the step does not fill up.
  void fill() const {
    for (const filled_block& f : fills_) {
      std::memset(f.block, 0, static_cast<std::size_t>(f.bytes));
      write_identity(f.op, f.type, f.elements, f.block);
    }
  }

  /// Carries the share out, `patience` for the messages. Throws mpi_error.
  void run(std::chrono::milliseconds patience) {
    const auto go_on = [](std::int64_t) noexcept { return true; };
    messages_.start(world_.channel());
    copies_.run(copies_.whole(), stores_, go_on);
    messages_.finish(world_.channel(), patience);
    fold_schedule_.run(fold_schedule_.whole(), stores_, go_on);
  }

 private:
  struct filled_block {
    std::byte* block = nullptr;
    extent_t elements = 0;
    std::int64_t bytes = 0;
    data_type type = data_type::f32;
    reduce_op op = reduce_op::none;
  };
  struct staged_fold {
    strided_copy copy{};
    std::vector<const std::byte*> terms;
    std::byte* target = nullptr;
    kernels::term_fold fold{};
  };
  /// A step's side: where a rank's block lies and what it holds.
  struct end {
    int rank = 0;
    box frame{};
    std::byte* block = nullptr;  ///< null: not reached from here
  };
  struct step_of_tensor {
    int tensor;
    int stage;
    const planned_tensor& from;
    const move_step& step;
    step_values values;
    std::int64_t bytes_of(const box& part) const { return volume(part) * from.element.bytes; }
    strided_copy copy(const box& held, const box& wanted, const box& part) const {
      return flatten(copy_between(held, wanted, part, from.element.bytes));
    }
  };

  end end_of(const step_of_tensor& s, int stage, int position) const {
    const int rank = s.from.flow.rank_of(stage, position);
    return {rank, s.from.flow.frame(stage, position), blocks_.address(s.tensor, stage, rank)};
  }

  void add(int tensor, const planned_tensor& from, int stage) {
    const move_step& step = from.plan().step[stage - 1];
    const step_of_tensor s{tensor, stage, from, step, values_of(step, from.element.type)};
    for (int p = 0; p < from.positions(stage); ++p) {
      const end to = end_of(s, stage, p);
      if (world_.number_on_host(world_.process_of(to.rank)) >= 0) host_bytes_ += s.bytes_of(to.frame);
      if (step.filled != 0 && step.kind != step_kind::collect && world_.hosts(to.rank))
        fills_.push_back({to.block, volume(to.frame), s.bytes_of(to.frame), from.element.type, s.values.fill});
      const step_receiver r = receiver_of(step, from.plan().shape, p);
      for (extent_t k = 0; k < r.transfers; k += r.terms) {
        const transfer t = transfer_at(step, r, k);
        if (volume(t.part) == 0) continue;
        if (r.terms == 1)
          add_copy(s, end_of(s, stage - 1, t.sender), to, t.part);
        else
          add_fold(s, r, k, to, t.part);
      }
    }
  }

  void count(const step_of_tensor& s, const end& from, const end& to, const box& part) {
    if (world_.hosts(to.rank) && from.rank != to.rank) received_[static_cast<std::size_t>(to.rank)] += s.bytes_of(part);
  }

  /// Whether the processes of two ranks reach each other's blocks, which both can tell.
  bool is_near(const end& from, const end& to) const {
    if (world_.process_of(from.rank) == world_.process_of(to.rank)) return true;
    return from.block != nullptr && to.block != nullptr;
  }

  void add_copy(const step_of_tensor& s, const end& from, const end& to, const box& part) {
    count(s, from, to, part);
    if (is_near(from, to)) {
      if (world_.hosts(from.rank)) copy_.push_back({s.copy(from.frame, to.frame, part), from.block, to.block});
      return;
    }
    add_message(s, from, to, part, to.frame, to.block);
  }

  /// `part` leaves the sender's block for `target`, framed by `frame`, in the receiver's process.
  void add_message(const step_of_tensor& s, const end& from, const end& to, const box& part, const box& frame,
                   std::byte* target) {
    if (world_.hosts(from.rank)) messages_.send(world_.process_of(to.rank), s.copy(from.frame, part, part), from.block);
    if (world_.hosts(to.rank)) messages_.receive(world_.process_of(from.rank), s.copy(part, frame, part), target);
  }

  void add_fold(const step_of_tensor& s, const step_receiver& r, extent_t first, const end& to, const box& part) {
    std::vector<end> terms;
    bool all_near = true;
    for (extent_t k = first; k < first + r.terms; ++k) {
      terms.push_back(end_of(s, s.stage - 1, transfer_at(s.step, r, k).sender));
      all_near = all_near && is_near(terms.back(), to);
      count(s, terms.back(), to, part);
    }
    staged_fold fold{{}, {}, to.block, s.values.fold};
    if (all_near) {
      // Terms lie at equal offsets: contributors differ only on axes that do not shard the source.
      fold.copy = s.copy(terms.front().frame, to.frame, part);
      for (const end& term : terms) fold.terms.push_back(term.block);
    } else {
      fold.copy = s.copy(part, to.frame, part);
      for (const end& term : terms) fold.terms.push_back(stage_term(s, term, to, part));
    }
    if (world_.hosts(to.rank)) folds_.push_back(std::move(fold));
  }

  /// Brings a term into a block of its own beside the receiver's; null on other processes.
  std::byte* stage_term(const step_of_tensor& s, const end& from, const end& to, const box& part) {
    std::byte* staged = nullptr;
    if (world_.hosts(to.rank)) staged = staging_.emplace_back(s.bytes_of(part)).data();
    if (!is_near(from, to))
      add_message(s, from, to, part, part, staged);
    else if (world_.hosts(to.rank))
      copy_.push_back({s.copy(from.frame, part, part), from.block, staged});
    return staged;
  }

  mpi_world world_;
  const move_blocks& blocks_;
  std::vector<std::int64_t>& received_;
  std::int64_t host_bytes_ = 0;  ///< of all blocks that the processes of this host write together
  store_kind stores_ = store_kind::cached;
  std::vector<filled_block> fills_;
  std::vector<copy_record> copy_;
  std::vector<staged_fold> folds_;
  std::deque<arena> staging_;
  copy_schedule copies_;
  copy_schedule fold_schedule_;
  mpi_messages messages_;
};

}}}  // namespace hyperparallel::v0_2::detail
