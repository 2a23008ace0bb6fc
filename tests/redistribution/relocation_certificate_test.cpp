// SPDX-License-Identifier: Apache-2.0
// Figures worked out by hand; that every figure is what the transfers do, relocation_test sees by replay.
#include <hyperparallel/redistribution/relocation_certificate.hpp>

#include <gtest/gtest.h>

#include <vector>

namespace {

namespace hp = hyperparallel;

hp::layout_value cut(const hp::mesh_shape& m, int rank, int dim, int axis) {
  hp::layout_value l = hp::replicated(m, rank);
  hp::append_cut(l, {dim, axis, 1, m.size[axis]});
  return l;
}

hp::relocation_certificate certificate(const hp::tensor_side& from, const hp::tensor_side& to) {
  const hp::relocation r = hp::plan_relocation(from, to);
  EXPECT_EQ(r.code, hp::relocation_code::ok);
  std::vector<hp::extent_t> tally(static_cast<std::size_t>(hp::tally_size(r)));
  return hp::certify(r, tally.data());
}

const hp::mesh_shape square{2, {2, 2}};
const hp::rank_list here(4, 0), there(4, 4);

TEST(relocation_certificate, between_stages) {
  const hp::layout_value l = cut(square, 2, 0, 1);
  const hp::relocation_certificate c = certificate({l, {8, 4}, here}, {l, {8, 4}, there});
  EXPECT_TRUE((c == hp::relocation_certificate{{16, 64, 64, 16, 1, 16, 1}, 16})) << "half of 32 for each of four";
}

TEST(relocation_certificate, a_refused_move_meets_no_bound) {
  const hp::layout_value l = cut(square, 2, 0, 1);
  const hp::relocation r = hp::plan_relocation({l, {8, 4}, here}, {l, {8, 5}, there});
  ASSERT_NE(r.code, hp::relocation_code::ok);
  std::vector<hp::extent_t> tally(static_cast<std::size_t>(hp::tally_size(r)));
  EXPECT_EQ(hp::certify(r, tally.data()).received_total, hp::not_counted);
}

TEST(relocation_certificate, a_sum_on_one_stage_that_the_next_has_whole) {
  hp::layout_value sum = hp::replicated(square, 1);
  sum.partial[1] = hp::reduce_op::sum;
  const hp::relocation_certificate c =
      certificate({sum, hp::shape(8), here}, {hp::replicated(square, 1), hp::shape(8), there});
  EXPECT_EQ(c.least_total, 8 * (2 + 4 - 1)) << "two terms, four copies, no holder wants one";
  EXPECT_EQ(c.received_total, c.least_total);
  EXPECT_EQ(c.received_maximum, 8) << "a reducer receives its quarter's other term: 2";
  EXPECT_EQ(c.sent_maximum, 2 + 4 * 2);
  EXPECT_EQ(c.steps, 2);
  EXPECT_EQ(c.peak_elements, 8 + 8);
  EXPECT_EQ(c.least_maximum, 0) << "who reduces is a choice";
}

TEST(relocation_certificate, holders_that_want_their_sum_save_a_copy) {
  hp::layout_value sum = hp::replicated(square, 1);
  sum.partial[1] = hp::reduce_op::sum;
  static constexpr int overlapping[] = {2, 3, 4, 5};
  const hp::relocation_certificate c =
      certificate({sum, hp::shape(8), here}, {hp::replicated(square, 1), hp::shape(8), hp::rank_list(4, overlapping)});
  EXPECT_EQ(c.least_total, 8 * (2 + 4 - 1 - 1));
  EXPECT_EQ(c.received_total, c.least_total);
}

TEST(relocation_certificate, a_reshape_without_common_shape) {
  const hp::mesh_shape pair{1, {2}};
  const hp::rank_list both(2, 0);
  const hp::relocation_certificate c =
      certificate({cut(pair, 2, 0, 0), {6, 4}, both}, {cut(pair, 2, 1, 0), {4, 6}, both});
  EXPECT_TRUE((c == hp::relocation_certificate{{6, 12, 12, 6, 2, 24, 1}, 6})) << "half of each half is elsewhere";
}

TEST(relocation_certificate, on_one_mesh_it_is_that_of_the_move) {
  const hp::layout_value from = cut(square, 2, 0, 0), to = cut(square, 2, 1, 0);
  const hp::relocation_certificate c = certificate({from, {8, 8}, there}, {to, {8, 8}, there});
  EXPECT_TRUE((c == hp::relocation_certificate{{16, 64, 64, 16, 1, 64, 1}, 16}));
}

}  // namespace
