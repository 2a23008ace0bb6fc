// SPDX-License-Identifier: Apache-2.0
#pragma once
// The proof that an execution table runs some phases of a program as their steps say, in whatever order its queues and
// waits allow.
//
// The proof reads the table that runs: records, queues, waits; and of the program what the steps read and write, who
// pulls from whom, and the addresses. It keeps a shadow of every rank's memory: ranges of addresses, each with the place
// whose value lies there, the task that wrote it and those that have read it since. It walks the tasks of all rows in
// reference order. What it shows, for all runs:
//
//   - the queues hold the tasks of these steps and no others, each once, in reference order, and every wait is for a
//     earlier task whose record lists the waiting queue as a reader: so no run deadlocks
//   - a task that reads a range comes after the task that wrote it; one that writes a range comes after the task that
//     wrote it and all that have read it since, on whichever rank they run: so every task reads what it reads in
//     reference order
//   - a range that is read holds the value of its own place; at the end so does the range of every home
//
// A place that tiles write is a place for each run of bytes that belongs to one of them: a tile uses its own, others all.
//
// "After" means that the task, or one before it in its queue, waits for that place of the other's queue, or a later one.
// So a plan whose order follows from waits of third parties alone is refused, though it is safe; none that is unsafe is
// accepted. Not shown: what kernels do inside their operands, that copies move what `pulls_of` lists, and the addresses
// of arrays.
//
// That the algorithm accepts no unsafe table is proved in proofs/program_proof.v; that this code computes the same verdict
// is tested. A change of the rule needs the same change there: the suite `proofs` of scripts/test compares the two.
// Complexity: O(tasks · queues of a rank + waits + accesses) and what ranges of addresses take (address_ranges.hpp).

#include <hyperparallel/lowering/move_pulls.hpp>
#include <hyperparallel/lowering/proof_verdict.hpp>
#include <hyperparallel/lowering/rank_class.hpp>
#include <hyperparallel/lowering/row_uses.hpp>
#include <hyperparallel/strategy/address_plan.hpp>
#include <hyperparallel/taskflow/execution_table.hpp>
#include <hyperparallel/taskflow/task.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// Of a table of all ranks, or of that of rank 0, which stands for its class.
template <class Table, bool OfClass>
class program_prover : row_uses {
 public:
  constexpr program_prover(const sharded_program& p, const program_pulls& pulls, const program_addresses& a,
                           unsigned phases, const machine_shape& m, const Table& t)
      : row_uses(p, pulls, a, OfClass ? 1 : m.ranks),
        phases_(phases),
        machine_(m),
        table_(t),
        words_(p, queues_per_rank(m)) {
    if constexpr (OfClass)
      if (pulls.status.code == move_pulls_code::ok) class_ = class_of(p, pulls, words_);
    queues_ = queue_count(m);
    per_rank_ = queues_per_rank(m);
    known_.resize(t.size.queues * queues_, 0);
    done_.resize(t.size.queues, 0);
  }

  constexpr program_proof run() {
    if (pulls_.status.code != move_pulls_code::ok) fail(program_proof_code::move_is_refused);
    if (machine_.ranks != ranks_of(program_) ||
        table_.size.queues != (OfClass ? per_rank_ * parts_of(program_) : queues_))
      fail(program_proof_code::task_is_missing);
    for (int i = 0; i < program_.step.size && ok(); ++i) {
      const program_step& s = program_.step.item[i];
      if (!is_in(s.phase, phases_)) continue;
      const int rows = s.is_move && !program_.move.item[s.index].detaches ? pulls_.of(s.index).row.size : 1;
      for (int k = 0; k < rows && ok(); ++k) {
        part_ = part_of_step(program_, s);
        list_places(i, k);
        enter_row();
        for (int r = 0; r < proved_ranks() && ok(); ++r) check_task(i, k, r);
        if (ok()) leave_row(i, k);
      }
    }
    for (int q = 0; q < table_.size.queues && ok(); ++q)
      if (table_.queue_begin[q] + done_[q] != table_.queue_begin[q + 1])
        fail(program_proof_code::task_is_not_of_the_program);
    for (int s = 0; s < program_.storage.size && ok(); ++s) {
      if (!program_.storage.item[s].home) continue;
      bool whole = !gone_.item[s];
      visit_runs(s, {}, [&](int run) { whole = whole && memory_.is_whole(run, run_of(run).begin, run_of(run).end); });
      if (!whole) fail(program_proof_code::home_is_not_whole, s);
    }
    return proof_;
  }

 private:
  /// Of the row's part.
  constexpr int proved_ranks() const { return OfClass ? 1 : ranks_of_part(program_, part_); }
  constexpr int first_rank() const { return first_rank_of(program_, part_); }
  // A word of the class names the queue of another rank. All ranks of a part have run equally far.
  constexpr int queue_of_word(int word) const { return OfClass ? words_.queue_of(word) : word; }
  constexpr int own_word(int queue) const { return OfClass ? words_.own_word(queue) : queue; }
  /// A use of a sender's memory, as the task sees it that pulls from there.
  constexpr shadow_memory::user use_at(const shadow_memory::user& u, int part, int sender) const {
    return {OfClass && u.place > 0 ? words_.seen_by(part, sender, u.queue) : u.queue, u.place, u.next};
  }

  /// Queue of the task, where it is the next one. -1: nowhere.
  constexpr int queue_of(int step, int item, int rank) const {
    const int member = OfClass ? part_ : rank;
    for (int q = member * per_rank_; q < (member + 1) * per_rank_; ++q) {
      const int r = table_.queue_begin[q] + done_.item[q];
      if (r == table_.queue_begin[q + 1]) continue;
      const execution_record& one = table_.record[r];
      if (one.rank == rank && one.item == item && one.kernel + table_.first_operation == step) return q;
    }
    return -1;
  }

  constexpr void check_task(int step, int k, int place) {
    ++task_;
    const int rank = first_rank() + place, item = k * machine_.ranks + rank, q = queue_of(step, item, rank);
    if (q < 0) return fail(program_proof_code::task_is_missing);
    const int record = table_.queue_begin[q] + done_.item[q];
    int* const known = &known_.item[q * queues_];
    for (int w = wait_begin(table_, record); w < table_.record[record].wait_end; ++w) {
      const word_wait& one = table_.wait[w];
      if (one.word < 0 || one.word >= queues_ || one.threshold < 1 ||
          one.threshold > done_.item[queue_of_word(one.word)])
        return fail(program_proof_code::wait_is_not_behind);
      if (!answers(table_.queue_begin[queue_of_word(one.word)] + one.threshold - 1, one.word, q))
        return fail(program_proof_code::wait_is_not_answered);
      if (one.threshold > known[one.word]) known[one.word] = one.threshold;
    }
    const auto is_behind = [&](const shadow_memory::user& u) {
      return u.place == 0 || u.queue == own_word(q) || u.place <= known[u.queue];
    };
    for (const used_run& r : read_)
      visit_senders(step, k, place, [&](int sender) {
        if (!is_behind(use_at(memory_.writer(r.history, OfClass ? 0 : sender), source_part(step), sender)))
          fail(program_proof_code::read_is_not_ordered, r.place);
      });
    for (const int history : over_) {
      const int owner = OfClass ? 0 : rank;
      bool behind = is_behind(memory_.writer(history, owner));
      for (int n = memory_.newest_reader(history, owner); n >= 0; n = memory_.use(n).next)
        behind = behind && is_behind(memory_.use(n));
      if (!behind) fail(program_proof_code::write_is_not_ordered, write_[0].place);
    }
    ++done_.item[q];
    if (place == 0) queue_.clear();
    queue_.push(q);
  }
  /// Whether the record that `queue` awaits by `word` lists it, by all names that it may have there.
  constexpr bool answers(int record, int word, int queue) const {
    bool all = true;
    const auto look = [&](int reader) { all = all && lists_reader(table_, record, reader); };
    if constexpr (OfClass)
      words_.visit_seen_from(word, queue, look);
    else
      look(queue);
    return all;
  }
  /// The part that a step reads in.
  constexpr int source_part(int step) const {
    return pulls_row_ ? part_of_value(program_, program_.move.item[program_.step.item[step].index].source) : part_;
  }
  /// Ranks, or their names in the class. `place` is the reader's in its part.
  template <class Visit>
  constexpr void visit_senders(int step, int k, int place, const Visit& visit) const {
    if (!pulls_row_) return visit(OfClass ? 0 : first_rank() + place);
    const int move = program_.step.item[step].index;
    const growing_array<int>& begin = OfClass ? class_.sender_begin : pulls_.of(move).sender_begin;
    const growing_array<int>& sender = OfClass ? class_.sender : pulls_.of(move).sender;
    const int at = OfClass ? class_.row_of(pulls_.moves, move, k) : k * ranks_of_part(program_, part_) + place;
    const int first = OfClass ? 0 : first_rank_of(program_, source_part(step));
    for (int i = begin.item[at]; i < begin.item[at + 1]; ++i) visit(first + sender.item[i]);
  }

  constexpr void add_readers(int step, int k, int place, int history) {
    const int q = queue_.item[place], part = source_part(step);
    bool all_added = false;  // where the meshes differ, by the first sender for all
    visit_senders(step, k, place, [&](int sender) {
      if constexpr (OfClass) {
        if (all_added) return;
        words_.visit_callers(part, sender, part_, [&](int name) {
          memory_.add_reader(history, 0, own_word(q) + name * per_rank_, done_.item[q]);
        });
        all_added = !words_.are_alike(part, part_);
      } else {
        memory_.add_reader(history, sender, q, done_.item[q]);
      }
    });
  }
  constexpr void leave_row(int step, int k) {
    for (int r = 0; r < proved_ranks(); ++r)
      for (const used_run& one : read_) add_readers(step, k, r, one.history);
    for (const used_run& one : write_) {
      const place_range w = run_of(one.run);
      const int history = memory_.write(one.run, w.begin, w.end);
      if (one.place < gone_.size) gone_.item[one.place] = false;
      for (int r = 0; r < proved_ranks(); ++r)
        memory_.writer(history, OfClass ? 0 : first_rank() + r) = {own_word(queue_.item[r]), done_.item[queue_.item[r]],
                                                                   -1};
    }
    const program_step& s = program_.step.item[step];
    if (s.is_move && program_.move.item[s.index].detaches)
      gone_[program_.value[program_.move[s.index].source].storage] = true;
  }

  unsigned phases_;
  const machine_shape& machine_;
  const Table& table_;
  class_words words_;  // of the class alone, as the following
  class_pulls class_;
  int queues_ = 0, per_rank_ = 0;
  growing_array<int> queue_;         // of the row's tasks
  growing_array<int> known_, done_;  // of each queue: places that it has waited for, tasks that it has run
};

}  // namespace detail

/// Whether `table` runs the steps of these phases safely on `machine`. Domain: addresses and pulls are those of `p`.
template <class Table>
constexpr program_proof prove_program(const sharded_program& p, const program_pulls& pulls, const program_addresses& a,
                                      unsigned phases, const machine_shape& machine, const Table& table) {
  return detail::program_prover<Table, false>(p, pulls, a, phases, machine, table).run();
}

/// Whether the table of rank 0, moved to every rank, does. `task` of a failure is its row.
template <class Table>
constexpr program_proof prove_class(const sharded_program& p, const program_pulls& pulls, const program_addresses& a,
                                    unsigned phases, const machine_shape& machine, const Table& table) {
  return detail::program_prover<Table, true>(p, pulls, a, phases, machine, table).run();
}

}}  // namespace hyperparallel::v0_2
