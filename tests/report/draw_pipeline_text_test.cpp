// SPDX-License-Identifier: Apache-2.0
// The picture has as many columns for a box as it takes time, and says what its letters mean.

#include <hyperparallel/report/draw_pipeline_text.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <hyperparallel/pipeline/place_transfers.hpp>
#include <hyperparallel/pipeline/schedule_list.hpp>

namespace hp = hyperparallel;
namespace report = hyperparallel::report;

namespace {

/// What stands between the bars of each rank's line.
std::vector<std::string> rows_of(const std::string& text) {
  std::vector<std::string> rows;
  for (std::size_t bar = text.find(" |"); bar != std::string::npos; bar = text.find(" |", bar + 1))
    rows.push_back(text.substr(bar + 2, text.find('|', bar + 2) - bar - 2));
  return rows;
}

TEST(draw_pipeline_text, a_picture) {
  EXPECT_EQ(report::draw_pipeline_text(
                report::drawing_of(hp::generate<hp::one_forward_one_backward>({2, 1, 3}), {}, {}, "1F1B")),
            "1F1B: 2 ranks, 2 stages, 3 micro-batches\n"
            "makespan 12, bubble 3 (25.0 %), of the longest rank 3 (25.0 %); at most 2 chunk activations on a rank\n"
            "0 |F0F1....B0--F2B1--..B2--| peak 2\n"
            "1 |..F0B0--F1B1--F2B2--....| peak 1\n"
            "F forward, B backward, then the micro-batch in base 36; - goes on, . idle\n"
            "2 columns a unit of time\n");
}

TEST(draw_pipeline_text, overlapped_pairs_and_second_chunks) {
  const hp::pipeline_schedule s = hp::generate<hp::dual_pipe_v>({2, 2, 4});
  const std::string text = report::draw_pipeline_text(report::drawing_of(s));
  EXPECT_NE(text.find("F3+b1-"), std::string::npos) << text;
  EXPECT_NE(text.find("capitals: the rank's first chunk, small letters: its second\n"), std::string::npos);
  EXPECT_NE(text.find("F+B: a forward and a backward that run together\n"), std::string::npos);
  hp::pipeline_costs short_pairs;
  for (const auto& [time, form] : {std::pair{2, "F3b1"}, {1, "Fb"}}) {
    short_pairs.overlapped_pair = time;
    const std::string shorter = report::draw_pipeline_text(report::drawing_of(s, short_pairs));
    EXPECT_NE(shorter.find(form), std::string::npos) << shorter;
  }
}

TEST(draw_pipeline_text, more_than_two_chunks_stand_before_the_letter) {
  const hp::pipeline_schedule s = hp::generate<hp::looped_breadth_first>({2, 3, 2});
  const std::string text = report::draw_pipeline_text(report::drawing_of(s));
  EXPECT_EQ(rows_of(text)[0].substr(0, 18), "0F00F11F01F12F02F1") << text;
  EXPECT_NE(text.find("before the letter: the rank's chunk\n"), std::string::npos);
}

TEST(draw_pipeline_text, columns_are_the_time) {
  for (const hp::named_schedule& named : hp::schedule_table.item) {
    const hp::pipeline_shape shape{4, named.fixed_chunks > 0 ? named.fixed_chunks : 2, 8};
    if (!named.check(shape).ok()) continue;
    const report::pipeline_drawing d = report::drawing_of(named.generate(shape, false), {}, {}, named.name);
    const std::vector<std::string> rows = rows_of(report::draw_pipeline_text(d, {.width = 200}));
    ASSERT_EQ(rows.size(), 4u);
    for (std::size_t r = 0; r < 4; ++r) {
      ASSERT_EQ(rows[r].size(), static_cast<std::size_t>(2 * d.account.makespan));
      EXPECT_EQ(std::count(rows[r].begin(), rows[r].end(), '.'),
                2 * (d.account.makespan - d.account.rank[static_cast<int>(r)].busy));
      for (const report::pipeline_box& b : d.row[r])
        EXPECT_NE(rows[r][static_cast<std::size_t>(2 * b.start)], '-');  // each begins with its label
    }
  }
}

TEST(draw_pipeline_text, what_is_too_wide_is_scaled_and_said) {
  const report::pipeline_drawing d =
      report::drawing_of(hp::generate<hp::zero_bubble_h1>({4, 1, 8}), hp::equal_stages({10, 11, 8}, 1));
  for (const int width : {0, 20, 60, 120, 4000}) {
    const std::string text = report::draw_pipeline_text(d, {.width = width});
    const std::size_t line = text.find(" |");
    EXPECT_LE(text.find('\n', line) - line + 1, static_cast<std::size_t>(std::max(width, 27))) << text;
    for (const std::string& row : rows_of(text)) EXPECT_NE(row.find('F'), std::string::npos);
  }
  EXPECT_NE(report::draw_pipeline_text(d, {.width = 100}).find("a column is 4 units of time and shows what takes most"),
            std::string::npos);
  EXPECT_NE(report::draw_pipeline_text(d, {.width = 60}).find("units of time"), std::string::npos);
  EXPECT_NE(report::draw_pipeline_text(d, {.width = 0}).find("actions have no column of their own"), std::string::npos);
  EXPECT_NE(report::draw_pipeline_text(d, {.width = 4000}).find("1 column a unit of time"), std::string::npos);
}

TEST(draw_pipeline_text, a_label_has_whole_numbers) {
  const hp::pipeline_schedule s = hp::generate<hp::one_forward_one_backward>({2, 1, 40});
  const std::string text = report::draw_pipeline_text(report::drawing_of(s), {.width = 1000});
  EXPECT_NE(text.find("Fz-By----F10Bz----"), std::string::npos) << text;
  const std::vector<std::string> narrow = rows_of(report::draw_pipeline_text(report::drawing_of(s), {.width = 264}));
  EXPECT_EQ(narrow[0].substr(narrow[0].size() - 4), "B13-");
  EXPECT_EQ(narrow[1].find("F1B1", 30), std::string::npos);  // of F13 only the letter
}

TEST(draw_pipeline_text, actions_without_time_are_counted) {
  const hp::pipeline_schedule s = hp::place_transfers(hp::generate<hp::gpipe>({2, 1, 2}));
  const std::string text = report::draw_pipeline_text(report::drawing_of(s));
  EXPECT_NE(text.find("8 actions take no time and are not drawn\n"), std::string::npos) << text;
  const std::string nothing = report::draw_pipeline_text(report::drawing_of(s, hp::equal_stages({0, 0, 0})));
  EXPECT_EQ(rows_of(nothing), (std::vector<std::string>{"", ""})) << nothing;
}

}  // namespace
