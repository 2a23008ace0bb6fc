// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/lowering/message_order.hpp>

#include <hyperparallel/strategy/named_strategies.hpp>

#include <lowering/broken_tables.hpp>
#include <lowering/runnable_program.hpp>
#include <support/tries.hpp>

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace hp = hyperparallel;

namespace {

using enum hp::detail::row_action_kind;
using programs::random_program;
using std::size_t;
using tested::tries;

constexpr unsigned all_phases = hp::micro_phases | hp::update_phases;

/// A lowered program with the order of its rows.
struct ordered {
  hp::lowered_program lowered;
  hp::program_slots slots;
  hp::growing_array<hp::detail::row_action> action;

  explicit ordered(const hp::sharded_program& p, const hp::lowering_options& how = {},
                   const hp::message_window& window = {}, unsigned phases = all_phases)
      : lowered(hp::lower(p, how, phases)) {
    if (!lowered.status.ok()) return;
    slots = hp::detail::slots_of(lowered.program, lowered.pulls.moves, lowered.addresses);
    action = hp::detail::order_of_messages(lowered, lowered.run[0], window);
  }

  const hp::program_plan& plan() const { return lowered.run[0].plan; }
  bool is_move(int row) const { return lowered.program.step[plan().row[row].step].is_move; }
  bool is_detach(int row) const {
    return is_move(row) && lowered.program.move[lowered.program.step[plan().row[row].step].index].detaches;
  }
  template <class Visit>
  void visit_places(int row, const Visit& visit) const {
    const hp::program_step& s = lowered.program.step[plan().row[row].step];
    if (!s.is_move) {
      hp::detail::visit_values(lowered.program, s, [&](int v, bool w) { visit(lowered.program.value[v].storage, w); });
      return;
    }
    const hp::move_row& of = lowered.pulls.of(s.index).row[plan().row[row].first_item / plan().machine.ranks];
    visit(hp::detail::place_read(lowered.program, lowered.pulls.moves, s.index, of), false);
    visit(hp::detail::place_written(lowered.program, lowered.pulls.moves, s.index, of), true);
  }
  /// Whether two rows use one byte, one of them writing.
  bool conflict(int a, int b) const {
    bool found = false;
    visit_places(a, [&](int x, bool x_written) {
      visit_places(b, [&](int y, bool y_written) {
        const hp::program_place &i = slots.place[x], &j = slots.place[y];
        found = found || ((x_written || y_written) && i.tier == j.tier && i.offset < j.offset + j.bytes &&
                          j.offset < i.offset + i.bytes);
      });
    });
    return found;
  }
  /// The row at a place of a queue of the class.
  int row_at(int queue, int place) const {
    for (int r = 0; r < plan().row.size; ++r)
      if (hp::detail::first_queue(plan().machine, 0, plan().row[r].kind) == queue && --place == 0) return r;
    return -1;
  }
};

/// First and last action of each row; every row is carried out once, a move start by finish; a detach is no action.
void walk(const ordered& o, std::vector<int>& first, std::vector<int>& last) {
  first.assign(static_cast<size_t>(o.plan().row.size), -1);
  last = first;
  std::vector<int> seen(first.size(), 0);
  for (int i = 0; i < o.action.size; ++i) {
    const hp::detail::row_action& a = o.action[i];
    const size_t r = static_cast<size_t>(a.row);
    ASSERT_FALSE(o.is_detach(a.row));
    ASSERT_EQ(a.kind, !o.is_move(a.row) ? compute : seen[r] == 0 ? start : finish);
    if (seen[r]++ == 0) first[r] = i;
    last[r] = i;
  }
  for (int r = 0; r < o.plan().row.size; ++r)
    ASSERT_EQ(seen[static_cast<size_t>(r)], o.is_detach(r) ? 0 : o.is_move(r) ? 2 : 1);
}

/// The laws of the order; returns how many computations stand beside a row in flight.
int expect_laws(const ordered& o, int most) {
  std::vector<int> first, last;
  walk(o, first, last);
  int in_flight = 0, beside = 0;
  for (const hp::detail::row_action& a : o.action) {
    in_flight += a.kind == start ? 1 : a.kind == finish ? -1 : 0;
    beside += a.kind == compute && in_flight > 0 ? 1 : 0;
    EXPECT_LE(in_flight, most);
  }
  EXPECT_EQ(in_flight, 0);
  const hp::program_plan& plan = o.plan();
  const int per_rank = hp::detail::queues_per_rank(plan.machine);
  for (int b = 0; b < plan.row.size; ++b) {
    if (o.is_detach(b)) continue;
    const size_t j = static_cast<size_t>(b);
    for (int a = 0; a < b; ++a)
      EXPECT_TRUE(o.is_detach(a) || !o.conflict(a, b) || last[static_cast<size_t>(a)] < first[j])
          << "rows " << a << " and " << b;
    for (int w = b == 0 ? 0 : plan.wait_end[b - 1]; w < plan.wait_end[b]; ++w) {
      const int awaited = o.row_at(plan.wait[w].word % per_rank, plan.wait[w].threshold);
      EXPECT_TRUE(o.is_detach(awaited) || last[static_cast<size_t>(awaited)] < first[j]) << awaited << " and " << b;
    }
  }
  return beside;
}

TEST(MessageOrder, RowsThatConflictKeepTheirOrder) {
  std::mt19937 random(21);
  int beside = 0;
  for (int n = tries(30, 600); n > 0; --n) {
    const int most = 1 + n % 9;
    const ordered o(random_program(random, {4, 60, 2000, 0.35}), {.vector_queue = n % 3 == 0, .lookahead = n % 4},
                    {.most_in_flight = most});
    ASSERT_TRUE(o.lowered.status.ok());
    beside += expect_laws(o, most);
  }
  EXPECT_GT(beside, 300);
}

TEST(MessageOrder, HoldsForStepsOfTrainingOnEveryLink) {
  int ordered_steps = 0;
  for (int i = 0; i < hp::named_strategy_count; ++i) {
    const hp::sharded_program p = programs::program_of(hp::named_strategy_at(i).name, 4, 1);
    if (p.status.code != hp::strategy_code::ok) continue;
    for (const hp::interconnect& links : programs::links_of(p)) {
      SCOPED_TRACE(hp::named_strategy_at(i).name);
      const ordered o(p, {.topology = links});
      ASSERT_TRUE(o.lowered.status.ok());
      expect_laws(o, 8);
      ++ordered_steps;
    }
  }
  EXPECT_GE(ordered_steps, 50);
}

/// first(x) -> a; a moves to b; second(x) -> c; third(c) -> d; fourth(d) -> e; fifth(b, e) -> f: on four devices.
constexpr hp::sharded_program line(bool terms) {
  using enum programs::vector_program::lies;
  programs::vector_program v(6);
  const int x = v.value(0, whole, true), a = v.value(1, terms ? waits : cut), b = v.value(1, whole);
  const int c = v.value(2, whole), d = v.value(3, whole), e = v.value(4, whole), f = v.value(5, whole);
  v.compute(x, -1, a);
  v.move(a, b);
  v.compute(x, -1, c);
  v.compute(c, -1, d);
  v.compute(d, -1, e);
  v.compute(b, e, f);
  return v.p;
}

constexpr bool is_order(bool terms, const hp::growing_array<hp::detail::row_action>& expected) {
  const hp::lowered_program l = hp::lower(line(terms), {.lookahead = 9}, hp::micro_phases);
  return l.status.ok() && hp::detail::order_of_messages(l, l.run[0]) == expected;
}
constexpr bool orders_at_compile_time() {
  hp::growing_array<hp::detail::row_action> one, two;
  for (const hp::detail::row_action& a :
       {hp::detail::row_action{compute, 0}, hp::detail::row_action{start, 1}, hp::detail::row_action{compute, 2},
        hp::detail::row_action{compute, 3}, hp::detail::row_action{compute, 4}, hp::detail::row_action{finish, 1},
        hp::detail::row_action{compute, 5}})
    one.push(a);
  for (const hp::detail::row_action& a :
       {hp::detail::row_action{compute, 0}, hp::detail::row_action{start, 1}, hp::detail::row_action{compute, 3},
        hp::detail::row_action{compute, 4}, hp::detail::row_action{finish, 1}, hp::detail::row_action{start, 2},
        hp::detail::row_action{compute, 5}, hp::detail::row_action{finish, 2}, hp::detail::row_action{compute, 6}})
    two.push(a);
  return is_order(false, one) && is_order(true, two);
}
static_assert(orders_at_compile_time());

}  // namespace
