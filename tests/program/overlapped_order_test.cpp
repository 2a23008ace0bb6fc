// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/program/overlapped_order.hpp>

#include <model/random_program.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

namespace hp = hyperparallel;

namespace {

using enum hp::step_action_kind;
using std::size_t;

int tries(int few, int many) { return std::getenv("HYPERPARALLEL_EXHAUSTIVE") != nullptr ? many : few; }

struct ordered {
  hp::sharded_program program;
  hp::program_slots slots;
  hp::program_pulls pulls;
  hp::overlapped_order order;

  ordered(hp::sharded_program p, const hp::program_addresses& a, const hp::overlap_options& options = {})
      : program(std::move(p)), slots(hp::slots_of(program, a)), pulls(hp::pulls_of(program)) {
    order = hp::overlap_moves(program, pulls, slots, options);
  }
  explicit ordered(const hp::sharded_program& p, int lookahead = 0, const hp::overlap_options& options = {})
      : ordered(p, hp::plan_addresses(p, lookahead), options) {}

  int parts(int step) const { return program.step[step].is_move ? pulls.of(program.step[step].index).steps : 1; }
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
    if (parts(step) > 1) place(program.storage.size + program.step[step].index, true);
  }
};

hp::sharded_program random_program(std::mt19937& random, const programs::random_program_sizes& sizes) {
  hp::sharded_program p = programs::random_program(random, sizes);
  hp::set_run_types(p, hp::data_type::f32);
  return p;
}

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
    ASSERT_EQ(seen[static_cast<size_t>(s)], o.program.step[s].is_move ? 2 * o.parts(s) : 1);
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
      if (a.kind == start && a.part == 0) ++in_flight;
      if (a.kind == finish && a.part + 1 == o.parts(a.step)) --in_flight;
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
    const hp::program_flow flow(o.program, o.pulls, o.slots, {});
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
      EXPECT_EQ(o.order.writes[s], flow.writes(s));
      EXPECT_EQ(o.order.survives[s], flow.survives(s));
    }
  }
}

TEST(OverlappedOrder, RefusesWhatTheTaskflowRefuses) {
  std::mt19937 random(23);
  int refused = 0, accepted = 0;
  for (int n = tries(300, 5000); n > 0; --n) {
    const hp::sharded_program p = random_program(random, {3, 12, 300, 0.3});
    hp::program_addresses a = hp::plan_addresses(p);
    for (int k = 0; k < 3; ++k)
      a.storage[static_cast<int>(random() % static_cast<unsigned>(p.storage.size))] =
          hp::storage_alignment * static_cast<hp::extent_t>(random() % 300);
    const ordered o(p, a);
    const hp::program_flow flow(o.program, o.pulls, o.slots, {});
    // A move of two steps may hand its source's addresses to its target, which the taskflow sees and the order refuses.
    const bool flow_is_refused = flow.status().code != hp::program_flow_code::ok;
    EXPECT_TRUE(!flow_is_refused || o.order.status.code != hp::program_flow_code::ok);
    (o.order.status.code == hp::program_flow_code::ok ? accepted : refused) += 1;
    EXPECT_EQ(o.order.action.size == 0, o.order.status.code != hp::program_flow_code::ok);
  }
  EXPECT_GT(refused, 20);
  EXPECT_GT(accepted, 20);
}

/// first(x) -> a; a moves to b; second(x) -> c; third(c) -> d; fourth(d) -> e; fifth(b, e) -> f: on four devices.
constexpr hp::sharded_program line(bool waits) {
  hp::sharded_program p;
  p.mesh.shape = {1, {4}};
  hp::layout_value whole, other;
  whole.mesh = other.mesh = p.mesh.shape;
  whole.rank = other.rank = 1;
  if (waits)
    other.partial[0] = hp::reduce_op::sum;
  else
    hp::append_cut(other, {0, 0, 1, 4});
  const int name = hp::add_text(p.graph, "t");
  const auto add_value = [&](int tensor, const hp::layout_value& l, bool home) {
    return p.value.push({tensor, l, {}, p.storage.push({tensor, home, 4096})});
  };
  for (int t = 0; t < 6; ++t) {
    hp::graph_tensor one;
    one.name = name;
    one.shape = hp::shape{1024};
    p.graph.tensor.push(one);
  }
  const int x = add_value(0, whole, true), a = add_value(1, other, false), b = add_value(1, whole, false);
  const int c = add_value(2, whole, false), d = add_value(3, whole, false), e = add_value(4, whole, false);
  const int f = add_value(5, whole, false);
  const auto add_step = [&](int first, int second, int result) {
    hp::graph_operator o;
    o.kind = hp::model_op::sum;
    o.operand_count = second < 0 ? 1 : 2;
    o.result_count = 1;
    hp::program_compute step;
    step.op = p.graph.op.push(o);
    step.operand[0] = first;
    step.operand[1] = second;
    step.result[0] = result;
    p.step.push({false, p.compute.push(step), hp::graph_phase::forward, -1});
  };
  add_step(x, -1, a);
  p.step.push({true, p.move.push({a, b, -1}), hp::graph_phase::forward, -1});
  add_step(x, -1, c);
  add_step(c, -1, d);
  add_step(d, -1, e);
  add_step(b, e, f);
  return p;
}

constexpr hp::overlapped_order order_of_line(bool waits, unsigned phases) {
  const hp::sharded_program p = line(waits);
  hp::program_addresses a;
  for (int s = 0; s < p.storage.size; ++s) a.storage.push(4096 * s);
  a.between.push(waits ? 4096 * p.storage.size : -1);
  return hp::overlap_moves(p, hp::pulls_of(p), hp::slots_of(p, a), {.phases = phases});
}
constexpr bool is_order(bool waits, const hp::growing_array<hp::step_action>& expected) {
  return order_of_line(waits, hp::micro_phases).action == expected;
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
