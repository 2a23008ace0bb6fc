// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/redistribution/replicas.hpp>

#include <gtest/gtest.h>

#include <hyperparallel/redistribution/plan.hpp>

#include <algorithm>
#include <vector>

#include "support/all_layouts.hpp"

namespace {

namespace hp = hyperparallel;

struct loads {
  hp::extent_t received = 0, sent = 0;
  bool own_is_own = true;  ///< a receiver that holds a box is its sender
};

loads count(const hp::layout_value& a, const hp::layout_value& b, const hp::shape& s, const hp::replica_choice& how) {
  loads found;
  std::vector<hp::extent_t> sent(static_cast<std::size_t>(hp::position_count(a.mesh)));
  for (int p = 0; p < hp::position_count(a.mesh); ++p) {
    const hp::coordinate c = hp::coordinates_of(a.mesh, p);
    const hp::receiver r = hp::receiver_at(a, b, s, how, c);
    hp::extent_t received = 0;
    for (hp::extent_t k = 0; k < r.boxes; ++k) {
      const hp::exchange_box x = hp::box_at(a, r, k);
      const bool held = hp::intersection(x.global, hp::slice_at(a, s, c)) == x.global;
      found.own_is_own = found.own_is_own && held == (x.sender == p);
      if (x.sender == p) continue;
      received += hp::volume(x.global);
      sent[static_cast<std::size_t>(x.sender)] += hp::volume(x.global);
    }
    found.received = std::max(found.received, received);
  }
  for (const hp::extent_t n : sent) found.sent = std::max(found.sent, n);
  return found;
}

TEST(replicas, whole_chains_leave_no_sender_busier_than_the_busiest_receiver) {
  long helped = 0;
  for (const hp::mesh_shape& m : {hp::mesh_shape{3, {2, 2, 2}}, hp::mesh_shape{3, {4, 2, 2}},
                                  hp::mesh_shape{3, {2, 4, 8}}, hp::mesh_shape{4, {2, 2, 2, 2}}}) {
    const hp::shape s = worlds::divisible_shape(m, 2);
    const std::vector<hp::layout_value> all = worlds::all_layouts(m, 2);
    for (std::size_t k = 0; k < all.size() * all.size(); k += m.axis_count == 4 ? 29 : 1) {
      const hp::layout_value &a = all[k / all.size()], &b = all[k % all.size()];
      const hp::redistribution_plan p = hp::plan_redistribution(a, b, s);
      ASSERT_TRUE(p.refined && p.balanced);
      const loads chosen = count(a, b, s, p.replicas);
      ASSERT_LE(chosen.sent, chosen.received);
      ASSERT_TRUE(chosen.own_is_own);
      const loads nearest = count(a, b, s, {});
      ASSERT_EQ(nearest.received, chosen.received);
      if (nearest.sent > nearest.received) ++helped;
    }
  }
  EXPECT_GT(helped, 0);
}

TEST(replicas, plans_that_claim_balance_have_it) {
  long claimed = 0, open = 0;
  for (const hp::mesh_shape& m : {hp::mesh_shape{2, {2, 6}}, hp::mesh_shape{2, {6, 4}}, hp::mesh_shape{3, {6, 2, 3}},
                                  hp::mesh_shape{3, {3, 4, 5}}, hp::mesh_shape{3, {4, 6, 2}}}) {
    const hp::shape s = worlds::divisible_shape(m, 2);
    const std::vector<hp::layout_value> all = worlds::all_layouts(m, 2);
    for (const hp::layout_value& a : all)
      for (const hp::layout_value& b : all) {
        const hp::redistribution_plan p = hp::plan_redistribution(a, b, s);
        const loads chosen = count(a, b, s, p.replicas);
        ASSERT_TRUE(chosen.own_is_own);
        ++(p.balanced ? claimed : open);
        if (p.balanced) {
          ASSERT_LE(chosen.sent, chosen.received);
        }
      }
  }
  EXPECT_GT(claimed, 4000);
  EXPECT_GT(open, 100);
}

TEST(replicas, a_chain_ends_at_the_coordinate_that_nobody_reads) {
  // 2x2x2: dim 0 moves from axis 0 to axis 1, dim 1 from axis 1 to axis 2. A receiver reads its coordinate 1 for the
  // piece's axis 0 and coordinate 2 for axis 1; its coordinate 0 is left to pick the replica along axis 2.
  hp::layout_value a = hp::replicated({3, {2, 2, 2}}, 2), b = a;
  hp::append_cut(a, {0, 0, 1, 2});
  hp::append_cut(a, {1, 1, 1, 2});
  hp::append_cut(b, {0, 1, 1, 2});
  hp::append_cut(b, {1, 2, 1, 2});
  const hp::redistribution_plan p = hp::plan_redistribution(a, b, {4, 4});
  EXPECT_EQ(p.replicas.axis[2], 0);
  EXPECT_EQ(p.replicas.link_count, 0);
  EXPECT_EQ(p.replicas.split, 0u);
}

TEST(replicas, factors_in_another_order_are_no_chain) {
  hp::layout_value a = hp::replicated({2, {2, 6}}, 1), b = a;
  hp::append_cut(a, {0, 1, 1, 6});
  hp::append_cut(b, {0, 0, 1, 2});
  hp::append_cut(b, {0, 1, 1, 6});
  const hp::redistribution_plan p = hp::plan_redistribution(a, b, hp::shape{12});
  EXPECT_TRUE(p.refined);
  EXPECT_FALSE(p.balanced);
}

TEST(replicas, parts_of_one_length_load_replicas_that_differ_by_one_part_at_most) {
  for (int dealers = 1; dealers <= 12; ++dealers)
    for (int parts = 1; parts <= dealers; ++parts) {
      std::vector<int> dealt(static_cast<std::size_t>(dealers));
      for (int turn = 0; turn < 40; ++turn) {
        for (int part = 0; part < parts; ++part) {
          const int dealer = hp::detail::dealer_of(turn, parts, part, dealers);
          ASSERT_GE(dealer, 0);
          ASSERT_LT(dealer, dealers);
          ++dealt[static_cast<std::size_t>(dealer)];
        }
        if ((turn + 1) * parts % dealers == 0) {
          ASSERT_EQ(*std::max_element(dealt.begin(), dealt.end()), *std::min_element(dealt.begin(), dealt.end()));
        }
        ASSERT_LE(*std::max_element(dealt.begin(), dealt.end()) - *std::min_element(dealt.begin(), dealt.end()), 2);
      }
    }
}

TEST(replicas, receivers_of_a_piece_have_numbers_of_their_own) {
  const hp::mesh_shape m{3, {2, 3, 2}};
  for (const hp::layout_value& a : worlds::all_layouts(m, 2))
    for (const hp::layout_value& b : worlds::all_layouts(m, 2)) {
      // Along axes that change nothing the number repeats; along the others it tells receivers apart.
      const unsigned changed = hp::detail::changed_axes(a, b);
      std::vector<int> seen;
      for (int p = 0; p < hp::position_count(m); ++p) {
        const hp::coordinate c = hp::coordinates_of(m, p);
        bool first = true;
        for (int x = 0; x < 3; ++x) first = first && ((changed >> x & 1u) != 0 || c.at[x] == 0);
        const int turn = hp::detail::turn_of(a, b, 0, 0, c);
        if (first) seen.push_back(turn);
        ASSERT_GE(turn, 0);
        ASSERT_LT(turn, hp::position_count(m));
      }
      std::sort(seen.begin(), seen.end());
      ASSERT_TRUE(std::adjacent_find(seen.begin(), seen.end()) == seen.end());
    }
}

}  // namespace
