// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the tasks of a plan wait for: who has written and read each piece of a place since, and what each queue knows already.
//
// Law: of waits for one queue a task keeps the latest, and none that a task before it in its queue had. O(accesses + waits).

#include <hyperparallel/lowering/program_plan.hpp>
#include <hyperparallel/lowering/rank_class.hpp>
#include <hyperparallel/strategy/address_plan.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// Where each place lies, from `begin` to `end`.
struct place_ranges {
  growing_array<extent_t> begin, end;
};

/// All tiers of all parts in one address space, one behind the other.
constexpr place_ranges ranges_of_places(const sharded_program& program, const program_pulls& pulls,
                                        const program_addresses& a) {
  place_ranges r;
  const growing_array<storage_lifetime> lives = lifetimes_of(program);
  growing_array<extent_t> bytes(parts_of(program) * max_memory_tiers, 0);  // of tier t of part k
  growing_array<int> space;                                                // of each place
  const auto put = [&](extent_t begin, extent_t size, int part, int tier) {
    r.begin.push(begin);
    r.end.push(begin + size);
    space.push(part * max_memory_tiers + tier);
    bytes.item[space.last()] = larger(bytes.item[space.last()], r.end.last());
  };
  for (int s = 0; s < program.storage.size; ++s) {
    const program_storage& one = program.storage.item[s];
    const bool used = lives.item[s].always || lives.item[s].first <= lives.item[s].last;
    put(a.storage.item[s], used ? aligned(one.bytes) : 0, one.part, one.tier);
  }
  for (int m = 0; m < program.move.size; ++m) {
    const bool staged = a.staged.item[m] >= 0;  // else the move is none of a step
    for (const staged_block& one : kind_of(pulls.moves, m).staged)
      put(staged ? a.staged.item[m] + one.offset : 0, staged ? aligned(one.bytes) : 0,
          part_of_value(program, program.move.item[m].target), 0);
  }
  growing_array<extent_t> first;
  extent_t total = 0;
  for (const extent_t b : bytes) {
    first.push(total);
    total += b;
  }
  for (int i = 0; i < r.begin.size; ++i) {
    r.begin.item[i] += first.item[space.item[i]];
    r.end.item[i] += first.item[space.item[i]];
  }
  return r;
}

/// Of all ranks, or of rank 0 for the class. Refers to the plan, whose last row is the present one.
template <bool OfClass>
class task_waits {
 public:
  constexpr task_waits(program_plan& of, const class_words& words, int members, int parts, int pieces)
      : plan_(of),
        words_(words),
        ranks_(members),
        queues_(queue_count(of.machine)),
        per_rank_(queues_per_rank(of.machine)) {
    const int cells = pieces * (OfClass ? 1 : members);
    writer_.resize(cells, {0, 0});
    reader_.resize(cells, -1);
    known_.resize(queues_ * (OfClass ? per_rank_ * parts : queues_), 0);
    need_.resize(queues_, 0);
    done_.resize(queues_, 0);
  }

  constexpr bool was_written(int piece, int rank) const { return writer_.item[cell(piece, rank)].threshold > 0; }

  constexpr void begin_task(int rank) {
    queue_ = first_queue(plan_.machine, rank, plan_.row.last().kind);
    own_ = (OfClass ? plan_.row.last().part * per_rank_ + queue_ % per_rank_ : queue_) * queues_;
  }
  constexpr void need(const word_wait& w) {
    if (w.threshold == 0 || w.word == queue_ || w.threshold <= need_.item[w.word]) return;
    if (need_.item[w.word] == 0) asked_.push(w.word);
    need_.item[w.word] = w.threshold;
  }
  /// What `sender` has written, a rank or the name of one.
  constexpr void need_value(int piece, int sender) {
    const word_wait& w = writer_.item[cell(piece, sender)];
    need({w.word + (OfClass ? sender * per_rank_ : 0), w.threshold});
  }
  constexpr void need_memory(int piece, int rank) {
    need(writer_.item[cell(piece, rank)]);
    for (int n = reader_.item[cell(piece, rank)]; n >= 0; n = use_.item[n].next) need(use_.item[n].at);
  }
  constexpr void end_task(extent_t duration) {
    for (const int q : asked_) {
      int& known = known_.item[own_ + q];
      if (need_.item[q] > known) {
        plan_.wait.push({q, need_.item[q]});
        known = need_.item[q];
      }
      need_.item[q] = 0;
    }
    asked_.clear();
    plan_.wait_end.push(plan_.wait.size);
    plan_.duration.push(duration);
    now_ = {queue_, ++done_.item[queue_]};
  }
  /// A rank of the class reads at that difference, so at the opposite one it is read; or any rank of its part may have.
  constexpr void note_read(int piece, int part, int sender) {
    int& newest = reader_.item[cell(piece, sender)];
    if constexpr (OfClass)
      words_.visit_callers(part, sender, plan_.row.last().part, [&](int name) {
        newest = use_.push({{now_.word + name * per_rank_, now_.threshold}, newest});
      });
    else
      newest = use_.push({now_, newest});
  }
  constexpr void note_write(int piece, int rank) {
    writer_.item[cell(piece, rank)] = now_;
    reader_.item[cell(piece, rank)] = -1;
  }

 private:
  /// Of a piece on a rank; of the class on any.
  constexpr int cell(int piece, int rank) const { return OfClass ? piece : piece * ranks_ + rank; }

  /// A reader of a piece on a rank, and the one before it.
  struct use {
    word_wait at{};
    int next = -1;
  };

  program_plan& plan_;
  const class_words& words_;
  int ranks_, queues_, per_rank_;
  growing_array<word_wait> writer_;  // the last, of each cell; threshold 0: none
  growing_array<int> reader_;        // since then, of each cell: the newest use
  growing_array<use> use_;
  growing_array<int> known_;  // of each queue and each other one: the place that it has waited for
  growing_array<int> need_, asked_, done_;
  int queue_ = 0;  // of the present task
  int own_ = 0;    // where what it knows begins
  word_wait now_{};
};

}}}  // namespace hyperparallel::v0_2::detail
