// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/redistribution/bound.hpp>

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "replay/exchange_replay.hpp"
#include "support/all_layouts.hpp"

namespace {

namespace hp = hyperparallel;

std::set<hp::extent_t> elements(const hp::layout_value& l, const hp::shape& s, int position) {
  std::set<hp::extent_t> found;
  const hp::box b = hp::slice_at(l, s, hp::coordinates_of(l.mesh, position));
  replay::detail::for_each_element(b, b, s, [&](hp::extent_t flat, hp::extent_t) { found.insert(flat); });
  return found;
}

TEST(bound, a_device_lacks_exactly_the_elements_that_only_its_target_box_has) {
  for (const hp::mesh_shape& m : {hp::mesh_shape{2, {2, 2}}, hp::mesh_shape{2, {2, 3}}}) {
    const hp::shape s = worlds::divisible_shape(m, 2);
    for (const hp::layout_value& a : worlds::all_layouts(m, 2))
      for (const hp::layout_value& b : worlds::all_layouts(m, 2)) {
        hp::extent_t sum = 0, maximum = 0;
        for (int p = 0; p < hp::position_count(m); ++p) {
          const std::set<hp::extent_t> held = elements(a, s, p);
          hp::extent_t missing = 0;
          for (const hp::extent_t e : elements(b, s, p)) missing += held.count(e) == 0;
          ASSERT_EQ(hp::least_received(a, b, s, hp::coordinates_of(m, p)), missing);
          sum += missing;
          maximum = hp::larger(maximum, missing);
        }
        ASSERT_EQ(hp::enumerate_bound(a, b, s).sum, sum);
        ASSERT_EQ(hp::enumerate_bound(a, b, s).maximum, maximum);
      }
  }
}

void expect_closed_form(const hp::mesh_shape& m, int rank, long& refinable, long& pairs) {
  const hp::shape s = worlds::divisible_shape(m, rank);
  const std::vector<hp::layout_value> all = worlds::all_layouts(m, rank);
  for (const hp::layout_value& a : all)
    for (const hp::layout_value& b : all) {
      ++pairs;
      const hp::digit_table t = hp::refine(a, b, s);
      if (!t.refinable) continue;
      ++refinable;
      const hp::extent_t target = hp::element_count(hp::local_shape(b, s).shape).value;
      ASSERT_EQ(hp::closed_form_bound(t, target), hp::enumerate_bound(a, b, s).maximum);
    }
}

TEST(bound, the_closed_form_is_the_enumerated_maximum) {
  long refinable = 0, pairs = 0;
  for (const hp::mesh_shape& m : {hp::mesh_shape{2, {2, 2}}, hp::mesh_shape{3, {2, 2, 2}}, hp::mesh_shape{3, {4, 2, 2}},
                                  hp::mesh_shape{2, {2, 4}}})
    for (int rank = 1; rank <= 3; ++rank) expect_closed_form(m, rank, refinable, pairs);
  EXPECT_EQ(refinable, pairs);
  for (const hp::mesh_shape& m : {hp::mesh_shape{2, {2, 3}}, hp::mesh_shape{2, {2, 6}}})
    expect_closed_form(m, 2, refinable, pairs);
  EXPECT_LT(refinable, pairs);
}

TEST(bound, axes_that_change_nothing_leave_the_maxima_as_they_are) {
  const hp::mesh_shape m{3, {2, 3, 2}};
  for (const unsigned padded : {0u, 3u})
    for (hp::layout_value a : worlds::all_layouts(m, 2))
      for (hp::layout_value b : worlds::all_layouts(m, 2)) {
        a.padded = b.padded = padded;
        const hp::shape s = padded == 0 ? hp::shape{12, 12} : hp::shape{7, 11};
        const hp::received_bound all = hp::enumerate_bound(a, b, s);
        const hp::received_bound some = hp::enumerate_bound(a, b, s, hp::detail::changed_axes(a, b));
        ASSERT_EQ(all.maximum, some.maximum);
        ASSERT_EQ(all.boxes, some.boxes);
        ASSERT_EQ(all.messages, some.messages);
        ASSERT_GE(all.sum, some.sum);
        ASSERT_EQ(hp::detail::changed_axes(a, b) == 0, a == b);
      }
}

TEST(bound, a_sum_that_leaves_64_bits_says_so) {
  hp::layout_value rows = hp::replicated({1, {4}}, 1), whole = rows;
  hp::append_cut(rows, {0, 0, 1, 4});
  const auto bound = [&](int bits) { return hp::enumerate_bound(rows, whole, hp::shape{hp::extent_t{1} << bits}); };
  EXPECT_FALSE(bound(60).overflow);
  EXPECT_EQ(bound(60).sum, 3 * (hp::extent_t{1} << 60));
  EXPECT_TRUE(bound(62).overflow);
  EXPECT_EQ(bound(62).sum, 0);
  EXPECT_EQ(bound(62).maximum, 3 * (hp::extent_t{1} << 60));
}

TEST(bound, the_largest_extents_do_not_wrap) {
  const hp::extent_t most = 0x7fffffffffffffff;
  hp::layout_value rows = hp::replicated({2, {2, 3}}, 1), columns = rows;
  hp::append_cut(rows, {0, 0, 1, 2});
  hp::append_cut(columns, {0, 1, 1, 3});
  rows.padded = columns.padded = 1;
  for (hp::extent_t less = 0; less < 40; ++less) {
    const hp::shape s(most - less);
    if (hp::check_shape(rows, s).code != hp::layout_code::ok || hp::check_shape(columns, s).code != hp::layout_code::ok)
      continue;  // a last piece that ends beyond 64 bits is refused
    ASSERT_GE(less, 1);
    ASSERT_GT(hp::enumerate_bound(rows, columns, s).maximum, 0);
    for (int p = 0; p < 6; ++p) ASSERT_GE(hp::least_received(rows, columns, s, hp::coordinates_of(rows.mesh, p)), 0);
  }
  EXPECT_EQ(hp::check_shape(rows, hp::shape{most}).code, hp::layout_code::element_count_overflows);
}

constexpr hp::extent_t rows_to_columns(int devices) {
  hp::layout_value rows = hp::layout_value{{1, {devices}}, 2}, columns = rows;
  hp::append_cut(rows, {0, 0, 1, devices});
  hp::append_cut(columns, {1, 0, 1, devices});
  return hp::enumerate_bound(rows, columns, {16, 16}).maximum;
}
static_assert(rows_to_columns(4) == 16 * 16 / 4 * 3 / 4);

}  // namespace
