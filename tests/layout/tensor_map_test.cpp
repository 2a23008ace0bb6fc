// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/layout/tensor_map.hpp>

#include <gtest/gtest.h>

#include <string>

#include <vector>

#include <hyperparallel/layout/placement.hpp>

#include "support/all_layouts.hpp"

namespace {

namespace hp = hyperparallel;

const hp::mesh_value& mesh() {
  static const hp::mesh_value m = [] {
    const char* names[] = {"dp", "one", "cp", "tp"};
    const int sizes[] = {2, 1, 2, 4};
    return hp::make_mesh(names, 4, sizes, 4).mesh;
  }();
  return m;
}

hp::layout_result map(std::initializer_list<const char*> entries) {
  return hp::layout_from_map(mesh(), entries.begin(), static_cast<int>(entries.size()));
}

TEST(tensor_map, numeric_form_round_trips) {
  for (const hp::mesh_shape& m : worlds::small_meshes())
    for (int rank = 0; rank <= 3; ++rank)
      for (const hp::layout_value& l : worlds::all_layouts(m, rank)) {
        hp::numeric_entry entries[hp::max_dims];
        for (int d = 0; d < rank; ++d) entries[d] = hp::numeric_of(l, d);
        const hp::layout_result back = hp::layout_from_numeric(m, entries, rank);
        ASSERT_EQ(back.status.code, hp::layout_code::ok);
        ASSERT_TRUE(back.layout == l);
      }
}

TEST(tensor_map, numbers_count_from_the_right) {
  const hp::layout_value l = map({"dp", "None", "cp,tp"}).layout;
  EXPECT_TRUE((hp::numeric_of(l, 0) == hp::numeric_entry{1, {3}}));
  EXPECT_EQ(hp::numeric_of(l, 1).count, 0);
  EXPECT_TRUE((hp::numeric_of(l, 2) == hp::numeric_entry{2, {1, 0}}));
}

TEST(tensor_map, none_inside_a_tuple_and_axes_of_size_one_change_nothing) {
  const hp::layout_value plain = map({"dp", "", "cp,tp"}).layout;
  EXPECT_TRUE(map({"dp,None", "None", "cp,None,tp"}).layout == plain);
  EXPECT_TRUE(map({"one,dp", "", "cp,tp"}).layout == plain);
  EXPECT_TRUE(map({"dp", "one", "cp,tp"}).layout == plain);
  EXPECT_FALSE(map({"dp", "", "tp,cp"}).layout == plain) << "order is significant";
}

TEST(tensor_map, refusals_point_at_the_entry) {
  hp::layout_status s = map({"dp", "cp,xx"}).status;
  EXPECT_EQ(s.code, hp::layout_code::axis_is_not_in_the_mesh);
  EXPECT_EQ(s.dim, 1);
  EXPECT_EQ(s.slot, 1);
  s = map({"dp", "None", "tp,dp"}).status;
  EXPECT_EQ(s.code, hp::layout_code::axis_is_used_twice);
  EXPECT_EQ(s.dim, 2);
  EXPECT_EQ(s.slot, 1);
  EXPECT_EQ(s.axis, 0);
  EXPECT_EQ(map({"one", "one"}).status.code, hp::layout_code::axis_is_used_twice) << "also where its size is 1";
  EXPECT_EQ(map({"", "", "", "", "", "", "", "", ""}).status.code, hp::layout_code::too_many_dims);
  EXPECT_EQ(map({"DP"}).status.code, hp::layout_code::axis_is_not_in_the_mesh);
  const hp::numeric_entry outside[] = {{1, {4}}}, below[] = {{1, {-2}}}, twice[] = {{2, {0, 0}}};
  EXPECT_EQ(hp::layout_from_numeric(mesh().shape, outside, 1).status.code, hp::layout_code::axis_is_not_in_the_mesh);
  EXPECT_EQ(hp::layout_from_numeric(mesh().shape, below, 1).status.code, hp::layout_code::axis_is_not_in_the_mesh);
  EXPECT_EQ(hp::layout_from_numeric(mesh().shape, twice, 1).status.code, hp::layout_code::axis_is_used_twice);
}

TEST(tensor_map, an_axis_has_one_role) {
  hp::layout_value l = map({"dp", "tp"}).layout;
  EXPECT_EQ(hp::set_partial(l, 0, hp::reduce_op::sum).code, hp::layout_code::axis_shards_and_is_partial);
  EXPECT_EQ(hp::set_partial(l, 2, hp::reduce_op::none).code, hp::layout_code::reduction_is_unknown);
  EXPECT_FALSE(hp::is_partial(l));
  EXPECT_EQ(hp::set_partial(l, 2, hp::reduce_op::max).code, hp::layout_code::ok);
  EXPECT_TRUE(hp::is_partial(l));
  hp::layout_value one = map({"dp"}).layout;
  EXPECT_EQ(hp::set_partial(one, 1, hp::reduce_op::sum).code, hp::layout_code::ok);
  EXPECT_FALSE(hp::is_partial(one)) << "a partial over one device is whole";
}

TEST(tensor_map, reductions_are_known_by_their_names) {
  for (int op = 1; op <= static_cast<int>(hp::reduce_op::any); ++op)
    EXPECT_EQ(hp::reduction_called(hp::name_of(static_cast<hp::reduce_op>(op))), static_cast<hp::reduce_op>(op));
  EXPECT_EQ(hp::reduction_called("mean"), hp::reduce_op::none);
  EXPECT_EQ(hp::reduction_called("none"), hp::reduce_op::none);
}

TEST(tensor_map, counts_that_cannot_be_are_refused) {
  using enum hp::layout_code;
  const hp::mesh_shape m{1, {4}};
  hp::mesh_value named;
  named.shape = m;
  named.label[0] = hp::short_text("a");
  const char* const entries[] = {"a"};
  hp::numeric_entry numbers[1]{};
  EXPECT_EQ(hp::layout_from_map(named, entries, -1).status.code, too_many_dims);
  EXPECT_EQ(hp::layout_from_numeric(m, numbers, -1).status.code, too_many_dims);
  numbers[0].count = hp::max_axes + 1;
  for (int& n : numbers[0].number) n = -1;
  EXPECT_EQ(hp::layout_from_numeric(m, numbers, 1).status.code, axis_is_used_twice);
  EXPECT_EQ(hp::layout_from_placements(m, nullptr, -1, 1).status.code, placement_count_exceeds_axes);
  named.shape.size[0] = -4;
  numbers[0].count = 0;
  EXPECT_EQ(hp::layout_from_map(named, entries, 1).status.code, mesh_is_not_valid);
  EXPECT_EQ(hp::layout_from_numeric(named.shape, numbers, 1).status.code, mesh_is_not_valid);
  EXPECT_EQ(hp::layout_from_placements(named.shape, nullptr, 0, 1).status.code, mesh_is_not_valid);
  hp::layout_value l = hp::replicated(m, 1);
  for (const int axis : {-1, 1, 8})
    EXPECT_EQ(hp::set_partial(l, axis, hp::reduce_op::sum).code, axis_is_not_in_the_mesh);
}

/// Law of names: whatever a mesh takes for a name reads back from a map, alone, padded, and beside another.
TEST(tensor_map, every_name_of_a_mesh_reads_back) {
  const std::string characters = "aN2_-./ ,~:*([\xce";
  std::vector<std::string> all{"None", "none", "aNone", "None.", "Non"};
  for (const char a : characters) {
    all.push_back({a});
    for (const char b : characters) {
      all.push_back({a, b});
      for (const char c : characters) all.push_back({a, b, c});
    }
  }
  int taken = 0;
  for (const std::string& name : all) {
    const char* const names[] = {name.c_str(), "x"};
    const int sizes[] = {2, 3};
    const hp::mesh_result m = hp::make_mesh(names, 2, sizes, 2);
    ASSERT_EQ(m.status.code == hp::mesh_code::ok, hp::is_axis_name(names[0])) << name;
    if (m.status.code != hp::mesh_code::ok) continue;
    ++taken;
    const std::string padded = "~" + name, beside = "x," + name;
    for (const std::string& text : {name, padded, beside}) {
      const char* const entry[] = {text.c_str()};
      const hp::layout_result r = hp::layout_from_map(m.mesh, entry, 1);
      ASSERT_EQ(r.status.code, hp::layout_code::ok) << text;
      ASSERT_EQ(r.layout.cut_count, text == beside ? 2 : 1) << text;
      ASSERT_EQ(r.layout.cut[r.layout.cut_count - 1].axis, 0) << text;
      ASSERT_EQ(r.layout.padded, text == padded ? 1u : 0u) << text;
    }
  }
  EXPECT_EQ(taken, 8 + 8 * 8 + 8 * 8 * 8 + 4);
}

}  // namespace
