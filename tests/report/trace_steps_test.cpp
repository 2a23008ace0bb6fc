// SPDX-License-Identifier: Apache-2.0
// The trace of a run read back by a JSON parser: a span for each task, on its queue's row, behind those that it waits for.

#include <hyperparallel/report/trace_steps.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <hyperparallel/graph/gradient.hpp>
#include <hyperparallel/graph/optimizer.hpp>
#include <hyperparallel/hardware/gpu_presets.hpp>
#include <hyperparallel/lowering/class_plan.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/world/model_run.hpp>

#include "../../examples/models/small_moe.hpp"

namespace hp = hyperparallel;

namespace {

using json = nlohmann::json;

hp::graph model() {
  hp::model_builder m({.unrolled = true});
  models::build_small_moe(m,
                          {.batch = 4, .sequence = 8, .vocabulary = 16, .layers = 1, .hidden = 16, .expert_width = 8});
  hp::differentiate(m.graph);
  hp::append_optimizer(m.graph, {});
  return m.graph;
}

/// Returns the names of the steps.
std::set<std::string> hold_trace(const char* strategy, hp::model_run_options options) {
  const hp::graph g = model();
  options.program.measured = true;
  hp::model_run<float> run(g, hp::strategy_called(strategy, 4).strategy, options);
  for (const hp::task_record& t : run.world().last_run().task) EXPECT_EQ(t.worker, -1);
  for (int step = 0; step < 3; ++step) run.train_step([&](int) { run.set_random_inputs(1); });
  const hp::run_record record = run.world().last_run();
  hp::report::string_sink sink;
  hp::report::write_trace(sink, run.world().program(), record);
  const json trace = json::parse(sink.text);

  std::map<int, std::pair<double, double>> span;
  std::map<std::pair<int, int>, std::string> row;
  std::map<std::pair<int, int>, double> ended;
  std::set<std::string> names;
  for (const json& event : trace["traceEvents"]) {
    const std::pair at(event["pid"].get<int>(), event["tid"].get<int>());
    if (event["ph"] == "M" && event["name"] == "thread_name") row[at] = event["args"]["name"];
    if (event["ph"] != "X") continue;
    const double begin = event["ts"], end = begin + event["dur"].get<double>();
    EXPECT_TRUE(span.emplace(event["args"]["task"].get<int>(), std::pair(begin, end)).second);
    EXPECT_EQ(event["name"], hp::name_of_step(run.world().program(), event["args"]["step"]));
    EXPECT_EQ(row.at(at), event["cat"]);
    EXPECT_GE(begin, ended[at] - 1e-3);  // tasks of a queue follow each other, in the order of the trace
    ended[at] = end;
    names.insert(event["name"]);
  }
  EXPECT_EQ(static_cast<int>(span.size()), run.world().tasks());
  EXPECT_EQ(row.size(), 8u);
  if (options.program.execution.threads == 1) {  // one after the other, on whatever rows
    std::vector<std::pair<double, double>> all;
    for (const auto& [task, one] : span) all.push_back(one);
    std::sort(all.begin(), all.end());
    for (std::size_t i = 1; i < all.size(); ++i) EXPECT_GE(all[i].first, all[i - 1].second - 1e-3) << i;
  }

  // Of the plan of all ranks: a wait for position n of a queue is over when its first n tasks have ended.
  const hp::program_plan plan = hp::plan_of_all_ranks(record.run->plan, run.world().program());
  std::vector<std::vector<int>> queue(static_cast<std::size_t>(hp::queue_count(plan.machine)));
  int waits = 0;
  for (int i = 0, w = 0; i < plan.row.size; ++i)
    for (int r = 0; r < plan.machine.ranks; ++r) {
      const int t = plan.row[i].first_task + r;
      for (; w < plan.wait_end[t]; ++w, ++waits) {
        const std::vector<int>& before = queue[static_cast<std::size_t>(plan.wait[w].word)];
        EXPECT_GE(span.at(t).first,
                  span.at(before[static_cast<std::size_t>(plan.wait[w].threshold - 1)]).second - 1e-3);
      }
      queue[static_cast<std::size_t>(hp::detail::first_queue(plan.machine, r, plan.row[i].kind))].push_back(t);
    }
  EXPECT_GT(waits, 50);
  return names;
}

TEST(trace_steps, has_a_span_for_each_task_on_its_row_at_its_time) {
  hp::model_run_options in_tiles;
  in_tiles.program.tiles = {"*.experts.*"};
  for (const int threads : {1, 2}) {
    in_tiles.program.execution.threads = threads;
    EXPECT_TRUE(hold_trace("ep", in_tiles)
                    .contains("layers.0.moe.experts.down (contract), tile 2 of 8 of experts and capacity"));
  }
}

// Moves that links make faster in several steps have as many tasks.
TEST(trace_steps, has_the_steps_of_moves) {
  for (const int threads : {1, 2}) {
    hp::model_run_options on_links;
    on_links.program.topology = hp::interconnect_of(hp::h100::topology);
    on_links.program.execution.threads = threads;
    EXPECT_TRUE(hold_trace("hsdp2", on_links).contains("head.exp_sum (exp_sum)"));
  }
}

}  // namespace
