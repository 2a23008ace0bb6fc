// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/redistribution/crossing.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include <hyperparallel/redistribution/move_step.hpp>

#include "support/all_layouts.hpp"

namespace {

namespace hp = hyperparallel;

hp::layout_value cut(const hp::mesh_shape& m, int rank, int dim, int axis) {
  hp::layout_value l = hp::replicated(m, rank);
  hp::append_cut(l, {dim, axis, 1, m.size[axis]});
  return l;
}

struct load {
  hp::extent_t sent = 0, received = 0;
  int messages = 0;
};

/// The heaviest sender and receiver of a pull between meshes, by position, and the most transfers to one receiver.
load heaviest(const hp::layout_value& source, const hp::rank_list& from, const hp::layout_value& target,
              const hp::rank_list& to, const hp::shape& s) {
  const hp::move_step step{hp::step_kind::pull, source, target, {}, 0, 0, 0, from, to};
  std::vector<hp::extent_t> sent(static_cast<std::size_t>(from.count));
  load all;
  for (int q = 0; q < to.count; ++q) {
    const hp::step_receiver r = hp::receiver_of(step, s, q);
    hp::extent_t received = 0;
    int messages = 0;
    for (hp::extent_t k = 0; k < r.transfers; ++k) {
      const hp::transfer t = hp::transfer_at(step, r, k);
      if (hp::volume(t.part) == 0 || t.sender == r.position) continue;
      received += hp::volume(t.part);
      sent[static_cast<std::size_t>(t.sender)] += hp::volume(t.part);
      ++messages;
    }
    all.received = std::max(all.received, received);
    all.messages = std::max(all.messages, messages);
  }
  all.sent = *std::max_element(sent.begin(), sent.end());
  return all;
}

TEST(crossing, stages_of_one_mesh_send_block_by_block) {
  const hp::mesh_shape m{2, {4, 8}};  // rows over 8, four replicas
  const hp::layout_value l = cut(m, 2, 0, 1);
  const load x = heaviest(l, {32, 0}, l, {32, 32}, {64, 16});
  EXPECT_EQ(x.messages, 1);
  EXPECT_EQ(x.sent, x.received);
}

TEST(crossing, fewer_receivers_than_replicas_read_whole_boxes_of_different_ones) {
  const hp::mesh_shape many{1, {8}}, few{1, {3}};
  const load x = heaviest(hp::replicated(many, 1), {8, 0}, hp::replicated(few, 1), {3, 100}, hp::shape{24});
  EXPECT_EQ(x.messages, 1);
  EXPECT_EQ(x.sent, 24);
}

TEST(crossing, more_receivers_than_replicas_share_them_evenly) {
  const hp::mesh_shape few{1, {4}}, many{1, {6}};
  const load x = heaviest(hp::replicated(few, 1), {4, 0}, hp::replicated(many, 1), {6, 100}, hp::shape{24});
  EXPECT_EQ(x.sent, 6 * 24 / 4);
  EXPECT_LE(x.messages, 2) << "at most one cut";
}

TEST(crossing, those_who_hold_a_piece_leave_the_line) {
  const int odd[] = {1, 3, 5, 7};
  const hp::mesh_shape few{1, {4}}, many{1, {8}};
  const load x = heaviest(hp::replicated(few, 1), hp::rank_list(4, odd), hp::replicated(many, 1), {8, 0}, hp::shape{5});
  EXPECT_EQ(x.sent, 5) << "four readers, one for each holder";
  EXPECT_EQ(x.messages, 1);
}

TEST(crossing, axes_of_3_and_4_are_no_obstacle) {
  const hp::mesh_shape a{2, {3, 4}}, b{2, {4, 5}};
  for (const hp::layout_value& from : worlds::all_layouts(a, 2))
    for (const hp::layout_value& to : worlds::all_layouts(b, 2)) {
      const load x = heaviest(from, {12, 0}, to, {20, 12}, {240, 240});
      const hp::extent_t replicas = hp::detail::digits_beside(from).members;
      const hp::extent_t demand = 240 * 240 / (12 / replicas) * hp::detail::digits_beside(to).members;
      // The least is demand over replicas; a receiver's longest box may not be cut finer than in two.
      EXPECT_LE(x.sent * 4, 5 * std::max(x.received, hp::ceil_divide(demand, replicas)));
    }
}

TEST(crossing, of_the_devices_along_a_filled_axis_one_takes_a_cell) {
  const hp::mesh_shape m{2, {2, 2}};
  const int from[] = {0, 1, 2, 3}, to[] = {6, 2, 1, 9};
  for (const hp::layout_value& source : worlds::all_layouts(m, 1))
    for (const unsigned filled : {1u, 2u, 3u}) {
      const hp::shape s(8);
      const hp::layout_value target = hp::replicated(m, 1);
      const hp::rank_list source_ranks(4, from), target_ranks(4, to);
      const hp::detail::crossing x{source, source_ranks, target, target_ranks, s, 0, filled};
      for (hp::extent_t e = 0; e < 8; ++e) {
        const hp::box cell{hp::interval{e, e + 1}};
        std::multiset<int> takers;  // by their coordinates along the axes that are not filled
        bool served = false;
        for (int q = 0; q < 4; ++q) {
          const hp::coordinate c = hp::coordinates_of(m, q);
          if (!hp::detail::takes(x, c, cell)) continue;
          hp::coordinate group = c;
          hp::detail::enter_group(group, m, filled, 0);
          takers.insert(hp::position_of(m, group));
          served = served || hp::detail::holding(x, c, cell) >= 0;
        }
        bool any_holds = false;
        for (int q = 0; q < 4; ++q)
          any_holds = any_holds || hp::detail::holding(x, hp::coordinates_of(m, q), cell) >= 0;
        EXPECT_EQ(served, any_holds);
        EXPECT_EQ(takers.size(), std::set<int>(takers.begin(), takers.end()).size());
        EXPECT_EQ(static_cast<int>(takers.size()), hp::detail::digits_beside(target, filled).members);
      }
    }
}

}  // namespace
