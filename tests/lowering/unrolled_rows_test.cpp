// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/lowering/unrolled_rows.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <hyperparallel/pipeline/replay.hpp>
#include <hyperparallel/strategy/check_program.hpp>

#include "models/piped_model.hpp"
#include "pipeline/schedule_oracle.hpp"
#include "support/tries.hpp"

namespace {

using namespace hyperparallel;

std::string label(const programs::piped_shape& s) {
  return std::string(s.schedule->name) + " P" + std::to_string(s.shape.ranks) + " v" + std::to_string(s.shape.chunks) +
         " m" + std::to_string(s.shape.micro_batches);
}

TEST(unrolled_rows, keep_the_laws_of_programs_for_every_schedule) {
  std::set<std::string> schedules;
  for (const programs::piped_shape& s : programs::piped_shapes(4, 6)) {
    SCOPED_TRACE(label(s));
    const pipelined_program p = programs::piped(s);
    ASSERT_TRUE(p.ok());
    const program_status status = check_program(p.program);
    EXPECT_EQ(status, program_status{}) << name_of(status.code) << ", step " << status.step;
    EXPECT_EQ(p.program.home.size, p.program.graph.tensor.size);
    schedules.insert(s.schedule->name);
  }
  EXPECT_EQ(schedules.size(), std::size_t{hyperparallel::detail::published_schedule_count});
}

/// The schedule's own peak: chunks whose forward has begun and whose weights' gradient has not ended are those of which a
/// value that forward leaves to backward is alive.
TEST(unrolled_rows, as_many_micro_batches_are_in_flight_as_the_schedule_says) {
  for (const programs::piped_shape& s : programs::piped_shapes(4, 8)) {
    SCOPED_TRACE(label(s));
    const sharded_program p = programs::piped(s).program;
    std::map<std::tuple<int, int>, std::pair<int, int>> held;  // of stage and micro-batch: first and last step
    std::map<int, program_step> writer;                        // of each value
    for (int i = 0; i < p.step.size; ++i) {
      if (is_in(p.step[i].phase, update_phases)) continue;
      hyperparallel::detail::visit_values(p, p.step[i], [&](int v, bool written) {
        if (written) writer[v] = p.step[i];
        const auto made = writer.find(v);
        if (written || made == writer.end() || made->second.phase != graph_phase::forward) return;
        const program_step &w = made->second, &r = p.step[i];
        if (r.phase == graph_phase::forward || r.stage != w.stage || r.micro_batch != w.micro_batch) return;
        auto& [first, last] = held.try_emplace({w.stage, w.micro_batch}, p.step.size, 0).first->second;
        last = std::max(last, i);
      });
    }
    for (int i = p.step.size - 1; i >= 0; --i)
      if (const auto at = held.find({p.step[i].stage, p.step[i].micro_batch});
          at != held.end() && p.step[i].phase == graph_phase::forward)
        at->second.first = i;
    const pipeline_schedule rows = s.schedule->generate(s.shape, false);
    const pipeline_account a = replay(rows);
    for (int rank = 0; rank < rows.ranks; ++rank) {
      int most = 0;
      for (int i = 0; i < p.step.size; ++i) {
        int now = 0;
        for (const auto& [chunk, life] : held)
          now += rows.rank_of(std::get<0>(chunk), std::get<1>(chunk)) == rank && life.first <= i && i <= life.second;
        most = std::max(most, now);
      }
      EXPECT_EQ(most, a.rank[rank].peak_until_weight_gradient) << "rank " << rank;
    }
  }
}

TEST(unrolled_rows, one_part_and_one_micro_batch_are_the_program_itself) {
  const graph g = programs::piped_graph(2, 1);
  for (const char* name : {"dp", "tp-sp", "zero3", "ep"}) {
    const strategy_value s = programs::strategy_of_parts(name, 4);
    const sharded_program plain = partition(g, s);
    const sharded_program one =
        partition(g, s, pipeline_value{.schedule = schedule_called("1F1B"), .ranks = 1}).program;
    ASSERT_EQ(one.step.size, plain.step.size) << name;
    std::vector<int> storage(static_cast<std::size_t>(plain.storage.size), -1);  // renumbered, once
    const auto same = [&](int a, int b) {
      EXPECT_EQ(plain.value[a].tensor, one.value[b].tensor);
      EXPECT_EQ(plain.value[a].layout, one.value[b].layout);
      int& known = storage[static_cast<std::size_t>(plain.value[a].storage)];
      if (known < 0) known = one.value[b].storage;
      EXPECT_EQ(known, one.value[b].storage);
    };
    for (int i = 0; i < plain.step.size; ++i) {
      const program_step &a = plain.step[i], &b = one.step[i];
      ASSERT_EQ(a.is_move, b.is_move);
      std::vector<int> left, right;
      hyperparallel::detail::visit_values(plain, a, [&](int v, bool) { left.push_back(v); });
      hyperparallel::detail::visit_values(one, b, [&](int v, bool) { right.push_back(v); });
      ASSERT_EQ(left.size(), right.size());
      for (std::size_t k = 0; k < left.size(); ++k) same(left[k], right[k]);
    }
  }
}

/// Rows changed at random: they can be unrolled where the replay of the schedule comes to its end, and nowhere else.
TEST(unrolled_rows, rows_are_refused_where_the_schedule_stops) {
  std::mt19937 random(5);
  std::map<std::string, int> refused;
  const std::vector<programs::piped_shape> shapes = programs::piped_shapes(3, 4);
  std::map<const void*, sharded_program> known;
  for (int n = tested::tries(400, 4000); n > 0; --n) {
    const programs::piped_shape& s = shapes[random() % shapes.size()];
    const pipeline_schedule whole = s.schedule->generate(s.shape, false);
    if (whole.copies != 1) continue;
    sharded_program& p = known[&s];
    if (p.step.empty()) {
      const graph g = programs::piped_graph(s.shape.stages(), s.shape.micro_batches);
      program_stages stages;
      stages.cut = cut_evenly(g, s.shape.stages());
      stages.parts = s.shape.ranks;
      for (int t = 0; t < whole.stages; ++t) stages.part_of_stage.push(whole.rank_of_stage[t]);
      p = partition(g, programs::strategy_of_parts("single", 1), stages);
    }
    schedule_oracle::rows rows = schedule_oracle::rows_of(whole);
    auto& row = rows[random() % rows.size()];
    if (row.size() < 2) continue;
    const std::size_t a = random() % row.size(), b = random() % row.size();
    if (n % 4 == 0)
      row.erase(row.begin() + static_cast<std::ptrdiff_t>(a));
    else
      std::swap(row[a], row[n % 2 == 0 ? b : a + 1 < row.size() ? a + 1 : a - 1]);
    const pipeline_schedule changed = schedule_oracle::schedule_of(whole, rows);
    const unrolled_rows u = unroll(p, changed, {.accumulates_in_any_order = true});
    const pipeline_account replayed = replay(changed);
    // A forward that is to run together with what stands behind it may stand before anything else here.
    if (replayed.status.code == pipeline_code::pair_has_no_backward) continue;
    EXPECT_EQ(u.status.ok(), replayed.ok())
        << label(s) << ": " << to_text(u.status.code) << ", replay " << name_of(replayed.status.code);
    EXPECT_TRUE(!u.status.ok() || check_program(u.program) == program_status{});
    ++refused[to_text(u.status.code)];
  }
  EXPECT_GT(refused[to_text(unroll_code::row_waits_for_ever)], 20);
  EXPECT_GT(refused[to_text(unroll_code::action_is_missing_or_doubled)], 20);
  EXPECT_GT(refused[to_text(unroll_code::ok)], 20);
}

TEST(unrolled_rows, what_does_not_fit_is_refused_by_name) {
  const graph g = programs::piped_graph(4, 4);
  const strategy_value s = programs::strategy_of_parts("single", 1);
  program_stages stages;
  stages.cut = cut_evenly(g, 2);
  stages.parts = 2;
  for (int i = 0; i < 2; ++i) stages.part_of_stage.push(i);
  const sharded_program p = partition(g, s, stages);
  const named_schedule& gpipe_rows = *schedule_called("GPipe");
  const auto status = [&](const pipeline_schedule& rows) { return unroll(p, rows).status; };
  EXPECT_EQ(status(gpipe_rows.generate({2, 1, 3}, false)),
            (unroll_status{unroll_code::micro_batches_differ, {}, -1, 3, 4}));
  EXPECT_EQ(status(gpipe_rows.generate({4, 1, 4}, false)), (unroll_status{unroll_code::stages_differ, {}, -1, 4, 2}));
  EXPECT_EQ(status(gpipe_rows.generate({1, 2, 4}, false)).code, unroll_code::ranks_differ);
  EXPECT_EQ(status(schedule_called("DualPipe")->generate({2, 1, 4}, false)).code, unroll_code::copies_differ);
  pipeline_schedule other = gpipe_rows.generate({2, 1, 4}, false);
  std::swap(other.rank_of_stage[0], other.rank_of_stage[1]);
  EXPECT_EQ(status(other).code, unroll_code::action_stands_elsewhere);
  pipeline_schedule reloading = gpipe_rows.generate({2, 1, 4}, false);
  reloading.action[0] = reloading.coding().code({action_kind::offload, 0, 0});
  EXPECT_EQ(status(reloading).code, unroll_code::action_is_of_another_kind);
  pipeline_schedule late = gpipe_rows.generate({2, 1, 4}, false);
  std::swap(late.action[late.first[1] - 1], late.action[late.first[1] - 2]);  // the last two backward passes
  EXPECT_EQ(status(late), (unroll_status{unroll_code::accumulated_out_of_order,
                                         late.coding().action(late.action[late.first[1] - 1]), 0}));
  EXPECT_TRUE(unroll(p, late, {.accumulates_in_any_order = true}).status.ok());
  sharded_program refused = p;
  refused.status.code = strategy_code::dim_does_not_divide;
  EXPECT_EQ(unroll(refused, gpipe_rows.generate({2, 1, 4}, false)).status.code, unroll_code::program_is_refused);
}

}  // namespace
