// SPDX-License-Identifier: Apache-2.0
#pragma once
// A lowered run split between processes: what each one does, in order, with a send and a receive in place of every pull
// between two of them.
//
// On threads a task pulls from the memory of other ranks, and waits for tasks there. Processes share no memory, so a pull from
// process S by process D becomes a *send* of S and a *receive* of D, and no process waits for a task of another one. Each
// process carries its entries out one after the other, in the order of rows that all share (message_order.hpp):
//
//   compute        the kernels of its ranks
//   open           a row of a move begins: its blocks are lent to messages, its targets are filled, and it takes a place
//                  of the window, with the memory for terms of sums
//   receive, send  posted, and not waited for
//   copy           what stays within the process
//   close          the row's messages of this process have come and gone, terms are folded, the place is free
//
// Only `close` blocks: on the messages of the oldest row that is open, where a send has ended once its block may be written
// again. Rows close in the order in which they open. Laws: there is one send and one receive of S and D in a row exactly
// where a rank of D pulls from a rank of S; all processes open and close rows in one order, so each pair posts its messages in one order;
// at most `window` rows of a part are open. That a split flow is one, and safe, says `prove_split` (split_proof.hpp). Complexity:
// O(rows · (listed processes · processes + senders)).

#include <hyperparallel/lowering/message_order.hpp>
#include <hyperparallel/support/compiled.hpp>
#include <hyperparallel/support/enum_text.hpp>

namespace hyperparallel { inline namespace v0_2 {

enum class split_kind : unsigned char { compute, open, receive, send, copy, close };

constexpr const char* name_of(split_kind k) {
  return detail::enum_name("compute\0open\0receive\0send\0copy\0close", k);
}

struct split_entry {
  split_kind kind = split_kind::compute;
  int row = 0;     ///< of the plan
  int peer = -1;   ///< the other process of a message
  int place = -1;  ///< of the window, of an open
  friend constexpr bool operator==(const split_entry&, const split_entry&) = default;
};

struct split_flow {
  int window = 1;
  int messages = 0;                                 ///< of all processes
  growing_array<int> process_of;                    ///< of each rank
  growing_array<growing_array<split_entry>> entry;  ///< of each process, in its order

  constexpr int processes() const { return entry.size; }
};

namespace detail {

/// Which processes pull from which in a row of a move.
class process_pulls {
 public:
  constexpr process_pulls(const growing_array<int>& process_of, int processes)
      : process_of_(process_of), processes_(processes) {
    pulls_.resize(processes * processes, false);
  }

  constexpr int processes() const { return processes_; }
  /// Whether it hosts one of these ranks. O(ranks).
  constexpr bool hosts_any_of(int process, const rank_span& ranks) const {
    for (int r = ranks.first; r < ranks.first + ranks.count; ++r)
      if (process_of_.item[r] == process) return true;
    return false;
  }
  /// Looks at row `part` of a move, whose receivers and senders are positions of these ranks. O(senders).
  constexpr void look_at(const move_pulls& how, int part, const rank_span& receivers, int first_sender) {
    for (const int cell : set_) pulls_.item[cell] = false;
    set_.clear();
    const int ranks = receivers.count;
    for (int r = 0; r < ranks; ++r)
      for (int i = how.sender_begin.item[part * ranks + r]; i < how.sender_begin.item[part * ranks + r + 1]; ++i) {
        const int to = process_of_.item[receivers.first + r],
                  from = process_of_.item[first_sender + how.sender.item[i]];
        const int cell = to * processes() + from;
        if (to == from || pulls_.item[cell]) continue;
        pulls_.item[cell] = true;
        set_.push(cell);
      }
  }
  /// Pairs of processes there.
  constexpr int count() const { return set_.size; }
  /// Whether a rank of `receiver`, another process, pulls from one of `sender` there.
  constexpr bool is_pulled(int receiver, int sender) const { return pulls_.item[receiver * processes() + sender]; }

 private:
  const growing_array<int>& process_of_;
  int processes_;
  growing_array<bool> pulls_;
  growing_array<int> set_;  // of `pulls_`
};

/// The ranks that take part in a row: those of its part, and of a hand-over those of the part that it reads in.
struct row_ranks {
  rank_span receivers, senders;
};
constexpr row_ranks ranks_of_row(const sharded_program& p, const program_plan& plan, int row) {
  const plan_row& r = plan.row[row];
  const program_step& s = p.step[r.step];
  const int source = s.is_move ? part_of_value(p, p.move[s.index].source) : r.part;
  return {plan.ranks_of(r.part), plan.ranks_of(source)};
}

split_flow split_messages_in_library(const lowered_program& l, const lowered_run& run,
                                     const growing_array<int>& process_of, int processes, const message_window& window,
                                     int only);
constexpr split_flow split_messages_here(const lowered_program& l, const lowered_run& run,
                                         const growing_array<int>& process_of, int processes,
                                         const message_window& window, int only) {
  split_flow f;
  f.window = window.most_in_flight * run.plan.parts();
  f.process_of = process_of;
  f.entry.resize(processes);
  process_pulls pulls(process_of, processes);
  growing_array<int> holder(f.window, -1);  // of each place of the window: the row that has it, -1 for none
  for (const row_action& a : order_of_messages(l, run, window)) {
    const plan_row& row = run.plan.row[a.row];
    const bool opens = a.kind == row_action_kind::start;
    const row_ranks ranks = ranks_of_row(l.program, run.plan, a.row);
    if (opens)
      pulls.look_at(l.pulls.of(l.program.step[row.step].index), row.first_item / run.plan.machine.ranks,
                    ranks.receivers, ranks.senders.first);
    f.messages += opens ? pulls.count() : 0;
    int place = 0;  // the first one that is free, so that few are used where few rows are open
    if (opens) {
      while (holder[place] >= 0) ++place;
      holder[place] = a.row;
    } else {
      for (int& one : holder) one = one == a.row ? -1 : one;
    }
    for (int p = only < 0 ? 0 : only; p < (only < 0 ? processes : only + 1); ++p) {
      if (!pulls.hosts_any_of(p, ranks.receivers) && !pulls.hosts_any_of(p, ranks.senders)) continue;
      growing_array<split_entry>& list = f.entry[p];
      if (!opens) {
        list.push({a.kind == row_action_kind::compute ? split_kind::compute : split_kind::close, a.row});
        continue;
      }
      list.push({split_kind::open, a.row, -1, place});
      for (int q = 0; q < processes; ++q)
        if (pulls.is_pulled(p, q)) list.push({split_kind::receive, a.row, q});
      // Each process begins with the peer behind itself, so that not all load the same one.
      for (int i = 1; i < processes; ++i)
        if (const int q = (p + i) % processes; pulls.is_pulled(q, p)) list.push({split_kind::send, a.row, q});
      list.push({split_kind::copy, a.row});
    }
  }
  return f;
}

}  // namespace detail

/// `process_of` has the process of each rank; entries are those of all processes, or of `only`. Domain: `run` is one of `l`,
/// processes are below `processes`.
constexpr split_flow split_messages(const lowered_program& l, const lowered_run& run,
                                    const growing_array<int>& process_of, int processes,
                                    const message_window& window = {}, int only = -1) {
  HYPERPARALLEL_TWIN(detail::split_messages_in_library(l, run, process_of, processes, window, only));
  return detail::split_messages_here(l, run, process_of, processes, window, only);
}

}}  // namespace hyperparallel::v0_2
