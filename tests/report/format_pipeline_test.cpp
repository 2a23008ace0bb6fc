// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/report/format_pipeline.hpp>

#include <hyperparallel/pipeline/replay.hpp>
#include <hyperparallel/pipeline/schedule_list.hpp>

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace hp = hyperparallel;

namespace {

TEST(format_pipeline, a_refusal_is_a_sentence_with_its_numbers) {
  const hp::pipeline_shape n{4, 2, 6};
  EXPECT_EQ(hp::to_text(hp::check_shape_of<hp::dual_pipe_v>(n), "DualPipeV", n),
            "schedule DualPipeV needs at least 8 micro-batches on 4 ranks, not 6");
  const hp::pipeline_shape odd{3, 2, 7};
  EXPECT_EQ(hp::to_text(hp::check_shape_of<hp::interleaved_1f1b>(odd), "Interleaved1F1B", odd),
            "schedule Interleaved1F1B runs 7 micro-batches on 3 ranks in 2 rounds, which do not divide them");
  EXPECT_EQ(hp::to_text(hp::pipeline_status{}), "ok");
  hp::pipeline_status missing{.code = hp::pipeline_code::action_is_missing, .rank = 3, .action = {{}, 3, 0}};
  EXPECT_EQ(hp::to_text(missing), "rank 3 never runs 3F0");
  missing.rank = -1;
  EXPECT_EQ(hp::to_text(missing), "no rank runs 3F0");
}

TEST(format_pipeline, a_circle_is_told_rank_by_rank) {
  hp::pipeline_schedule s = hp::generate<hp::one_forward_one_backward>({2, 1, 2});
  std::swap(s.action[s.first[1]], s.action[s.first[1] + 2]);  // 1F1 first
  std::swap(s.action[1], s.action[2]);                        // 0B0 before 0F1
  EXPECT_EQ(hp::to_text(hp::check_schedule(s)),
            "the ranks wait for each other for ever: rank 0 stands at 0B0 and waits for 1B0, rank 1 stands at 1F1 and "
            "waits for 0F1");
}

TEST(format_pipeline, a_circle_names_its_transport) {
  hp::pipeline_status s{.code = hp::pipeline_code::waits_in_a_circle, .rank = 0};
  s.cycle.push({0, 0, {hp::action_kind::send_forward, 0, 1}, {hp::action_kind::receive_forward, 1, 1}});
  for (const auto& [over, words] : {std::pair{hp::unbounded::value, "unbounded buffers"},
                                    {hp::ordered_queues::value, "ordered queues"},
                                    {hp::buffered<1>::value, "1 buffer for each pair of ranks"},
                                    {hp::buffered<3>::value, "3 buffers for each pair of ranks"},
                                    {hp::blocking_rows::value, "blocking rows"}}) {
    EXPECT_EQ(hp::to_text(over), words);
    EXPECT_EQ(hp::to_text(s, "", {}, over), std::string("the ranks wait for each other for ever under ") + words +
                                                ": rank 0 stands at 0SEND_F1 and waits for 1RECV_F1");
  }
}

TEST(format_pipeline, an_account_is_a_table_of_ranks) {
  hp::pipeline_costs c = hp::equal_stages({1, 1, 1});
  c.bytes.push({8, 2});
  EXPECT_EQ(hp::to_text(hp::replay(hp::generate<hp::one_forward_one_backward>({2, 1, 3}), c), "ms"),
            "makespan 12 ms, ideal 9 ms\n"
            "bubble of the makespan 3 ms (25.0 %), of the longest rank 3 ms (25.0 %)\n"
            "rank  begins   ends  busy  idle of makespan  chunks until W  until I  peak bytes\n"
            "----  ------  -----  ----  ----------------  --------------  -------  ----------\n"
            "   0    0 ms  12 ms  9 ms            25.0 %               2        2          20\n"
            "   1    1 ms  10 ms  9 ms            25.0 %               1        1          10\n");
}

}  // namespace
