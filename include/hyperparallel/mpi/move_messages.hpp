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
#include <utility>
#include <vector>

#include <hyperparallel/mpi/messages.hpp>
#include <hyperparallel/mpi/world.hpp>
#include <hyperparallel/world/program_tasks.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

class move_messages {
 public:
  /// Row `row` of `move`, planned in `pulls`. `source(rank)` is where a hosted rank's block lies that the row reads,
  /// `target(rank)` where the one lies that it writes. O(ranks that concern the process · transfers).
  template <class Source, class Target>
  move_messages(const mpi_world& world, const sharded_program& p, const move_pulls& pulls, int step, int row,
                const Source& source, const Target& target)
      : messages_(world.channel(), world.options().synchronous_sends) {
    const auto end_of = [&](const auto& address, int rank) -> end {
      return {world.process_of(rank), world.hosts(rank) ? address(rank) : nullptr};
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
    for (fold& f : fold_) {
      for (const term& t : f.terms)
        f.block.push_back(t.block != nullptr ? t.block : staging + t.place + (t.is_kept ? message_bytes_ : 0));
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

 private:
  /// A rank's side of a transfer; its block is null where another process hosts it.
  struct end {
    int process = 0;
    std::byte* block = nullptr;
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

  /// What the receiver at `to` does, as far as it concerns this process. `sender(rank)` is the end of a sender.
  template <class Sender>
  void add_records(const receiver_records& all, const end& to, const Sender& sender) {
    if (to.block != nullptr && all.fill.elements > 0) fills_.push_back({all.fill, to.block});
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
      if (r.part.rank > 0 || from.block != to.block) copies_.push_back({r.copy, from.block, to.block});
    } else if (from.block != nullptr) {
      messages_.send(to.process, all.pack(r), from.block);
    } else if (to.block != nullptr) {
      messages_.receive(from.process, all.unpack(r), to.block);
    }
  }

  void add_fold(const std::vector<end>& terms, const end& to, const receiver_records& all, const step_record& r) {
    const strided_copy out = all.pack(r);
    if (to.block == nullptr) {
      for (const end& one : terms)
        if (one.block != nullptr) messages_.send(to.process, out, one.block);
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
        f.terms.push_back({nullptr, messages_.receive_staged(one.process, byte_count(f.copy))});
    }
    fold_.push_back(std::move(f));
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
};

}}}  // namespace hyperparallel::v0_2::detail
