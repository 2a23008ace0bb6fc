// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/pipeline/mindspore_lists.hpp>

#include <hyperparallel/pipeline/replay.hpp>

#include <gtest/gtest.h>

#include <string>

namespace hp = hyperparallel;

namespace {

/// "F0.0 sF0.0 rB0.0": as the reference writes a list.
std::string text(const hp::pipeline_schedule& s, int rank) {
  std::string row;
  for (int i = s.first[rank]; i < s.first[rank + 1]; ++i) {
    const hp::pipeline_action a = s.coding().action(s.action[i]);
    const std::string letters = hp::action_letters(a.kind);
    const std::string word = letters.size() == 1 ? letters : (letters[0] == 'S' ? "s" : "r") + letters.substr(5);
    row += (row.empty() ? "" : " ") + word + std::to_string(a.stage) + "." + std::to_string(a.micro_batch);
  }
  return row;
}

TEST(mindspore_lists, small_ones_are_those_of_the_reference) {
  const hp::pipeline_schedule one = hp::mindspore_1f1b_lists(2, 1);
  EXPECT_EQ(text(one, 0), "F0.0 sF0.0 rB0.0 B0.0");
  EXPECT_EQ(text(one, 1), "rF1.0 F1.0 B1.0 sB1.0");
  const hp::pipeline_schedule s = hp::mindspore_interleaved_lists({2, 2, 3});
  EXPECT_EQ(
      text(s, 0),
      "F0.0 sF0.0 F0.1 sF0.1 rF2.0 F0.2 sF0.2 rF2.1 F2.0 sF2.0 rF2.2 F2.1 sF2.1 rB2.0 F2.2 sF2.2 B2.0 sB2.0 rB2.1 "
      "B2.1 sB2.1 rB2.2 B2.2 sB2.2 rB0.0 B0.0 rB0.1 B0.1 rB0.2 B0.2");
  EXPECT_EQ(
      text(s, 1),
      "rF1.0 F1.0 rF1.1 sF1.0 F1.1 rF1.2 sF1.1 F1.2 rF3.0 sF1.2 F3.0 rF3.1 B3.0 sB3.0 F3.1 rF3.2 B3.1 rB1.0 sB3.1 "
      "F3.2 B3.2 rB1.1 sB3.2 B1.0 rB1.2 sB1.0 B1.1 sB1.1 B1.2 sB1.2");
}

TEST(mindspore_lists, of_1f1b_end_where_ranks_block) {
  for (int ranks = 1; ranks <= 9; ++ranks)
    for (int m = 1; m <= 12; ++m)
      for (const hp::transport t :
           {hp::unbounded::value, hp::ordered_queues::value, hp::buffered<1>::value, hp::blocking_rows::value})
        EXPECT_TRUE(hp::check_schedule(hp::mindspore_1f1b_lists(ranks, m), t).ok()) << ranks << ' ' << m;
}

TEST(mindspore_lists, of_interleaved_1f1b_end_where_ranks_block_unless_micro_batches_are_few) {
  for (int ranks = 1; ranks <= 6; ++ranks)
    for (int chunks = 2; chunks <= 3; ++chunks)
      for (int m = 1; m <= 13; ++m) {
        const hp::pipeline_schedule s = hp::mindspore_interleaved_lists({ranks, chunks, m});
        EXPECT_TRUE(hp::check_schedule(s).ok());
        EXPECT_TRUE(hp::check_messages(s).ok());
        const hp::pipeline_status blocking = hp::check_schedule(s, hp::blocking_rows::value);
        EXPECT_TRUE(blocking.ok() || m < ranks)
            << ranks << ' ' << chunks << ' ' << m << ' ' << hp::name_of(blocking.code);
      }
}

TEST(mindspore_lists, a_backward_before_its_receive_is_refused_by_rank_and_action) {
  const hp::pipeline_status s =
      hp::check_schedule(hp::mindspore_interleaved_lists({3, 3, 1}), hp::blocking_rows::value);
  ASSERT_EQ(s.code, hp::pipeline_code::waits_in_a_circle);
  ASSERT_EQ(s.cycle.size, 1);
  EXPECT_EQ(s.rank, 2);
  EXPECT_EQ(s.action, (hp::pipeline_action{hp::action_kind::backward, 5, 0}));
  EXPECT_EQ(s.cycle[0].needs, (hp::pipeline_action{hp::action_kind::receive_backward, 5, 0}));
}

}  // namespace
