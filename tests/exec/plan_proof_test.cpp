// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/exec/plan_proof.hpp>

#include <hyperparallel/lowering/planned_flow.hpp>
#include <hyperparallel/taskflow/static_taskflow.hpp>
#include <hyperparallel/world/taskflow_world.hpp>

#include <gtest/gtest.h>

#include <string>
#include <type_traits>

#include "random_plan.hpp"
#include "support/error_of.hpp"

namespace {

namespace hp = hyperparallel;
using hp::testing_plans::owned_plan;
using tested::error_of;

/// A task writes a buffer, another reads it; `waits` says whether by an event.
struct handover {
  bool waits = false;
  template <class Flow>
  constexpr void operator()(Flow& f) const {
    const int written = hp::add_event(f, 0), buffer = hp::add_slot(f, 0, 0, 0, 64);
    hp::add_task(f, hp::resource::aic, 0, 10, 0, 0);
    hp::add_signal(f, written);
    hp::add_access(f, buffer, 0, 64, hp::access_mode::write);
    hp::add_task(f, hp::resource::aiv, 0, 10, 1, 0);
    if (waits) hp::add_wait(f, written);
    hp::add_access(f, buffer, 0, 64, hp::access_mode::read);
  }
};
struct safe_handover : handover {
  constexpr safe_handover() : handover{true} {}
};
constexpr hp::machine_shape machine{1, {1, 1, 0, 0, 0}};
constexpr auto racing_flow = hp::build_fixed<hp::measure(handover{})>(handover{});
constexpr auto racing_schedule = hp::schedule_fixed<2>(racing_flow, machine);
static_assert(hp::verify(racing_flow, racing_schedule).code == hp::verify_code::conflict_is_not_ordered);
using racing = hp::constant_plan<racing_flow, racing_schedule>;
using proved = hp::proved_plan<hp::static_taskflow<safe_handover, machine>>;

constexpr const char* operations[] = {"produce", "consume"};
constexpr const char* slots[] = {"buffer"};
const hp::taskflow_world_options named{.execution = {.threads = 1, .names = {operations, 2, slots, 1}}};

const char* const race =
    "the plan is not proved safe: task 1 on rank 0 (consume) and task 0 on rank 0 (produce) use buffer, one of them "
    "writes, and no wait of the first follows the second; hp::unchecked runs it without proof";

void nothing(const hp::kernel_call&) {}

template <class X>
hp::run_result runs(X& x) {
  for (int o = 0; o < 2; ++o) x.bind(o, nothing);
  return x.run();
}

TEST(plan_proof, a_race_is_refused_at_every_entry) {
  const hp::planned_flow late(handover{}, machine, {});
  EXPECT_EQ(error_of<hp::unsafe_plan_error>([&] { hp::taskflow_world w(late.flow(), late.schedule(), named); }), race);
  EXPECT_EQ(
      error_of<hp::unsafe_plan_error>([&] { hp::profiled_taskflow_world w(late.flow(), late.schedule(), named); }),
      race);
  EXPECT_EQ(error_of<hp::unsafe_plan_error>([&] { hp::taskflow_world w(racing{}, named); }), race);
  EXPECT_EQ(error_of<hp::unsafe_plan_error>([&] { hp::executor<> x(late.flow(), late.schedule(), named.execution); }),
            race);
  EXPECT_EQ(error_of<hp::unsafe_plan_error>([&] { hp::executor<> x(racing{}, named.execution); }), race);
  try {
    hp::prove_plan(late.flow(), late.schedule());
    FAIL();
  } catch (const hp::unsafe_plan_error& e) {
    EXPECT_EQ(e.safety, late.verify());
    EXPECT_EQ(e.flow.code, hp::flow_code::ok);
    EXPECT_NE(std::string(e.what()).find("task 1 on rank 0 (operation 1)"), std::string::npos) << e.what();
  }
  static_assert(std::is_base_of_v<hp::bind_error, hp::unsafe_plan_error>);
  static_assert(!std::is_constructible_v<hp::executor<>, hp::bound_plan>, "a bound plan tells nothing of its proof");
}

TEST(plan_proof, who_says_unchecked_runs_it) {
  const hp::planned_flow late(handover{}, machine, {});
  hp::taskflow_world w(hp::unchecked, late.flow(), late.schedule(), named);
  hp::executor<> x(hp::unchecked, late.flow(), late.schedule(), named.execution);
  hp::executor<> y(hp::unchecked, hp::bound_plan(racing{}), named.execution);
  EXPECT_EQ(runs(w), hp::run_result::complete);
  EXPECT_EQ(runs(x), hp::run_result::complete);
  EXPECT_EQ(runs(y), hp::run_result::complete);
}

TEST(plan_proof, a_proved_plan_runs) {
  const hp::planned_flow late(handover{true}, machine, {});
  hp::taskflow_world w(late.flow(), late.schedule(), named), of_type(proved{}, named);
  hp::executor<> x(proved{}, named.execution);
  EXPECT_EQ(runs(w), hp::run_result::complete);
  EXPECT_EQ(runs(of_type), hp::run_result::complete);
  EXPECT_EQ(runs(x), hp::run_result::complete);
  EXPECT_EQ(of_type.arenas().high_water(0, 0), 64);
}

// Each kind of mistake by itself, in a plan that is safe otherwise.
TEST(plan_proof, names_what_is_wrong) {
  const auto error = [](const auto& change) {
    owned_plan plan;
    plan.build(handover{true});
    plan.enqueue(machine, {0, 1});
    change(plan);
    return error_of<hp::unsafe_plan_error>([&] { hp::prove_plan(plan.flow, plan.schedule, named.execution.names); });
  };
  EXPECT_EQ(error([](owned_plan&) {}), "no error");
  const auto expect = [&](const char* what, const auto& change) {
    EXPECT_EQ(error(change),
              std::string("the plan is not proved safe: ") + what + "; hp::unchecked runs it without proof");
  };
  expect("a threshold is outside 1 .. total of signals, task 1 on rank 0 (consume), event 0",
         [](owned_plan& p) { p.waits[0].threshold = 2; });
  expect("an access is empty or outside its slot, task 1 on rank 0 (consume), buffer",
         [](owned_plan& p) { p.accesses[1].end = 65; });
  expect("a queue's order disagrees with the plan's order, task 0 on rank 0 (produce)", [](owned_plan& p) {
    p.enqueue({1, {2, 0, 0, 0, 0}}, {0, 0});
    p.tasks[1].kind = hp::resource::aic;
    std::swap(p.queue_task[0], p.queue_task[1]);
  });
  expect("the schedule has no order", [](owned_plan& p) { p.schedule.order = nullptr; });
}

// On random plans the proof is the verifier's: no run begins that it refuses, none is refused that it accepts.
TEST(plan_proof, agrees_with_the_verifier_where_waits_are_left_out) {
  int refused = 0;
  for (unsigned seed = 1; seed <= 60; ++seed) {
    owned_plan plan;
    random_plan(plan, 40, 4, 3, seed);
    if (plan.flow.size.waits == 0) continue;
    hp::wait& w = plan.waits[seed % static_cast<unsigned>(plan.flow.size.waits)];
    if (seed % 3 != 0 && w.threshold > 1) --w.threshold;
    hp::detail::owned_verify_scratch x(plan.flow.size, hp::queue_count(plan.schedule.machine));
    const hp::verify_status safe = hp::verify(plan.flow, plan.schedule, x);
    const std::string what = error_of<hp::unsafe_plan_error>([&] { hp::executor<> run(plan.flow, plan.schedule); });
    EXPECT_EQ(what == "no error", safe.code == hp::verify_code::ok) << seed << ": " << what;
    refused += safe.code != hp::verify_code::ok ? 1 : 0;
  }
  EXPECT_GT(refused, 5);
  EXPECT_LT(refused, 55);
}

}  // namespace
