// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/operators/factor_extents.hpp>
#include <hyperparallel/operators/propagate.hpp>
#include <hyperparallel/operators/shape_factors.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "numeric_world.hpp"

namespace {

namespace hp = hyperparallel;
using hp::shape;
using code = hp::rule_code;

/// All shapes of `count` elements with at most `dims` dims, ones included.
std::vector<shape> shapes_of(hp::extent_t count, int dims) {
  std::vector<shape> found;
  const auto visit = [&](const auto& self, shape s, hp::extent_t left) -> void {
    if (left == 1) found.push_back(s);
    if (s.rank == dims) return;
    for (hp::extent_t n = 1; n <= left; ++n) {
      if (left % n != 0) continue;
      shape longer = s;
      longer.extent[longer.rank++] = n;
      self(self, longer, left / n);
    }
  };
  visit(visit, shape(), count);
  return found;
}

/// The flat elements that each device holds, in the order of its slice.
using element_sets = std::vector<std::vector<std::size_t>>;
element_sets elements_of(const hp::layout_value& l, const shape& s) {
  element_sets sets;
  for (int p = 0; p < hp::position_count(l.mesh); ++p) {
    sets.emplace_back();
    numeric::for_each_in(hp::slice_at(l, s, hp::coordinates_of(l.mesh, p)), s,
                         [&](std::size_t offset) { sets.back().push_back(offset); });
  }
  return sets;
}

struct tally {
  long accepted = 0, refused = 0;
};

/// The law and its converse for every layout of `from` that shards: `images` are the layouts of `to`.
void hold(const shape& from, const shape& to, const std::vector<hp::layout_value>& layouts,
          const std::vector<hp::layout_value>& images, tally& t) {
  const hp::rule_result made = hp::rules::reshape(from, to);
  ASSERT_EQ(made.status, hp::rule_status{});
  ASSERT_EQ(hp::result_shape(made.rule, &from, 1).shape, to);
  std::vector<element_sets> image_sets;
  for (const hp::layout_value& image : images)
    image_sets.push_back(hp::check_shape(image, to).code == hp::layout_code::ok && !hp::is_partial(image)
                             ? elements_of(image, to)
                             : element_sets{});
  for (const hp::layout_value& l : layouts) {
    if (hp::check_shape(l, from).code != hp::layout_code::ok) continue;
    const hp::layout_value* const operand[] = {&l};
    const hp::propagation_result r = hp::propagate(made.rule, operand, 1);
    const element_sets held = elements_of(l, from);
    if (r.status.code == hp::propagation_code::ok) {
      ++t.accepted;
      ASSERT_EQ(hp::check_shape(r.layout, to).code, hp::layout_code::ok);
      ASSERT_EQ(elements_of(r.layout, to), held);
      ASSERT_TRUE(std::equal(l.partial, l.partial + hp::max_axes, r.layout.partial));
      ASSERT_EQ(r.notes.filled | r.notes.sliced, 0u);
    } else {
      ++t.refused;
      for (const element_sets& image : image_sets) ASSERT_NE(image, held);
    }
  }
}

tally hold_on_all(const hp::mesh_shape& m, std::vector<hp::extent_t> counts, int dims) {
  std::vector<std::vector<hp::layout_value>> layouts;
  for (int rank = 0; rank <= dims; ++rank) layouts.push_back(numeric::all_layouts(m, rank));
  tally t;
  for (const hp::extent_t count : counts) {
    const std::vector<shape> shapes = shapes_of(count, dims);
    for (const shape& from : shapes)
      for (const shape& to : shapes) {
        hold(from, to, layouts[static_cast<std::size_t>(from.rank)], layouts[static_cast<std::size_t>(to.rank)], t);
        if (testing::Test::HasFatalFailure()) return t;
      }
  }
  return t;
}

TEST(ShapeFactors, LocalReshapesAreSlicesAndRefusedOnesHaveNoImage) {
  for (const hp::mesh_shape& m : {numeric::mesh_of({2, 2}), numeric::mesh_of({2, 3})}) {
    const tally t = hold_on_all(m, {1, 4, 6, 8, 12, 24, 36, 48}, 3);
    EXPECT_GT(t.accepted, 1000);
    EXPECT_GT(t.refused, 1000);
  }
}

TEST(ShapeFactors, OnThreeAxes) {
  const tally t = hold_on_all(numeric::mesh_of({2, 2, 2}), {8, 16}, 3);
  EXPECT_GT(t.accepted, 1000);
  EXPECT_GT(t.refused, 1000);
}

TEST(ShapeFactors, SubAxesFollowTheFactors) {
  const hp::mesh_shape m = numeric::mesh_of({4});
  hp::layout_value l = hp::replicated(m, 1);
  hp::append_cut(l, {0, 0, 1, 4});
  const hp::layout_value* const operand[] = {&l};
  const hp::propagation_result r = hp::propagate(hp::rules::reshape(shape(8), shape(2, 4)).rule, operand, 1);
  ASSERT_EQ(r.status.code, hp::propagation_code::ok);
  ASSERT_EQ(r.layout.cut_count, 2);
  EXPECT_EQ(r.layout.cut[0], (hp::cut{0, 0, 1, 2}));
  EXPECT_EQ(r.layout.cut[1], (hp::cut{1, 0, 2, 2}));
  const hp::layout_value* const back[] = {&r.layout};
  EXPECT_EQ(hp::propagate(hp::rules::reshape(shape(2, 4), shape(8)).rule, back, 1).layout, l);
}

/// Factors of a dim as extents, with a minus where the factor is whole on every device.
std::vector<hp::extent_t> dim_of(const hp::factor_rule& r, const hp::tensor_factors& t, int d) {
  std::vector<hp::extent_t> found;
  for (int i = t.first[d]; i < t.first[d + 1]; ++i) {
    const hp::factor& f = r.factor[t.term[i]];
    found.push_back(f.kind == hp::factor_kind::need_replication ? -f.extent : f.extent);
  }
  return found;
}
using dims = std::vector<std::vector<hp::extent_t>>;
dims operand_of(const hp::factor_rule& r) {
  dims found;
  for (int d = 0; d < r.operand[0].rank; ++d) found.push_back(dim_of(r, r.operand[0], d));
  return found;
}
dims result_of(const hp::factor_rule& r) {
  dims found;
  for (int d = 0; d < r.result[0].rank; ++d) found.push_back(dim_of(r, r.result[0], d));
  return found;
}

TEST(ShapeFactors, AreTheCommonRefinement) {
  const hp::factor_rule r = hp::rules::reshape(shape(8, 4, 5), shape(2, 16, 5)).rule;
  EXPECT_EQ(operand_of(r), (dims{{2, 4}, {4}, {5}}));
  EXPECT_EQ(result_of(r), (dims{{2}, {4, 4}, {5}}));
  EXPECT_FALSE(r.operand[0].plain);
  EXPECT_TRUE(hp::rules::reshape(shape(3, 4), shape(3, 4)).rule.result[0].plain);
}

TEST(ShapeFactors, StretchesThatDoNotDivideShareBothEnds) {
  const hp::factor_rule swap = hp::rules::reshape(shape(6, 4), shape(4, 6)).rule;
  EXPECT_EQ(operand_of(swap), (dims{{2, -3}, {-2, 2}}));
  EXPECT_EQ(result_of(swap), (dims{{2, -2}, {-3, 2}}));
  // From either end as many as there are.
  const hp::factor_rule ends = hp::rules::reshape(shape(2, 3, 8), shape(3, 4, 4)).rule;
  EXPECT_EQ(operand_of(ends), (dims{{-2}, {-3}, {2, 4}}));
  EXPECT_EQ(result_of(ends), (dims{{-3}, {-2, 2}, {4}}));
  // The stretches before, between and after them are refined as ever.
  const hp::factor_rule two = hp::rules::reshape(shape(5, 2, 3, 7, 6, 4, 11), shape(5, 3, 2, 7, 4, 6, 11)).rule;
  EXPECT_EQ(operand_of(two), (dims{{5}, {-2}, {-3}, {7}, {2, -3}, {-2, 2}, {11}}));
  EXPECT_EQ(result_of(two), (dims{{5}, {-3}, {-2}, {7}, {2, -2}, {-3, 2}, {11}}));
}

TEST(ShapeFactors, DimsOfOneAreFactorsOfTheirOwn) {
  const hp::factor_rule r = hp::rules::reshape(shape(1, 8, 4), shape(8, 1, 4, 1)).rule;
  EXPECT_EQ(operand_of(r), (dims{{-1}, {8}, {4}}));
  EXPECT_EQ(result_of(r), (dims{{8}, {-1}, {4}, {-1}}));
  const hp::factor_rule scalar = hp::rules::reshape(shape(1, 1), shape()).rule;
  EXPECT_EQ(operand_of(scalar), (dims{{-1}, {-1}}));
  EXPECT_EQ(result_of(scalar), dims{});
}

TEST(ShapeFactors, ShapesWithoutElements) {
  for (const auto& [from, to] : std::vector<std::pair<shape, shape>>{{shape(2, 0, 4), shape(0, 8)},
                                                                     {shape(0), shape(2, 0)},
                                                                     {shape(2, 0), shape(2, 0)},
                                                                     {shape(0, 5), shape(0, 3)}}) {
    const hp::rule_result r = hp::rules::reshape(from, to);
    ASSERT_EQ(r.status, hp::rule_status{});
    EXPECT_EQ(hp::result_shape(r.rule, &from, 1).shape, to);
  }
}

constexpr hp::rule_status status(const shape& from, const shape& to) { return hp::rules::reshape(from, to).status; }
static_assert(status(shape(6, 4), shape(4, 6)) == hp::rule_status{});
static_assert(status(shape(6, 4), shape(5, 5)) == hp::rule_status{code::sizes_do_not_fit, 2});
static_assert(status(shape(6, 4), shape(-1, 5)) == hp::rule_status{code::sizes_do_not_fit, 0});
static_assert(status(shape(6, 0), shape(0, -1)) == hp::rule_status{code::sizes_do_not_fit, 1});
static_assert(status(shape(6, 4), shape(-1, -1)) == hp::rule_status{code::attribute_is_invalid, 1});
static_assert(status(shape(6, 4), shape(-2, 12)) == hp::rule_status{code::attribute_is_invalid, 0});
static_assert(status(shape(2, 2, 2, 2, 2, 2, 2, 2), shape(256)) == hp::rule_status{});
static_assert(status(shape(hp::extent_t{1} << 40, hp::extent_t{1} << 40), shape(1)).code == code::sizes_do_not_fit);
static_assert(hp::detail::infer_extents(shape(6, 4), shape(2, -1)).shape == shape(2, 12));
static_assert(hp::detail::infer_extents(shape(), shape(-1)).shape == shape(1));
static_assert(hp::detail::infer_extents(shape(0, 3), shape(-1, 5)).shape == shape(0, 5));

// Sixteen dims that interleave: more factors than a tensor runs over are refused, not forgotten.
static_assert(status(shape(4, 4, 4, 4, 4, 4, 4, 4), shape(65536)) == hp::rule_status{});
static_assert(status(shape(4, 4, 4, 4, 4, 4, 4, 4), shape(2, 4, 4, 4, 4, 4, 4, 8)).code == code::too_many_terms);

TEST(ShapeFactors, RunTimeEqualsCompileTime) {
  constexpr hp::factor_rule constant = hp::rules::reshape(shape(2, 3, 8), shape(3, 4, 4)).rule;
  EXPECT_EQ(hp::rules::reshape(shape(2, 3, 8), shape(3, 4, 4)).rule, constant);
}

}  // namespace
