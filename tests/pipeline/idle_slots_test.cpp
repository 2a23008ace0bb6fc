// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/pipeline/idle_slots.hpp>

#include <hyperparallel/pipeline/schedules/interleaved_1f1b.hpp>
#include <hyperparallel/pipeline/schedules/interleaved_zero_bubble.hpp>
#include <hyperparallel/pipeline/schedules/one_forward_one_backward.hpp>

#include <gtest/gtest.h>

#include <string>

namespace hp = hyperparallel;

namespace {

/// Slots of unit time in which each action stands, idle slots counted.
template <class Schedule>
void expect_that_slots_keep_the_order(const hp::pipeline_shape& n) {
  hp::pipeline_schedule s = hp::generate<Schedule>(n);
  const hp::pipeline_schedule before = s;
  hp::add_idle_slots(s);
  hp::growing_array<int> left, slot;
  slot.resize(hp::detail::action_kinds * n.stages() * n.micro_batches, -1);
  for (int r = 0; r < n.ranks; ++r)
    for (int i = s.first[r]; i < s.first[r + 1]; ++i) {
      if (s.action[i] == hp::idle_slot) continue;
      left.push(s.action[i]);
      slot[s.action[i]] = i - s.first[r];
    }
  EXPECT_EQ(left, before.action);
  for (int t = 1; t < n.stages(); ++t)
    for (int k = 0; k < n.micro_batches; ++k) {
      const int f = s.coding().code({hp::action_kind::forward, t, k}),
                b = s.coding().code({hp::action_kind::backward, t, k});
      EXPECT_GT(slot[f], slot[f - n.micro_batches]);
      EXPECT_TRUE(slot[b] < 0 || slot[b] < slot[b - n.micro_batches]);
    }
}

TEST(idle_slots, forwards_and_full_backwards_stand_behind_what_they_need) {
  for (int ranks = 1; ranks <= 5; ++ranks)
    for (int m = 1; m <= 9; ++m) {
      expect_that_slots_keep_the_order<hp::one_forward_one_backward>({ranks, 1, m});
      for (int chunks = 1; chunks <= 3; ++chunks) {
        const hp::pipeline_shape n{ranks, chunks, m};
        if (!hp::interleaved_1f1b::fits(n).ok()) continue;
        expect_that_slots_keep_the_order<hp::interleaved_1f1b>(n);
        expect_that_slots_keep_the_order<hp::interleaved_zero_bubble>(n);
      }
    }
}

TEST(idle_slots, no_slot_is_idle_without_need) {
  hp::pipeline_schedule s = hp::generate<hp::one_forward_one_backward>({2, 1, 3});
  hp::add_idle_slots(s);
  const auto text = [&](int rank) {
    std::string row;
    for (int i = s.first[rank]; i < s.first[rank + 1]; ++i)
      row += (i > s.first[rank] ? "," : "") +
             (s.action[i] < 0 ? "" : std::string(hp::text_of(s.coding().action(s.action[i])).text));
    return row;
  };
  EXPECT_EQ(text(0), "0F0,0F1,,0B0,0F2,0B1,,0B2");
  EXPECT_EQ(text(1), ",1F0,1B0,1F1,1B1,1F2,1B2");
}

}  // namespace
