// SPDX-License-Identifier: Apache-2.0
#pragma once
// The proof that processes carry a split flow out safely: by `verify`, the general rule, of a taskflow that is written from
// the program, on the queues that the split flow has.
//
// Tasks, in reference order, are what the program asks for: a compute on each process, and of each row of a move on each
// process open, copy and close, and a send and a receive for each pull between processes. Queues and waits are what the split
// flow says: a process is one queue; a message waits for what its process did before it posted it, a receive also for
// the send that it meets, which is, since messages do not overtake each other, the one with its number among those of the two
// processes; a close waits for the messages of its row that its process has posted before. What is shown, for all runs:
//
//   - the entries are these tasks and no others, each once; the n-th send of a process to another one is of the row of which the
//     n-th receive there is
//   - all of them end, even where every send ends only after its receive was posted
//   - a place of the window has one row at a time on each process
//   - tasks that use one block or message, one of them writing, keep their reference order
//
// Open and close stand for a message in the memory of ranks (split_tasks.hpp); the message itself has three slots: what `open`
// lends it, what is under way, and what `close` takes. Within a row, messages and copies write disjoint parts of a target
// (transfer/step_records.hpp). The general rule fits because a message is a task of two processes that no step of the program
// is: `prove_program` knows rows of pulls. And it is the rule for which proofs/plan_messages.v shows that messages in its
// order do not deadlock. Complexity: that of `verify`: O(entries + uses) where histories of blocks are short.

#include <hyperparallel/lowering/planned_flow.hpp>
#include <hyperparallel/lowering/split_tasks.hpp>
#include <hyperparallel/support/enum_text.hpp>

namespace hyperparallel { inline namespace v0_2 {

enum class split_proof_code : unsigned char {
  ok,
  entry_is_not_of_the_program,
  entry_appears_twice,
  entry_is_missing,
  place_is_outside_the_window,
  place_is_taken,
  messages_cross,
  never_ends,
  use_is_not_ordered
};

constexpr const char* to_text(split_proof_code c) {
  constexpr const char* texts[] = {"ok",
                                   "a process has an entry that the program does not ask for",
                                   "a process has an entry twice",
                                   "a process lacks an entry",
                                   "a row has a place outside the window",
                                   "a row takes a place of the window that another one still has",
                                   "a receive meets the send of another row",
                                   "an entry never begins or a message never ends",
                                   "a block or a message may be used too early"};
  return detail::enum_text<split_proof_code::use_is_not_ordered>(texts, c);
}

struct split_proof {
  split_proof_code code = split_proof_code::ok;
  split_task task{};                   ///< the first one that is wrong
  verify_code rule = verify_code::ok;  ///< where the general rule refuses it
};

namespace detail {

class split_prover {
 public:
  split_prover(const lowered_program& l, const lowered_run& run, const split_flow& f)
      : flow_(f), processes_(f.processes()), tasks_(l, run, f.process_of, processes_) {
    before_.resize(tasks_.task.size, -1);
    place_.resize(tasks_.task.size, -1);
  }

  split_proof run() {
    if (place_entries() && messages_match()) verify_queues();
    return proof_;
  }

 private:
  bool ok() const { return proof_.code == split_proof_code::ok; }
  void fail(split_proof_code code, const split_task& t) {
    if (ok()) proof_ = {code, t};
  }
  const split_task& task(int t) const { return tasks_.task[t]; }
  /// The other end of a message.
  int met_by(int t) const { return (task(t).kind == split_kind::send ? tasks_.receive : tasks_.send)[task(t).message]; }

  // ---- entries ----

  bool place_entries() {
    growing_array<int> holder(flow_.window,
                              -1);  // of each place of the window of a process: the row that has it, -1 for none
    for (int p = 0; p < processes_; ++p) {
      int before = 0;
      for (int& row : holder) row = -1;
      for (const split_entry& e : flow_.entry[p]) {
        const split_task here{e.kind, e.row, p, e.peer};
        const int t = tasks_.task_at(here);
        if (t < 0) fail(split_proof_code::entry_is_not_of_the_program, here);
        if (t < 0) return false;
        if (before_[t] >= 0) fail(split_proof_code::entry_appears_twice, here);
        if (e.kind == split_kind::open) {
          const bool exists = e.place >= 0 && e.place < flow_.window;
          if (!exists) fail(split_proof_code::place_is_outside_the_window, here);
          if (exists && holder[e.place] >= 0) fail(split_proof_code::place_is_taken, here);
          if (exists) holder[e.place] = e.row;
          tasks_.visit_messages(here, [&](int message) { place_[message] = e.place; });
        }
        if (e.kind == split_kind::close)
          for (int& row : holder) row = row == e.row ? -1 : row;
        before_[t] = before;
        before += here.is_message() ? 0 : 1;
        posted_.push(t);
      }
    }
    for (int t = 0; t < tasks_.task.size; ++t)
      if (before_[t] < 0) fail(split_proof_code::entry_is_missing, task(t));
    return ok();
  }

  /// The n-th send of a pair is of the row of which the n-th receive is.
  bool messages_match() {
    growing_array<growing_array<int>> sent(processes_ * processes_),
        received(processes_ * processes_);  // of each pair, in posted order
    for (const int t : posted_)
      if (task(t).is_message())
        (task(t).kind == split_kind::send ? sent : received)[task(t).sender() * processes_ + task(t).receiver()].push(
            t);
    for (int pair = 0; pair < sent.size; ++pair)
      for (int i = 0; i < sent[pair].size; ++i)
        if (task(sent[pair][i]).row != task(received[pair][i]).row)
          fail(split_proof_code::messages_cross, task(received[pair][i]));
    return ok();
  }

  // ---- the taskflow ----

  /// A process has a queue for what it does itself, and for each peer one for what it sends and one for what it receives in
  /// rows that have a place of the window.
  machine_shape machine() const {
    machine_shape m;
    m.ranks = processes_;
    m.queues[static_cast<int>(resource::aic)] = 1;
    m.queues[static_cast<int>(resource::link)] = m.queues[static_cast<int>(resource::copy_out)] =
        flow_.window * processes_;
    return m;
  }
  static resource resource_of(split_kind k) {
    return k == split_kind::receive ? resource::link : k == split_kind::send ? resource::copy_out : resource::aic;
  }
  int queue_of(int t, const machine_shape& m) const {
    return first_queue(m, task(t).process, resource_of(task(t).kind)) +
           (task(t).is_message() ? place_[t] * processes_ + task(t).peer : 0);
  }

  /// Events: what each process has done, and of each message that it has left and that it has come.
  int event_of(int t) const {
    if (!task(t).is_message()) return task(t).process;
    return processes_ + 2 * task(t).message + (task(t).kind == split_kind::receive ? 1 : 0);
  }

  /// The flow of the most reluctant messages, where a send waits for its receive to be posted, or that of the most willing
  /// ones with all uses.
  struct flow_builder {
    const split_prover& prover;
    bool reluctant;
    template <class Flow>
    void operator()(Flow& f) const {
      prover.build(f, reluctant);
    }
  };
  template <class Flow>
  void build(Flow& f, bool reluctant) const {
    for (int p = 0; p < processes_; ++p) add_event(f, p);
    for (int m = 0; m < tasks_.messages(); ++m) add_event(f, task(tasks_.receive[m]).process, 2);
    const int lent = tasks_.add_memory(f);
    add_slot(f, 0, 0, 0, 3, tasks_.messages());
    for (int t = 0; t < tasks_.task.size; ++t) {
      const split_task& one = task(t);
      add_task(f, resource_of(one.kind), one.process, 1, one.row, static_cast<int>(one.kind));
      const auto wait_for_entries = [&](int process, int count) {
        if (count > 0) add_wait(f, process, count);
      };
      if (one.is_message()) {
        wait_for_entries(one.process, before_[t]);
        if (one.kind == split_kind::receive) add_wait(f, event_of(met_by(t)), 1);
        if (one.kind == split_kind::send && reluctant) wait_for_entries(one.peer, before_[met_by(t)]);
      } else if (one.kind == split_kind::close) {
        tasks_.visit_messages(one, [&](int m) {
          if (before_[m] <= before_[t]) add_wait(f, event_of(m), 1);
        });
      }
      add_signal(f, event_of(t));
      if (!reluctant) add_uses(f, one, lent);
    }
  }
  template <class Flow>
  void add_uses(Flow& f, const split_task& one, int lent) const {
    const bool receives = one.kind == split_kind::receive;
    if (one.is_message()) {
      add_access(f, lent + one.message, receives ? 1 : 0, receives ? 2 : 1, access_mode::read);
      add_access(f, lent + one.message, receives ? 2 : 1, receives ? 3 : 2, access_mode::write);
      return;
    }
    tasks_.add_uses(f, one);
    if (one.kind != split_kind::open && one.kind != split_kind::close) return;
    tasks_.visit_messages(one, [&](int m) {
      if (task(m).kind == split_kind::send)
        add_access(f, lent + task(m).message, 0, 1, access_mode::write);
      else
        add_access(f, lent + task(m).message, 2, 3,
                   one.kind == split_kind::open ? access_mode::write : access_mode::read);
    });
  }

  void verify_queues() {
    const machine_shape m = machine();
    owned_schedule s(tasks_.task.size, queue_count(m));
    fill_queues(m, s);
    if (const int stuck = order_of_all(m, s); stuck >= 0) return fail(split_proof_code::never_ends, task(stuck));
    const flow_builder builds{*this, false};
    owned_taskflow f(measure(builds));
    builds(f);
    seal(f);
    owned_verify_scratch x(f.size, queue_count(m));
    const verify_status found = verify(f, s, x);
    if (found.code == verify_code::ok) return;
    fail(split_proof_code::use_is_not_ordered, task(found.task < 0 ? 0 : found.task));
    proof_.rule = found.code;
  }
  void fill_queues(const machine_shape& m, owned_schedule& s) const {
    s.machine = m;
    s.task_count = tasks_.task.size;
    growing_array<int> next(queue_count(m) + 1, 0);
    for (int t = 0; t < tasks_.task.size; ++t) {
      s.queue[t] = queue_of(t, m);
      ++next[s.queue[t] + 1];
    }
    for (int q = 0; q < queue_count(m); ++q) next[q + 1] += next[q];
    for (int q = 0; q <= queue_count(m); ++q) s.queue_begin[q] = next[q];
    for (const int t : posted_) s.queue_task[next[s.queue[t]]++] = t;
  }
  /// Fills `s.order` by a run with the most reluctant messages; a task that never begins, -1 where there is none.
  int order_of_all(const machine_shape& m, owned_schedule& s) const {
    const flow_builder builds{*this, true};
    owned_taskflow f(measure(builds));
    builds(f);
    seal(f);
    owned_exact_scratch x(f.size, queue_count(m));
    if (derive_order(f, s, x)) return -1;
    for (int t = 0; t < tasks_.task.size; ++t)
      if (!x.begun[t]) return t;
    return -1;
  }

  const split_flow& flow_;
  int processes_;
  split_tasks tasks_;
  growing_array<int> before_;  ///< of each task: those of its process's queue before it; -1 where it was not met
  growing_array<int> place_;   ///< of each message: of the window, of its row on its process
  growing_array<int> posted_;  ///< tasks, process by process, in the order of entries
  split_proof proof_{};
};

}  // namespace detail

/// Whether processes that carry `f` out do what `run` does, safely and to the end. Domain: `run` is one of `l`; the ranks of
/// `f` are on its processes.
inline split_proof prove_split(const lowered_program& l, const lowered_run& run, const split_flow& f) {
  return detail::split_prover(l, run, f).run();
}

}}  // namespace hyperparallel::v0_2
