// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/redistribution/sender_balance.hpp>

#include <gtest/gtest.h>

#include <hyperparallel/redistribution/plan.hpp>

#include <vector>

#include "support/all_layouts.hpp"

namespace {

namespace hp = hyperparallel;

hp::move_step pull(const hp::layout_value& a, const hp::layout_value& b) {
  hp::move_step step;
  step.source = a;
  step.target = b;
  return step;
}

/// The same counts over all positions.
hp::step_loads count_everywhere(const hp::move_step& step, const hp::shape& s) {
  hp::step_loads loads;
  std::vector<hp::extent_t> sent(static_cast<std::size_t>(hp::position_count(step.source.mesh)));
  for (int p = 0; p < hp::position_count(step.source.mesh); ++p) {
    const hp::step_receiver r = hp::receiver_of(step, s, p);
    hp::extent_t received = 0;
    for (hp::extent_t k = 0; k < r.transfers; ++k) {
      const hp::transfer t = hp::transfer_at(step, r, k);
      if (t.sender == p) continue;
      received += hp::volume(t.part);
      sent[static_cast<std::size_t>(t.sender)] += hp::volume(t.part);
    }
    loads.received = hp::larger(loads.received, received);
  }
  for (const hp::extent_t n : sent) loads.sent = hp::larger(loads.sent, n);
  return loads;
}

TEST(sender_balance, axes_that_change_nothing_need_not_be_counted) {
  for (const unsigned padded : {0u, 3u})
    for (hp::layout_value a : worlds::all_layouts({3, {2, 3, 2}}, 2))
      for (hp::layout_value b : worlds::all_layouts({3, {2, 3, 2}}, 2)) {
        a.padded = b.padded = padded;
        const hp::shape s = padded == 0 ? hp::shape{12, 12} : hp::shape{10, 7};
        hp::move_step step = pull(a, b);
        std::vector<hp::extent_t> sent(static_cast<std::size_t>(hp::detail::counted_positions(step)));
        for (int round = 0; round < 2; ++round) {
          const hp::step_loads all = count_everywhere(step, s), some = hp::count_loads(step, s, sent.data());
          ASSERT_EQ(all.received, some.received);
          ASSERT_EQ(all.sent, some.sent);
          hp::balance_senders(step, s, sent.data());
        }
      }
}

TEST(sender_balance, dealing_changes_neither_what_is_received_nor_what_is_kept) {
  const hp::mesh_shape m{2, {6, 4}};
  const hp::shape s{24, 24};
  long dealt = 0;
  for (const hp::layout_value& a : worlds::all_layouts(m, 2))
    for (const hp::layout_value& b : worlds::all_layouts(m, 2)) {
      const hp::move_step nearest = pull(a, b);
      hp::move_step step = nearest;
      hp::balance_senders(step, s);
      if (step.replicas.split != 0) ++dealt;
      for (int p = 0; p < hp::position_count(m); ++p) {
        const hp::step_receiver r = hp::receiver_of(step, s, p);
        hp::extent_t received = 0, own = 0;
        for (hp::extent_t k = 0; k < r.transfers; ++k) {
          const hp::transfer t = hp::transfer_at(step, r, k);
          const hp::box held = hp::slice_at(a, s, hp::coordinates_of(m, t.sender));
          ASSERT_TRUE(hp::volume(t.part) == 0 || hp::intersection(t.part, held) == t.part);
          (t.sender == p ? own : received) += hp::volume(t.part);
        }
        ASSERT_EQ(received, hp::least_received(a, b, s, hp::coordinates_of(m, p)));
        ASSERT_EQ(received + own, hp::volume(hp::slice_at(b, s, hp::coordinates_of(m, p))));
      }
    }
  EXPECT_EQ(dealt, 12);
}

TEST(sender_balance, boxes_are_cut_no_finer_than_needed) {
  // Six pieces of four rows go to four of six: one replica of the first piece would send 20 rows, and nobody takes more
  // than 6. Whole boxes leave 8 to one of the replicas, halves 6.
  hp::layout_value a = hp::replicated({2, {6, 4}}, 1), b = a;
  hp::append_cut(a, {0, 0, 1, 6});
  hp::append_cut(b, {0, 1, 1, 4});
  hp::move_step step = pull(a, b);
  hp::extent_t sent[24] = {};
  EXPECT_EQ(hp::count_loads(step, hp::shape{24}, sent).sent, 20);
  EXPECT_EQ(hp::count_loads(step, hp::shape{24}, sent).received, 6);
  EXPECT_EQ(hp::detail::least_sent(step, sent), 5);
  hp::balance_senders(step, hp::shape{24}, sent);
  EXPECT_EQ(step.replicas.parts, 2);
  EXPECT_LE(hp::count_loads(step, hp::shape{24}, sent).sent, 7);
}

TEST(sender_balance, large_steps_are_balanced_with_the_callers_scratch) {
  hp::layout_value a = hp::replicated({2, {24, 36}}, 1), b = a;
  hp::append_cut(a, {0, 0, 1, 24});
  hp::append_cut(b, {0, 1, 1, 36});
  const hp::shape s(72 * 36);
  hp::move_step step = pull(a, b);
  ASSERT_GT(hp::detail::counted_positions(step), hp::detail::max_counted_positions);
  hp::balance_senders(step, s);
  EXPECT_EQ(step.replicas.split, 0u);
  std::vector<hp::extent_t> sent(static_cast<std::size_t>(hp::detail::counted_positions(step)));
  const hp::step_loads before = hp::count_loads(step, s, sent.data());
  EXPECT_GT(before.sent, 2 * before.received);
  hp::balance_senders(step, s, sent.data());
  const hp::step_loads after = hp::count_loads(step, s, sent.data());
  EXPECT_LE(after.sent, after.received + after.received / 4);
  EXPECT_EQ(after.received, before.received);
}

TEST(sender_balance, one_holder_of_a_piece_stays_as_it_is) {
  hp::layout_value a = hp::replicated({1, {3}}, 1), b = a;
  hp::append_cut(a, {0, 0, 1, 3});
  a.padded = b.padded = 1;
  hp::move_step step = pull(a, b);  // one element, on one of three devices
  hp::extent_t sent[3] = {};
  hp::balance_senders(step, hp::shape{1}, sent);
  EXPECT_EQ(step.replicas.split, 0u);
  EXPECT_EQ(hp::count_loads(step, hp::shape{1}, sent).sent, 2);
}

}  // namespace
