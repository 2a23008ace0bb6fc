// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/mesh/axis_group.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

namespace {

namespace hp = hyperparallel;

/// Every ordered list of distinct axes of a mesh.
std::vector<hp::axis_list> all_axis_lists(const hp::mesh_shape& m) {
  std::vector<hp::axis_list> found{{}};
  for (std::size_t i = 0; i < found.size(); ++i)
    for (int a = 0; a < m.axis_count; ++a) {
      hp::axis_list longer = found[i];
      if (std::find(longer.axis, longer.axis + longer.count, a) != longer.axis + longer.count) continue;
      longer.axis[longer.count++] = a;
      found.push_back(longer);
    }
  return found;
}

TEST(axis_group, groups_partition_the_matrix_and_every_member_agrees) {
  for (const hp::mesh_shape& m :
       {hp::mesh_shape{1, {4}}, hp::mesh_shape{2, {2, 3}}, hp::mesh_shape{3, {2, 1, 2}}, hp::mesh_shape{3, {2, 2, 3}}})
    for (const hp::axis_list& axes : all_axis_lists(m)) {
      const int size = hp::group_size(m, axes);
      std::set<std::vector<int>> groups;
      for (int p = 0; p < hp::position_count(m); ++p) {
        std::vector<int> members;
        for (int i = 0; i < size; ++i) members.push_back(hp::group_member(m, axes, p, i));
        EXPECT_EQ(hp::group_member(m, axes, p, hp::index_in_group(m, axes, p)), p);
        for (int i = 0; i < size; ++i) EXPECT_EQ(hp::index_in_group(m, axes, members[static_cast<std::size_t>(i)]), i);
        groups.insert(members);
      }
      std::vector<int> all;
      for (const std::vector<int>& g : groups) all.insert(all.end(), g.begin(), g.end());
      std::sort(all.begin(), all.end());
      ASSERT_EQ(static_cast<int>(all.size()), hp::position_count(m));
      for (int p = 0; p < hp::position_count(m); ++p) EXPECT_EQ(all[static_cast<std::size_t>(p)], p);
    }
}

TEST(axis_group, the_first_listed_axis_is_the_outermost) {
  const hp::mesh_shape m{2, {2, 3}};
  const hp::axis_list inner_first{2, {1, 0}};
  const int expected[] = {0, 3, 1, 4, 2, 5};
  for (int i = 0; i < 6; ++i) EXPECT_EQ(hp::group_member(m, inner_first, 0, i), expected[i]);
}

}  // namespace
