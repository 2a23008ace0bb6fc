// SPDX-License-Identifier: Apache-2.0
#pragma once
// One order of a program's steps for a device that computes and moves at the same time: moves begin as early as they
// can and are waited for as late as they may.
//
// A move is started, then finished, row by row where it takes several steps. Meanwhile it owns its blocks: no other
// step writes its source or uses its target or what it stages. Computing goes on with whatever needs neither, the earliest step of
// the program first; only where nothing is left, or a move wants to start and many are in flight, the oldest one is
// finished. A row that another follows is also finished after a few computations, so that the next one has company, too.
// Laws: two steps that use one address, one of them writing, keep the order of the program; so every value is what the
// program in order makes of it, and all processes that have the program have this order. What uses a place whose
// addresses were taken is refused as lower_program.hpp does. O((steps + overlaps of what they write + conflicts) ·
// log).

#include <algorithm>

#include <hyperparallel/program/lower_program.hpp>
#include <hyperparallel/program/program_slots.hpp>

namespace hyperparallel { inline namespace v0_2 {

enum class step_action_kind : unsigned char { compute, start, finish };

struct step_action {
  step_action_kind kind = step_action_kind::compute;
  int step = 0;  ///< of the program
  int row = 0;   ///< of the move
  friend constexpr bool operator==(const step_action&, const step_action&) = default;
};

struct overlapped_order {
  growing_array<step_action> action;
  growing_array<int> reads;      ///< values that have to be there before
  growing_array<bool> writes;    ///< of each storage
  growing_array<bool> survives;  ///< of each storage: it holds at the end what was last written to it
  program_flow_status status{};  ///< where it is not ok there are no actions
};

struct overlap_options {
  unsigned phases = micro_phases | update_phases;  ///< bit of each phase whose steps are ordered
  int patience = 2;                                ///< computations after which a row that another follows is finished
  int most_in_flight = 8;                          ///< moves; what is in flight may need memory for its messages
};

namespace detail {

/// Which steps have to end before which others begin.
class step_conflicts {
 public:
  constexpr step_conflicts(const sharded_program& p, const program_pulls& pulls, const program_slots& slots,
                           unsigned phases, overlapped_order& order)
      : program_(p), pulls_(pulls), slots_(slots), order_(order) {
    needs_.resize(p.step.size, -1);
    first_.resize(p.step.size, -1);
    known_.resize(p.step.size, -1);
    writer_.resize(slots.place.size, -1);
    reader_.resize(slots.place.size, -1);
    overwritten_.resize(slots.place.size, false);
    used_.resize(p.storage.size, false);
    order.writes.resize(p.storage.size, false);
    for (int s = 0; s < p.step.size && order.status.code == program_flow_code::ok; ++s)
      if ((phases >> static_cast<int>(p.step[s].phase) & 1u) != 0) add(s);
    for (int i = 0; i < p.storage.size; ++i) {
      order.survives.push(!overwritten_[i]);
      if (p.storage[i].home && overwritten_[i] && order.status.code == program_flow_code::ok)
        order.status = {program_flow_code::home_is_overwritten, -1, i};
    }
  }

  /// How many steps have to end before `step`; -1: it is of another phase.
  constexpr int needs(int step) const { return needs_[step]; }
  template <class Visit>
  constexpr void visit_followers(int step, const Visit& visit) const {
    for (int i = first_[step]; i >= 0; i = link_[i].next) visit(link_[i].step);
  }

 private:
  struct link {
    int step;
    int next;
  };

  template <class Visit>
  constexpr void visit_places(int step, const Visit& visit) const {
    const program_step& s = program_.step[step];
    visit_values(program_, s, [&](int v, bool written) { visit(program_.value[v].storage, written); });
    if (s.is_move)
      for (int b = 0; b < kind_of(pulls_.moves, s.index).staged.size; ++b)
        visit(staged_place(program_, pulls_.moves, s.index, b), true);
  }
  /// Blocks that one move stages take turns while it owns all of them.
  template <class Visit>
  constexpr void visit_tenants(int step, int place, const Visit& visit) const {
    visit(place);
    const program_step& s = program_.step[step];
    const int own = s.is_move ? staged_place(program_, pulls_.moves, s.index, 0) : slots_.place.size;
    const int behind = s.is_move ? staged_place(program_, pulls_.moves, s.index + 1, 0) : slots_.place.size;
    for (int k = slots_.overlap_begin[place]; k < slots_.overlap_begin[place + 1]; ++k)
      if (slots_.overlap[k] < own || slots_.overlap[k] >= behind) visit(slots_.overlap[k]);
  }

  constexpr void add(int step) {
    needs_[step] = 0;
    const program_step& s = program_.step[step];
    if (s.is_move &&
        program_.value[program_.move[s.index].source].storage == program_.value[program_.move[s.index].target].storage)
      order_.status = {program_flow_code::move_is_in_place, step,
                       program_.value[program_.move[s.index].source].storage};
    const auto refuse_overwritten = [&](int place) {
      if (overwritten_[place]) order_.status = {program_flow_code::place_is_overwritten, step, place};
    };
    visit_places(step, [&](int place, bool written) {
      if (!written) refuse_overwritten(place);
    });
    visit_places(step, [&](int place, bool written) {
      if (!written) return;
      visit_tenants(step, place, [&](int other) { overwritten_[other] = other != place; });
    });
    visit_places(step, [&](int place, bool) { refuse_overwritten(place); });
    if (s.is_move && program_.move[s.index].detaches)
      overwritten_[program_.value[program_.move[s.index].source].storage] = true;

    visit_values(program_, s, [&](int v, bool written) {
      const int storage = program_.value[v].storage;
      if (!written && !used_[storage]) order_.reads.push(v);
      used_[storage] = true;
      if (written) order_.writes[storage] = true;
    });
    visit_places(step, [&](int place, bool written) {
      require(writer_[place], step);
      if (!written) return;
      visit_tenants(step, place, [&](int other) {
        require(writer_[other], step);
        for (int i = reader_[other]; i >= 0; i = link_[i].next) require(link_[i].step, step);
      });
    });
    visit_places(step, [&](int place, bool written) {
      if (!written) reader_[place] = link_.push({step, reader_[place]});
    });
    visit_places(step, [&](int place, bool written) {
      if (!written) return;
      writer_[place] = step;
      reader_[place] = -1;
    });
  }

  constexpr void require(int earlier, int step) {
    if (earlier < 0 || earlier == step || known_[earlier] == step) return;
    known_[earlier] = step;
    first_[earlier] = link_.push({step, first_[earlier]});
    ++needs_[step];
  }

  const sharded_program& program_;
  const program_pulls& pulls_;
  const program_slots& slots_;
  overlapped_order& order_;
  growing_array<link> link_;   ///< of all lists
  growing_array<int> needs_;   ///< of each step
  growing_array<int> first_;   ///< of each step: list of its followers
  growing_array<int> known_;   ///< of each step: its last follower
  growing_array<int> writer_;  ///< of each place: the last step that wrote it
  growing_array<int> reader_;  ///< of each place: list of those that have read it since
  growing_array<bool> overwritten_;
  growing_array<bool> used_;
};

/// Steps that may begin, the first of the program on top.
struct ready_steps {
  growing_array<int> step;
  static constexpr bool begins_later(int a, int b) { return a > b; }
  constexpr void push(int s) {
    step.push(s);
    std::push_heap(step.begin(), step.end(), begins_later);
  }
  constexpr int pop() {
    std::pop_heap(step.begin(), step.end(), begins_later);
    const int s = step.last();
    step.resize(step.size - 1);
    return s;
  }
};

/// Rows in flight, in the order in which they were started.
struct moves_in_flight {
  struct flight {
    int step;
    int row;
    int started;  ///< computations before it
  };
  growing_array<flight> move;
  int front = 0;
  constexpr int count() const { return move.size - front; }
  constexpr bool empty() const { return front == move.size; }
  constexpr const flight& oldest() const { return move[front]; }
};

}  // namespace detail

/// Orders the steps of a program.
constexpr overlapped_order overlap_moves(const sharded_program& p, const program_pulls& pulls,
                                         const program_slots& slots, const overlap_options& options = {}) {
  overlapped_order order;
  if (pulls.status.code != move_pulls_code::ok) {
    order.status.code = program_flow_code::move_is_refused;
    return order;
  }
  const detail::step_conflicts conflicts(p, pulls, slots, options.phases, order);
  if (order.status.code != program_flow_code::ok) return order;
  growing_array<int> open;  // of each step: how many it waits for
  detail::ready_steps computes, moves;
  detail::moves_in_flight followed, last;  // rows that another one of their move follows, and all others
  int computed = 0;
  const auto is_detach = [&](int s) { return p.step[s].is_move && p.move[p.step[s].index].detaches; };
  const auto enter = [&](int s) { (p.step[s].is_move && !is_detach(s) ? moves : computes).push(s); };
  const auto leave = [&](int s) {
    conflicts.visit_followers(s, [&](int next) {
      if (--open[next] == 0) enter(next);
    });
  };
  const auto start = [&](int s, int row) {
    order.action.push({step_action_kind::start, s, row});
    (row + 1 < pulls.of(p.step[s].index).row.size ? followed : last).move.push({s, row, computed});
  };
  const auto finish = [&](detail::moves_in_flight& from) {
    const auto [s, row, started] = from.move[from.front++];
    order.action.push({step_action_kind::finish, s, row});
    if (&from == &last) return leave(s);
    start(s, row + 1);
  };
  const auto finish_oldest = [&] {
    finish(!followed.empty() && (last.empty() || followed.oldest().started <= last.oldest().started) ? followed : last);
  };
  for (int s = 0; s < p.step.size; ++s) {
    open.push(conflicts.needs(s));
    if (open[s] == 0) enter(s);
  }
  for (;;) {
    const int in_flight = followed.count() + last.count();
    if (!moves.step.empty() && in_flight < options.most_in_flight) {
      start(moves.pop(), 0);
    } else if (!followed.empty() && computed - followed.oldest().started >= options.patience) {
      finish(followed);
    } else if (!moves.step.empty()) {
      finish_oldest();
    } else if (!computes.step.empty()) {
      const int s = computes.pop();
      leave(s);
      if (is_detach(s)) continue;  // nothing is done, what comes after it may begin
      order.action.push({step_action_kind::compute, s, 0});
      ++computed;
    } else if (in_flight > 0) {
      finish_oldest();
    } else {
      return order;
    }
  }
}

}}  // namespace hyperparallel::v0_2
