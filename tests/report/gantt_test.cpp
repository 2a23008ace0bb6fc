// SPDX-License-Identifier: Apache-2.0
// The drawing holds one bar per task of the rank, where its times lie; equal inputs give equal bytes.

#include <hyperparallel/report/gantt.hpp>

#include <gtest/gtest.h>

#include <string>

#include <hyperparallel/taskflow/builder.hpp>
#include <hyperparallel/taskflow/owned.hpp>

namespace hp = hyperparallel;
namespace report = hyperparallel::report;

namespace {

constexpr const char* operations[] = {"a<b>&\"'", "send"};

TEST(gantt, draws_every_task_of_the_rank_where_it_runs) {
  const auto build = [](auto& f) {
    for (int rank = 0; rank < 2; ++rank)
      for (int i = 0; i < 5; ++i) {
        hp::add_task(f, hp::resource::aic, rank, 1000 * (i + 1), 0, i);
        hp::add_task(f, hp::resource::link, rank, 700, 1, i);
      }
  };
  constexpr hp::machine_shape machine{2, {2, 0, 1, 0, 0}};
  hp::owned_taskflow flow(hp::measure(build));
  build(flow);
  hp::owned_schedule schedule(flow.size.tasks, hp::queue_count(machine));
  schedule.machine = machine;
  hp::owned_schedule_scratch x(flow.size, hp::queue_count(machine));
  hp::list_schedule(flow, machine, {}, schedule, x);
  hp::owned_timeline line(flow.size.tasks);
  hp::owned_simulation_scratch y(flow.size, hp::queue_count(machine));
  const std::int64_t makespan = hp::simulate(flow, schedule, {}, line, y).makespan;
  for (int rank = 0; rank < 2; ++rank) {
    report::string_sink first, second;
    report::write_gantt(first, flow, schedule, line, makespan, {operations, 2, nullptr, 0}, {rank, 1000, 10});
    report::write_gantt(second, flow, schedule, line, makespan, {operations, 2, nullptr, 0}, {rank, 1000, 10});
    EXPECT_EQ(first.text, second.text);
    EXPECT_EQ(first.text.rfind("<svg ", 0), 0u);
    EXPECT_TRUE(first.text.ends_with("</svg>\n"));
    EXPECT_NE(first.text.find("a&lt;b&gt;&amp;&quot;&apos;"), std::string::npos);
    int bars = 0;
    for (std::size_t title = first.text.find("<title>task "); title != std::string::npos;
         title = first.text.find("<title>task ", title + 1), ++bars) {
      const std::string bar = first.text.substr(first.text.rfind("<rect ", title), 200);
      const auto number = [&bar](const std::string& before) {
        return std::stod(bar.substr(bar.find(before) + before.size()));
      };
      const int t = static_cast<int>(number("<title>task "));
      EXPECT_EQ(flow.task[t].rank, rank);
      const double unit = 1000.0 / static_cast<double>(makespan);
      EXPECT_NEAR(number(" x=\""), 70 + static_cast<double>(line.start[t]) * unit, 0.001);
      EXPECT_NEAR(number(" width=\""), static_cast<double>(flow.task[t].duration) * unit, 0.0015);
      EXPECT_EQ(number(" y=\""), (schedule.queue[t] - rank * 3) * 10 + 1);
    }
    EXPECT_EQ(bars, 10);
  }
}

}  // namespace
