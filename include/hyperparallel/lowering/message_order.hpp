// SPDX-License-Identifier: Apache-2.0
#pragma once
// One order of the rows of a lowered run for processes that compute and exchange messages at the same time, the same
// on all of them.
//
// A row of a move is started, when its messages are posted, and later finished; meanwhile rows that compute go on. Each
// queue of the plan starts its rows in reference order and finishes them in that order, and a row starts when every row
// that it waits for has finished: these are the waits of the plan of the class, which hold for the tasks of all ranks
// alike. Where a program has several parts each has queues of its own, and none runs ahead of the others: a row computes where
// no row of another part that is only held up by rows in flight comes before it in reference order. Rows of one queue that are in flight together use no common addresses unless they only read them, for in the
// plan such a row begins after the one before it. Rows start as early as that allows, within a window; where nothing can
// be computed, the oldest row in flight is finished. One that holds up the next of its queue is finished after a few
// computations as well, so that the next one has company, too.
// Laws: rows that use one address, one of them writing, keep their order; a row's waits have finished before it begins; the
// order is a function of the plan, so all processes post matching messages in one order, and each blocks on its oldest
// alone. Complexity: O(rows · (queues + window) + waits).

#include <hyperparallel/lowering/lowered_program.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

enum class row_action_kind : unsigned char { compute, start, finish };

struct row_action {
  row_action_kind kind = row_action_kind::compute;
  int row = 0;  ///< of the plan
  friend constexpr bool operator==(const row_action&, const row_action&) = default;
};

}  // namespace detail

struct message_window {
  int most_in_flight = 8;  ///< rows of a part; what is in flight may need memory for its messages
  int patience = 2;        ///< computations after which a row that holds up its queue is finished
};

namespace detail {

class message_ordering {
  // In front of its calls, for clang evaluates none in constants to a template whose body comes later in the class.
  /// Of the queues whose next row is such, the one with the earliest row; -1: there is none.
  template <class Is>
  constexpr int first_queue_that(const Is& is) const {
    int found = -1;
    for (int q = 0; q < queues_; ++q)
      if (has_more(q) && is(q) && (found < 0 || head(q) < head(found))) found = q;
    return found;
  }

 public:
  constexpr message_ordering(const lowered_program& l, const program_plan& plan, const message_window& window)
      : lowered_(l),
        plan_(plan),
        window_(window),
        per_rank_(queues_per_rank(plan.machine)),
        queues_(per_rank_ * plan.parts()) {
    open_.resize(plan.parts(), 0);
    for (int q = 0; q < queues_; ++q) {
      next_.push(0);
      done_.push(0);
      begin_.push(0);
    }
    begin_.push(0);
    for (const plan_row& r : plan.row) ++begin_[queue_of(r) + 1];
    for (int q = 0; q < queues_; ++q) begin_[q + 1] += begin_[q];
    row_.resize(plan.row.size, 0);
    growing_array<int> at = begin_;
    for (int r = 0; r < plan.row.size; ++r) row_[at[queue_of(plan.row[r])]++] = r;
  }

  constexpr growing_array<row_action> run() {
    while (left()) {
      if (give_up_memory()) continue;
      if (const int q = first_queue_that([&](int k) { return carries(k) && has_room(head(k)) && may_begin(k); });
          q >= 0) {
        start(q);
      } else if (is_awaited()) {
        finish();
      } else if (const int c = next_to_compute(); c >= 0) {
        action_.push({row_action_kind::compute, head(c)});
        ++next_[c];
        ++done_[c];
        ++computed_;
      } else {
        finish();
      }
    }
    return static_cast<growing_array<row_action>&&>(action_);
  }

 private:
  struct flight {
    int queue = 0;
    int row = 0;
    int computed = 0;  ///< rows before it started
  };

  constexpr int queue_of(const plan_row& r) const { return r.part * per_rank_ + first_queue(plan_.machine, 0, r.kind); }
  constexpr int queue_of_word(int word) const {
    return plan_.part_of_rank(word / per_rank_) * per_rank_ + word % per_rank_;
  }
  /// Calls `visit` for the part that a row of a move reads in and for the one that it writes in, once if it is one.
  template <class Visit>
  constexpr void visit_parts(int row, const Visit& visit) const {
    const int source = part_of_value(lowered_.program, lowered_.program.move[move_of(row)].source);
    visit(source);
    if (plan_.row[row].part != source) visit(plan_.row[row].part);
  }
  constexpr bool has_room(int row) const {
    bool room = true;
    visit_parts(row, [&](int part) { room = room && open_[part] < window_.most_in_flight; });
    return room;
  }
  /// The queue whose next row is computed, -1 where one in flight is to be finished first.
  constexpr int next_to_compute() const {
    if (plan_.parts() == 1) return first_queue_that([&](int k) { return computes(k) && may_begin(k); });
    const int q = first_queue_that([&](int k) { return computes(k) && waits_for_messages(k); });
    return q >= 0 && may_begin(q) ? q : -1;
  }
  constexpr bool has_more(int q) const { return begin_[q] + next_[q] < begin_[q + 1]; }
  constexpr int head(int q) const { return row_[begin_[q] + next_[q]]; }
  constexpr resource kind(int q) const { return plan_.row[head(q)].kind; }
  constexpr bool computes(int q) const { return kind(q) == resource::aic || kind(q) == resource::aiv; }
  constexpr bool carries(int q) const { return !computes(q) && kind(q) != resource::host; }
  constexpr bool left() const {
    for (int q = 0; q < queues_; ++q)
      if (has_more(q)) return true;
    return front_ < in_flight_.size;
  }
  constexpr bool waits_are_over(int row) const {
    for (int w = row == 0 ? 0 : plan_.wait_end[row - 1]; w < plan_.wait_end[row]; ++w)
      if (done_[queue_of_word(plan_.wait[w].word)] < plan_.wait[w].threshold) return false;
    return true;
  }
  constexpr bool may_begin(int q) const {
    if (!waits_are_over(head(q))) return false;
    for (int i = front_; i < in_flight_.size; ++i)
      if (in_flight_[i].queue == q && conflict(in_flight_[i].row, head(q))) return false;
    return true;
  }

  /// Places that a row of a move reads and writes use one address, one of them writing.
  constexpr bool conflict(int a, int b) const {
    return meet(read_by(a), written_by(b)) || meet(written_by(a), read_by(b)) || meet(written_by(a), written_by(b));
  }
  struct place_range {
    int part = 0, tier = 0;
    extent_t begin = 0, end = 0;
  };
  static constexpr bool meet(const place_range& a, const place_range& b) {
    return a.part == b.part && a.tier == b.tier && a.begin < b.end && b.begin < a.end;
  }
  constexpr const move_row& move_row_of(int row, int move) const {
    return lowered_.pulls.of(move).row[plan_.row[row].first_item / plan_.machine.ranks];
  }
  constexpr int move_of(int row) const { return lowered_.program.step[plan_.row[row].step].index; }
  constexpr place_range read_by(int row) const {
    const int move = move_of(row);
    return range_of(move, place_read(lowered_.program, lowered_.pulls.moves, move, move_row_of(row, move)));
  }
  constexpr place_range written_by(int row) const {
    const int move = move_of(row);
    return range_of(move, place_written(lowered_.program, lowered_.pulls.moves, move, move_row_of(row, move)));
  }
  constexpr place_range range_of(int move, int place) const {
    const sharded_program& p = lowered_.program;
    if (place < p.storage.size) {
      const extent_t at = lowered_.addresses.storage[place];
      return {p.storage[place].part, p.storage[place].tier, at, at + p.storage[place].bytes};
    }
    const staged_block& one =
        kind_of(lowered_.pulls.moves, move).staged[place - staged_place(p, lowered_.pulls.moves, move, 0)];
    const extent_t at = lowered_.addresses.staged[move] + one.offset;
    return {part_of_value(p, p.move[move].target), 0, at, at + one.bytes};
  }

  /// A detach does nothing: what comes after it may begin.
  constexpr bool give_up_memory() {
    const int q = first_queue_that([&](int k) { return kind(k) == resource::host && waits_are_over(head(k)); });
    if (q < 0) return false;
    ++next_[q];
    ++done_[q];
    return true;
  }
  constexpr void start(int q) {
    action_.push({row_action_kind::start, head(q)});
    in_flight_.push({q, head(q), computed_});
    visit_parts(head(q), [&](int part) { ++open_[part]; });
    ++next_[q];
  }
  /// Rows in flight finish in the order in which they started, so each queue's in reference order.
  constexpr void finish() {
    const flight& oldest = in_flight_[front_++];
    action_.push({row_action_kind::finish, oldest.row});
    visit_parts(oldest.row, [&](int part) { --open_[part]; });
    ++done_[oldest.queue];
  }
  /// The oldest row has been in flight for some computations, and its queue has a next row that cannot start yet.
  constexpr bool is_awaited() const {
    if (front_ == in_flight_.size) return false;
    const flight& oldest = in_flight_[front_];
    return computed_ - oldest.computed >= window_.patience && has_more(oldest.queue) && !may_begin(oldest.queue) &&
           waits_for_messages(oldest.queue);
  }
  /// What the next row of the queue lacks are rows in flight alone.
  constexpr bool waits_for_messages(int q) const {
    const int row = head(q);
    for (int w = row == 0 ? 0 : plan_.wait_end[row - 1]; w < plan_.wait_end[row]; ++w) {
      const int other = queue_of_word(plan_.wait[w].word);
      if (next_[other] < plan_.wait[w].threshold) return false;  // not even begun
    }
    return true;
  }

  const lowered_program& lowered_;
  const program_plan& plan_;
  message_window window_;
  int per_rank_, queues_;
  growing_array<int> open_;          // rows in flight of each part
  growing_array<int> row_, begin_;   // rows of each queue, in reference order
  growing_array<int> next_, done_;   // of each queue: rows that have begun, and that have finished
  growing_array<flight> in_flight_;  // from `front_` on
  int front_ = 0, computed_ = 0;
  growing_array<row_action> action_;
};

/// Domain: `run` is one of `l`.
constexpr growing_array<row_action> order_of_messages(const lowered_program& l, const lowered_run& run,
                                                      const message_window& window = {}) {
  return detail::message_ordering(l, run.plan, window).run();
}

}  // namespace detail

}}  // namespace hyperparallel::v0_2
