// SPDX-License-Identifier: Apache-2.0
// The exact checker, its verdicts and the names it gives, against everything that can happen in tiny plans: every
// pair of intervals, every arrangement of the queues, every reachable state.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "flows.hpp"

namespace {

using namespace taskflow_test;

/// What can happen when the queues run freely, by visiting every state; a state is what each queue has begun and ended.
struct reachable {
  bool completes = true;                       ///< no state is stuck before the end
  std::set<int> stuck;                         ///< tasks at the head of a queue in a stuck state
  std::set<std::pair<int, int>> begun_before;  ///< (a, b): b can begin although a has not ended
};

reachable explore(const hp::dynamic_taskflow& f, const std::vector<std::vector<int>>& queue) {
  reachable out;
  const std::size_t queues = queue.size();
  std::set<std::vector<std::size_t>> seen;
  std::vector<std::vector<std::size_t>> open{std::vector<std::size_t>(queues)};
  seen.insert(open[0]);
  while (!open.empty()) {
    const std::vector<std::size_t> state = open.back();  // per queue: begins + ends so far
    open.pop_back();
    std::vector<int> count(static_cast<std::size_t>(f.size.events));
    std::vector<bool> ended(static_cast<std::size_t>(f.size.tasks));
    for (std::size_t q = 0; q < queues; ++q)
      for (std::size_t i = 0; i < state[q] / 2; ++i) {
        const int t = queue[q][i];
        ended[static_cast<std::size_t>(t)] = true;
        for (int g = f.task[t].signal_begin; g < f.task[t].signal_end; ++g)
          ++count[static_cast<std::size_t>(f.signal[g])];
      }
    bool moved = false;
    std::vector<int> held;
    for (std::size_t q = 0; q < queues; ++q) {
      if (state[q] == 2 * queue[q].size()) continue;
      const int t = queue[q][state[q] / 2];
      if (state[q] % 2 == 0) {
        bool waits = false;
        for (int w = f.task[t].wait_begin; w < f.task[t].wait_end; ++w)
          waits = waits || count[static_cast<std::size_t>(f.wait[w].event)] < f.wait[w].threshold;
        if (waits) {
          held.push_back(t);
          continue;
        }
        for (int a = 0; a < f.size.tasks; ++a)
          if (a != t && !ended[static_cast<std::size_t>(a)]) out.begun_before.insert({a, t});
      }
      moved = true;
      std::vector<std::size_t> next = state;
      ++next[q];
      if (seen.insert(next).second) open.push_back(next);
    }
    if (!moved && !held.empty()) {
      out.completes = false;
      out.stuck.insert(held.begin(), held.end());
    }
  }
  return out;
}

/// Whether two accesses of one slot meet in a cell that one of them writes: cell by cell.
bool meet(const hp::access& u, const hp::access& v) {
  if (u.slot != v.slot || (u.mode == hp::access_mode::read && v.mode == hp::access_mode::read)) return false;
  for (int cell = 0; cell < 64; ++cell)
    if (u.begin <= cell && cell < u.end && v.begin <= cell && cell < v.end) return true;
  return false;
}

bool meet_in(const hp::dynamic_taskflow& f, int a, int b, int slot) {
  for (int i = f.task[a].access_begin; i < f.task[a].access_end; ++i)
    for (int j = f.task[b].access_begin; j < f.task[b].access_end; ++j)
      if (f.access[i].slot == slot && meet(f.access[i], f.access[j])) return true;
  return false;
}

/// Holds the checker's verdict, and the tasks it names, against what can happen.
void judge(const loose_plan& p, int verdicts[]) {
  realised r(p);
  const reachable truth = explore(r.flow, p.queue);
  bool ordered = true;
  for (const auto& [a, b] : truth.begun_before)
    for (int slot = 0; slot < p.slots && a < b; ++slot) ordered = ordered && !meet_in(r.flow, a, b, slot);
  const hp::exact_status status = hp::check_exactly(r.flow, r.schedule, r.exact);
  ++verdicts[static_cast<int>(status.code)];
  ASSERT_EQ(r.complete, truth.completes);
  switch (status.code) {
    case hp::exact_code::safe:
      ASSERT_TRUE(truth.completes && ordered);
      break;
    case hp::exact_code::never_completes: {
      ASSERT_FALSE(truth.completes);
      ASSERT_TRUE(truth.stuck.count(status.task)) << status.task;
      const hp::task& k = r.flow.task[status.task];
      ASSERT_TRUE(std::any_of(r.flow.wait + k.wait_begin, r.flow.wait + k.wait_end,
                              [&](const hp::wait& w) { return w.event == status.event; }));
      break;
    }
    case hp::exact_code::conflict_is_not_ordered:
      ASSERT_TRUE(truth.completes && !ordered);
      ASSERT_LT(status.other, status.task);
      ASSERT_TRUE(truth.begun_before.count({status.other, status.task}));
      ASSERT_TRUE(meet_in(r.flow, status.other, status.task, status.slot));
      break;
    default:
      FAIL() << to_text(status.code);
  }
}

TEST(ExactCheck, EveryPairOfIntervalsAndModes) {
  using enum hp::access_mode;
  int conflicts = 0;
  for (int b0 = 0; b0 <= 3; ++b0)
    for (int e0 = b0; e0 <= 3; ++e0)
      for (int b1 = 0; b1 <= 3; ++b1)
        for (int e1 = b1; e1 <= 3; ++e1)
          for (const hp::access_mode m0 : {read, write})
            for (const hp::access_mode m1 : {read, write})
              for (int slot = 0; slot < 2; ++slot)
                for (const bool waits : {false, true}) {
                  const hp::access first{0, b0, e0, m0}, second{slot, b1, e1, m1};
                  loose_plan p;
                  p.machine = {1, {1, 1, 0, 0, 0}};
                  p.events = 1;
                  p.slots = 2;
                  p.task = {{hp::resource::aic, 0, 1, {}, {0}, {first}}, {hp::resource::aiv, 0, 1, {}, {}, {second}}};
                  if (waits) p.task[1].waits.push_back({0, hp::all_signals});
                  p.queue = {{0}, {1}};
                  realised r(p);
                  const bool unsafe = meet(first, second) && !waits;
                  conflicts += unsafe;
                  ASSERT_EQ(hp::check_exactly(r.flow, r.schedule, r.exact),
                            unsafe ? (hp::exact_status{hp::exact_code::conflict_is_not_ordered, 1, 0, -1, 0})
                                   : hp::exact_status{})
                      << "[" << b0 << ", " << e0 << ") and [" << b1 << ", " << e1 << ")";
                }
  // Of the 6 x 6 pairs of non-empty intervals in three cells all but 2 x 5 meet, in the three mode pairs that write.
  EXPECT_EQ(conflicts, (36 - 10) * 3);
}

TEST(ExactCheck, VerdictsAndNamesOnRandomPlans) {
  std::mt19937 random(31);
  int verdicts[5] = {};
  for (int i = 0; i < 6000 && !HasFatalFailure(); ++i) {
    loose_plan p = random_plan(random, 2 + below(random, 7));
    schedule_queues(p);
    // Half of them with two neighbours of a queue swapped, or a wait dropped.
    auto& q = p.queue[static_cast<std::size_t>(below(random, static_cast<int>(p.queue.size())))];
    if (i % 4 == 0 && q.size() > 1) std::swap(q[0], q[1]);
    auto& waits = p.task[static_cast<std::size_t>(below(random, static_cast<int>(p.task.size())))].waits;
    if (i % 4 == 1 && !waits.empty()) waits.pop_back();
    judge(p, verdicts);
  }
  for (const hp::exact_code c :
       {hp::exact_code::safe, hp::exact_code::never_completes, hp::exact_code::conflict_is_not_ordered}) {
    EXPECT_GT(verdicts[static_cast<int>(c)], 100) << to_text(c);
  }
}

/// 0 writes, 1 and 2 read after it on other queues, 3 writes again after both.
loose_plan diamond() {
  using enum hp::access_mode;
  loose_plan p;
  p.machine = {1, {2, 1, 0, 0, 0}};
  p.events = 2;
  p.slots = 1;
  p.task = {{hp::resource::aic, 0, 1, {}, {0}, {{0, 0, 4, write}}},
            {hp::resource::aic, 0, 1, {{0, hp::all_signals}}, {1}, {{0, 0, 2, read}}},
            {hp::resource::aiv, 0, 1, {{0, hp::all_signals}}, {1}, {{0, 1, 4, read}}},
            {hp::resource::aic, 0, 1, {{1, hp::all_signals}}, {}, {{0, 0, 4, write}}}};
  return p;
}

TEST(ExactCheck, EveryArrangementOfTheQueues) {
  loose_plan p = diamond();
  int order[] = {0, 1, 2, 3}, verdicts[5] = {}, misplaced = 0;
  do
    for (int where = 0; where < 3 * 3 * 3 * 3; ++where) {
      p.queue.assign(3, {});
      bool in_class = true;
      for (int i = 0, rest = where; i < 4; ++i, rest /= 3) {
        p.queue[static_cast<std::size_t>(rest % 3)].push_back(order[i]);
        in_class = in_class && (rest % 3 == 2) == (order[i] == 2);
      }
      if (in_class) {
        judge(p, verdicts);
      } else {
        realised r(p);
        ASSERT_EQ(hp::check_exactly(r.flow, r.schedule, r.exact).code, hp::exact_code::queue_of_another_class_or_rank);
        ++misplaced;
      }
      if (HasFatalFailure()) return;
    }
  while (std::next_permutation(order, order + 4));
  EXPECT_EQ(misplaced, 24 * (81 - 8));
  EXPECT_GT(verdicts[static_cast<int>(hp::exact_code::safe)], 0);
  EXPECT_GT(verdicts[static_cast<int>(hp::exact_code::never_completes)], 0);
}

TEST(ExactCheck, ATaskIsInExactlyOnePlace) {
  const auto code_of = [](const std::vector<std::vector<int>>& queue) {
    loose_plan p = diamond();
    p.queue = queue;
    realised r(p);
    return hp::check_exactly(r.flow, r.schedule, r.exact);
  };
  const auto not_once = hp::exact_code::not_run_exactly_once;
  EXPECT_EQ(code_of({{0, 1, 3}, {}, {2}}), hp::exact_status{});
  EXPECT_EQ(code_of({{0, 1}, {}, {2}}), (hp::exact_status{not_once, 3}));
  EXPECT_EQ(code_of({{0, 1, 3, 1}, {}, {2}}), (hp::exact_status{not_once, 1}));
  EXPECT_EQ(code_of({{0, 1, 3}, {0}, {2}}), (hp::exact_status{not_once, 0}));
  EXPECT_EQ(code_of({{0, 1, 3, 2}, {}, {}}), (hp::exact_status{hp::exact_code::queue_of_another_class_or_rank, 2}));
}

TEST(ExactCheck, AGreedyRunThatWithholdsATaskBeginsWhateverCanBeginBeforeItsEnd) {
  std::mt19937 random(37);
  int withheld = 0;
  for (int i = 0; i < 1500; ++i) {
    loose_plan p = random_plan(random, 2 + below(random, 7));
    schedule_queues(p);
    realised r(p);
    if (!r.complete) continue;
    const reachable truth = explore(r.flow, p.queue);
    const int tasks = r.flow.size.tasks;
    for (int a = 0; a < tasks; ++a) {
      std::vector<int> ran;
      const int count = hp::detail::run_greedily(r.flow, r.schedule, a, r.exact, [&](int t) { ran.push_back(t); });
      ASSERT_EQ(count, static_cast<int>(ran.size()));
      for (int b = 0; b < tasks; ++b) {
        if (b == a) continue;
        ASSERT_EQ(r.exact.begun[b], truth.begun_before.count({a, b}) == 1) << a << " withheld, " << b;
        ASSERT_EQ(std::count(ran.begin(), ran.end(), b), r.exact.begun[b] ? 1 : 0);
      }
      ASSERT_EQ(std::count(ran.begin(), ran.end(), a), 0);
      withheld += count < tasks - 1;
    }
  }
  EXPECT_GT(withheld, 1000) << "withholding stops nothing";
}

TEST(ExactCheck, EveryCodeHasItsText) {
  std::set<std::string> texts;
  for (int c = 0; c <= static_cast<int>(hp::exact_code::conflict_is_not_ordered); ++c)
    texts.insert(hp::to_text(static_cast<hp::exact_code>(c)));
  EXPECT_EQ(texts.size(), 5U);
  EXPECT_EQ(texts.count("unknown"), 0U);
}

constexpr moe_tiles tiles{3, 1, 2};
constexpr hp::taskflow_size size = hp::measure(tiles);
constexpr auto flow = hp::build_fixed<size>(tiles);
constexpr auto plan = hp::schedule_fixed<6>(flow, hp::machine_shape{1, {3, 2, 1, 0, 0}});

/// The status after the first wait of `task` is gone; -1 changes nothing.
constexpr hp::exact_status without_wait_of(int task) {
  auto f = flow;
  if (task >= 0) ++f.task[task].wait_begin;
  hp::detail::fixed_exact_scratch<size, 6> x;
  return hp::check_exactly(f, plan, x);
}
static_assert(without_wait_of(-1) == hp::exact_status{});
static_assert(without_wait_of(1) == hp::exact_status{hp::exact_code::conflict_is_not_ordered, 1, 0, -1, 0});

}  // namespace
