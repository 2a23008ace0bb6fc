// SPDX-License-Identifier: Apache-2.0
// Tables are read and written byte for byte; all else is one error, or a status that names rank and action.

#include <hyperparallel/io/torch_schedule.hpp>

#include <hyperparallel/pipeline/replay.hpp>
#include <hyperparallel/pipeline/schedule_list.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "io/workplace.hpp"

namespace hp = hyperparallel;

namespace {

using code = hp::pipeline_code;
using kind = hp::action_kind;

std::string complaint(std::string_view text) {
  try {
    hp::parse_torch_table(text);
  } catch (const hp::torch_table_error& e) {
    return e.what();
  }
  return "read";
}

void for_generated(const std::function<void(const hp::named_schedule&, const hp::pipeline_shape&)>& law) {
  for (const hp::named_schedule& s : hp::schedule_table.item)
    for (int ranks = 1; ranks <= 5; ++ranks)
      for (int chunks = 1; chunks <= 3; ++chunks)
        for (int m = 1; m <= 12; ++m)
          if (s.check({ranks, chunks, m}).ok()) law(s, {ranks, chunks, m});
}

TEST(torch_schedule, what_is_written_is_read_and_written_again_byte_for_byte) {
  for_generated([](const hp::named_schedule& s, const hp::pipeline_shape& n) {
    for (const bool idle : {true, false}) {
      const hp::pipeline_schedule made = s.generate(n, idle);
      const std::string text = hp::write_torch_table(hp::torch_table_of(made));
      const hp::torch_table read = hp::parse_torch_table(text);
      EXPECT_EQ(read, hp::torch_table_of(made)) << text;
      EXPECT_EQ(hp::write_torch_table(read), text);
      const hp::torch_schedule given = hp::schedule_of(read, s.placement, n.micro_batches);
      EXPECT_TRUE(given.status.ok()) << text;
      EXPECT_EQ(given.schedule, made) << text;
      const hp::torch_schedule inferred = hp::schedule_of(read);
      EXPECT_TRUE(inferred.status.ok()) << text;
      EXPECT_EQ(inferred.schedule, made) << text;
    }
  });
}

TEST(torch_schedule, a_table_is_torchs_byte_for_byte) {
  const auto text = [](const char* name, const hp::pipeline_shape& n) {
    return hp::write_torch_table(hp::torch_table_of(hp::schedule_called(name)->generate(n, true)));
  };
  EXPECT_EQ(text("GPipe", {2, 1, 2}), "0F0,0F1,,,,0B0,0B1\r\n,1F0,1F1,1B0,1B1\r\n");
  EXPECT_EQ(
      text("DualPipeV", {2, 2, 4}),
      "0F0,0F1,0F2,3F0,3I0,3W0,3F1,(0F3;3B1)OVERLAP_F_B,(3F2;0B0)OVERLAP_F_B,3B2,(3F3;0B1)OVERLAP_F_B,3B3,0I2,0W2,"
      "0I3,0W3\r\n1F0,2F0,1F1,2F1,1F2,2B0,(2F2;1B0)OVERLAP_F_B,(1F3;2B1)OVERLAP_F_B,(2F3;1B1)OVERLAP_F_B,2B2,1B2,"
      "2I3,1I3,2W3,1W3\r\n");
}

TEST(torch_schedule, every_kind_of_cell_is_read) {
  const std::string text =
      "0UNSHARD,0F0,0SEND_F0,,0RECV_B0,0I0,0W0,0REDUCE_GRAD,0RESHARD\r\n1RECV_F0,1F0,1B0,1SEND_B0\r\n";
  const hp::torch_table t = hp::parse_torch_table(text);
  ASSERT_EQ(t.rows.size(), 2u);
  ASSERT_EQ(t.rows[0].size(), 9u);
  EXPECT_EQ(t.rows[0][0], (hp::pipeline_action{kind::unshard, 0, 0}));
  EXPECT_EQ(t.rows[0][2], (hp::pipeline_action{kind::send_forward, 0, 0}));
  EXPECT_FALSE(t.rows[0][3].has_value());
  EXPECT_EQ(t.rows[0][4], (hp::pipeline_action{kind::receive_backward, 0, 0}));
  EXPECT_EQ(t.rows[1][3], (hp::pipeline_action{kind::send_backward, 1, 0}));
  EXPECT_EQ(hp::write_torch_table(t), text);
  const hp::torch_schedule s = hp::schedule_of(t);
  ASSERT_TRUE(s.status.ok());
  EXPECT_TRUE(hp::check_schedule(s.schedule).ok());
  const hp::torch_table pair = hp::parse_torch_table("(12F3;7I1)OVERLAP_F_B");
  ASSERT_EQ(pair.rows[0].size(), 2u);
  EXPECT_EQ(pair.rows[0][0], (hp::pipeline_action{kind::overlapped_forward, 12, 3}));
  EXPECT_EQ(pair.rows[0][1], (hp::pipeline_action{kind::input_gradient, 7, 1}));
}

TEST(torch_schedule, rows_end_with_either_end_and_the_last_with_none) {
  const hp::torch_table t = hp::parse_torch_table("0F0,\r\n,1F0\r\n");
  for (const char* text : {"0F0,\n,1F0\n", "0F0,\r\n,1F0", "0F0,\n,1F0", "0F0,\r\n,1F0\n"})
    EXPECT_EQ(hp::parse_torch_table(text), t);
}

TEST(torch_schedule, anything_else_is_one_error_that_says_where) {
  const auto cell = [](const std::string& text) { return complaint("0F0\r\n,,1F1," + text + ",2F2"); };
  const auto at = [](const std::string& shown) { return "row 2, column 4 (rank 1): '" + shown + "' is no action: "; };
  EXPECT_EQ(complaint("0F0\n1F0,,,,2F0xyz\n"), "row 2, column 5 (rank 1): '2F0xyz' is no action: garbage after 2F0");
  EXPECT_EQ(cell("2F0 "), at("2F0 ") + "garbage after 2F0");
  EXPECT_EQ(cell("2UNSHARDx"), at("2UNSHARDx") + "garbage after 2UNSHARD");
  EXPECT_EQ(cell(" 2F0"), at(" 2F0") + "the stage is missing");
  EXPECT_EQ(cell("F0"), at("F0") + "the stage is missing");
  EXPECT_EQ(cell("-1F0"), at("-1F0") + "the stage is missing");
  EXPECT_EQ(cell("2"), at("2") + "no kind stands behind the stage");
  EXPECT_EQ(cell("2f0"), at("2f0") + "no kind stands behind the stage");
  EXPECT_EQ(cell("2G0"), at("2G0") +
                             "unknown kind G; known: F, I, W, B, SEND_F, RECV_F, SEND_B, RECV_B, UNSHARD, "
                             "RESHARD, REDUCE_GRAD");
  EXPECT_EQ(cell("2OFFLOAD0").find(at("2OFFLOAD0") + "unknown kind OFFLOAD"), 0u);
  EXPECT_EQ(cell("2F"), at("2F") + "the micro-batch is missing");
  EXPECT_EQ(cell("2SEND_F"), at("2SEND_F") + "the micro-batch is missing");
  EXPECT_EQ(cell("2UNSHARD1"), at("2UNSHARD1") + "UNSHARD has no micro-batch");
  EXPECT_EQ(cell("1234567890F0"), at("1234567890F0") + "the stage has more than 9 digits");
  EXPECT_EQ(cell("0F99999999999999999999"), at("0F99999999999999999999") + "the micro-batch has more than 9 digits");
  EXPECT_EQ(cell("00F1"), at("00F1") + "the stage begins with 0");
  EXPECT_EQ(cell("0F01"), at("0F01") + "the micro-batch begins with 0");
  EXPECT_EQ(cell("\"2F0\""), at("\"2F0\"") + "it holds a quote, and torch writes none");
  EXPECT_EQ(cell(std::string("2F0\0", 4)), at("2F0?") + "it holds a NUL byte");
  EXPECT_EQ(cell("2F0\r"), at("2F0?") + "garbage after 2F0");
  EXPECT_EQ(cell("(2F0;1B0"), at("(2F0;1B0") + "a pair ends with )OVERLAP_F_B");
  EXPECT_EQ(cell("(2F0;1B0)OVERLAP_F_Bx"), at("(2F0;1B0)OVERLAP_F_Bx") + "a pair ends with )OVERLAP_F_B");
  EXPECT_EQ(cell("(2F0)OVERLAP_F_B"), at("(2F0)OVERLAP_F_B") + "a pair is (F;B)OVERLAP_F_B");
  EXPECT_EQ(cell("(2B0;1F0)OVERLAP_F_B"), at("(2B0;1F0)OVERLAP_F_B") + "a pair is an F and behind it an I or B");
  EXPECT_EQ(cell("(2F0;1W0)OVERLAP_F_B"), at("(2F0;1W0)OVERLAP_F_B") + "a pair is an F and behind it an I or B");
  EXPECT_EQ(cell(std::string(100, 'x')),
            "row 2, column 4 (rank 1): '" + std::string(60, 'x') + "'… is no action: the stage is missing");
  EXPECT_EQ(complaint("0F0\n\n1F0"), "row 2, column 1 (rank 1): the row is empty: each rank runs something");
  EXPECT_EQ(complaint(""), "the table is empty");
  EXPECT_EQ(complaint(std::string(hp::largest_torch_table + 1, ',')), "the table is larger than 67108864 bytes");
  EXPECT_EQ(complaint(std::string(hp::most_torch_cells, ',')), "the table has more than 16777216 cells");
  try {
    hp::parse_torch_table("0F0\n1F0,?");
    FAIL();
  } catch (const hp::torch_table_error& e) {
    EXPECT_EQ(e.row, 2);
    EXPECT_EQ(e.column, 2);
    EXPECT_EQ(e.rank, 1);
  }
}

TEST(torch_schedule, a_file_is_read_whole_or_refused) {
  const io_test::workplace place;
  place.put("good.csv", "0F0,0B0\r\n");
  place.put("empty.csv", "");
  EXPECT_EQ(hp::read_torch_table(place.path("good.csv")), hp::parse_torch_table("0F0,0B0"));
  EXPECT_THROW(hp::read_torch_table(place.path("empty.csv")), hp::io_error);
  EXPECT_THROW(hp::read_torch_table(place.path("missing.csv")), hp::io_error);
}

TEST(torch_schedule, what_torch_does_not_know_is_not_written) {
  hp::torch_table t = hp::parse_torch_table("0F0,,0B0");
  t.rows[0][1] = hp::pipeline_action{kind::offload, 0, 0};
  try {
    hp::write_torch_table(t);
    FAIL();
  } catch (const hp::torch_table_error& e) {
    EXPECT_STREQ(e.what(), "row 1, column 2 (rank 0): torch has no action 0OFFLOAD0");
  }
}

hp::pipeline_status status_of(const char* text, std::optional<hp::stage_placement> placement = {}, int m = 0) {
  return hp::schedule_of(hp::parse_torch_table(text), placement, m).status;
}

TEST(torch_schedule, what_no_rank_runs_is_named_before_all_else) {
  // The last rank begins with F1 and ends with F2 of two micro-batches: torch's own table of 1F1B.
  const hp::pipeline_status s = status_of("0F0,0F1,0B0,0B1\n1F1,1B0,1F2,1B1\n", {}, 2);
  EXPECT_EQ(s.code, code::action_is_missing);
  EXPECT_EQ(s.rank, 1);
  EXPECT_EQ(s.action, (hp::pipeline_action{kind::forward, 1, 0}));
  EXPECT_EQ(status_of("0F0,0I0\n").action, (hp::pipeline_action{kind::weight_gradient, 0, 0}));
  EXPECT_EQ(status_of("0F0\n").action, (hp::pipeline_action{kind::input_gradient, 0, 0}));
  // As the table would write it: a B where it has no I and no W.
  EXPECT_EQ(status_of("0F0,0F1,0B1\n").action, (hp::pipeline_action{kind::backward, 0, 0}));
  EXPECT_EQ(status_of("0F0,0F1,0B1,0W0\n").action, (hp::pipeline_action{kind::input_gradient, 0, 0}));
  const hp::pipeline_status nowhere = status_of("0F0,0B0\n2F0,2B0\n");
  EXPECT_EQ(nowhere.code, code::action_is_missing);
  EXPECT_EQ(nowhere.rank, -1);
  EXPECT_EQ(nowhere.action.stage, 1);
  EXPECT_EQ(status_of("0F0,0B0\n2F0,2B0\n", hp::stage_placement::loop).rank, 1);
  // Each rank holds as many stages as any other.
  EXPECT_EQ(status_of("0F0,2F0,2B0,0B0\n1F0,1B0\n", hp::stage_placement::loop).action.stage, 3);
  EXPECT_TRUE(status_of("0F0,2F0,2B0,0B0\n1F0,1B0\n").ok());
  EXPECT_EQ(status_of("0F0,0B0\n", {}, 2).action, (hp::pipeline_action{kind::forward, 0, 1}));
  EXPECT_EQ(status_of("999999999F999999999\n").action.stage, 0);
  EXPECT_EQ(status_of("0F999999999,0B0\n").action, (hp::pipeline_action{kind::forward, 0, 0}));
  EXPECT_EQ(status_of("0F999999999,1F999999999,2F999999999,3F999999999\n").action,
            (hp::pipeline_action{kind::forward, 0, 0}));
  EXPECT_EQ(status_of(",,\n,").code, code::sizes_are_not_positive);
  EXPECT_EQ(status_of("0F0,0B0\n", {}, -1).code, code::sizes_are_not_positive);
}

TEST(torch_schedule, a_stage_lies_on_two_ranks_where_halves_run_in_opposite_order) {
  constexpr const char* both = "0F0,1F1,1B1,0B0\n0F1,1F0,1B0,0B1\n";
  EXPECT_TRUE(status_of(both).ok());
  EXPECT_TRUE(status_of(both, hp::stage_placement::both).ok());
  EXPECT_EQ(status_of(both, hp::stage_placement::loop).code, code::action_is_on_a_wrong_rank);
  EXPECT_EQ(status_of(both, hp::stage_placement::both, 3).code, code::directions_do_not_divide);
  const hp::pipeline_status missing = status_of(both, hp::stage_placement::both, 4);
  EXPECT_EQ(missing.code, code::action_is_missing);
  EXPECT_EQ(missing.rank, 0);
  EXPECT_EQ(missing.action, (hp::pipeline_action{kind::forward, 1, 2}));
  // Two ranks that train the same stage side by side are no pipeline.
  EXPECT_EQ(status_of("0F0,0B0\n0F1,0B1\n").code, code::action_is_on_a_wrong_rank);
}

TEST(torch_schedule, then_what_stands_elsewhere_out_of_range_or_twice) {
  const hp::pipeline_status elsewhere = status_of("0F0,0F1,0B0,0B1\n1F0,1B0,0F1,1F1,1B1\n");
  EXPECT_EQ(elsewhere.code, code::action_is_on_a_wrong_rank);
  EXPECT_EQ(elsewhere.rank, 1);
  EXPECT_EQ(elsewhere.needed, 0);
  EXPECT_EQ(elsewhere.position, 2);
  EXPECT_EQ(elsewhere.action, (hp::pipeline_action{kind::forward, 0, 1}));
  EXPECT_EQ(status_of("1F0,1B0\n0F0,0B0\n", hp::stage_placement::loop).code, code::action_is_on_a_wrong_rank);
  EXPECT_TRUE(status_of("1F0,1B0\n0F0,0B0\n").ok());
  const hp::pipeline_status beyond = status_of("0F0,,0B0,0F1,0B1\n", {}, 1);
  EXPECT_EQ(beyond.code, code::action_is_out_of_range);
  EXPECT_EQ(beyond.position, 2);
  EXPECT_EQ(beyond.action, (hp::pipeline_action{kind::forward, 0, 1}));
  for (const char* text : {"0F0,0F0,0B0", "0F0,0I0,0B0,0W0", "0F0,0B0,0W0", "0F0,0I0,0W0,0W0"})
    EXPECT_EQ(status_of(text).code, code::action_stands_twice) << text;
}

TEST(torch_schedule, a_table_that_waits_for_ever_is_read_and_refused_by_the_replay) {
  const hp::torch_schedule s = hp::schedule_of(hp::parse_torch_table("0F0,0B1,0F1,0B0\n1F0,1F1,1B0,1B1\n"));
  ASSERT_TRUE(s.status.ok());
  EXPECT_EQ(hp::check_schedule(s.schedule).code, code::waits_in_a_circle);
}

/// Whatever the text, it is refused, or comes back byte for byte and is refused or replayed.
void survives(const std::string& text) {
  hp::torch_table table;
  try {
    table = hp::parse_torch_table(text);
  } catch (const hp::torch_table_error& e) {
    EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos);
    return;
  }
  const std::string written = hp::write_torch_table(table);
  EXPECT_EQ(hp::write_torch_table(hp::parse_torch_table(written)), written);
  for (const std::optional<hp::stage_placement> placement :
       {std::optional<hp::stage_placement>{}, {hp::stage_placement::loop}, {hp::stage_placement::v}}) {
    const hp::torch_schedule s = hp::schedule_of(table, placement);
    if (!s.status.ok()) continue;
    const hp::pipeline_account a = hp::replay(s.schedule);
    EXPECT_TRUE(a.ok() || a.status.code >= code::action_is_missing);
  }
}

TEST(torch_schedule, no_text_breaks_it) {
  std::mt19937 random(1);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  const std::string letters = "0123456789FIWB,,\r\n();_SENDRCVUHAGL \"\t";
  for (int i = 0; i < 20000; ++i) {
    std::string bytes(below(40), ' ');
    for (char& c : bytes) c = i % 2 == 0 ? static_cast<char>(random()) : letters[below(letters.size())];
    survives(bytes);
  }
  std::vector<std::string> tables;
  for_generated([&](const hp::named_schedule& s, const hp::pipeline_shape& n) {
    if (n.ranks <= 3 && n.micro_batches <= 6)
      tables.push_back(hp::write_torch_table(hp::torch_table_of(s.generate(n, true))));
  });
  for (int i = 0; i < 20000; ++i) {
    std::string text = tables[below(tables.size())];
    for (std::size_t change = 1 + below(3); change > 0 && !text.empty(); --change) {
      const std::size_t at = below(text.size());
      switch (below(4)) {
        case 0:
          text[at] = letters[below(letters.size())];
          break;
        case 1:
          text.erase(at, 1 + below(5));
          break;
        case 2:
          text.insert(at, 1, letters[below(letters.size())]);
          break;
        default:
          text.insert(at, text.substr(below(text.size()), below(6)));
      }
    }
    survives(text);
  }
}

}  // namespace
