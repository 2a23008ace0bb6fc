// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/pipeline/messages.hpp>

#include <hyperparallel/pipeline/place_transfers.hpp>
#include <hyperparallel/pipeline/schedules/zero_bubble_v.hpp>

#include <gtest/gtest.h>

#include <utility>

#include "pipeline/schedule_oracle.hpp"

namespace hp = hyperparallel;

namespace {

using code = hp::pipeline_code;
using schedule_oracle::kind;
using schedule_oracle::rows;

const hp::pipeline_schedule& placed() {
  static const hp::pipeline_schedule s = hp::place_transfers(hp::generate<hp::zero_bubble_v>({3, 2, 5}));
  return s;
}

TEST(pipeline_messages, both_ends_of_a_message_have_one_number) {
  const hp::pipeline_schedule& s = placed();
  for (int stage = 0; stage + 1 < s.stages; ++stage) {
    const bool crosses = s.rank_of_stage[stage] != s.rank_of_stage[stage + 1];
    const hp::detail::message_end send = hp::detail::message_of(s, {kind::send_forward, stage, 4});
    const hp::detail::message_end receive = hp::detail::message_of(s, {kind::receive_forward, stage + 1, 4});
    EXPECT_EQ(send.number >= 0, crosses);
    EXPECT_EQ(send.number, receive.number);
    if (!crosses) continue;
    EXPECT_EQ(send.self, receive.peer);
    EXPECT_EQ(send.peer, receive.self);
    EXPECT_EQ(hp::detail::action_of_message(s, send.number, true), (hp::pipeline_action{kind::send_forward, stage, 4}));
    const hp::detail::message_end back = hp::detail::message_of(s, {kind::send_backward, stage + 1, 2});
    EXPECT_EQ(back.number, hp::detail::message_of(s, {kind::receive_backward, stage, 2}).number);
    EXPECT_EQ(hp::detail::action_of_message(s, back.number, false),
              (hp::pipeline_action{kind::receive_backward, stage, 2}));
    EXPECT_NE(back.number, send.number);
  }
  EXPECT_EQ(hp::detail::message_of(s, {kind::send_forward, s.stages - 1, 0}).number, -1);
  EXPECT_EQ(hp::detail::message_of(s, {kind::send_backward, 0, 0}).number, -1);
}

TEST(pipeline_messages, each_mistake_is_named) {
  EXPECT_TRUE(hp::holds_transfers(placed()));
  EXPECT_FALSE(hp::holds_transfers(hp::generate<hp::zero_bubble_v>({3, 2, 5})));
  ASSERT_TRUE(hp::check_messages(placed()).ok());
  const rows good = schedule_oracle::rows_of(placed());
  const auto status_of = [](const rows& r) { return hp::check_messages(schedule_oracle::schedule_of(placed(), r)); };
  for (std::size_t rank = 0; rank < good.size(); ++rank)
    for (std::size_t i = 0; i < good[rank].size(); ++i) {
      if (!hp::is_transfer(good[rank][i].kind)) continue;
      rows r = good;
      r[rank].erase(r[rank].begin() + static_cast<std::ptrdiff_t>(i));
      hp::pipeline_status s = status_of(r);
      EXPECT_EQ(s.code, code::transfer_is_missing);
      EXPECT_EQ(s.action, good[rank][i]);
      EXPECT_EQ(s.rank, static_cast<int>(rank));
      r = good;
      r[rank].push_back(good[rank][i]);
      s = status_of(r);
      EXPECT_EQ(s.code, code::action_stands_twice);
      EXPECT_EQ(s.position, static_cast<int>(good[rank].size()));
      r = good;
      r[rank][i].stage +=
          good[rank][i].kind == kind::send_forward || good[rank][i].kind == kind::receive_forward ? 1 : -1;
      EXPECT_FALSE(status_of(r).ok());
    }
  // The turn of the V stays on one rank.
  rows r = good;
  r[2].push_back({kind::send_forward, 2, 0});
  EXPECT_EQ(status_of(r).code, code::transfer_leads_nowhere);
  // Two sends to one rank in the other order.
  r = good;
  std::size_t first = 0;
  while (r[0][first].kind != kind::send_forward) ++first;
  std::size_t second = first + 1;
  while (r[0][second].kind != kind::send_forward) ++second;
  std::swap(r[0][first], r[0][second]);
  const hp::pipeline_status crossed = status_of(r);
  EXPECT_EQ(crossed.code, code::messages_cross);
  ASSERT_EQ(crossed.cycle.size, 1);
  EXPECT_EQ(crossed.cycle[0].needs.kind, kind::receive_forward);
}

}  // namespace
