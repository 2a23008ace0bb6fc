// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a lowered run asks of processes, derived from the program alone: the tasks of a split flow in reference order, and the
// memory that they use.
//
// A row that computes is one task of each process that hosts ranks of its part. A row of a move is, in this order, of the
// processes that host ranks which take part in it: an open of each process,
// a send and a receive for each pull between two processes, a copy of each and a close of each. The memory of a rank is cut into
// slots, ranges of addresses of one tier. The blocks of a message are in use from `open` to `close`, so both of these tasks access
// what the row reads and writes on the process's ranks. Laws: slots of a rank do not overlap; a task that is ordered with
// the open and the close of a row is ordered with its messages. Complexity: O(rows · (processes² + senders)) to make;
// `task_at` O(log processes).

#include <algorithm>

#include <hyperparallel/lowering/program_slots.hpp>
#include <hyperparallel/lowering/split_messages.hpp>
#include <hyperparallel/taskflow/builder.hpp>
#include <hyperparallel/tiles/tile_box.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct split_task {
  split_kind kind = split_kind::compute;
  int row = 0, process = 0;
  int peer = -1;     ///< of a message: the other process
  int message = -1;  ///< of a send and its receive

  constexpr bool is_message() const { return kind == split_kind::send || kind == split_kind::receive; }
  constexpr int sender() const { return kind == split_kind::send ? process : peer; }
  constexpr int receiver() const { return kind == split_kind::send ? peer : process; }
};

namespace detail {

class split_tasks {
 public:
  growing_array<split_task> task;
  growing_array<int> send, receive;  ///< of each message

  /// Program, run and list have to outlive it.
  split_tasks(const lowered_program& l, const lowered_run& run, const growing_array<int>& process_of, int processes)
      : lowered_(l),
        plan_(run.plan),
        process_of_(process_of),
        slots_(slots_of(l.program, l.pulls.moves, l.addresses)),
        pulls_(process_of, processes) {
    for (int row = 0; row < plan_.row.size; ++row) {
      first_.push(task.size);
      list_row(row);
    }
    first_.push(task.size);
    send.resize(messages_, -1);
    receive.resize(messages_, -1);
    for (int t = 0; t < task.size; ++t)
      if (task[t].is_message()) (task[t].kind == split_kind::send ? send : receive)[task[t].message] = t;
    join_places();
    for (const program_step& s : l.program.step) {
      if (s.tile.dim < 0) continue;
      const auto divide = [&](extent_t bytes) {
        while (bytes % unit_ != 0) unit_ /= 2;
      };
      visit_values(l.program, s, [&](int v, bool) {
        visit_bytes(l.program, v, s.tile, [&](extent_t first, extent_t last) {
          divide(first);
          divide(last);
        });
      });
    }
  }

  int messages() const { return messages_; }
  int processes() const { return pulls_.processes(); }

  /// The task that is this, -1 for none.
  int task_at(const split_task& wanted) const {
    if (wanted.row < 0 || wanted.row >= plan_.row.size) return -1;
    const split_task *const begin = task.item + first_[wanted.row], *const end = task.item + first_[wanted.row + 1];
    const split_task* const found = std::lower_bound(begin, end, wanted, &is_listed_before);
    return found == end || is_listed_before(wanted, *found) ? -1 : static_cast<int>(found - task.item);
  }
  /// Messages of its row that its process sends or receives: `visit(the task that is one end of it)`.
  template <class Visit>
  void visit_messages(const split_task& of, const Visit& visit) const {
    for (int t = first_[of.row]; t < first_[of.row + 1]; ++t)
      if (task[t].is_message() && task[t].process == of.process) visit(t);
  }

  /// Bytes of a unit of accesses.
  extent_t unit() const { return unit_; }
  /// Adds the slots of all ranks to a taskflow that has none, and returns their number.
  template <class Flow>
  int add_memory(Flow& f) const {
    for (int r = 0; r < process_of_.size; ++r)
      for (const range& one : range_) add_slot(f, process_of_[r], one.tier, one.begin, one.end - one.begin);
    return process_of_.size * range_.size;
  }
  /// What a task that is no message uses of it; of a tile its runs of bytes.
  template <class Flow>
  void add_uses(Flow& f, const split_task& of) const {
    const sharded_program& p = lowered_.program;
    const program_step& s = step_of(of.row);
    const auto use_bytes = [&](int place, extent_t first, extent_t last, bool writes) {
      const program_place& one = slots_.place[place];
      const extent_t begin = one.offset - range_[range_of_[place]].begin;
      const rank_span ranks = plan_.ranks_of(one.part);
      for (int r = ranks.first; r < ranks.first + ranks.count; ++r)
        if (process_of_[r] == of.process)
          add_access(f, r * range_.size + range_of_[place], static_cast<int>((begin + first) / unit_),
                     static_cast<int>((begin + last) / unit_), writes ? access_mode::write : access_mode::read);
    };
    const auto use = [&](int place, int value, bool writes) {
      if (range_of_[place] < 0) return;
      if (s.tile.dim < 0) return use_bytes(place, 0, slots_.place[place].bytes, writes);
      visit_bytes(p, value, s.tile, [&](extent_t first, extent_t last) { use_bytes(place, first, last, writes); });
    };
    if (of.kind == split_kind::compute) {
      visit_values(p, s, [&](int v, bool written) { use(p.value[v].storage, v, written); });
      return;
    }
    const move_row& row = lowered_.pulls.of(s.index).row[part_of(of.row)];
    use(place_read(p, lowered_.pulls.moves, s.index, row), p.move[s.index].source, false);
    use(place_written(p, lowered_.pulls.moves, s.index, row), p.move[s.index].target, true);
  }

 private:
  struct range {
    int tier = 0;
    extent_t begin = 0, end = 0;
  };

  const program_step& step_of(int row) const { return lowered_.program.step[plan_.row[row].step]; }
  int part_of(int row) const { return plan_.row[row].first_item / plan_.machine.ranks; }

  void list_row(int row) {
    const program_step& s = step_of(row);
    if (!s.is_move) return add_everywhere(split_kind::compute, row);
    if (lowered_.program.move[s.index].detaches) return;
    const row_ranks ranks = ranks_of_row(lowered_.program, plan_, row);
    pulls_.look_at(lowered_.pulls.of(s.index), part_of(row), ranks.receivers, ranks.senders.first);
    add_everywhere(split_kind::open, row);
    for (const split_kind kind : {split_kind::send, split_kind::receive}) {
      int message = messages_;
      for (int to = 0; to < processes(); ++to)
        for (int from = 0; from < processes(); ++from)
          if (pulls_.is_pulled(to, from))
            task.push(kind == split_kind::send ? split_task{kind, row, from, to, message++}
                                               : split_task{kind, row, to, from, message++});
      if (kind == split_kind::receive) messages_ = message;
    }
    add_everywhere(split_kind::copy, row);
    add_everywhere(split_kind::close, row);
  }
  void add_everywhere(split_kind kind, int row) {
    const row_ranks ranks = ranks_of_row(lowered_.program, plan_, row);
    for (int p = 0; p < processes(); ++p)
      if (pulls_.hosts_any_of(p, ranks.receivers) || pulls_.hosts_any_of(p, ranks.senders)) task.push({kind, row, p});
  }
  static bool is_listed_before(const split_task& a, const split_task& b) {
    constexpr int place[] = {0, 1, 3, 2, 4, 5};  // of each kind: sends come before receives
    const int i = place[static_cast<int>(a.kind)], k = place[static_cast<int>(b.kind)];
    return i != k ? i < k : a.receiver() != b.receiver() ? a.receiver() < b.receiver() : a.sender() < b.sender();
  }

  void join_places() {
    growing_array<int> by;  // places by tier and beginning
    for (int i = 0; i < slots_.place.size; ++i)
      if (slots_.place[i].bytes > 0) by.push(i);
    std::sort(by.begin(), by.end(), [&](int i, int k) {
      const program_place &a = slots_.place[i], &b = slots_.place[k];
      return a.tier != b.tier ? a.tier < b.tier : a.offset < b.offset;
    });
    range_of_.resize(slots_.place.size, -1);
    for (const int i : by) {
      const program_place& one = slots_.place[i];
      const bool joins = !range_.empty() && range_.last().tier == one.tier && one.offset < range_.last().end;
      if (!joins) range_.push({one.tier, one.offset, one.offset});
      range_.last().end = larger(range_.last().end, one.offset + one.bytes);
      range_of_[i] = range_.size - 1;
    }
  }

  const lowered_program& lowered_;
  const program_plan& plan_;
  const growing_array<int>& process_of_;
  program_slots slots_;
  process_pulls pulls_;
  growing_array<int> first_;  ///< task of each row
  int messages_ = 0;
  growing_array<range> range_;         ///< by tier and beginning
  growing_array<int> range_of_;        ///< of each place; -1 where it has no bytes
  extent_t unit_ = storage_alignment;  ///< of accesses: what divides all places and runs of tiles
};

/// How often tasks of a split flow of the run use memory, run of bytes by run. O(rows · accesses · dims).
inline extent_t uses_of_split_tasks(const sharded_program& p, const program_plan& plan) {
  extent_t uses = 0;
  for (const plan_row& r : plan.row) {
    const program_step& s = p.step[r.step];
    extent_t of_rank = 0;
    visit_values(p, s, [&](int v, bool) { of_rank += s.tile.dim < 0 ? 1 : runs_in(p, v, s.tile); });
    uses += of_rank * plan.ranks_of(r.part).count * (s.is_move ? 3 : 1);  // an open, a copy and a close
  }
  return uses;
}

}  // namespace detail

}}  // namespace hyperparallel::v0_2
