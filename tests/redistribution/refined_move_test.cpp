// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/redistribution/refined_move.hpp>

#include "small_moves.hpp"

#include <gtest/gtest.h>

namespace hp = hyperparallel;

namespace {

using worlds::cut_by;

hp::refined_move refined(const hp::layout_value& from, const hp::layout_value& to, const hp::shape& s,
                         const hp::interconnect& net = hp::without_links) {
  return hp::detail::refine_move(from, to, s, hp::plan_kind::exchange, net);
}

/// The flat indices of a position's block, in the order of its memory.
std::vector<hp::extent_t> block(const hp::layout_value& l, const hp::shape& s, int p) {
  std::vector<hp::extent_t> flat;
  const hp::box b = hp::slice_at(l, s, hp::coordinates_of(l.mesh, p));
  replay::detail::elements_of(b, b, s, [&](hp::extent_t at, hp::extent_t) { flat.push_back(at); });
  return flat;
}

/// Sources and targets of the refined move hold what the tensor's layouts hold, in the same order.
void expect_same_blocks(const hp::layout_value& from, const hp::layout_value& to, const hp::shape& s,
                        const hp::interconnect& net) {
  const hp::refined_move r = refined(from, to, s, net);
  ASSERT_EQ(r.code, hp::refined_code::ok);
  ASSERT_EQ(hp::position_count(r.mesh), hp::position_count(from.mesh));
  const hp::layout_value source = hp::layout_of(r, r.source), target = hp::layout_of(r, r.target);
  for (int p = 0; p < hp::position_count(from.mesh); ++p) {
    ASSERT_EQ(block(from, s, p), block(source, r.blank.shape, p));
    ASSERT_EQ(block(to, s, p), block(target, r.blank.shape, p));
  }
  for (const hp::move_state& state : {r.source, r.target})  // nobody owns a part twice
    for (int d = 0; d < r.blank.shape.rank; ++d) {
      if (state.owner[d].axis < 0) continue;
      hp::move_state without = state;
      without.owner[d] = {};
      EXPECT_FALSE(hp::detail::is_free(r, state, state.owner[d], r.blank.shape.extent[d]));
      EXPECT_TRUE(hp::detail::is_free(r, without, state.owner[d], r.blank.shape.extent[d]));
    }
}

TEST(RefinedMove, EveryPositionKeepsItsBlocksInOrder) {
  for (const hp::mesh_shape& m : {hp::mesh_shape{2, {2, 2}}, hp::mesh_shape{2, {2, 4}}, hp::mesh_shape{2, {1, 4}}}) {
    const std::vector<hp::layout_value> layouts = worlds::all_layouts(m, 2);
    const hp::topology_value t = worlds::levels({worlds::link(10, 0, 2), worlds::link(1)});
    for (const hp::layout_value& from : layouts)
      for (const hp::layout_value& to : layouts) {
        expect_same_blocks(from, to, hp::shape(16, 8), worlds::full_mesh(m));
        expect_same_blocks(from, to, hp::shape(8, 24), hp::on_topology(t));
      }
  }
}

TEST(RefinedMove, UncutDimsJoinTheirNeighbours) {
  const hp::mesh_shape m{2, {2, 4}};
  const hp::refined_move r =
      refined(cut_by(m, 6, {{1, 0}}), cut_by(m, 6, {{4, 0}, {4, 1}}), hp::shape(3, 8, 5, 7, 16, 9));
  ASSERT_EQ(r.code, hp::refined_code::ok);
  // [3] [2: axis 0 in the source] [4 · 5 · 7] [2: axis 0] [4: axis 1] [2 · 9]; axis 1 can slice at once, so no spare.
  EXPECT_EQ(r.blank.shape, hp::shape(3, 2, 140, 2, 4, 18));
  EXPECT_EQ(r.source.owner[1], (hp::digit_owner{0, 1}));
  EXPECT_EQ(r.target.owner[3], (hp::digit_owner{0, 1}));
  EXPECT_EQ(r.target.owner[4], (hp::digit_owner{1, 1}));
}

TEST(RefinedMove, SparesAreForAxesWithNothingToHold) {
  const hp::mesh_shape m{3, {2, 2, 3}};
  // Axis 0 is gathered, axis 1 reduced, axis 2 idle.
  const hp::refined_move r = refined(cut_by(m, 1, {{0, 0}}, 2), cut_by(m, 1, {}), hp::shape(24));
  ASSERT_EQ(r.code, hp::refined_code::ok);
  EXPECT_EQ(r.blank.reduced, 2u);
  EXPECT_EQ(r.source.waiting, 2u);
  EXPECT_EQ(r.blank.shape, hp::shape(2, 2, 3, 2));
  EXPECT_EQ(r.spare_of[1], 1);
  EXPECT_EQ(r.spare_of[2], 2);
  EXPECT_FALSE(hp::detail::is_free(r, r.source, {1, 1}, 2)) << "its terms wait";
  // No dim divides by three, so the idle axis gets none.
  EXPECT_EQ(refined(cut_by(m, 1, {{0, 0}}), cut_by(m, 1, {}), hp::shape(16)).blank.shape, hp::shape(2, 2, 4));
}

TEST(RefinedMove, AxesEndWhereLevelsEnd) {
  const hp::mesh_shape flat{1, {16}};
  const hp::layout_value from = cut_by(flat, 1, {{0, 0}}), to = cut_by(flat, 1, {});
  using worlds::levels;
  using worlds::link;
  const auto mesh_on = [&](const hp::interconnect& net) { return refined(from, to, hp::shape(32), net).mesh; };
  EXPECT_EQ(mesh_on(hp::on_topology(levels({link(4, 0, 2), link(2, 0, 8), link(1)}))), (hp::mesh_shape{3, {2, 4, 2}}));
  EXPECT_EQ(mesh_on(hp::on_topology(levels({link(4, 0, 3), link(1)}))), flat) << "levels that do not divide the axis";
  EXPECT_EQ(mesh_on(hp::on_topology(levels({link(4, 0, 16), link(1)}))), flat);
  EXPECT_EQ(mesh_on(worlds::full_mesh({2, {4, 4}})), (hp::mesh_shape{2, {4, 4}}));
  static constexpr int listed[16] = {15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0};
  EXPECT_EQ(mesh_on(hp::on_topology(levels({link(4, 0, 2), link(1)}), {16, listed})), flat) << "any order of ranks";
}

TEST(RefinedMove, SaysWhatItCannotRefine) {
  const hp::mesh_shape m{2, {2, 3}};
  EXPECT_EQ(refined(cut_by(m, 1, {{0, 0}}), cut_by(m, 1, {{0, 1}}), hp::shape(6)).code,
            hp::refined_code::cut_points_do_not_refine);
  EXPECT_EQ(refined(cut_by(m, 1, {{0, 0}}), cut_by(m, 1, {}), hp::shape(0)).code, hp::refined_code::tensor_is_empty);
  hp::mesh_shape eight{5, {2, 2, 2, 2, 2}};
  const hp::layout_value apart = cut_by(eight, 5, {{0, 0}, {1, 1}, {2, 2}, {3, 3}, {4, 4}});
  EXPECT_EQ(refined(apart, cut_by(eight, 5, {}), hp::shape(4, 4, 4, 4, 4)).code, hp::refined_code::too_many_dims);
  EXPECT_EQ(refined(apart, cut_by(eight, 5, {}), hp::shape(2, 2, 2, 2, 2)).code, hp::refined_code::ok);
}

}  // namespace
