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
#include <deque>
#include <utility>
#include <vector>

#include <hyperparallel/kernels/steady_time.hpp>
#include <hyperparallel/mpi/blocks.hpp>
#include <hyperparallel/mpi/messages.hpp>
#include <hyperparallel/transfer/copy_way.hpp>
#include <hyperparallel/transfer/step_records.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

class step_work {
 public:
  /// Works out the step that ends in stage `stage` of every tensor that has it. `received` is counted up by the bytes
  /// that others bring to each rank hosted here. O(ranks · transfers of a receiver).
  step_work(const mpi_world& world, const move_blocks& blocks, const std::vector<planned_tensor>& tensors, int stage,
            mpi_transport transport, std::vector<std::int64_t>& received)
      : world_(world),
        blocks_(blocks),
        received_(received),
        messages_(world.channel(), world.options().synchronous_sends) {
    for (std::size_t t = 0; t < tensors.size(); ++t)
      if (stage <= tensors[t].plan().step_count) add(static_cast<int>(t), tensors[t], stage);
    std::vector<fold_record> folds;
    for (const staged_fold& f : folds_) folds.push_back({f.copy, f.terms, f.target, f.fold});
    const store_kind stores = stores_for(host_bytes_);
    choice_ = way_choice(host_bytes_);
    copies_ = copy_schedule(copy_);
    fold_schedule_ = copy_schedule({}, folds);
    // Measured: MPI's own packing keeps up with MPI_Alltoallw at every size; ours only wins where memory has room that
    // the cores do not use.
    if (transport != mpi_transport::packed) transport = mpi_transport::derived_types;
    messages_.prepare(transport, nullptr, stores);
    copy_.clear();
  }
  step_work(const step_work&) = delete;
  step_work& operator=(const step_work&) = delete;

  /// Writes the identity into the own blocks that the step does not fill up.
  void fill() const {
    for (const auto& [fill, block] : fills_) fill.write(block);
  }

  /// Carries the share out, `patience` for the messages. Throws mpi_error.
  void run(std::chrono::milliseconds patience) {
    const auto go_on = [](std::int64_t) noexcept { return true; };
    messages_.start();
    const std::int64_t begin = steady_nanoseconds();
    copies_.run(copies_.whole(), choice_.next(), go_on);
    const std::int64_t copied = steady_nanoseconds() - begin;
    messages_.finish(patience);
    fold_schedule_.run(fold_schedule_.whole(), choice_.next(), go_on);
    choice_.took(copied);
  }

 private:
  struct staged_fold {
    strided_copy copy{};
    std::vector<const std::byte*> terms;
    std::byte* target = nullptr;
    kernels::term_fold fold{};
  };
  /// A step's side: where a rank's block lies.
  struct end {
    int rank = 0;
    std::byte* block = nullptr;  ///< null: not reached from here
  };
  /// What one receiver of a tensor does.
  struct share {
    const receiver_records& all;
    end to;
    const std::vector<end>& terms;  ///< of the record in hand
  };

  end end_of(int tensor, const planned_tensor& x, int stage, int position) const {
    const int rank = x.flow.rank_of(stage, position);
    return {rank, blocks_.address(tensor, stage, rank)};
  }

  void add(int tensor, const planned_tensor& x, int stage) {
    std::vector<end> terms;
    for (int p = 0; p < x.positions(stage); ++p) {
      const receiver_records all = records_of(x.plan(), stage - 1, p, x.element);
      const end to = end_of(tensor, x, stage, p);
      if (world_.number_on_host(world_.process_of(to.rank)) >= 0)
        host_bytes_ += volume(all.wanted.box) * x.element.bytes;
      if (world_.hosts(to.rank)) {
        received_[static_cast<std::size_t>(to.rank)] += all.received;
        if (all.fill.elements > 0) fills_.push_back({all.fill, to.block});
      }
      for (const step_record& r : all.record) {
        terms.clear();
        for (int t = 0; t < r.terms; ++t) terms.push_back(end_of(tensor, x, stage - 1, all.senders(r)[t]));
        if (r.terms == 1)
          add_copy({all, to, terms}, r);
        else
          add_fold({all, to, terms}, r);
      }
    }
  }

  /// Whether the processes of two ranks reach each other's blocks, which both can tell.
  bool is_near(const end& from, const end& to) const {
    if (world_.process_of(from.rank) == world_.process_of(to.rank)) return true;
    return from.block != nullptr && to.block != nullptr;
  }

  void add_copy(const share& s, const step_record& r) {
    const end& from = s.terms.front();
    if (!is_near(from, s.to))
      add_message(from, s.to, s.all.pack(r), s.all.unpack(r), s.to.block);
    else if (world_.hosts(from.rank))
      copy_.push_back({r.copy, from.block, s.to.block});
  }

  /// `pack` takes bytes out of the sender's block, `unpack` takes them to `target` in the receiver's process.
  void add_message(const end& from, const end& to, const strided_copy& pack, const strided_copy& unpack,
                   std::byte* target) {
    if (world_.hosts(from.rank)) messages_.send(world_.process_of(to.rank), pack, from.block);
    if (world_.hosts(to.rank)) messages_.receive(world_.process_of(from.rank), unpack, target);
  }

  void add_fold(const share& s, const step_record& r) {
    bool all_near = true;
    for (const end& term : s.terms) all_near = all_near && is_near(term, s.to);
    staged_fold fold{all_near ? r.copy : s.all.unpack(r), {}, s.to.block, s.all.fold};
    for (const end& term : s.terms) fold.terms.push_back(all_near ? term.block : stage_term(s, r, term));
    if (world_.hosts(s.to.rank)) folds_.push_back(std::move(fold));
  }

  /// Brings a term into a block of its own beside the receiver's; null on other processes.
  std::byte* stage_term(const share& s, const step_record& r, const end& from) {
    const strided_copy pack = s.all.pack(r);
    std::byte* staged = nullptr;
    if (world_.hosts(s.to.rank)) staged = staging_.emplace_back(byte_count(pack)).data();
    strided_copy dense;
    dense.run = byte_count(pack);
    if (!is_near(from, s.to))
      add_message(from, s.to, pack, dense, staged);
    else if (world_.hosts(s.to.rank))
      copy_.push_back({pack, from.block, staged});
    return staged;
  }

  mpi_world world_;
  const move_blocks& blocks_;
  std::vector<std::int64_t>& received_;
  std::int64_t host_bytes_ = 0;  ///< of all blocks that the processes of this host write together
  way_choice choice_{};
  std::vector<std::pair<block_fill, std::byte*>> fills_;
  std::vector<copy_record> copy_;
  std::vector<staged_fold> folds_;
  std::deque<arena> staging_;
  copy_schedule copies_;
  copy_schedule fold_schedule_;
  mpi_messages messages_;
};

}}}  // namespace hyperparallel::v0_2::detail
