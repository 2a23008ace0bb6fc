// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/mesh/sub_mesh.hpp>

#include <gtest/gtest.h>

#include <limits>

#include <string>
#include <vector>

namespace {

namespace hp = hyperparallel;

constexpr hp::mesh_value make(const int (&sizes)[3]) {
  const char* names[] = {"x", "y", "z"};
  return hp::make_mesh(names, 3, sizes, 3).mesh;
}

TEST(sub_mesh, lists_exactly_the_group_over_the_kept_axes) {
  const hp::mesh_value parent = make({2, 3, 2});
  for (int mask = 1; mask < 8; ++mask) {
    std::vector<const char*> names;
    for (int a = 0; a < 3; ++a)
      if (mask >> a & 1) names.push_back(parent.label[a].text);
    const hp::sub_mesh_result r = hp::sub_mesh(parent, names.data(), static_cast<int>(names.size()));
    ASSERT_EQ(r.status.code, hp::sub_mesh_code::ok);
    ASSERT_EQ(r.mesh.shape.axis_count, static_cast<int>(names.size()));
    for (int p = 0; p < 12; ++p) {
      const hp::coordinate seen_from = hp::coordinates_of(parent.shape, p);
      for (int i = 0; i < hp::position_count(r.mesh.shape); ++i) {
        const hp::coordinate inner = hp::coordinates_of(r.mesh.shape, i);
        hp::coordinate c = seen_from;
        for (int k = 0; k < r.kept.count; ++k) c.at[r.kept.axis[k]] = inner.at[k];
        EXPECT_EQ(hp::group_member(parent.shape, r.kept, p, i), hp::position_of(parent.shape, c));
      }
    }
  }
}

TEST(sub_mesh, refusals_name_the_name) {
  const hp::mesh_value parent = make({2, 2, 2});
  const auto refuse = [&parent](std::vector<const char*> names) {
    return hp::sub_mesh(parent, names.data(), static_cast<int>(names.size())).status;
  };
  EXPECT_EQ(refuse({}).code, hp::sub_mesh_code::no_axis_is_named);
  EXPECT_EQ(refuse({"x", "q"}).code, hp::sub_mesh_code::axis_is_unknown);
  EXPECT_EQ(refuse({"x", "q"}).name, 1);
  EXPECT_EQ(refuse({"z", "x"}).code, hp::sub_mesh_code::axes_are_not_in_mesh_order);
  EXPECT_EQ(refuse({"x", "x"}).code, hp::sub_mesh_code::axes_are_not_in_mesh_order);
}

TEST(flatten_axes, moves_no_device) {
  const hp::mesh_value parent = make({2, 3, 2});
  for (int first = 0; first < 3; ++first)
    for (int count = 1; first + count <= 3; ++count) {
      const hp::sub_mesh_result r = hp::flatten_axes(parent, first, count, "flat");
      ASSERT_EQ(r.status.code, hp::sub_mesh_code::ok);
      EXPECT_EQ(r.mesh.shape.axis_count, 3 - count + 1);
      EXPECT_STREQ(r.mesh.label[first].text, "flat");
      for (int p = 0; p < 12; ++p) {
        const hp::coordinate before = hp::coordinates_of(parent.shape, p), after = hp::coordinates_of(r.mesh.shape, p);
        int merged = 0;
        for (int a = first; a < first + count; ++a) merged = merged * parent.shape.size[a] + before.at[a];
        EXPECT_EQ(after.at[first], merged);
        for (int a = 0; a < first; ++a) EXPECT_EQ(after.at[a], before.at[a]);
        for (int a = first + count; a < 3; ++a) EXPECT_EQ(after.at[a - count + 1], before.at[a]);
      }
    }
}

TEST(flatten_axes, refuses_a_taken_name_and_a_range_outside_the_mesh) {
  const hp::mesh_value parent = make({2, 2, 2});
  EXPECT_EQ(hp::flatten_axes(parent, 0, 2, "z").status.code, hp::sub_mesh_code::flattened_name_is_taken);
  EXPECT_EQ(hp::flatten_axes(parent, 0, 2, "y").status.code, hp::sub_mesh_code::ok);
  EXPECT_EQ(hp::flatten_axes(parent, 2, 2, "w").status.code, hp::sub_mesh_code::axes_are_not_consecutive);
  EXPECT_EQ(hp::flatten_axes(parent, 0, 0, "w").status.code, hp::sub_mesh_code::no_axis_is_named);
}

TEST(sub_mesh, the_virtual_axis_stays_virtual_where_it_is_kept) {
  const char* names[] = {"x", hp::detail::interleaved_axis};
  const int sizes[] = {4, 2};
  const hp::mesh_value parent = hp::make_mesh(names, 2, sizes, 2).mesh;
  EXPECT_FALSE(hp::sub_mesh(parent, names, 1).mesh.interleaved);
  EXPECT_TRUE(hp::sub_mesh(parent, names, 2).mesh.interleaved);
}

TEST(sub_mesh, ranges_that_no_int_can_end_are_refused) {
  const char* const names[] = {"a", "b"};
  const int sizes[] = {2, 3};
  const hp::mesh_value m = hp::make_mesh(names, 2, sizes, 2).mesh;
  const int most = std::numeric_limits<int>::max();
  for (const int first : {1, 2, most})
    EXPECT_EQ(hp::flatten_axes(m, first, most, "c").status.code, hp::sub_mesh_code::axes_are_not_consecutive);
  EXPECT_EQ(hp::make_mesh(names, -1, sizes, -1).status.code, hp::mesh_code::axis_count_differs_from_name_count);
}

TEST(flatten_axes, a_name_that_no_axis_may_have_is_refused) {
  const char* const names[] = {"a", "b"};
  const int sizes[] = {2, 3};
  const hp::mesh_value m = hp::make_mesh(names, 2, sizes, 2).mesh;
  for (const char* name : {"", "a,b", "None", "~a", "a b", "interleaved_parallel"})
    EXPECT_EQ(hp::flatten_axes(m, 0, 2, name).status.code, hp::sub_mesh_code::flattened_name_is_not_valid) << name;
  EXPECT_EQ(hp::flatten_axes(m, 0, 2, "ab").status.code, hp::sub_mesh_code::ok);
}

}  // namespace
