// SPDX-License-Identifier: Apache-2.0
// That certificates equal what is emitted, on whole sets of pairs, is shown by move_plan_test.cpp; here are their laws
// and the classic bounds.
#include <hyperparallel/redistribution/certificate.hpp>

#include <gtest/gtest.h>

#include <vector>

#include "redistribution/move_sweep.hpp"

namespace {

namespace hp = hyperparallel;

hp::move_certificate certified(const hp::move_plan& p, const hp::mesh_shape& m) {
  std::vector<hp::extent_t> tally(static_cast<std::size_t>(3 * hp::position_count(m)));
  return hp::certify(p, tally.data());
}

hp::layout_value cut_by(const hp::mesh_shape& m, int rank, int dim, int axis) {
  hp::layout_value l = hp::replicated(m, rank);
  hp::append_cut(l, {dim, axis, 1, m.size[axis]});
  return l;
}

TEST(certificate, a_move_that_changes_nothing_costs_nothing) {
  const hp::layout_value l = cut_by({1, {4}}, 1, 0, 0);
  EXPECT_TRUE(certified(hp::plan_move(l, l, hp::shape{8}), l.mesh) == hp::move_certificate{});
  const hp::move_certificate sliced = certified(hp::plan_move(hp::replicated(l.mesh, 1), l, hp::shape{8}), l.mesh);
  EXPECT_EQ(sliced.steps, 0);
  EXPECT_EQ(sliced.received_total, 0);
  EXPECT_EQ(sliced.peak_elements, 8 + 2);
}

TEST(certificate, a_refused_move_meets_no_bound) {
  const hp::layout_value l = cut_by({1, {4}}, 1, 0, 0);
  const hp::move_plan refused = hp::plan_move(l, hp::replicated({1, {2}}, 1), hp::shape{8});
  ASSERT_NE(refused.code, hp::move_code::ok);
  const hp::move_certificate c = certified(refused, l.mesh);
  EXPECT_EQ(c, hp::move_certificate::of_nothing());
  EXPECT_NE(c.received_total, c.least_total);
  EXPECT_GT(c.received_maximum, hp::not_counted - 1);
}

TEST(certificate, native_collectives_have_their_classic_volumes) {
  const hp::mesh_shape m{1, {4}};
  const hp::layout_value whole = hp::replicated(m, 2), rows = cut_by(m, 2, 0, 0), columns = cut_by(m, 2, 1, 0);
  hp::layout_value sum = whole;
  sum.partial[0] = hp::reduce_op::sum;
  const hp::shape s{8, 8};
  const hp::extent_t n = 64;
  const auto of = [&](const hp::layout_value& a, const hp::layout_value& b) {
    return certified(hp::plan_move(a, b, s), m);
  };
  EXPECT_EQ(of(rows, whole).received_maximum, n / 4 * 3);
  EXPECT_EQ(of(rows, whole).messages_maximum, 3);
  EXPECT_EQ(of(rows, columns).received_maximum, n / 16 * 3);
  EXPECT_EQ(of(sum, rows).received_maximum, n / 4 * 3);
  EXPECT_EQ(of(sum, rows).steps, 1);
  EXPECT_EQ(of(sum, whole).received_maximum, 2 * (n / 4 * 3));
  EXPECT_EQ(of(sum, whole).steps, 2);
  EXPECT_EQ(of(whole, sum).received_total, 0);
  EXPECT_EQ(of(rows, sum).received_total, 0);
  for (const hp::move_certificate& c : {of(rows, whole), of(rows, columns), of(sum, rows), of(sum, whole)}) {
    EXPECT_EQ(c.received_total, c.least_total);
    EXPECT_EQ(c.received_total, 4 * c.received_maximum);
    EXPECT_EQ(c.sent_maximum, c.received_maximum);
  }
}

TEST(certificate, maxima_and_totals_agree_with_each_other) {
  const hp::mesh_shape m{3, {2, 2, 2}};
  const std::vector<hp::layout_value> states = worlds::partial_layouts(m, 2, {hp::reduce_op::sum});
  const hp::shape s{8, 8};
  for (std::size_t k = 0; k < states.size() * states.size(); k += sweeps::thinned(3)) {
    const hp::move_plan p = hp::plan_move(states[k / states.size()], states[k % states.size()], s);
    const hp::move_certificate c = certified(p, m);
    ASSERT_EQ(c.received_total, c.least_total);
    ASSERT_LE(c.received_maximum, c.received_total);
    ASSERT_LE(c.received_total, 8 * c.received_maximum);
    ASSERT_LE(c.received_total, 8 * c.sent_maximum);
    ASSERT_EQ(c.messages_maximum == 0, c.received_maximum == 0);
    ASSERT_LE(c.messages_maximum, c.received_maximum);
    ASSERT_EQ(c.steps == 0, c.received_total == 0);
    ASSERT_LE(c.steps, p.step_count);
    ASSERT_LE(c.peak_elements, 3 * 64);
  }
}

TEST(certificate, counts_where_cuts_do_not_refine) {
  const hp::mesh_shape m{3, {8, 3, 16}};  // 384 devices
  hp::layout_value a = hp::replicated(m, 2), b = a;
  hp::append_cut(a, {0, 0, 1, 8});
  hp::append_cut(a, {1, 2, 1, 16});
  hp::append_cut(b, {0, 1, 1, 3});
  hp::append_cut(b, {1, 2, 1, 16});
  const hp::shape s{24 * 64, 64};
  const hp::move_certificate c = certified(hp::plan_move(a, b, s), m);
  EXPECT_EQ(c.received_total, c.least_total);
  EXPECT_EQ(c.received_total, hp::enumerate_bound(a, b, s).sum);
  EXPECT_EQ(c.received_maximum, hp::enumerate_bound(a, b, s).maximum);
  EXPECT_LE(c.sent_maximum, c.received_maximum + c.received_maximum / 4);
}

TEST(certificate, the_largest_traffic_that_is_planned_is_counted_without_wrapping) {
  const hp::mesh_shape m{6, {2, 2, 2, 2, 2, 2}};
  hp::layout_value sum = hp::replicated(m, 2), rows = sum, whole = sum;
  sum.partial[0] = sum.partial[1] = hp::reduce_op::sum;
  for (int a = 2; a < 6; ++a) hp::append_cut(rows, {0, a, 1, 2});
  for (hp::extent_t n = 64; n > 0 && n < hp::extent_t{1} << 61; n *= 2)
    for (const hp::layout_value& from : {sum, rows, whole})
      for (const hp::layout_value& to : {sum, rows, whole}) {
        const hp::move_plan p = hp::plan_move(from, to, {n, 2});
        if (p.code == hp::move_code::traffic_overflows) continue;
        ASSERT_EQ(p.code, hp::move_code::ok);
        const hp::move_certificate c = certified(p, m);
        ASSERT_EQ(c.received_total, c.least_total);
        ASSERT_GE(c.received_total, c.received_maximum);
        ASSERT_GE(c.peak_elements, 0);
      }
}

}  // namespace
