// SPDX-License-Identifier: Apache-2.0
// The trace read back by a JSON parser: an event for each firing, which keep to the waits of the graph.

#include <hyperparallel/report/trace_programs.hpp>

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include <hyperparallel/controller/controller.hpp>
#include <hyperparallel/groups/program_waits.hpp>

namespace hp = hyperparallel;
namespace report = hyperparallel::report;

namespace {

using json = nlohmann::json;

hp::program_graph learning() {
  hp::program_graph g;
  const int rollout = hp::add_program(g, "rollout", "generation", 7), train = hp::add_program(g, "train", "", 5);
  hp::connect(g, {.name = "samples", .from = rollout, .to = train, .room = 2});
  hp::connect(g, {.name = "weights", .from = train, .to = rollout, .ready = 2, .room = 2});
  return g;
}

/// Begin and end of each firing, from the events.
template <class Firings>
std::map<std::pair<int, int>, std::pair<double, double>> spans_of(const hp::program_graph& g, const Firings& firings) {
  report::string_sink sink;
  report::write_program_trace(sink, g, firings);
  std::map<std::pair<int, int>, std::pair<double, double>> all;
  const json trace = json::parse(sink.text);
  for (const json& event : trace["traceEvents"]) {
    if (event["ph"] == "M" && event["name"] == "thread_name") {
      EXPECT_EQ(event["args"]["name"], event["tid"] == 0 ? "rollout on generation" : "train");
    }
    if (event["ph"] != "X") continue;
    const int program = event["tid"], firing = event["args"]["firing"];
    EXPECT_EQ(event["name"], g.program[program].name.text + (" " + std::to_string(firing)));
    const double begin = event["ts"], duration = event["dur"];
    all[{program, firing}] = {begin, begin + duration};
  }
  return all;
}

TEST(trace_programs, has_an_event_for_each_firing_at_its_time) {
  const hp::program_graph g = learning();
  const hp::program_times played = hp::play_programs(g, 6);
  const auto planned = spans_of(g, played);
  ASSERT_EQ(planned.size(), 12u);
  for (const auto& [at, span] : planned) {
    EXPECT_EQ(span.first, static_cast<double>(played.start[at.first * 6 + at.second]));
    EXPECT_EQ(span.second, static_cast<double>(played.end[at.first * 6 + at.second]));
  }
  hp::controller c(g, {}, {.keeps_times = true});
  for (const char* name : {"rollout", "train"}) c.set_program(name, {[](const hp::firing&) {}});
  c.run(2);
  EXPECT_EQ(c.times().size(), 4u);
  c.run(6);  // those of the last run are there
  const auto ran = spans_of(g, c.times());
  ASSERT_EQ(ran.size(), 8u);
  for (const auto& [at, span] : ran)
    for (const hp::program_wait& w : hp::waits_of(g))
      if (const auto before = ran.find({w.from, at.second - w.back}); w.to == at.first && before != ran.end()) {
        EXPECT_LE(before->second.second, span.first + 1e-3);
      }
}

}  // namespace
