// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/pipeline/place_transfers.hpp>

#include <hyperparallel/pipeline/schedule_list.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "pipeline/schedule_oracle.hpp"

namespace hp = hyperparallel;

namespace {

TEST(place_transfers, without_transfers_the_rows_are_the_schedule_again) {
  for (const hp::named_schedule& named : hp::schedule_table.item)
    for (int ranks = 1; ranks <= 5; ++ranks)
      for (int m = 1; m <= 10; ++m) {
        const hp::pipeline_shape n{ranks, named.fixed_chunks > 0 ? named.fixed_chunks : 2, m};
        if (!named.check(n).ok()) continue;
        const hp::pipeline_schedule s = named.generate(n, true), placed = hp::place_transfers(s);
        schedule_oracle::rows r = schedule_oracle::rows_of(placed);
        for (auto& row : r)
          row.erase(std::remove_if(row.begin(), row.end(),
                                   [](const hp::pipeline_action& a) { return hp::is_transfer(a.kind); }),
                    row.end());
        EXPECT_EQ(r, schedule_oracle::rows_of(s)) << named.name;
      }
}

TEST(place_transfers, a_send_stands_behind_what_makes_it) {
  const hp::pipeline_schedule s = hp::place_transfers(hp::generate<hp::one_forward_one_backward>({3, 1, 2}));
  const auto text = [&](int rank) {
    std::string row;
    for (int i = s.first[rank]; i < s.first[rank + 1]; ++i)
      row += (row.empty() ? "" : " ") + std::string(hp::text_of(s.coding().action(s.action[i])).text);
    return row;
  };
  EXPECT_EQ(text(0), "0F0 0SEND_F0 0F1 0SEND_F1 0RECV_B0 0B0 0RECV_B1 0B1");
  EXPECT_EQ(text(1), "1RECV_F0 1F0 1SEND_F0 1RECV_F1 1F1 1SEND_F1 1RECV_B0 1B0 1SEND_B0 1RECV_B1 1B1 1SEND_B1");
  EXPECT_EQ(text(2), "2RECV_F0 2F0 2RECV_F1 2B0 2SEND_B0 2F1 2B1 2SEND_B1");
}

TEST(place_transfers, both_storages_hold_the_same) {
  constexpr hp::pipeline_shape n{3, 2, 6};
  using with_transfers = hp::detail::fixed_pipeline_sizes<n, hp::detail::entries_with_transfers(n, 3 * 6 * 6)>;
  static constexpr auto fixed =
      hp::place_transfers<with_transfers>(hp::generate<hp::dual_pipe_v, hp::detail::fixed_pipeline_sizes<n>>(n));
  const hp::pipeline_schedule grown = hp::place_transfers(hp::generate<hp::dual_pipe_v>(n));
  ASSERT_EQ(fixed.action.size, grown.action.size);
  for (int i = 0; i < grown.action.size; ++i) EXPECT_EQ(fixed.action[i], grown.action[i]);
  for (int r = 0; r <= 3; ++r) EXPECT_EQ(fixed.first[r], grown.first[r]);
}

}  // namespace
