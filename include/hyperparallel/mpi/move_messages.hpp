// SPDX-License-Identifier: Apache-2.0
#pragma once
// One row of a move of a program between processes: the plan's transfers to and from the ranks of this process.
//
// What crosses processes is one message to each peer and one from each; what stays within the process is copied once they
// have been posted. Terms are folded by the receiver's process, in the order of the plan: at once where all of them are
// here, else out of staging when all have come. Law: after `close` the target block of every hosted rank is that of
// move_task.hpp, bit for bit. Source, target and staging belong to the row from `open` to the end of `close`.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <hyperparallel/mpi/messages.hpp>
#include <hyperparallel/mpi/world.hpp>
#include <hyperparallel/transfer/move_task.hpp>
#include <hyperparallel/world/program_tasks.hpp>
#include <hyperparallel/world/task_checks.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

class move_messages {
 public:
  /// Row `row` of `move`, planned in `pulls`. `source(rank)` is where a hosted rank's block lies that the row reads,
  /// `target(rank)` where the one lies that it writes. O(ranks that concern the process · transfers).
  template <class Source, class Target>
  move_messages(const mpi_world& world, const sharded_program& p, const move_pulls& pulls, int step, int row,
                const Source& source, const Target& target, task_checks* checks = nullptr)
      : messages_(world.channel(), world.options().synchronous_sends, checks != nullptr && checks->checks_moves()),
        checks_(checks),
        step_(step),
        row_(row) {
    const auto end_of = [&](const auto& address, int rank) -> end {
      return {world.process_of(rank), world.hosts(rank) ? address(rank) : nullptr, rank};
    };
    const program_move& move = p.move[p.step[step].index];
    const int to = part_of_value(p, move.target), positions = ranks_of_part(p, to);
    const int first = first_rank_of(p, to), first_sender = first_rank_of(p, part_of_value(p, move.source));
    for (int r = 0; r < positions; ++r) {
      const int* const sender = pulls.sender.item + pulls.sender_begin[row * positions + r];
      const int* const behind = pulls.sender.item + pulls.sender_begin[row * positions + r + 1];
      bool concerned = world.hosts(first + r);
      for (const int* s = sender; s < behind; ++s) concerned = concerned || world.hosts(first_sender + *s);
      if (concerned)
        add_records(records_of_move(p, pulls, step, row, r), end_of(target, first + r),
                    [&](int position) { return end_of(source, first_sender + position); });
    }
    message_bytes_ = messages_.staging_bytes();
  }
  move_messages(const move_messages&) = delete;
  move_messages& operator=(const move_messages&) = delete;

  /// What it needs beside the blocks, from a cache line on.
  std::int64_t staging_bytes() const { return message_bytes_ + kept_bytes_; }

  /// Gives it the staging, which others may use while the row is not open. Throws mpi_error, std::bad_alloc.
  void prepare(std::byte* staging) {
    messages_.prepare(mpi_transport::derived_types, staging);
    for (kept_term& k : kept_) k.to = staging + message_bytes_ + k.offset;
    std::vector<fold_record> here, staged;
    for (repeat& r : repeats_) {
      std::vector<const std::byte*> block;
      for (const term& t : r.terms) block.push_back(address_of(t, staging));
      r.task.emplace(r.records, [&](int i) { return block[static_cast<std::size_t>(i)]; }, r.target);
    }
    for (fold& f : fold_) {
      for (const term& t : f.terms) f.block.push_back(address_of(t, staging));
      (f.here ? here : staged).push_back({f.copy, f.block, f.target, f.how});
    }
    folds_here_ = copy_schedule({}, here);
    folds_staged_ = copy_schedule({}, staged);
    fold_.clear();
  }

  /// Whom it exchanges messages with, in the order in which they are posted.
  std::vector<int> receives_from() const { return messages_.receives_from(); }
  std::vector<int> sends_to() const { return messages_.sends_to(); }

  /// From here to the end of `close` it has its blocks and its staging. Each receive is posted once, then each send, and
  /// `copy` does what needs no message. Throw mpi_error.
  void open(run_health health) {
    messages_.begin();
    if (health != run_health::sound) return;
    for (const auto& [fill, block] : fills_) fill.write(block);
  }
  void post_receive(int peer, run_health health) { messages_.post_receive(peer, health); }
  void post_send(int peer, run_health health) { messages_.post_send(peer, health); }
  void copy(run_health health) {
    if (health != run_health::sound) return;
    for (const copy_record& c : copies_) copy_strided(c.copy, c.source, c.target);
    for (const kept_term& k : kept_) copy_strided(k.out, k.block, k.to);
    run_all(folds_here_);
  }
  /// Lets the messages progress. Throws mpi_error.
  void look() { messages_.look(); }
  /// Waits for the messages, and does the rest. False where a peer has failed: the target is not there. Throws
  /// mpi_error.
  bool close(std::chrono::milliseconds patience) {
    if (!messages_.finish(patience)) return false;
    run_all(folds_staged_);
    return true;
  }
  /// Compares what has come with what was sent, and what was copied or summed with the same once more; keeps and compares
  /// sums of blocks. Behind a `close` that is true, in training step `number`. Throws corruption_error.
  void check(std::int64_t number) const {
    if (checks_ == nullptr) return;
    if (messages_.damaged() >= 0) checks_->refuse_move(step_, messages_.damaged(), -1);
    checks_->take_move(step_, row_);
    for (const repeat& r : repeats_)
      if (checks_->repeats_move(step_, r.rank, number)) checks_->repeat_move(step_, r.rank, *r.task);
    checks_->check_move(step_, row_);
  }
  /// What the row writes is not there.
  void forget() const {
    if (checks_ != nullptr) checks_->forget_move(step_, row_);
  }

 private:
  /// A rank's side of a transfer; its block is null where another process hosts it.
  struct end {
    int process = 0;
    std::byte* block = nullptr;
    int rank = 0;
  };
  /// Of a fold: in the sender's block, or in staging, where it has come from a peer or is kept.
  struct term {
    const std::byte* block = nullptr;
    std::int64_t place = 0;
    bool is_kept = false;
  };
  /// A term of this process that is folded with those of others.
  struct kept_term {
    strided_copy out{};
    const std::byte* block = nullptr;
    std::int64_t offset = 0;
    std::byte* to = nullptr;
  };
  struct fold {
    strided_copy copy{};
    std::vector<term> terms;
    std::byte* target = nullptr;
    kernels::term_fold how{};
    bool here = true;  ///< all terms are
    std::vector<const std::byte*> block{};
  };
  /// What a rank of this process gets by copies and sums, to be done once more.
  struct repeat {
    receiver_records records{};
    std::vector<term> terms{};
    std::byte* target = nullptr;
    int rank = 0;
    std::optional<move_task> task{};
  };

  const std::byte* address_of(const term& t, const std::byte* staging) const {
    return t.block != nullptr ? t.block : staging + t.place + (t.is_kept ? message_bytes_ : 0);
  }

  /// What the receiver at `to` does, as far as it concerns this process. `sender(rank)` is the end of a sender.
  template <class Sender>
  void add_records(const receiver_records& all, const end& to, const Sender& sender) {
    if (to.block != nullptr && all.fill.elements > 0) fills_.push_back({all.fill, to.block});
    if (to.block != nullptr && checks_ != nullptr) {
      repeats_.push_back({{}, {}, to.block, to.rank});
      repeats_.back().records.fold = all.fold;
    }
    std::vector<end> terms;
    for (const step_record& r : all.record) {
      terms.clear();
      for (int t = 0; t < r.terms; ++t) terms.push_back(sender(all.senders(r)[t]));
      if (r.terms == 1)
        add_copy(terms.front(), to, all, r);
      else
        add_fold(terms, to, all, r);
    }
  }

  void add_copy(const end& from, const end& to, const receiver_records& all, const step_record& r) {
    if (from.block != nullptr && to.block != nullptr) {
      if (r.part.rank == 0 && from.block == to.block) return;
      copies_.push_back({r.copy, from.block, to.block});
      add_repeat(r, r.copy, {{from.block}}, to.block);
    } else if (from.block != nullptr) {
      messages_.send(to.process, all.pack(r), from.block, to.rank);
    } else if (to.block != nullptr) {
      messages_.receive(from.process, all.unpack(r), to.block, to.rank);
    }
  }

  void add_fold(const std::vector<end>& terms, const end& to, const receiver_records& all, const step_record& r) {
    const strided_copy out = all.pack(r);
    if (to.block == nullptr) {
      for (const end& one : terms)
        if (one.block != nullptr) messages_.send(to.process, out, one.block, to.rank);
      return;
    }
    fold f{r.copy, {}, to.block, all.fold};
    for (const end& one : terms) f.here = f.here && one.block != nullptr;
    if (!f.here) f.copy = all.unpack(r);
    for (const end& one : terms) {
      if (f.here)
        f.terms.push_back({one.block});
      else if (one.block != nullptr)
        f.terms.push_back(keep(out, one.block));
      else
        f.terms.push_back({nullptr, messages_.receive_staged(one.process, byte_count(f.copy), to.rank)});
    }
    add_repeat(r, f.copy, f.terms, to.block);
    fold_.push_back(std::move(f));
  }

  /// But for what replaces one of its own terms.
  void add_repeat(const step_record& r, const strided_copy& copy, const std::vector<term>& terms,
                  const std::byte* target) {
    if (checks_ == nullptr) return;
    for (const term& t : terms)
      if (t.block == target) return;
    repeat& of = repeats_.back();
    step_record again = r;
    again.copy = copy;
    again.first_term = static_cast<int>(of.terms.size());
    for (const term& t : terms) {
      of.records.sender.push_back(static_cast<int>(of.terms.size()));
      of.terms.push_back(t);
    }
    of.records.record.push_back(again);
  }

  /// Into staging, beside the terms of others.
  term keep(const strided_copy& out, const std::byte* block) {
    const std::int64_t place = kept_bytes_;
    kept_.push_back({out, block, place});
    kept_bytes_ += ceil_divide(byte_count(out), arena::alignment) * arena::alignment;
    return {nullptr, place, true};
  }

  static void run_all(const copy_schedule& schedule) {
    schedule.run(schedule.whole(), cached_copy, [](std::int64_t) noexcept { return true; });
  }

  mpi_messages messages_;
  std::vector<copy_record> copies_;  ///< within the process
  std::vector<kept_term> kept_;
  std::vector<std::pair<block_fill, std::byte*>> fills_;
  std::vector<fold> fold_;  ///< until it is prepared
  copy_schedule folds_here_, folds_staged_;
  std::int64_t message_bytes_ = 0, kept_bytes_ = 0;
  task_checks* checks_;  ///< none: nothing is checked
  int step_, row_;
  std::vector<repeat> repeats_;
};

}}}  // namespace hyperparallel::v0_2::detail
