// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/layout/refinement.hpp>

#include <gtest/gtest.h>

#include <vector>

#include "support/all_layouts.hpp"

namespace {

namespace hp = hyperparallel;

template <class... Factors>
constexpr hp::factor_list list(Factors... factors) {
  hp::factor_list f;
  (f.push(factors), ...);
  return f;
}

static_assert(hp::cumulative_products(list(2, 8, 32)).factors == list(2, 16, 512));
static_assert(hp::cumulative_products(list(2, 8, 32), true).factors == list(512, 256, 32));
static_assert(hp::merge_sorted(list(2, 8), list(4, 8, 16)).factors == list(2, 4, 8, 16));
static_assert(hp::merge_sorted(list(512, 256, 32), list(512, 32, 8), true).factors == list(512, 256, 32, 8));
static_assert(hp::unify_factors(list(8, 4), list(2, 16)).factors == list(2, 4, 4));
static_assert(hp::unify_factors(list(128, 64, 1, 1), list(128, 64)).factors == list(128, 64));
static_assert(hp::expand_factors(list(2, 8, 32), list(16, 4, 8)).factors == list(2, 8, 4, 8));
static_assert(hp::expand_factors(list(2, 8, 32), list(2, 4, 8)).factors == list(2, 4, 2, 4, 8));

/// Every list of factors, each from 1 to `most`, of at most `length`.
std::vector<hp::factor_list> all_lists(int most, int length) {
  std::vector<hp::factor_list> found{{}};
  for (std::size_t i = 0; i < found.size(); ++i)
    if (found[i].size < length)
      for (int n = 1; n <= most; ++n) {
        hp::factor_list longer = found[i];
        longer.push(n);
        found.push_back(longer);
      }
  return found;
}

hp::extent_t product(const hp::factor_list& f) {
  hp::extent_t n = 1;
  for (const hp::extent_t x : f) n *= x;
  return n;
}

TEST(refinement, factors_between_inverts_cumulative_products) {
  for (const hp::factor_list& f : all_lists(5, 4))
    for (const bool reversed : {false, true}) {
      EXPECT_TRUE(hp::factors_between(hp::cumulative_products(f, reversed).factors, reversed).factors == f);
    }
  EXPECT_EQ(hp::factors_between(list(2, 5)).status.code, hp::refinement_code::products_do_not_divide);
  EXPECT_EQ(hp::cumulative_products(list(2, 0)).status.code, hp::refinement_code::factor_is_not_positive);
  EXPECT_EQ(hp::cumulative_products(list(hp::extent_t{1} << 40, hp::extent_t{1} << 40)).status.code,
            hp::refinement_code::product_overflows);
}

TEST(refinement, the_common_refinement_is_cut_where_either_is_and_nowhere_else) {
  for (const hp::factor_list& a : all_lists(4, 3))
    for (const hp::factor_list& b : all_lists(4, 3)) {
      const hp::factor_result r = hp::unify_factors(a, b), turned = hp::unify_factors(b, a);
      ASSERT_EQ(r.status.code, turned.status.code);
      if (product(a) != product(b)) {
        ASSERT_EQ(r.status.code, hp::refinement_code::products_differ);
        continue;
      }
      const hp::factor_list merged =
          hp::merge_sorted(hp::cumulative_products(a).factors, hp::cumulative_products(b).factors).factors;
      bool chain = true;
      for (int i = 1; i < merged.size; ++i) chain = chain && merged[i] % merged[i - 1] == 0;
      if (!chain) {
        ASSERT_EQ(r.status.code, hp::refinement_code::products_do_not_divide);
        continue;
      }
      ASSERT_EQ(r.status.code, hp::refinement_code::ok);
      ASSERT_TRUE(r.factors == turned.factors);
      ASSERT_EQ(product(r.factors), product(a));
      const hp::factor_list cuts = hp::cumulative_products(r.factors).factors;
      for (const hp::extent_t c : cuts) ASSERT_GT(c, 1);
      hp::factor_list expected;
      for (const hp::extent_t c : merged)
        if (c > 1) expected.push(c);
      ASSERT_TRUE(cuts == expected);
    }
}

bool same_boxes(const hp::layout_value& a, const hp::layout_value& b, const hp::shape& s) {
  for (int p = 0; p < hp::position_count(a.mesh); ++p)
    if (!(hp::slice_at(a, s, hp::coordinates_of(a.mesh, p)) == hp::slice_at(b, s, hp::coordinates_of(b.mesh, p))))
      return false;
  return true;
}

TEST(refinement, a_finer_matrix_changes_no_slice) {
  struct pair {
    hp::mesh_shape coarse, fine;
  };
  const pair pairs[] = {{{2, {4, 6}}, {4, {2, 2, 3, 2}}},
                        {{2, {4, 6}}, {5, {2, 1, 2, 6, 1}}},
                        {{3, {4, 1, 6}}, {2, {4, 6}}},
                        {{1, {8}}, {3, {2, 2, 2}}},
                        {{2, {1, 1}}, {0, {}}}};
  for (const pair& x : pairs)
    for (const hp::layout_value& l : worlds::all_layouts(x.coarse, 2)) {
      const hp::refined_layout fine = hp::on_refined_mesh(l, x.fine);
      ASSERT_EQ(fine.status.code, hp::refinement_code::ok);
      ASSERT_TRUE(fine.layout.mesh == x.fine);
      ASSERT_TRUE(same_boxes(l, fine.layout, worlds::divisible_shape(x.coarse, 2)));
      const hp::refined_layout flat = hp::on_flat_mesh(l);
      ASSERT_EQ(flat.status.code, hp::refinement_code::ok);
      ASSERT_TRUE(same_boxes(l, flat.layout, worlds::divisible_shape(x.coarse, 2)));
    }
}

TEST(refinement, a_matrix_that_does_not_refine_is_refused) {
  const hp::layout_value l = hp::replicated({2, {4, 6}}, 1);
  EXPECT_EQ(hp::on_refined_mesh(l, {2, {6, 4}}).status.code, hp::refinement_code::mesh_is_not_a_refinement);
  EXPECT_EQ(hp::on_refined_mesh(l, {1, {24}}).status.code, hp::refinement_code::mesh_is_not_a_refinement);
  EXPECT_EQ(hp::on_refined_mesh(l, {3, {4, 6, 2}}).status.code, hp::refinement_code::mesh_is_not_a_refinement);
}

TEST(refinement, a_partial_axis_is_partial_in_all_its_factors) {
  hp::layout_value l = hp::replicated({2, {4, 3}}, 1);
  hp::set_partial(l, 0, hp::reduce_op::sum);
  const hp::refined_layout r = hp::on_refined_mesh(l, {3, {2, 2, 3}});
  EXPECT_EQ(r.layout.partial[0], hp::reduce_op::sum);
  EXPECT_EQ(r.layout.partial[1], hp::reduce_op::sum);
  EXPECT_EQ(r.layout.partial[2], hp::reduce_op::none);
  EXPECT_EQ(hp::on_flat_mesh(l).status.code, hp::refinement_code::layout_is_partial);
}

TEST(refinement, a_finer_shape_is_refused_exactly_where_a_piece_is_no_box) {
  // One dim of 12 over meshes of 2, 3, 4, 6, 12, seen as two dims.
  for (const int devices : {1, 2, 3, 4, 6, 12})
    for (const hp::extent_t outer : {1, 2, 3, 4, 6, 12}) {
      hp::layout_value l = hp::replicated({1, {devices}}, 1);
      hp::append_cut(l, {0, 0, 1, devices});
      const hp::shape fine{outer, 12 / outer};
      const hp::refined_layout r = hp::on_refined_shape(l, hp::shape{12}, fine);
      const hp::extent_t piece = 12 / devices, inner = 12 / outer;
      const bool boxes = piece % inner == 0 || inner % piece == 0;
      ASSERT_EQ(r.status.code == hp::refinement_code::ok, boxes) << devices << " devices, outer " << outer;
      if (!boxes) {
        ASSERT_EQ(r.status.code, hp::refinement_code::cuts_do_not_fit_the_dims);
        continue;
      }
      for (int p = 0; p < devices; ++p) {
        const hp::box b = hp::slice_of(r.layout, fine, p).box;
        const hp::extent_t first = b.dim[0].begin * inner + b.dim[1].begin;
        ASSERT_EQ(first, p * piece);
        ASSERT_EQ(hp::volume(b), piece);
        ASSERT_EQ((b.dim[0].end - 1) * inner + b.dim[1].end, first + piece) << "the box is one run of elements";
      }
    }
}

TEST(refinement, a_shape_that_does_not_refine_is_refused) {
  const hp::layout_value l = hp::replicated({1, {2}}, 2);
  EXPECT_EQ(hp::on_refined_shape(l, {4, 6}, {6, 4}).status.code, hp::refinement_code::shape_is_not_a_refinement);
  EXPECT_EQ(hp::on_refined_shape(l, {4, 6}, {4, 6, 2}).status.code, hp::refinement_code::shape_is_not_a_refinement);
  EXPECT_EQ(hp::on_refined_shape(l, {0, 6}, {0, 2, 3}).status.code, hp::refinement_code::shape_is_not_a_refinement);
  EXPECT_EQ(hp::on_refined_shape(l, hp::shape{24}, {4, 6}).status.code, hp::refinement_code::layout_is_refused);
  EXPECT_EQ(hp::on_refined_shape(l, {4, 6}, {1, 4, 2, 1, 3}).status.code, hp::refinement_code::ok);
}

}  // namespace
