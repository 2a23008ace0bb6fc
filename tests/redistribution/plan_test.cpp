// SPDX-License-Identifier: Apache-2.0
// Redistribution by brute force: every ordered layout pair of small worlds is executed element by element on every
// rank. With HYPERPARALLEL_EXHAUSTIVE set in the environment, samples become whole sets.
#include <hyperparallel/redistribution/plan.hpp>

#include <gtest/gtest.h>

#include <algorithm>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "replay/exchange_replay.hpp"
#include "support/all_layouts.hpp"

namespace {

namespace hp = hyperparallel;

bool exhaustive() { return std::getenv("HYPERPARALLEL_EXHAUSTIVE") != nullptr; }

struct sweep {
  long pairs = 0;           ///< of different layouts
  long unbalanced = 0;      ///< the heaviest sender sends more than the heaviest receiver receives
  double worst_sender = 0;  ///< heaviest sender ÷ heaviest receiver
  long interval_mode = 0;
};

/// Every `stride`-th ordered pair; layouts are padded in the dims of `padded`.
sweep run_pairs(const hp::mesh_shape& m, int rank, const hp::shape& s, unsigned padded = 0, std::size_t stride = 1) {
  sweep result;
  std::vector<hp::layout_value> all = worlds::all_layouts(m, rank);
  for (hp::layout_value& l : all) l.padded = padded;
  for (std::size_t k = 0; k < all.size() * all.size(); k += stride) {
    const hp::layout_value &a = all[k / all.size()], &b = all[k % all.size()];
    if (a == b) continue;
    const hp::redistribution_plan p = hp::plan_redistribution(a, b, s);
    EXPECT_EQ(p.status.code, hp::plan_code::ok);
    const replay::exchange_report r = replay::replay_exchange(a, b, s, p);
    EXPECT_EQ(r.trouble, "") << "pair " << k;
    if (!r.trouble.empty()) return result;
    EXPECT_EQ(hp::enumerate_bound(a, b, s).maximum, p.lower_bound);
    EXPECT_EQ(hp::enumerate_bound(a, b, s).sum, r.received_sum);
    ++result.pairs;
    if (!p.refined) ++result.interval_mode;
    if (r.sent_max > r.received_max) ++result.unbalanced;
    if (r.received_max > 0) {
      const double ratio = static_cast<double>(r.sent_max) / static_cast<double>(r.received_max);
      if (ratio > result.worst_sender) result.worst_sender = ratio;
    }
  }
  std::printf("  %ld pairs, %ld in interval mode; heaviest sender above heaviest receiver in %ld, at most %.2f times\n",
              result.pairs, result.interval_mode, result.unbalanced, result.worst_sender);
  return result;
}

TEST(plan, right_and_at_its_bound_on_every_rank_of_2x2_rank_2) {
  const sweep r = run_pairs({2, {2, 2}}, 2, {4, 4});
  EXPECT_EQ(r.pairs, 110);
  EXPECT_EQ(r.unbalanced, 0);
}

TEST(plan, right_and_at_its_bound_on_every_rank_of_2x2x2_rank_2) {
  const sweep r = run_pairs({3, {2, 2, 2}}, 2, {8, 8});
  EXPECT_EQ(r.pairs, 2352);
  EXPECT_EQ(r.unbalanced, 0);
  EXPECT_EQ(r.interval_mode, 0);
}

TEST(plan, right_and_at_its_bound_on_every_rank_of_2x2x2_rank_3) {
  const sweep r = run_pairs({3, {2, 2, 2}}, 3, {8, 8, 8});
  EXPECT_EQ(r.pairs, 11130);
  EXPECT_EQ(r.unbalanced, 0);
  EXPECT_EQ(r.interval_mode, 0);
}

TEST(plan, right_and_at_its_bound_on_every_rank_of_2x4_and_4x2) {
  for (const hp::mesh_shape& m : {hp::mesh_shape{2, {2, 4}}, hp::mesh_shape{2, {4, 2}}}) {
    const sweep r = run_pairs(m, 2, {8, 8});
    EXPECT_EQ(r.pairs, 110);
    EXPECT_EQ(r.unbalanced, 0);
    EXPECT_EQ(r.interval_mode, 0);
  }
}

TEST(plan, right_and_at_its_bound_on_every_rank_of_2x4x4) {
  const sweep r = run_pairs({3, {2, 4, 4}}, 2, {32, 32}, 0, exhaustive() ? 1 : 11);
  EXPECT_EQ(r.unbalanced, 0);
  EXPECT_EQ(r.interval_mode, 0);
  EXPECT_GT(r.pairs, exhaustive() ? 2351 : 200);
}

// Senders where cut points do not refine are balanced by move plans (sender_balance.hpp), which deal boxes.
TEST(plan, unequal_axes_2x3) {
  const sweep r = run_pairs({2, {2, 3}}, 3, {6, 12, 6});
  EXPECT_EQ(r.pairs, 19 * 18);
  EXPECT_GT(r.interval_mode, 0);
  EXPECT_LT(r.worst_sender, 1.34);
}

TEST(plan, unequal_axes_4x2x2) {
  const sweep rank_2 = run_pairs({3, {4, 2, 2}}, 2, {16, 16});
  EXPECT_EQ(rank_2.pairs, 2352);
  EXPECT_EQ(rank_2.unbalanced, 0);
  const sweep rank_3 = run_pairs({3, {4, 2, 2}}, 3, {16, 16, 16}, 0, exhaustive() ? 1 : 17);
  EXPECT_EQ(rank_3.unbalanced, 0);
  EXPECT_GT(rank_3.pairs, exhaustive() ? 11129 : 600);
}

TEST(plan, size_one_axes_and_one_device) {
  EXPECT_EQ(run_pairs({3, {1, 2, 1}}, 2, {2, 2}).unbalanced, 0);
  const hp::layout_value alone = hp::replicated({1, {1}}, 2);
  EXPECT_EQ(hp::plan_redistribution(alone, alone, {3, 5}).kind, hp::plan_kind::no_op);
  const hp::layout_value scalar = hp::replicated({2, {2, 2}}, 0);
  const hp::redistribution_plan p = hp::plan_redistribution(scalar, scalar, {});
  EXPECT_EQ(p.kind, hp::plan_kind::no_op);
  EXPECT_EQ(replay::replay_exchange(scalar, scalar, {}, p).trouble, "");
}

TEST(plan, padded_dims_are_cut_by_intervals) {
  for (const hp::shape& s : {hp::shape{10, 7}, hp::shape{3, 3}, hp::shape{0, 5}, hp::shape{13, 8}}) {
    EXPECT_EQ(run_pairs({2, {2, 3}}, 2, s, 3).pairs, 110);
    EXPECT_EQ(run_pairs({3, {2, 2, 2}}, 2, s, 3, exhaustive() ? 1 : 5).pairs > 400, true);
  }
}

TEST(plan, equal_layouts_are_a_no_op_in_every_mode) {
  for (const unsigned padded : {0u, 3u})
    for (hp::layout_value l : worlds::all_layouts({2, {2, 3}}, 2)) {
      l.padded = padded;
      const hp::redistribution_plan p = hp::plan_redistribution(l, l, padded == 0 ? hp::shape{6, 6} : hp::shape{7, 5});
      EXPECT_EQ(p.kind, hp::plan_kind::no_op);
      EXPECT_EQ(p.steps, 0);
      EXPECT_EQ(p.received_maximum, 0);
    }
}

TEST(plan, interval_mode_agrees_with_digit_mode_where_both_apply) {
  const hp::shape s{8, 8};
  for (const hp::layout_value& a : worlds::all_layouts({3, {2, 2, 2}}, 2))
    for (const hp::layout_value& b : worlds::all_layouts({3, {2, 2, 2}}, 2)) {
      const hp::redistribution_plan p = hp::plan_redistribution(a, b, s);
      const hp::received_bound counted = hp::enumerate_bound(a, b, s);
      ASSERT_EQ(counted.boxes, p.fan_in);
      ASSERT_EQ(counted.messages, p.messages);
      ASSERT_EQ(counted.maximum, p.received_maximum);
    }
}

/// What the emitted boxes say, box by box.
void expect_counted(const hp::layout_value& a, const hp::layout_value& b, const hp::shape& s) {
  const hp::redistribution_plan p = hp::plan_redistribution(a, b, s);
  hp::extent_t boxes = 0, messages = 0, received = 0;
  for (int position = 0; position < hp::position_count(a.mesh); ++position) {
    const hp::receiver r = hp::receiver_at(a, b, s, p.replicas, hp::coordinates_of(a.mesh, position));
    hp::extent_t others = 0;
    for (hp::extent_t k = 0; k < r.boxes; ++k) others += hp::box_at(a, r, k).sender != position;
    boxes = std::max(boxes, r.boxes);
    messages = std::max(messages, others);
    received = std::max(received, hp::received_by(a, b, s, p.replicas, position));
  }
  ASSERT_EQ(p.fan_in, std::max<hp::extent_t>(boxes, 1));
  ASSERT_EQ(p.messages, messages);
  ASSERT_EQ(p.received_maximum, received);
}

TEST(plan, counts_are_those_of_the_emitted_boxes_in_both_modes) {
  for (const hp::layout_value& a : worlds::all_layouts({2, {2, 3}}, 2))
    for (hp::layout_value b : worlds::all_layouts({2, {2, 3}}, 2)) {
      expect_counted(a, b, {12, 12});
      b.padded = 3;
      hp::layout_value padded = a;
      padded.padded = 3;
      for (int n : {1, 4, 7, 11}) expect_counted(padded, b, {n, 5});
    }
}

TEST(plan, there_and_back_is_the_identity_and_costs_what_the_bounds_say) {
  const hp::shape s{8, 8};
  for (const hp::layout_value& a : worlds::all_layouts({3, {2, 2, 2}}, 2))
    for (const hp::layout_value& b : worlds::all_layouts({3, {2, 2, 2}}, 2)) {
      // Replay checks that each way ends in the target slices, so both in a row restore the source's.
      ASSERT_EQ(replay::replay_exchange(a, b, s, hp::plan_redistribution(a, b, s)).trouble, "");
      ASSERT_EQ(replay::replay_exchange(b, a, s, hp::plan_redistribution(b, a, s)).trouble, "");
    }
}

TEST(plan, a_detour_never_receives_less_on_any_rank) {
  const hp::mesh_shape m{3, {2, 2, 2}};
  const hp::shape s{8, 8};
  const std::vector<hp::layout_value> all = worlds::all_layouts(m, 2);
  const std::size_t n = all.size();
  for (std::size_t k = 0; k < n * n * n; k += exhaustive() ? 1 : 23) {
    const hp::layout_value &a = all[k / n / n], &b = all[k / n % n], &c = all[k % n];
    for (int p = 0; p < hp::position_count(m); ++p) {
      const hp::coordinate at = hp::coordinates_of(m, p);
      ASSERT_LE(hp::least_received(a, c, s, at), hp::least_received(a, b, s, at) + hp::least_received(b, c, s, at));
    }
    ASSERT_LE(hp::plan_redistribution(a, c, s).received_maximum,
              hp::plan_redistribution(a, b, s).received_maximum + hp::plan_redistribution(b, c, s).received_maximum);
  }
}

TEST(plan, kinds_are_exactly_the_native_collectives) {
  const auto layout = [](const char* dim0, const char* dim1) {
    const char* names[] = {"x", "y"};
    const int sizes[] = {2, 4};
    const char* entries[] = {dim0, dim1};
    return hp::layout_from_map(hp::make_mesh(names, 2, sizes, 2).mesh, entries, 2).layout;
  };
  const auto kind = [&](const hp::layout_value& a, const hp::layout_value& b) {
    return hp::plan_redistribution(a, b, {8, 8}).kind;
  };
  EXPECT_EQ(kind(layout("x", "y"), layout("x", "y")), hp::plan_kind::no_op);
  EXPECT_EQ(kind(layout("", "y"), layout("x", "y")), hp::plan_kind::local_slice);
  EXPECT_EQ(kind(layout("x", "y"), layout("x", "")), hp::plan_kind::all_gather);
  EXPECT_EQ(kind(layout("x,y", ""), layout("x", "")), hp::plan_kind::all_gather);
  EXPECT_EQ(kind(layout("x", ""), layout("", "x")), hp::plan_kind::all_to_all);
  EXPECT_EQ(kind(layout("x,y", ""), layout("x", "y")), hp::plan_kind::all_to_all);
  EXPECT_EQ(kind(layout("x,y", ""), layout("y,x", "")), hp::plan_kind::collective_permute);
  EXPECT_EQ(kind(layout("x", ""), layout("y", "")), hp::plan_kind::exchange);
  EXPECT_EQ(kind(layout("x", ""), layout("", "y")), hp::plan_kind::exchange);
  EXPECT_EQ(hp::plan_redistribution(layout("x", ""), layout("", "x"), {8, 8}).messages, 1);
  EXPECT_EQ(hp::plan_redistribution(layout("", "y"), layout("", ""), {8, 8}).messages, 3);
}

TEST(plan, refusals_name_the_side) {
  hp::layout_value whole = hp::replicated({1, {4}}, 1), cut = whole, partial = whole;
  hp::append_cut(cut, {0, 0, 1, 4});
  hp::set_partial(partial, 0, hp::reduce_op::sum);
  const auto code = [](const hp::layout_value& a, const hp::layout_value& b, hp::extent_t n) {
    return hp::plan_redistribution(a, b, hp::shape{n}).status.code;
  };
  EXPECT_EQ(code(cut, whole, 10), hp::plan_code::source_is_refused);
  EXPECT_EQ(code(whole, cut, 10), hp::plan_code::target_is_refused);
  EXPECT_EQ(code(whole, hp::replicated({1, {8}}, 1), 8), hp::plan_code::meshes_differ);
  EXPECT_EQ(code(partial, whole, 8), hp::plan_code::partial_is_not_moved_here);
  EXPECT_EQ(code(whole, partial, 8), hp::plan_code::partial_is_not_moved_here);
  EXPECT_EQ(hp::plan_redistribution(whole, whole, {4, 4}).status.layout.code,
            hp::layout_code::map_length_differs_from_tensor_rank);
}

}  // namespace
