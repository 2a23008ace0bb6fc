// SPDX-License-Identifier: Apache-2.0
// Verdicts name every task, event and slot that they point at; times and certificates carry units.

#include <hyperparallel/report/format_taskflow.hpp>

#include <gtest/gtest.h>

#include <set>
#include <string>

#include <hyperparallel/taskflow/builder.hpp>

namespace hp = hyperparallel;

namespace {

TEST(format_taskflow, verdicts_name_all_that_they_point_at) {
  for (int c = 1; c <= static_cast<int>(hp::verify_code::conflict_is_not_ordered); ++c)
    for (int given = 0; given < 16; ++given) {
      const auto field = [given](int bit, int number) { return (given >> bit & 1) != 0 ? number : -1; };
      const hp::verify_status s{static_cast<hp::verify_code>(c), field(0, 711), field(1, 722), field(2, 733),
                                field(3, 744)};
      const std::string text = fmt::format("{}", s);
      EXPECT_EQ(text.rfind(to_text(s.code), 0), 0u);
      EXPECT_EQ(text.find("task 711") != std::string::npos, s.task >= 0);
      EXPECT_EQ(text.find("after task 722") != std::string::npos, s.other >= 0);
      EXPECT_EQ(text.find("event 733") != std::string::npos, s.event >= 0);
      EXPECT_EQ(text.find("slot 744") != std::string::npos, s.slot >= 0);
      EXPECT_EQ(text.find('\n'), std::string::npos);
    }
  EXPECT_EQ(fmt::format("{}", hp::verify_status{}), "ok");
  EXPECT_EQ(fmt::format("{}", hp::exact_status{hp::exact_code::never_completes, 3, -1, 8, -1}),
            "a task never begins (task 3, event 8)");
  EXPECT_EQ(fmt::format("{}", hp::flow_status{hp::flow_code::negative_duration, 5, -1, -1}),
            "a duration is negative (task 5)");
  EXPECT_EQ(fmt::format("{}", hp::schedule_status{hp::schedule_code::no_queue_of_the_class, 2}),
            "the machine has no queue of the task's resource class (task 2)");
  hp::macro_status broken{hp::macro_code::flow_is_unsafe, 2, 3, 4, 0, -1, 1};
  broken.safety = hp::verify_code::wait_is_never_satisfied;
  EXPECT_EQ(fmt::format("{}", broken),
            "the outer flow is not safe: a wait needs a signal that comes later in the plan's order (instance 2, queue "
            "3, task 4, other 0, slot 1)");
  EXPECT_EQ(fmt::format("{}", hp::macro_status{}), "ok");
}

TEST(format_taskflow, golden) {
  EXPECT_EQ(fmt::format("{}", hp::machine_shape{8, {24, 48, 1, 0, 0}}), "8 ranks x (24 AIC, 48 AIV, 1 link)");
  EXPECT_EQ(fmt::format("{}", hp::machine_shape{1, {1, 0, 0, 0, 0, 2}}), "1 rank x (1 AIC, 2 host)");
  EXPECT_EQ(fmt::format("{}", hp::taskflow_size{1, 2, 3, 4, 5, 6}),
            "1 tasks, 2 waits, 3 signals, 4 accesses, 5 events, 6 slots");
  EXPECT_EQ(fmt::format("{:>5}", hp::resource::aiv), "  AIV");
  EXPECT_EQ(fmt::format("{}", hp::makespan_certificate{9'870'000'000, 9'640'000'000}),
            "9.870 ms, bound 9.640 ms, ratio 1.0239");
  EXPECT_EQ(fmt::format("{}", hp::exposure{2'000'000, 500'000}), "500.000 ns of 2.000 us exposed, 75.00 % masked");
  hp::simulation_result r;
  r.makespan = 1'500'000;
  EXPECT_EQ(fmt::format("{}", r), "makespan 1.500 us");
  r = {hp::simulation_code::deadlock, 4, 7, 0, {}};
  EXPECT_EQ(fmt::format("{}", r), "a wait needs a signal that comes later in the plan's order (task 4, event 7)");
  EXPECT_EQ(fmt::format("{}", hp::makespan_bound{3000, 3000, 1000, 2000, 1, hp::resource::link}),
            "bound 3.000 ns: critical path 3.000 ns, work 1.000 ns, head + work + tail 2.000 ns (link of rank 1)");
}

TEST(format_taskflow, verdicts_say_tasks_in_words) {
  const auto build = [](auto& f) {
    hp::add_task(f, hp::resource::aic, 0, 10, 0, 3);
    hp::add_task(f, hp::resource::link, 1, 10, 1, 4);
  };
  constexpr hp::taskflow_size size{2, 0, 0, 0, 0, 0};
  const auto f = hp::build_fixed<size>(build);
  constexpr const char* operations[] = {"GMM1", "combine"};
  constexpr const char* slots[] = {"h"};
  const hp::program_names names{operations, 2, slots, 1};
  const hp::verify_status s{hp::verify_code::conflict_is_not_ordered, 1, 0, -1, 0};
  EXPECT_EQ(
      hp::report::verdict_text(s, f, names),
      std::string(to_text(s.code)) + "; task 1: combine 4 on rank 1 (link); after task 0: GMM1 3 on rank 0 (AIC); h");
  EXPECT_EQ(hp::report::verdict_text(hp::verify_status{}, f, names), "ok");
  EXPECT_EQ(hp::report::task_text(f, 0), "task 0: operation 0 3 on rank 0 (AIC)");
  EXPECT_EQ(hp::report::task_text(f, 9), "task 9");
}

}  // namespace
