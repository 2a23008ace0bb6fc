// SPDX-License-Identifier: Apache-2.0
// The trace read back by a JSON parser: one event per task that ran, on its queue's row, at its exact time.

#include <hyperparallel/report/trace.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include <hyperparallel/exec/executor.hpp>
#include <hyperparallel/taskflow/builder.hpp>
#include <hyperparallel/taskflow/list_schedule.hpp>
#include <hyperparallel/taskflow/owned.hpp>

namespace hp = hyperparallel;

namespace {

using json = nlohmann::json;

/// Two ranks; each tile is copied, multiplied, activated and sent to the other rank. Durations differ by picoseconds.
struct tiles {
  int count;
  template <class Flow>
  constexpr void operator()(Flow& f) const {
    for (int rank = 0; rank < 2; ++rank)
      for (int i = 0; i < count; ++i) {
        const int copied = hp::add_event(f, rank), done = hp::add_event(f, rank);
        hp::add_task(f, hp::resource::copy_in, rank, 1'000'001 + i, 0, i);
        hp::add_signal(f, copied);
        hp::add_task(f, hp::resource::aic, rank, 7'654'321 * (i % 3 + 1), 1, i);
        hp::add_wait(f, copied);
        hp::add_signal(f, done);
        hp::add_task(f, hp::resource::aiv, rank, 999'999, 2, i);
        hp::add_wait(f, done);
        hp::add_task(f, hp::resource::link, rank, 2'500'000, 3, i);
        hp::add_wait(f, done);
      }
  }
};

constexpr hp::machine_shape machine{2, {2, 3, 1, 1, 0}};
constexpr const char* operations[] = {"prefetch", "GMM1", "Swi\"GLU\\\n", "put \xc3\xa9\xff"};
constexpr hp::program_names names{operations, 4, nullptr, 0};
const std::string shown[] = {"prefetch", "GMM1", "Swi\"GLU\\\n", "put \xc3\xa9\xef\xbf\xbd"};

struct planned {
  hp::owned_taskflow flow;
  hp::owned_schedule schedule;
  hp::owned_timeline line;
  hp::simulation_result result;

  explicit planned(const tiles& build)
      : flow(hp::measure(build)),
        schedule(hp::measure(build).tasks, hp::queue_count(machine)),
        line(hp::measure(build).tasks) {
    build(flow);
    hp::seal(flow);
    schedule.machine = machine;
    hp::owned_schedule_scratch x(flow.size, hp::queue_count(machine));
    hp::list_schedule(flow, machine, {hp::priority::upward_rank, 123'456}, schedule, x);
    hp::owned_simulation_scratch y(flow.size, hp::queue_count(machine));
    result = hp::simulate(flow, schedule, {123'456, false}, line, y);
  }
};

/// The text of a number with `digits` decimals as an integer of the last digit's unit.
std::int64_t units(const json& number, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, number.get<double>());
  std::string kept;
  for (const char* c = text; *c != '\0'; ++c)
    if (*c != '.') kept += *c;
  return std::stoll(kept);
}

/// Tasks of the trace by number; fails when one appears twice, or two events of a row overlap.
std::map<int, json> tasks_of(const json& trace, int digits) {
  std::map<int, json> found;
  std::map<std::pair<int, int>, std::vector<std::pair<std::int64_t, std::int64_t>>> rows;
  for (const json& e : trace.at("traceEvents")) {
    if (e.at("ph") != "X") continue;
    if (e.at("cat") != "wait" && e.at("cat") != "signal") {
      EXPECT_TRUE(found.emplace(e.at("args").at("task").get<int>(), e).second);
    }
    const std::int64_t start = units(e.at("ts"), digits);
    rows[{e.at("pid").get<int>(), e.at("tid").get<int>()}].emplace_back(start, start + units(e.at("dur"), digits));
  }
  for (auto& [row, spans] : rows) {
    std::sort(spans.begin(), spans.end());
    for (std::size_t i = 1; i < spans.size(); ++i) EXPECT_LE(spans[i - 1].second, spans[i].first);
  }
  return found;
}

/// (process, row) → name, from the metadata.
std::map<std::pair<int, int>, std::string> names_of(const json& trace, const char* what) {
  std::map<std::pair<int, int>, std::string> found;
  for (const json& e : trace.at("traceEvents")) {
    if (e.at("ph") != "M" || e.at("name") != what) continue;
    EXPECT_TRUE(
        found.emplace(std::pair(e.at("pid").get<int>(), e.at("tid").get<int>()), e.at("args").at("name")).second);
  }
  return found;
}

TEST(trace, holds_the_simulated_run_exactly) {
  const planned p(tiles{9});
  ASSERT_EQ(p.result.code, hp::simulation_code::ok);
  hp::report::string_sink sink;
  hp::report::write_trace(sink, p.flow, p.schedule, p.line, names);
  const json trace = json::parse(sink.text);
  const std::map<int, json> found = tasks_of(trace, 6);
  ASSERT_EQ(found.size(), static_cast<std::size_t>(p.flow.size.tasks));
  for (const auto& [t, e] : found) {
    EXPECT_EQ(units(e.at("ts"), 6), p.line.start[t]);
    EXPECT_EQ(units(e.at("dur"), 6), p.flow.task[t].duration);
    EXPECT_EQ(e.at("pid"), p.flow.task[t].rank);
    EXPECT_EQ(e.at("pid").get<int>() * 7 + e.at("tid").get<int>(), p.schedule.queue[t]);
    EXPECT_EQ(e.at("cat"), hp::report::name_of(p.flow.task[t].kind));
    EXPECT_EQ(e.at("name"), shown[p.flow.task[t].operation] + " " + std::to_string(p.flow.task[t].item));
    EXPECT_EQ(e.at("args").at("item"), p.flow.task[t].item);
  }
}

TEST(trace, names_one_row_per_queue_of_each_rank) {
  const planned p(tiles{2});
  hp::report::string_sink sink;
  hp::report::write_trace(sink, p.flow, p.schedule, p.line, names);
  const json trace = json::parse(sink.text);
  const auto rows = names_of(trace, "thread_name");
  ASSERT_EQ(rows.size(), 14u);
  const char* expected[] = {"AIC 0", "AIC 1", "AIV 0", "AIV 1", "AIV 2", "link", "copy in"};
  for (int rank = 0; rank < 2; ++rank)
    for (int row = 0; row < 7; ++row) EXPECT_EQ(rows.at({rank, row}), expected[row]);
  const auto processes = names_of(trace, "process_name");
  EXPECT_EQ(processes.at({0, 0}), "rank 0");
  EXPECT_EQ(processes.at({1, 0}), "rank 1");
  int indices = 0;
  for (const json& e : trace.at("traceEvents")) {
    if (e.at("name") == "thread_sort_index") {
      EXPECT_EQ(e.at("args").at("sort_index"), e.at("tid"));
      ++indices;
    } else if (e.at("name") == "process_sort_index") {
      EXPECT_EQ(e.at("args").at("sort_index"), e.at("pid"));
      ++indices;
    }
  }
  EXPECT_EQ(indices, 16);
}

TEST(trace, holds_the_recorded_run_and_leaves_out_what_never_ran) {
  const planned p(tiles{8});
  hp::executor<hp::record_profile> run(p.flow, p.schedule, {2, false, 0, names});
  for (int operation = 0; operation < 4; ++operation) run.bind(operation, [](const hp::kernel_call&) {});
  run.run();
  hp::record_profile profile = run.profile();
  profile.task[5].worker = -1;
  hp::report::string_sink sink;
  hp::report::write_trace(sink, p.flow, p.schedule, profile, run.names());
  const std::map<int, json> found = tasks_of(json::parse(sink.text), 3);
  ASSERT_EQ(found.size(), static_cast<std::size_t>(p.flow.size.tasks - 1));
  EXPECT_FALSE(found.contains(5));
  for (const auto& [t, e] : found) {
    const hp::task_record& r = profile.task[static_cast<std::size_t>(t)];
    EXPECT_EQ(units(e.at("ts"), 3), r.start);
    EXPECT_EQ(units(e.at("dur"), 3), r.end - r.start);
    EXPECT_EQ(e.at("args").at("worker"), r.worker);
  }
}

TEST(trace, sets_waits_and_signals_beside_the_tasks_they_belong_to) {
  const planned p(tiles{4});
  hp::record_profile profile;
  profile.size_for(p.flow.size.tasks);
  for (int i = 0; i < p.flow.size.tasks; ++i) {
    const int t = p.schedule.queue_task[i];
    const std::int64_t at = 100 * i;
    profile.task[static_cast<std::size_t>(t)] = {at + 20, at + 50, 0, t % 3 == 0 ? -1 : at, at + 60};
  }
  hp::report::string_sink sink;
  hp::report::write_trace(sink, p.flow, p.schedule, profile, names);
  const json trace = json::parse(sink.text);
  EXPECT_EQ(tasks_of(trace, 3).size(), profile.task.size());
  std::map<std::pair<std::string, int>, json> beside;
  for (const json& e : trace.at("traceEvents"))
    if (e.at("ph") == "X" && e.at("args").contains("of")) {
      EXPECT_EQ(e.at("name"), e.at("cat"));
      EXPECT_TRUE(
          beside.emplace(std::pair(e.at("cat").get<std::string>(), e.at("args").at("of").get<int>()), e).second);
    }
  std::size_t expected = 0;
  for (int t = 0; t < p.flow.size.tasks; ++t) {
    const hp::task_record& r = profile.task[static_cast<std::size_t>(t)];
    const auto check = [&](const char* what, bool there, std::int64_t from, std::int64_t to) {
      const auto e = beside.find({what, t});
      ASSERT_EQ(e != beside.end(), there) << what << ' ' << t;
      if (!there) return;
      ++expected;
      EXPECT_EQ(units(e->second.at("ts"), 3), from);
      EXPECT_EQ(units(e->second.at("dur"), 3), to - from);
      EXPECT_EQ(e->second.at("pid").get<int>() * 7 + e->second.at("tid").get<int>(), p.schedule.queue[t]);
    };
    check("wait", r.wait >= 0, r.wait, r.start);
    check("signal", p.flow.task[t].signal_begin < p.flow.task[t].signal_end, r.end, r.signalled);
  }
  EXPECT_EQ(beside.size(), expected);
  EXPECT_GT(expected, 0U);
}

TEST(trace, keeps_a_planned_and_a_real_run_apart_in_one_file) {
  const planned p(tiles{3});
  hp::record_profile profile;
  profile.size_for(p.flow.size.tasks);
  for (std::size_t t = 0; t < profile.task.size(); ++t) {
    const std::int64_t at = static_cast<std::int64_t>(t) * 10;
    profile.task[t] = {at, at + 10, 0};
  }
  hp::report::string_sink sink;
  hp::report::trace_writer writer(sink);
  hp::report::add_run(writer, p.flow, p.schedule, p.line, names, {"planned rank", 0});
  hp::report::add_run(writer, p.flow, p.schedule, profile, names, {"rank", 2});
  writer.finish();
  const json trace = json::parse(sink.text);
  const auto processes = names_of(trace, "process_name");
  ASSERT_EQ(processes.size(), 4u);
  EXPECT_EQ(processes.at({1, 0}), "planned rank 1");
  EXPECT_EQ(processes.at({2, 0}), "rank 0");
  EXPECT_EQ(names_of(trace, "thread_name").size(), 28u);
  int real = 0;
  for (const json& e : trace.at("traceEvents"))
    if (e.at("ph") == "X" && e.at("pid") >= 2) ++real;
  EXPECT_EQ(real, p.flow.size.tasks);
}

TEST(trace, of_nothing_is_still_json) {
  hp::report::string_sink sink;
  hp::report::trace_writer(sink).finish();
  EXPECT_TRUE(json::parse(sink.text).at("traceEvents").empty());
}

TEST(trace, streams_long_runs_in_pieces) {
  struct counting_sink {
    std::size_t largest = 0, writes = 0;
    std::string text;
    void write(std::string_view more) {
      largest = std::max(largest, more.size());
      ++writes;
      text += more;
    }
  } sink;
  const planned p(tiles{400});
  hp::report::write_trace(sink, p.flow, p.schedule, p.line, names);
  EXPECT_GT(sink.writes, 2u);
  EXPECT_LT(sink.largest, std::size_t{1} << 17);
  EXPECT_EQ(tasks_of(json::parse(sink.text), 6).size(), static_cast<std::size_t>(p.flow.size.tasks));
}

}  // namespace
