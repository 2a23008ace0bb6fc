// SPDX-License-Identifier: Apache-2.0
// Vector clocks against the exact checker: task by task on small plans, verdict by verdict on plans of thousands of
// tasks and their mutants.

#include <gtest/gtest.h>

#include "mutants.hpp"
#include "plans.hpp"

namespace {

using namespace taskflow_test;

struct checked {
  explicit checked(const loose_plan& p) : at(p), clocks(at.flow.size, static_cast<int>(p.queue.size())) {
    by_clocks = hp::check_by_clocks(at.flow, at.schedule, clocks);
    exactly = hp::check_exactly(at.flow, at.schedule, at.exact);
  }
  realised at;
  hp::detail::owned_clock_scratch clocks;
  hp::clock_status by_clocks;
  hp::exact_status exactly;
};

/// Whether a plan that completes has a wait for a part of what several queues signal.
bool has_partial_wait_over_queues(const loose_plan& p) {
  for (const auto& k : p.task)
    for (const auto& w : k.waits) {
      int signals = 0;
      std::vector<std::size_t> queues;
      for (std::size_t q = 0; q < p.queue.size(); ++q)
        for (const int t : p.queue[q]) {
          const auto& own = p.task[static_cast<std::size_t>(t)].signals;
          const auto count = std::count(own.begin(), own.end(), w.event);
          signals += static_cast<int>(count);
          if (count > 0 && (queues.empty() || queues.back() != q)) queues.push_back(q);
        }
      if (w.threshold != hp::all_signals && w.threshold < signals && queues.size() > 1) return true;
    }
  return false;
}

TEST(VectorClocks, OneTaskFollowsAnotherIffAGreedyRunThatWithholdsItCannotReachIt) {
  std::mt19937 random(41);
  int followed = 0, free = 0;
  for (int i = 0; i < 800; ++i) {
    loose_plan p = i % 2 == 0 ? random_real_plan(random) : random_plan(random, 3 + below(random, 20));
    if (i % 2 != 0) schedule_queues(p);
    if (has_partial_wait_over_queues(p)) continue;
    checked c(p);
    if (c.exactly.code == hp::exact_code::never_completes) continue;
    ASSERT_TRUE(c.by_clocks.decided);
    const int queues = static_cast<int>(p.queue.size());
    for (int a = 0; a < c.at.flow.size.tasks; ++a) {
      hp::detail::run_greedily(c.at.flow, c.at.schedule, a, c.at.exact, [](int) {});
      for (int b = 0; b < c.at.flow.size.tasks; ++b) {
        if (a == b) continue;
        const bool follows = c.clocks.clock[b * queues + c.clocks.queue[a]] > c.clocks.place[a];
        ASSERT_EQ(follows, !c.at.exact.begun[b]) << a << " before " << b;
        ++(follows ? followed : free);
      }
    }
  }
  EXPECT_GT(followed, 10000);
  EXPECT_GT(free, 10000);
}

TEST(VectorClocks, DecideEveryPlanButPartialThresholdsOverSeveralQueues) {
  std::mt19937 random(43);
  int undecided = 0, verdicts[5] = {};
  for (int i = 0; i < 20000; ++i) {
    loose_plan p = random_plan(random, 3 + below(random, 12));
    schedule_queues(p);
    freeze_thresholds(p);
    mutate(p, static_cast<mutation>(below(random, mutation_count)), random);
    const checked c(p);
    const bool runs =
        c.exactly.code == hp::exact_code::safe || c.exactly.code == hp::exact_code::conflict_is_not_ordered;
    ASSERT_EQ(c.by_clocks.decided, !(runs && has_partial_wait_over_queues(p)));
    if (c.by_clocks.decided) {
      ASSERT_EQ(c.by_clocks.verdict.code, c.exactly.code);
      if (!runs) {
        ASSERT_EQ(c.by_clocks.verdict, c.exactly);
      }
    } else {
      const auto& waits = p.task[static_cast<std::size_t>(c.by_clocks.verdict.task)].waits;
      ASSERT_TRUE(std::any_of(waits.begin(), waits.end(),
                              [&](const hp::wait& w) { return w.event == c.by_clocks.verdict.event; }));
    }
    undecided += !c.by_clocks.decided;
    ++verdicts[static_cast<int>(c.exactly.code)];
  }
  EXPECT_GT(undecided, 100);
  for (const int count : verdicts) EXPECT_GT(count, 100);
}

/// Plans of hundreds and thousands of tasks.
std::vector<named_plan> large_plans() {
  constexpr auto rank = hp::priority::upward_rank, listed = hp::priority::reference_order;
  std::vector<named_plan> all;
  const auto add = [&](const char* name, loose_plan p) {
    freeze_thresholds(p);
    all.push_back({name, std::move(p)});
  };
  add("MoE tiles", loosen(moe_tiles{60, 2, 5}, {2, {6, 4, 1, 0, 0}}));
  add("MoE tiles, all resident", loosen(moe_tiles{40, 1, 0}, {1, {24, 24, 1, 0, 0}}));
  add("experts", experts_plan(8, 4, 4, false, listed));
  add("experts, serialized", experts_plan(4, 8, 4, true, listed));
  add("weight window", window_plan(60, 3, 8, listed));
  add("all-gather, matmul", gather_plan(6, 8, rank));
  add("matmul, reduce-scatter", scatter_plan(6, 24, rank));
  add("pipeline", pipeline_plan(8, 16, 5, listed));
  std::mt19937 random(47);
  std::vector<int> from(80);
  for (int& r : from) r = below(random, 6);
  add("rendezvous", rendezvous_plan(6, from, 2));
  return all;
}

TEST(VectorClocks, AgreeWithTheExactCheckerOnLargePlansAndTheirMutants) {
  const std::vector<named_plan> plans = large_plans();
  const int mutants = exhaustive() ? 300 : 30;
  std::mt19937 random(53);
  int safe = 0, unsafe = 0, undecided = 0;
  for (const auto& [name, plan] : plans) {
    SCOPED_TRACE(name);
    const checked whole(plan);
    ASSERT_GE(plan.task.size(), 300U);
    ASSERT_EQ(whole.exactly, hp::exact_status{}) << whole.exactly.task << " after " << whole.exactly.other;
    ASSERT_EQ(whole.by_clocks, hp::clock_status{});
    hp::detail::owned_verify_scratch x(whole.at.flow.size, static_cast<int>(plan.queue.size()));
    ASSERT_EQ(hp::verify(whole.at.flow, whole.at.schedule, x), hp::verify_status{});
    for (int made = 0; made < mutants;) {
      loose_plan p = plan;
      if (!mutate(p, static_cast<mutation>(below(random, mutation_count)), random)) continue;
      ++made;
      const checked c(p);
      hp::detail::owned_verify_scratch y(c.at.flow.size, static_cast<int>(p.queue.size()));
      const bool proved = hp::verify(c.at.flow, c.at.schedule, y).code == hp::verify_code::ok;
      if (c.by_clocks.decided) {
        ASSERT_EQ(c.by_clocks.verdict.code, c.exactly.code);
      }
      ASSERT_FALSE(proved && c.exactly.code != hp::exact_code::safe);
      undecided += !c.by_clocks.decided;
      ++(c.exactly.code == hp::exact_code::safe ? safe : unsafe);
    }
  }
  EXPECT_GT(safe, mutants);
  EXPECT_GT(unsafe, mutants);
  EXPECT_LT(undecided, (safe + unsafe) / 4);
}

TEST(VectorClocks, NameTheFault) {
  using enum hp::access_mode;
  loose_plan p;
  p.machine = {1, {2, 1, 0, 0, 0}};
  p.events = 1;
  p.slots = 1;
  p.task = {{hp::resource::aic, 0, 1, {}, {0}, {{0, 0, 4, write}}},
            {hp::resource::aic, 0, 1, {}, {0}, {{0, 4, 8, write}}},
            {hp::resource::aiv, 0, 1, {}, {}, {{0, 2, 6, read}}}};
  p.queue = {{0}, {1}, {2}};
  const auto status = [&] { return checked(p).by_clocks; };
  EXPECT_EQ(status(), (hp::clock_status{true, {hp::exact_code::conflict_is_not_ordered, 2, 1, -1, 0}}));
  p.task[2].waits.push_back({0, 1});  // one of two, and nobody knows which
  EXPECT_EQ(status(), (hp::clock_status{false, {hp::exact_code::safe, 2, -1, 0, -1}}));
  p.task[2].waits[0].threshold = 2;
  EXPECT_EQ(status(), hp::clock_status{});
  p.task[2].waits[0].threshold = 3;
  EXPECT_EQ(status(), (hp::clock_status{true, {hp::exact_code::never_completes, 2, -1, 0, -1}}));
  p.task[2].waits[0].threshold = 1;  // both in one queue: the first of them has ended
  p.queue = {{0, 1}, {}, {2}};
  EXPECT_EQ(status(), (hp::clock_status{true, {hp::exact_code::conflict_is_not_ordered, 2, 1, -1, 0}}));
  p.task[2].accesses[0].end = 4;
  EXPECT_EQ(status(), hp::clock_status{});
}

TEST(VectorClocks, ReadNothingOfTheirScratchThatTheyHaveNotWritten) {
  std::mt19937 random(59);
  for (int i = 0; i < 200; ++i) {
    loose_plan p = random_real_plan(random);
    mutate(p, static_cast<mutation>(below(random, mutation_count)), random);
    checked c(p);
    const hp::clock_status clean = c.by_clocks;
    const int queues = static_cast<int>(p.queue.size());
    const hp::taskflow_size n = c.at.flow.size;
    for (int* array : {c.clocks.queue, c.clocks.place}) std::fill_n(array, n.tasks, -77);
    for (int* array : {c.clocks.total, c.clocks.signal_queue, c.clocks.signal_begin}) std::fill_n(array, n.events, -77);
    std::fill_n(c.clocks.signaller, n.signal_uses, -77);
    std::fill_n(c.clocks.clock, n.tasks * queues, 77);
    std::fill_n(c.clocks.event_clock, n.events * queues, 77);
    ASSERT_EQ(hp::check_by_clocks(c.at.flow, c.at.schedule, c.clocks), clean);
  }
}

constexpr moe_tiles tiles{3, 1, 2};
constexpr hp::taskflow_size size = hp::measure(tiles);
constexpr auto flow = hp::build_fixed<size>(tiles);
constexpr auto plan = hp::schedule_fixed<6>(flow, hp::machine_shape{1, {3, 2, 1, 0, 0}});

/// The status after the first wait of `task` is gone; -1 changes nothing.
constexpr hp::clock_status without_wait_of(int task) {
  auto f = flow;
  if (task >= 0) ++f.task[task].wait_begin;
  hp::detail::fixed_clock_scratch<size, 6> x;
  return hp::check_by_clocks(f, plan, x);
}
static_assert(without_wait_of(-1) == hp::clock_status{});
static_assert(without_wait_of(1) == hp::clock_status{true, {hp::exact_code::conflict_is_not_ordered, 1, 0, -1, 0}});

}  // namespace
