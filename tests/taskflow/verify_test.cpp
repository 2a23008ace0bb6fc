// SPDX-License-Identifier: Apache-2.0
// The local rule and the exact checker against every interleaving of task begins and ends of small plans and their
// mutants.

#include <gtest/gtest.h>

#include <cstdio>

#include "mutants.hpp"
#include "plans.hpp"
#include "runs.hpp"

namespace {

using namespace taskflow_test;

struct tally {
  long plans = 0, safe = 0, accepted_unsafe = 0, refused_safe = 0, undecided = 0;
};

/// The structural check of a plan's flow.
bool well_formed(const loose_plan& p, const realised& r) {
  hp::detail::owned_flow_scratch x(r.flow.size);
  const std::vector<std::int64_t> capacity = p.capacities();
  return hp::check_flow(r.flow, p.machine.ranks, capacity.data(), static_cast<int>(capacity.size()), x).code ==
         hp::flow_code::ok;
}

/// All checkers against the truth. The structure of the flow counts for the proof where `structural`: what the mistake
/// breaks is not the order of the tasks.
bool judge(const loose_plan& p, tally& n, bool structural = false) {
  realised r(p);
  const int queues = static_cast<int>(p.queue.size());
  const bool truth = safe_in_every_interleaving(p), formed = !structural || well_formed(p, r);
  const hp::exact_status exact = hp::check_exactly(r.flow, r.schedule, r.exact);
  hp::detail::owned_clock_scratch clocks(r.flow.size, queues);
  const hp::clock_status clocked = hp::check_by_clocks(r.flow, r.schedule, clocks);
  hp::detail::owned_verify_scratch x(r.flow.size, queues);
  const bool proved = hp::verify(r.flow, r.schedule, x).code == hp::verify_code::ok && formed;
  ++n.plans;
  n.safe += truth;
  n.accepted_unsafe += proved && !truth;
  n.refused_safe += truth && !proved;
  n.undecided += !clocked.decided;
  EXPECT_FALSE(proved && !truth) << "the local rule accepted an unsafe plan";
  // What shares addresses against the rules is safe where the order allows it, and refused all the same.
  EXPECT_EQ(exact.code == hp::exact_code::safe && (truth || formed), truth)
      << to_text(exact.code) << " task " << exact.task;
  if (clocked.decided) {
    EXPECT_EQ(clocked.verdict.code == hp::exact_code::safe, exact.code == hp::exact_code::safe);
  }
  return !testing::Test::HasFailure();
}

/// Hundreds of safe random plans: loose flows, and real ones of random numbers.
std::vector<loose_plan> random_safe_plans(int count) {
  std::vector<loose_plan> plans;
  std::mt19937 random(11);
  while (static_cast<int>(plans.size()) < count) {
    loose_plan p = plans.size() % 2 == 0 ? random_real_plan(random) : random_plan(random, 5 + below(random, 8));
    if (plans.size() % 2 != 0) {
      schedule_queues(p, random() % 2 == 0 ? hp::priority::upward_rank : hp::priority::reference_order);
      freeze_thresholds(p);
    }
    if (safe_in_every_interleaving(p)) plans.push_back(p);
  }
  return plans;
}

TEST(Verify, RefusesEveryUnsafeMutant) {
  const std::vector<named_plan> real = small_real_plans();
  const std::vector<loose_plan> random_plans = random_safe_plans(400);
  const long wanted = exhaustive() ? 3000 : 500;
  std::mt19937 random(3);
  std::printf("%-22s %8s %8s %10s %15s %12s %9s\n", "mutation", "mutants", "unsafe", "equivalent", "unsafe accepted",
              "safe refused", "undecided");
  for (int which = 0; which < mutation_count && !HasFailure(); ++which) {
    SCOPED_TRACE(mutation_names[which]);
    const bool structural = static_cast<mutation>(which) == mutation::capacity;
    tally n;
    for (long turn = 0; n.plans - n.safe < wanted && turn < 1000 * wanted; ++turn) {
      loose_plan p = turn % 2 == 0 ? real[random() % real.size()].plan : random_plans[random() % random_plans.size()];
      if (mutate(p, static_cast<mutation>(which), random) && !judge(p, n, structural)) break;
    }
    std::printf("%-22s %8ld %8ld %10ld %15ld %12ld %9ld\n", mutation_names[which], n.plans, n.plans - n.safe, n.safe,
                n.accepted_unsafe, n.refused_safe, n.undecided);
    EXPECT_GE(n.plans - n.safe, wanted);
    EXPECT_EQ(n.accepted_unsafe, 0);
  }
}

TEST(Verify, ProvesEveryRealPlan) {
  std::vector<loose_plan> plans = random_safe_plans(200);
  for (std::size_t i = plans.size(); i-- > 0;)
    if (i % 2 != 0) plans.erase(plans.begin() + static_cast<std::ptrdiff_t>(i));  // the loose ones
  for (const named_plan& real : small_real_plans()) plans.push_back(real.plan);
  tally n;
  for (const loose_plan& p : plans) {
    realised r(p);
    ASSERT_LE(p.task.size(), 60U);
    ASSERT_TRUE(well_formed(p, r));
    ASSERT_TRUE(judge(p, n));
  }
  EXPECT_EQ(n.safe, n.plans);
  EXPECT_EQ(n.refused_safe, 0);
}

TEST(Verify, AgreesWithEveryInterleavingOfRandomPlans) {
  std::mt19937 random(7);
  tally n;
  for (int i = 0; i < (exhaustive() ? 200000 : 30000) && !HasFailure(); ++i) {
    // Mostly few tasks, where all that matters happens; one in 128 is large.
    loose_plan p = random_plan(random, 3 + below(random, i % 128 != 0 ? 9 : 58));
    schedule_queues(p, i % 2 == 0 ? hp::priority::upward_rank : hp::priority::reference_order);
    judge(p, n);
  }
  EXPECT_GT(n.safe, n.plans / 4);
  EXPECT_LT(n.safe, n.plans * 49 / 50);
  EXPECT_LT(n.refused_safe, n.safe / 10) << n.plans << " plans, " << n.safe << " safe";
}

/// Both checkers against the truth about a flow whose queues the scheduler chose and chance has changed.
void judge_runs(hp::dynamic_taskflow& f, std::mt19937& random, tally& n) {
  loose_plan p = changed_queues(f, random);
  const int queues = static_cast<int>(p.queue.size());
  hp::owned_schedule s(f.size.tasks, queues);
  hp::detail::owned_exact_scratch exact(f.size, queues);
  freeze_queues(f, p, s, exact);
  // Chance moves intervals out of their slots: slots far apart keep them from meeting.
  for (std::size_t i = 0; i < p.place.size(); ++i) p.place[i] = {0, 0, 512 + 1024 * static_cast<std::int64_t>(i), 1024};
  p.capacity.clear();
  const bool truth = safe_in_every_interleaving(p);
  ASSERT_EQ(hp::check_exactly(f, s, exact).code == hp::exact_code::safe, truth);
  hp::detail::owned_verify_scratch x(f.size, queues);
  const bool proved = hp::verify(f, s, x).code == hp::verify_code::ok;
  ++n.plans;
  n.safe += truth;
  n.refused_safe += truth && !proved;
  ASSERT_TRUE(truth || !proved) << "the local rule accepted an unsafe plan of runs";
}

TEST(Verify, AgreesWithEveryInterleavingOfRunsAndTheirMutants) {
  std::mt19937 random(5);
  for (int which = 0; which < run_mutations && !HasFatalFailure(); ++which) {
    SCOPED_TRACE(run_mutation_names[which]);
    tally n;
    for (int made = 0; made < 6000 && !HasFatalFailure();) {
      const random_runs build(random);
      hp::owned_taskflow f(hp::measure(build));
      build(f);
      hp::seal(f);
      if (!mutate_runs(f, which, random)) continue;
      ++made;
      judge_runs(f, random, n);
    }
    EXPECT_GT(n.safe, n.plans / 20);
    EXPECT_LT(n.safe, n.plans) << "no plan of this class is unsafe";
    EXPECT_LT(n.refused_safe, n.safe * 2 / 10) << n.plans << " plans, " << n.safe << " safe";
  }
}

TEST(Verify, ProvesEveryPlanOfTheScheduler) {
  for (const moe_tiles& m : {moe_tiles{16, 1, 0}, moe_tiles{16, 1, 3}, moe_tiles{8, 4, 2}, moe_tiles{8, 2, 1}})
    for (const hp::priority policy : {hp::priority::upward_rank, hp::priority::reference_order}) {
      const hp::taskflow_size n = hp::measure(m);
      const hp::machine_shape machine{m.ranks, {3, 2, 1, 0, 0}};
      const int queues = hp::queue_count(machine);
      hp::owned_taskflow f(n);
      m(f);
      hp::seal(f);
      hp::owned_schedule s(n.tasks, queues);
      hp::owned_schedule_scratch x(n, queues);
      ASSERT_EQ(hp::list_schedule(f, machine, {policy, 2000}, s, x), hp::schedule_status{});
      hp::detail::owned_verify_scratch v(n, queues);
      const hp::verify_status proof = hp::verify(f, s, v);
      EXPECT_EQ(proof, hp::verify_status{})
          << to_text(proof.code) << " task " << proof.task << " other " << proof.other;
      hp::detail::owned_exact_scratch e(n, queues);
      EXPECT_EQ(hp::check_exactly(f, s, e), hp::exact_status{});
    }
}

TEST(Verify, NamesTheFault) {
  loose_plan p;
  p.machine = {1, {1, 1, 0, 0, 0}};
  p.events = 1;
  p.slots = 1;
  p.task = {{hp::resource::aic, 0, 5, {}, {0}, {{0, 0, 4, hp::access_mode::write}}},
            {hp::resource::aiv, 0, 5, {}, {}, {{0, 2, 3, hp::access_mode::read}}}};
  p.queue = {{0}, {1}};
  realised open(p);
  hp::detail::owned_verify_scratch x(open.flow.size, 2);
  EXPECT_EQ(hp::verify(open.flow, open.schedule, x),
            (hp::verify_status{hp::verify_code::conflict_is_not_ordered, 1, 0, -1, 0}));
  p.task[1].waits.push_back({0, 1});
  realised closed(p);
  EXPECT_EQ(hp::verify(closed.flow, closed.schedule, x), hp::verify_status{});
  closed.flow.wait[0].threshold = 2;
  EXPECT_EQ(hp::verify(closed.flow, closed.schedule, x),
            (hp::verify_status{hp::verify_code::wait_is_never_satisfied, 1, -1, 0}));
}

TEST(Verify, AWriteBesideReadOnesIsNotCoveredByTheirReader) {
  // 0 writes [0, 1), 1 reads it, 2 writes [1, 2) on a queue of its own, 3 overwrites both after 1 alone.
  loose_plan p;
  p.machine = {1, {1, 1, 1, 1, 0}};
  p.events = 3;
  p.slots = 1;
  p.task = {{hp::resource::aic, 0, 5, {}, {0}, {{0, 0, 1, hp::access_mode::write}}},
            {hp::resource::aiv, 0, 5, {{0, 1}}, {1}, {{0, 0, 1, hp::access_mode::read}}},
            {hp::resource::link, 0, 5, {}, {2}, {{0, 1, 2, hp::access_mode::write}}},
            {hp::resource::copy_in, 0, 5, {{1, 1}}, {}, {{0, 0, 2, hp::access_mode::write}}}};
  p.queue = {{0}, {1}, {2}, {3}};
  realised open(p);
  hp::detail::owned_verify_scratch x(open.flow.size, 4);
  EXPECT_EQ(hp::verify(open.flow, open.schedule, x),
            (hp::verify_status{hp::verify_code::conflict_is_not_ordered, 3, 2, -1, 0}));
  p.task[3].waits.push_back({2, 1});
  realised closed(p);
  EXPECT_EQ(hp::verify(closed.flow, closed.schedule, x), hp::verify_status{});
}

TEST(Verify, RefusesAnOrderThatIsNoRunOfTheQueues) {
  const moe_tiles m{2, 1, 0};
  const hp::machine_shape machine{1, {2, 1, 1, 0, 0}};
  const hp::taskflow_size n = hp::measure(m);
  hp::owned_taskflow f(n);
  m(f);
  hp::seal(f);
  hp::detail::owned_verify_scratch x(n, 4);
  const auto judged = [&](auto&& change) {
    hp::owned_schedule s(n.tasks, 4);
    hp::owned_schedule_scratch y(n, 4);
    hp::list_schedule(f, machine, {}, s, y);
    change(s);
    return hp::verify(f, s, x).code;
  };
  EXPECT_EQ(judged([](auto&) {}), hp::verify_code::ok);
  EXPECT_EQ(judged([](auto& s) { --s.task_count; }), hp::verify_code::task_count_differs);
  EXPECT_EQ(judged([](auto& s) { ++s.queue_begin[4]; }), hp::verify_code::queue_bounds_are_wrong);
  EXPECT_EQ(judged([&](auto& s) { s.order[3] = n.tasks; }), hp::verify_code::task_outside_the_flow);
  EXPECT_EQ(judged([](auto& s) { s.order[3] = s.order[2]; }), hp::verify_code::task_appears_twice);
  EXPECT_EQ(judged([](auto& s) { s.queue[s.queue_task[0]] = 2; }), hp::verify_code::queue_of_another_class_or_rank);
  EXPECT_EQ(judged([](auto& s) { s.queue[s.queue_task[0]] = -1; }), hp::verify_code::queue_of_another_class_or_rank);
  EXPECT_EQ(judged([](auto& s) { s.queue[s.queue_task[0]] = 1; }), hp::verify_code::queue_disagrees_with_order);
  EXPECT_EQ(judged([](auto& s) { std::swap(s.queue_task[0], s.queue_task[1]); }),
            hp::verify_code::queue_disagrees_with_order);
  for (const int wrong : {0, n.tasks + 1}) {
    const int kept = f.run[2];
    EXPECT_EQ(judged([&](auto&) { f.run[2] = wrong; }), hp::verify_code::runs_are_wrong);
    f.run[2] = kept;
  }
  EXPECT_EQ(judged([&](auto&) { --f.size.runs; }), hp::verify_code::runs_are_wrong);
}

constexpr moe_tiles small{3, 1, 2};
constexpr auto flow = hp::build_fixed<hp::measure(small)>(small);
constexpr auto plan = hp::schedule_fixed<6>(flow, hp::machine_shape{1, {3, 2, 1, 0, 0}});
static_assert(hp::verify(flow, plan) == hp::verify_status{});

constexpr hp::exact_code exactly() {
  hp::detail::fixed_exact_scratch<hp::measure(small), 6> x;
  return hp::check_exactly(flow, plan, x).code;
}
static_assert(exactly() == hp::exact_code::safe);

constexpr hp::verify_code without_a_wait() {
  auto broken = flow;
  broken.task[1].wait_end = broken.task[1].wait_begin;
  return hp::verify(broken, plan).code;
}
static_assert(without_a_wait() == hp::verify_code::conflict_is_not_ordered);

}  // namespace
