// SPDX-License-Identifier: Apache-2.0
// The trace read back by a JSON parser: an event for each action of the schedule, on the row of its part.

#include <hyperparallel/report/trace_parts.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <hyperparallel/hardware/presets.hpp>

#include "models/piped_model.hpp"

namespace {

namespace hp = hyperparallel;
namespace report = hyperparallel::report;
using json = nlohmann::json;

TEST(trace_parts, has_an_event_for_each_action_of_the_schedule) {
  const hp::interconnect links = hp::interconnect_of(hp::matrix384::topology);
  for (const char* name : {"1F1B", "ZB-H1", "ZB-V", "Interleaved1F1B"}) {
    const hp::named_schedule& s = *hp::schedule_called(name);
    const hp::pipeline_shape n{2, s.fixed_chunks > 0 ? s.fixed_chunks : name[0] == 'I' ? 2 : 1, 4};
    const hp::sharded_program p = programs::piped({&s, n}, "tp", 2).program;
    const hp::lowered_program l = hp::lower_training(p, {.topology = links});
    ASSERT_TRUE(l.status.ok());
    report::string_sink sink;
    ASSERT_TRUE(report::write_parts_trace(sink, l, hp::matrix384::device));
    std::map<std::string, int> listed, drawn;
    const hp::pipeline_schedule rows = s.generate(n, false);
    for (const int code : rows.action) {
      const hp::pipeline_action a = rows.coding().action(code);
      // What the first stage has of I is nothing.
      if (a.kind != hp::action_kind::input_gradient || a.stage > 0) ++listed[hp::text_of(a).text];
    }
    std::map<int, std::vector<std::pair<double, double>>> spans;
    double last = 0;
    const json events = json::parse(sink.text)["traceEvents"];
    for (const json& event : events) {
      if (event["ph"] != "X") continue;
      const double begin = event["ts"].get<double>(), end = begin + event["dur"].get<double>();
      spans[event["tid"].get<int>()].push_back({begin, end});
      last = std::max(last, end);
      const std::string label = event["name"].get<std::string>();
      if (event["cat"].get<std::string>() == report::name_of(hp::resource::aic) && label != "update") ++drawn[label];
    }
    for (auto& [row, all] : spans) {
      std::sort(all.begin(), all.end());
      for (std::size_t i = 0; i + 1 < all.size(); ++i) EXPECT_LE(all[i].second, all[i + 1].first + 1e-6) << name;
    }
    // Weights of the first stage are all that its backward passes are.
    for (const auto& [label, times] : listed) {
      const std::string other = label.substr(0, label.find('W')) + "B" + label.substr(label.find('W') + 1);
      EXPECT_TRUE(drawn.contains(label) || (label[0] == '0' && drawn.contains(other))) << name << ", " << label;
    }
    EXPECT_NEAR(last, static_cast<double>(hp::simulate(l, hp::matrix384::device).makespan) * 1e-6, 1e-3) << name;
  }
}

TEST(trace_parts, without_a_price_nothing_is_written) {
  const hp::sharded_program p = programs::piped({hp::schedule_called("1F1B"), {2, 1, 2}}).program;
  report::string_sink sink;
  EXPECT_FALSE(report::write_parts_trace(sink, hp::lower_training(p), hp::matrix384::device));  // on no links
  EXPECT_TRUE(sink.text.empty());
}

}  // namespace
