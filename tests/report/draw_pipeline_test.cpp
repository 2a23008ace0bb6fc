// SPDX-License-Identifier: Apache-2.0
// Boxes hold each action once, at its time; curves have the account's peaks.

#include <hyperparallel/report/draw_pipeline.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <hyperparallel/pipeline/place_transfers.hpp>
#include <hyperparallel/pipeline/schedule_list.hpp>

namespace hp = hyperparallel;
namespace report = hyperparallel::report;

namespace {

std::vector<hp::pipeline_costs> many_costs(int stages) {
  hp::pipeline_costs uneven = hp::equal_stages({3, 5, 2}, 1), heavy_head;
  uneven.overlapped_pair = 8;
  uneven.bytes.push({7, 4});
  for (int s = 0; s < stages; ++s) heavy_head.times.push({s + 1 == stages ? 9 : 4, 5, 0});
  return {{}, uneven, heavy_head};
}

template <class Body>
void for_every_schedule(Body&& body) {
  for (const hp::named_schedule& named : hp::schedule_table.item)
    for (const hp::pipeline_shape& shape : {hp::pipeline_shape{1, 1, 3}, {2, 2, 5}, {4, 2, 8}, {4, 1, 40}, {3, 3, 9}}) {
      if (!named.check(shape).ok()) continue;
      const hp::pipeline_schedule s = named.generate(shape, true);
      for (const hp::pipeline_costs& c : many_costs(s.stages)) {
        body(s, c, report::drawing_of(s, c, {}, named.name));
        const hp::pipeline_schedule lowered = hp::place_transfers(s);
        body(lowered, c, report::drawing_of(lowered, c, hp::ordered_queues::value, named.name));
      }
    }
}

TEST(draw_pipeline, boxes_cover_the_busy_time_and_hold_each_action_once) {
  for_every_schedule([](const hp::pipeline_schedule& s, const hp::pipeline_costs&, const report::pipeline_drawing& d) {
    std::map<std::string, int> listed, drawn;
    for (const int code : s.action)
      if (code != hp::idle_slot) ++listed[hp::to_text(s.coding().action(code))];
    std::int64_t last_end = 0;
    ASSERT_EQ(static_cast<int>(d.row.size()), s.ranks);
    for (int r = 0; r < s.ranks; ++r) {
      std::int64_t busy = 0, clock = 0;
      for (const report::pipeline_box& b : d.row[static_cast<std::size_t>(r)]) {
        ++drawn[hp::to_text(b.action)];
        if (b.is_pair) ++drawn[hp::to_text(b.beside)];
        EXPECT_EQ(b.is_pair, b.action.kind == hp::action_kind::overlapped_forward);
        EXPECT_GE(b.start, clock);
        EXPECT_GE(b.end, b.start);
        busy += b.end - b.start;
        clock = b.end;
      }
      EXPECT_EQ(busy, d.account.rank[r].busy) << d.name;
      EXPECT_EQ(clock, d.account.rank[r].last_end) << d.name;
      last_end = hp::larger(last_end, clock);
    }
    EXPECT_EQ(last_end, d.account.makespan);
    EXPECT_EQ(drawn, listed);
  });
}

TEST(draw_pipeline, curves_have_the_peaks_of_the_account_and_end_at_nothing) {
  for_every_schedule(
      [](const hp::pipeline_schedule& s, const hp::pipeline_costs& c, const report::pipeline_drawing& d) {
        EXPECT_EQ(d.in_bytes, c.bytes.size > 0);
        for (int r = 0; r < s.ranks; ++r) {
          std::int64_t most = 0, time = 0;
          for (const report::activation_step& step : d.held[static_cast<std::size_t>(r)]) {
            EXPECT_GE(step.time, time);
            EXPECT_GE(step.amount, 0);
            time = step.time;
            most = hp::larger(most, step.amount);
          }
          EXPECT_EQ(most, d.in_bytes ? d.account.rank[r].peak_bytes : d.account.rank[r].peak_until_weight_gradient);
          EXPECT_EQ(most, d.peak(r));
          EXPECT_EQ(d.held[static_cast<std::size_t>(r)].back().amount, 0);
        }
      });
}

TEST(draw_pipeline, offloads_leave_the_curve_and_recomputation_takes_its_time) {
  using kind = hp::action_kind;
  hp::pipeline_schedule s = hp::empty_schedule({1, 1, 1}, hp::stage_placement::loop);
  for (const kind k : {kind::forward, kind::offload, kind::reload, kind::recompute, kind::backward})
    s.action.push(s.coding().code({k, 0, 0}));
  s.first.push(s.action.size);
  hp::pipeline_costs c;
  c.recompute = 4;
  const report::pipeline_drawing d = report::drawing_of(s, c);
  ASSERT_EQ(d.row[0].size(), 5u);
  EXPECT_EQ(d.row[0][3].start, 1);
  EXPECT_EQ(d.row[0][3].end, 5);
  EXPECT_EQ(d.row[0][4].end, d.account.makespan);
  std::vector<std::int64_t> amounts;
  for (const report::activation_step& step : d.held[0]) amounts.push_back(step.amount);
  EXPECT_EQ(amounts, (std::vector<std::int64_t>{0, 1, 0, 1, 0}));
}

TEST(draw_pipeline, under_rendezvous_boxes_stay_apart) {
  for (const hp::named_schedule& named : hp::schedule_table.item) {
    const hp::pipeline_shape shape{4, named.fixed_chunks > 0 ? named.fixed_chunks : 2, 8};
    const report::pipeline_drawing d = report::drawing_of(hp::place_transfers(named.generate(shape, false)),
                                                          hp::equal_stages({2, 3, 1}, 1), hp::blocking_rows::value);
    for (int r = 0; r < d.ranks; ++r) {
      std::int64_t busy = 0, clock = 0;
      for (const report::pipeline_box& b : d.row[static_cast<std::size_t>(r)]) {
        EXPECT_GE(b.start, clock);
        busy += b.end - b.start;
        clock = b.end;
      }
      EXPECT_EQ(busy, d.account.rank[r].busy) << named.name;
      EXPECT_LE(clock, d.account.makespan);
    }
  }
}

TEST(draw_pipeline, a_refused_schedule_has_no_drawing) {
  hp::pipeline_schedule s = hp::generate<hp::gpipe>({2, 1, 2});
  std::swap(s.action[0], s.action[3]);
  try {
    (void)report::drawing_of(s);
    FAIL() << "drawn";
  } catch (const std::invalid_argument& e) {
    EXPECT_EQ(e.what(), hp::to_text(hp::check_schedule(s)));
  }
  EXPECT_THROW((void)report::drawing_of(hp::generate<hp::gpipe>({2, 1, 2}), hp::equal_stages({-1, 1, 1})),
               std::invalid_argument);
}

TEST(draw_pipeline, title_and_figures) {
  const report::pipeline_drawing d =
      report::drawing_of(hp::generate<hp::one_forward_one_backward>({2, 1, 3}), {}, {}, "1F1B");
  EXPECT_EQ(report::title_of(d), "1F1B: 2 ranks, 2 stages, 3 micro-batches");
  EXPECT_EQ(report::figures_of(d),
            "makespan 12, bubble 3 (25.0 %), of the longest rank 3 (25.0 %); at most 2 chunk activations on a rank");
  EXPECT_EQ(report::title_of(report::drawing_of(hp::generate<hp::gpipe>({1, 1, 1}))), "1 rank, 1 stage, 1 micro-batch");
  const report::pipeline_drawing both = report::drawing_of(hp::generate<hp::chimera>({4, 1, 4}), {}, {}, "Chimera");
  EXPECT_EQ(report::title_of(both), "Chimera: 4 ranks, 4 stages on two ranks each, 4 micro-batches");
  EXPECT_EQ(both.chunks, 2);
  EXPECT_EQ(both.chunk_of({hp::action_kind::forward, 3, 0}), 1);  // on rank 3, beside stage 0 of the other direction
  EXPECT_EQ(both.chunk_of({hp::action_kind::forward, 0, 3}), 0);
}

}  // namespace
