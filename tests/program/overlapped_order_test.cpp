// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/program/overlapped_order.hpp>

#include <program/runnable_program.hpp>
#include <support/tries.hpp>

#include <gtest/gtest.h>

#include <vector>

namespace hp = hyperparallel;

namespace {

using enum hp::step_action_kind;
using programs::random_program;
using std::size_t;
using tested::tries;

struct ordered {
  hp::sharded_program program;
  hp::program_addresses addresses;
  hp::program_slots slots;
  hp::program_pulls pulls;
  hp::overlapped_order order;

  ordered(hp::sharded_program p, const hp::program_addresses& a, const hp::overlap_options& options = {})
      : program(std::move(p)), addresses(a), slots(hp::slots_of(program, addresses)), pulls(hp::pulls_of(program)) {
    order = hp::overlap_moves(program, pulls, slots, options);
  }
  explicit ordered(const hp::sharded_program& p, int lookahead = 0, const hp::overlap_options& options = {})
      : ordered(p, hp::plan_addresses(p, {.lookahead = lookahead}), options) {}

  int rows(int step) const { return program.step[step].is_move ? pulls.of(program.step[step].index).row.size : 1; }
  /// Whether two steps use one byte, one of them writing.
  bool conflict(int a, int b) const {
    bool found = false;
    visit(a, [&](int x, bool x_written) {
      visit(b, [&](int y, bool y_written) {
        const hp::program_place &i = slots.place[x], &j = slots.place[y];
        found = found || ((x_written || y_written) && i.offset < j.offset + j.bytes && j.offset < i.offset + i.bytes);
      });
    });
    return found;
  }
  template <class Visit>
  void visit(int step, const Visit& place) const {
    hp::visit_values(program, program.step[step],
                     [&](int v, bool written) { place(program.value[v].storage, written); });
    if (!program.step[step].is_move) return;
    const int move = program.step[step].index;
    for (int b = 0; b < hp::kind_of(pulls.moves, move).staged.size; ++b)
      place(hp::staged_place(program, pulls.moves, move, b), true);
  }
};

/// First and last action of each step; every step is carried out once, a move start by finish.
void walk(const ordered& o, std::vector<int>& first, std::vector<int>& last) {
  const size_t steps = static_cast<size_t>(o.program.step.size);
  std::vector<int> seen(steps, 0);
  first.assign(steps, -1);
  last.assign(steps, -1);
  for (int i = 0; i < o.order.action.size; ++i) {
    const hp::step_action& a = o.order.action[i];
    const size_t s = static_cast<size_t>(a.step);
    if (!o.program.step[a.step].is_move) {
      ASSERT_EQ(a, (hp::step_action{compute, a.step, 0}));
      ASSERT_EQ(seen[s], 0);
    } else {
      ASSERT_EQ(a, (hp::step_action{seen[s] % 2 == 0 ? start : finish, a.step, seen[s] / 2}));
    }
    if (seen[s]++ == 0) first[s] = i;
    last[s] = i;
  }
  for (int s = 0; s < o.program.step.size; ++s)
    ASSERT_EQ(seen[static_cast<size_t>(s)], o.program.step[s].is_move ? 2 * o.rows(s) : 1);
}

TEST(OverlappedOrder, StepsThatConflictKeepTheOrderOfTheProgram) {
  std::mt19937 random(21);
  int beside = 0;
  for (int n = tries(30, 600); n > 0; --n) {
    const int most = 1 + n % 9;
    const ordered o(random_program(random, {4, 60, 2000, 0.35}), n % 4, {.most_in_flight = most});
    ASSERT_EQ(o.order.status, hp::program_flow_status{});
    std::vector<int> first, last;
    walk(o, first, last);
    int in_flight = 0;
    for (const hp::step_action& a : o.order.action) {
      if (a.kind == start && a.row == 0) ++in_flight;
      if (a.kind == finish && a.row + 1 == o.rows(a.step)) --in_flight;
      EXPECT_LE(in_flight, most);
    }
    for (int a = 0; a < o.program.step.size; ++a)
      for (int b = a + 1; b < o.program.step.size; ++b) {
        const size_t i = static_cast<size_t>(a), j = static_cast<size_t>(b);
        EXPECT_TRUE(!o.conflict(a, b) || last[i] < first[j]) << "steps " << a << " and " << b;
        if (o.program.step[a].is_move != o.program.step[b].is_move && first[j] < last[i] && first[i] < last[j])
          ++beside;
      }
  }
  EXPECT_GT(beside, 1000);  // computations while a move is in flight
}

TEST(OverlappedOrder, TellsWhatIsReadAndWhatIsLeft) {
  std::mt19937 random(22);
  for (int n = 0; n < 30; ++n) {
    const hp::sharded_program p = random_program(random, {4, 40, 2000, 0.3});
    const ordered o(p);
    const hp::program_plan plan = hp::lower_program(o.program, o.pulls, o.addresses);
    std::vector<bool> written(static_cast<size_t>(p.storage.size), false), read = written;
    std::vector<int> reads;
    for (int s = 0; s < p.step.size; ++s)
      hp::visit_values(p, p.step[s], [&](int v, bool w) {
        const size_t storage = static_cast<size_t>(p.value[v].storage);
        if (!w && !written[storage] && !read[storage]) reads.push_back(v);
        (w ? written : read)[storage] = true;
      });
    EXPECT_EQ(std::vector<int>(o.order.reads.begin(), o.order.reads.end()), reads);
    for (int s = 0; s < p.storage.size; ++s) {
      EXPECT_EQ(o.order.writes[s], plan.writes[s]);
      EXPECT_EQ(o.order.survives[s], plan.survives[s]);
    }
  }
}

TEST(OverlappedOrder, RefusesWhatThePlanRefuses) {
  std::mt19937 random(23);
  int refused = 0, accepted = 0;
  for (int n = tries(300, 5000); n > 0; --n) {
    const hp::sharded_program p = random_program(random, {3, 12, 300, 0.3});
    const ordered o(p, programs::careless_addresses(random, p));
    const hp::program_plan plan = hp::lower_program(o.program, o.pulls, o.addresses);
    // A move of two steps may hand its source's addresses to its target, which the plan sees and the order refuses.
    const bool plan_is_refused = plan.status.code != hp::program_flow_code::ok;
    EXPECT_TRUE(!plan_is_refused || o.order.status.code != hp::program_flow_code::ok);
    (o.order.status.code == hp::program_flow_code::ok ? accepted : refused) += 1;
    EXPECT_EQ(o.order.action.size == 0, o.order.status.code != hp::program_flow_code::ok);
  }
  EXPECT_GT(refused, 20);
  EXPECT_GT(accepted, 20);
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

constexpr hp::overlapped_order order_of_line(bool terms, unsigned phases) {
  const hp::sharded_program p = line(terms);
  const hp::program_slots slots = hp::slots_of(p, programs::addresses_in_a_row(p, terms));
  return hp::overlap_moves(p, hp::pulls_of(p), slots, {.phases = phases});
}
constexpr bool is_order(bool terms, const hp::growing_array<hp::step_action>& expected) {
  return order_of_line(terms, hp::micro_phases).action == expected;
}
constexpr bool orders_at_compile_time() {
  hp::growing_array<hp::step_action> one, two;
  for (const hp::step_action& a :
       {hp::step_action{compute, 0, 0}, hp::step_action{start, 1, 0}, hp::step_action{compute, 2, 0},
        hp::step_action{compute, 3, 0}, hp::step_action{compute, 4, 0}, hp::step_action{finish, 1, 0},
        hp::step_action{compute, 5, 0}})
    one.push(a);
  for (const hp::step_action& a :
       {hp::step_action{compute, 0, 0}, hp::step_action{start, 1, 0}, hp::step_action{compute, 2, 0},
        hp::step_action{compute, 3, 0}, hp::step_action{finish, 1, 0}, hp::step_action{start, 1, 1},
        hp::step_action{compute, 4, 0}, hp::step_action{finish, 1, 1}, hp::step_action{compute, 5, 0}})
    two.push(a);
  return is_order(false, one) && is_order(true, two) && order_of_line(true, hp::update_phases).action.empty();
}
static_assert(orders_at_compile_time());

TEST(OverlappedOrder, RefusesMovesInPlaceAndMovesWithoutAPlan) {
  hp::sharded_program p = line(true);
  p.value[2].storage = p.value[1].storage;
  EXPECT_EQ(ordered(p).order.status.code, hp::program_flow_code::move_is_in_place);
  p = line(true);
  p.value[2].rotation = {0, 1};
  EXPECT_EQ(ordered(p).order.status.code, hp::program_flow_code::move_is_refused);
}

}  // namespace
