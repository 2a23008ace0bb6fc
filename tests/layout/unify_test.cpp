// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/layout/unify.hpp>
#include <hyperparallel/redistribution/plan.hpp>

#include <gtest/gtest.h>

#include <vector>

#include "replay/exchange_replay.hpp"
#include "support/all_layouts.hpp"

namespace {

namespace hp = hyperparallel;

std::vector<hp::extent_t> flat_set(const hp::layout_value& l, const hp::shape& s, int position) {
  std::vector<hp::extent_t> found;
  const hp::box b = hp::slice_at(l, s, hp::coordinates_of(l.mesh, position));
  replay::detail::for_each_element(b, b, s, [&](hp::extent_t flat, hp::extent_t) { found.push_back(flat); });
  return found;
}

void expect_kept(const hp::layout_value& before, const hp::shape& s, const hp::layout_value& after,
                 const hp::shape& t) {
  for (int p = 0; p < hp::position_count(before.mesh); ++p) ASSERT_EQ(flat_set(before, s, p), flat_set(after, t, p));
}

struct side {
  hp::mesh_shape mesh;
  hp::shape shape;
};

void expect_every_pair(const side& a, const side& b, long& planned, long& finest) {
  for (const hp::layout_value& from : worlds::all_layouts(a.mesh, a.shape.rank))
    for (const hp::layout_value& to : worlds::all_layouts(b.mesh, b.shape.rank)) {
      const hp::unified_layouts u = hp::unify(from, a.shape, to, b.shape);
      if (u.status.code != hp::refinement_code::ok) continue;
      ++planned;
      expect_kept(from, a.shape, u.source, u.shape);
      expect_kept(to, b.shape, u.target, u.shape);
      const hp::redistribution_plan p = hp::plan_redistribution(u.source, u.target, u.shape);
      ASSERT_EQ(p.status.code, hp::plan_code::ok);
      ASSERT_EQ(replay::replay_exchange(u.source, u.target, u.shape, p).trouble, "");
      const hp::unified_layouts f = hp::unify_one_axis_per_dim(from, a.shape, to, b.shape);
      if (f.status.code != hp::refinement_code::ok) continue;
      ++finest;
      expect_kept(from, a.shape, f.source, f.shape);
      expect_kept(to, b.shape, f.target, f.shape);
      for (const hp::layout_value& l : {f.source, f.target})
        for (int i = 0; i < l.cut_count; ++i) {
          ASSERT_EQ(l.cut[i].size, l.mesh.size[l.cut[i].axis]);
          ASSERT_TRUE(i == 0 || l.cut[i - 1].dim != l.cut[i].dim);
        }
    }
}

TEST(unify, every_move_between_matrices_keeps_flat_sets_and_meets_its_bound) {
  long planned = 0, finest = 0;
  expect_every_pair({{2, {2, 4}}, {8, 8}}, {{3, {2, 2, 2}}, {8, 8}}, planned, finest);
  EXPECT_EQ(planned, 11 * 49) << "one shape: nothing can be refused";
  EXPECT_EQ(finest, planned);
}

TEST(unify, matrices_without_common_refinement_meet_on_the_flat_axis) {
  long planned = 0, finest = 0;
  expect_every_pair({{2, {2, 3}}, {6, 6}}, {{2, {3, 2}}, {6, 6}}, planned, finest);
  EXPECT_EQ(planned, 11 * 11);
  EXPECT_EQ(finest, 0);
}

TEST(unify, every_reshape_that_keeps_boxes_is_planned) {
  long planned = 0, finest = 0;
  expect_every_pair({{2, {2, 2}}, {8, 4}}, {{2, {2, 2}}, {4, 8}}, planned, finest);
  EXPECT_EQ(planned, 11 * 11) << "powers of two always refine";
  EXPECT_EQ(finest, planned);
  planned = finest = 0;
  expect_every_pair({{2, {2, 3}}, {12, 6}}, {{2, {2, 3}}, {6, 6, 2}}, planned, finest);
  EXPECT_GT(planned, 0);
}

TEST(unify, a_legal_view_moves_nothing) {
  const hp::mesh_shape m{1, {8}};
  hp::layout_value from = hp::replicated(m, 2), to = hp::replicated(m, 1);
  hp::append_cut(from, {0, 0, 1, 8});
  hp::append_cut(to, {0, 0, 1, 8});
  const hp::unified_layouts u = hp::unify(from, hp::shape{128, 64}, to, hp::shape{128 * 64});
  ASSERT_EQ(u.status.code, hp::refinement_code::ok);
  EXPECT_EQ(hp::plan_redistribution(u.source, u.target, u.shape).kind, hp::plan_kind::no_op);
}

TEST(unify, what_agrees_is_left_alone) {
  const hp::mesh_shape m{3, {2, 1, 2}};
  for (const hp::layout_value& from : worlds::all_layouts(m, 2))
    for (const hp::layout_value& to : worlds::all_layouts(m, 2)) {
      const hp::unified_layouts u = hp::unify(from, {4, 4}, to, {4, 4});
      EXPECT_TRUE(u.source == from && u.target == to && (u.shape == hp::shape{4, 4}));
    }
}

TEST(unify, refusals) {
  const hp::layout_value two = hp::replicated({1, {2}}, 1), four = hp::replicated({1, {4}}, 1);
  EXPECT_EQ(hp::unify(two, hp::shape{8}, four, hp::shape{8}).status.code, hp::refinement_code::products_differ);
  EXPECT_EQ(hp::unify(two, hp::shape{8}, two, hp::shape{9}).status.code, hp::refinement_code::products_differ);
  EXPECT_EQ(hp::unify(two, hp::shape{8, 8}, two, hp::shape{8}).status.code, hp::refinement_code::layout_is_refused);
  EXPECT_EQ(hp::unify(two, hp::shape{8}, two, hp::shape{8, 8}).status.code, hp::refinement_code::layout_is_refused);
  hp::layout_value cut = two;
  hp::append_cut(cut, {0, 0, 1, 2});
  EXPECT_EQ(hp::unify(cut, hp::shape{9}, two, hp::shape{9}).status.layout.code,
            hp::layout_code::extent_is_not_divisible_by_its_shards);
}

// The same at compile time: rows over eight devices of one matrix, columns over another.
constexpr hp::layout_value sharded(const hp::mesh_shape& m, int dim, int axis) {
  hp::layout_value l = hp::replicated(m, 2);
  hp::append_cut(l, {dim, axis, 1, m.size[axis]});
  return l;
}
constexpr hp::unified_layouts rows_to_columns =
    hp::unify(sharded({3, {16, 1, 1}}, 0, 0), {512, 1024}, sharded({3, {1, 16, 1}}, 1, 1), {512, 1024});
static_assert(rows_to_columns.status.code == hp::refinement_code::ok);
static_assert(hp::plan_redistribution(rows_to_columns.source, rows_to_columns.target, rows_to_columns.shape).kind ==
              hp::plan_kind::all_to_all);

TEST(unify, what_is_no_layout_or_mesh_is_refused) {
  const hp::layout_value good = hp::replicated({1, {4}}, 1);
  hp::layout_value bad = good;
  bad.mesh.size[0] = 0;
  using enum hp::refinement_code;
  EXPECT_EQ(hp::unify(good, hp::shape{8}, bad, hp::shape{8}).status.code, layout_is_refused);
  EXPECT_EQ(hp::unify(good, hp::shape{-8}, good, hp::shape{-8}).status.layout.code,
            hp::layout_code::extent_is_negative);
  EXPECT_EQ(hp::unify_one_axis_per_dim(bad, hp::shape{8}, good, hp::shape{8}).status.code, layout_is_refused);
  EXPECT_EQ(hp::on_refined_mesh(good, {2, {0, 2}}).status.code, mesh_is_not_a_refinement);
  EXPECT_EQ(hp::on_refined_mesh(good, {9, {}}).status.code, mesh_is_not_a_refinement);
  EXPECT_EQ(hp::on_refined_mesh(bad, good.mesh).status.code, layout_is_refused);
  EXPECT_EQ(hp::on_flat_mesh(bad).status.code, layout_is_refused);
  EXPECT_EQ(hp::with_whole_axes(bad).status.code, layout_is_refused);
  hp::shape deep{8};
  deep.rank = hp::max_dims + 1;
  EXPECT_EQ(hp::on_refined_shape(good, hp::shape{8}, deep).status.code, too_many_factors);
}

}  // namespace
