// SPDX-License-Identifier: Apache-2.0
// The trace read back by a JSON parser: an event for each action, a counter with the account's peak for each rank.

#include <hyperparallel/report/trace_pipeline.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include <hyperparallel/pipeline/place_transfers.hpp>
#include <hyperparallel/pipeline/schedule_list.hpp>

namespace hp = hyperparallel;
namespace report = hyperparallel::report;

namespace {

using json = nlohmann::json;

json events_of(const report::pipeline_drawing& d, const report::pipeline_trace_options& options = {}) {
  report::string_sink sink;
  report::write_pipeline_trace(sink, d, options);
  return json::parse(sink.text)["traceEvents"];
}

TEST(trace_pipeline, has_an_event_for_each_action_and_the_peaks) {
  for (const hp::named_schedule& named : hp::schedule_table.item) {
    const hp::pipeline_shape shape{4, named.fixed_chunks > 0 ? named.fixed_chunks : 2, 8};
    if (!named.check(shape).ok()) continue;
    const hp::pipeline_schedule s = named.generate(shape, false);
    const report::pipeline_drawing d = report::drawing_of(s, hp::equal_stages({10, 11, 8}, 1), {}, named.name);
    std::map<std::string, int> listed, drawn;
    std::map<std::string, double> most;
    std::vector<double> busy(4, 0.0);
    double last_end = 0;
    for (const int code : s.action) ++listed[hp::to_text(s.coding().action(code))];
    for (const json& event : events_of(d)) {
      if (event["ph"] == "C") {
        double& peak = most[event["name"]];
        peak = std::max(peak, event["args"]["chunks"].get<double>());
      }
      if (event["ph"] != "X") continue;
      ++drawn[event["name"]];
      busy[event["tid"].get<std::size_t>()] += event["dur"].get<double>();
      last_end = std::max(last_end, event["ts"].get<double>() + event["dur"].get<double>());
      EXPECT_EQ(event["name"].get<std::string>(), std::to_string(event["args"]["stage"].get<int>()) +
                                                      event["cat"].get<std::string>() +
                                                      std::to_string(event["args"]["micro_batch"].get<int>()));
    }
    EXPECT_EQ(drawn, listed);
    EXPECT_EQ(last_end, static_cast<double>(d.account.makespan));
    for (int r = 0; r < 4; ++r) {
      EXPECT_EQ(most["activations of rank " + std::to_string(r)], d.account.rank[r].peak_until_weight_gradient);
      if (std::string(named.name).starts_with("DualPipe")) continue;  // both of a pair count
      EXPECT_EQ(busy[static_cast<std::size_t>(r)], static_cast<double>(d.account.rank[r].busy));
    }
  }
}

TEST(trace_pipeline, times_are_microseconds_of_the_unit) {
  const report::pipeline_drawing d =
      report::drawing_of(hp::generate<hp::gpipe>({2, 1, 2}), hp::equal_stages({7, 1, 1}));
  for (const auto& [digits, time] : {std::pair{0, 7.0}, {3, 0.007}, {6, 0.000007}}) {
    const json events = events_of(d, {.process = 3, .digits = digits});
    EXPECT_EQ(events[0]["args"]["name"], "pipeline");
    int spans = 0;
    for (const json& event : events) {
      EXPECT_EQ(event["pid"], 3);
      if (event["name"] != "1F0" && event["name"] != "0F1") continue;
      ++spans;
      EXPECT_DOUBLE_EQ(event["ts"].get<double>(), time);
      EXPECT_DOUBLE_EQ(event["dur"].get<double>(), time);
    }
    EXPECT_EQ(spans, 2);
  }
}

TEST(trace_pipeline, what_takes_no_time_is_an_instant) {
  const hp::pipeline_schedule s = hp::place_transfers(hp::generate<hp::gpipe>({2, 1, 2}));
  int instants = 0;
  for (const json& event : events_of(report::drawing_of(s))) instants += event["ph"] == "i";
  EXPECT_EQ(instants, 8);
}

}  // namespace
