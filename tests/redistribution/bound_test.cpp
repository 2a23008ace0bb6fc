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

constexpr hp::extent_t rows_to_columns(int devices) {
  hp::layout_value rows = hp::layout_value{{1, {devices}}, 2}, columns = rows;
  hp::append_cut(rows, {0, 0, 1, devices});
  hp::append_cut(columns, {1, 0, 1, devices});
  return hp::enumerate_bound(rows, columns, {16, 16}).maximum;
}
static_assert(rows_to_columns(4) == 16 * 16 / 4 * 3 / 4);

}  // namespace
