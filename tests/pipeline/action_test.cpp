// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/pipeline/action.hpp>

#include <gtest/gtest.h>

#include <string>

namespace hp = hyperparallel;

namespace {

TEST(pipeline_action, codes_are_one_to_one) {
  const hp::action_coding coding{5, 3};
  int expected = 0;
  for (int kind = 0; kind < hp::detail::action_kinds; ++kind)
    for (int stage = 0; stage < 5; ++stage)
      for (int k = 0; k < 3; ++k, ++expected) {
        const hp::pipeline_action a{static_cast<hp::action_kind>(kind), stage, k};
        EXPECT_EQ(coding.code(a), expected);
        EXPECT_EQ(coding.action(expected), a);
      }
}

TEST(pipeline_action, the_largest_code_fits_an_int) {
  static_assert(static_cast<long long>(hp::detail::action_kinds) * hp::detail::most_stage_micro_batches <= 0x7fffffff);
}

TEST(pipeline_action, texts_are_those_of_torch) {
  const auto text = [](hp::action_kind kind, int stage, int k) {
    return std::string(hp::text_of(hp::pipeline_action{kind, stage, k}).text);
  };
  EXPECT_EQ(text(hp::action_kind::forward, 0, 0), "0F0");
  EXPECT_EQ(text(hp::action_kind::overlapped_forward, 7, 10), "7F10");
  EXPECT_EQ(text(hp::action_kind::input_gradient, 10, 109), "10I109");
  EXPECT_EQ(text(hp::action_kind::weight_gradient, 1, 2), "1W2");
  EXPECT_EQ(text(hp::action_kind::backward, 3, 4), "3B4");
  EXPECT_EQ(text(hp::action_kind::send_forward, 0, 3), "0SEND_F3");
  EXPECT_EQ(text(hp::action_kind::receive_backward, 2147483647, 2147483647), "2147483647RECV_B2147483647");
  EXPECT_EQ(text(hp::action_kind::unshard, 2, 0), "2UNSHARD");
  EXPECT_EQ(text(hp::action_kind::reduce_gradient, 12, 0), "12REDUCE_GRAD");
}

TEST(pipeline_action, kinds_are_compute_transfers_or_of_parameters) {
  int compute = 0, transfers = 0, without_micro_batch = 0;
  for (int kind = 0; kind < hp::detail::action_kinds; ++kind) {
    const auto k = static_cast<hp::action_kind>(kind);
    compute += hp::is_compute(k);
    transfers += hp::is_transfer(k);
    without_micro_batch += !hp::detail::has_micro_batch(k);
    EXPECT_STRNE(hp::action_letters(k), "?");
  }
  EXPECT_EQ(compute, 5);
  EXPECT_EQ(transfers, 4);
  EXPECT_EQ(without_micro_batch, 3);
}

}  // namespace
