// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/mesh/device_matrix.hpp>

#include <gtest/gtest.h>

namespace {

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"cp", 1}, hp::axis{"tp", 4}> {};
struct woven : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"interleaved_parallel", 2}> {};
struct single : hp::device_matrix<> {};

static_assert(hp::mesh_type<mesh> && !hp::mesh_type<int>);
static_assert(hp::device_count(mesh::value) == 8 && hp::axis_index(mesh::value, "tp") == 2);
static_assert(hp::device_count(single::value) == 1 && hp::position_count(single::value.shape) == 1);
static_assert(woven::value.interleaved && hp::device_count(woven::value) == 2 &&
              hp::copies_per_device(woven::value) == 2);

static_assert(hp::valid_device_matrix<hp::axis{"a_name_of_thirty_one_characters", 2}>);
static_assert(!hp::valid_device_matrix<hp::axis{"a_name_of_more_than_thirty_one_characters", 2}>, "not cut in silence");

hp::mesh_status refusal(std::initializer_list<const char*> names, std::initializer_list<int> sizes) {
  return hp::make_mesh(names.begin(), static_cast<int>(names.size()), sizes.begin(), static_cast<int>(sizes.size()))
      .status;
}

TEST(device_matrix, the_type_and_the_value_are_one) {
  const char* names[] = {"dp", "cp", "tp"};
  const int sizes[] = {2, 1, 4};
  const hp::mesh_result r = hp::make_mesh(names, 3, sizes, 3);
  EXPECT_EQ(r.status.code, hp::mesh_code::ok);
  EXPECT_TRUE(r.mesh == mesh::value);
}

TEST(device_matrix, counts_multiply_all_axes_but_the_virtual_one) {
  for (int a = 1; a < 4; ++a)
    for (int b = 1; b < 4; ++b) {
      const int sizes[] = {a, b};
      const char* plain[] = {"x", "y"};
      const char* virtual_last[] = {"x", hp::detail::interleaved_axis};
      EXPECT_EQ(hp::device_count(hp::make_mesh(plain, 2, sizes, 2).mesh), a * b);
      EXPECT_EQ(hp::device_count(hp::make_mesh(virtual_last, 2, sizes, 2).mesh), a);
      EXPECT_EQ(hp::copies_per_device(hp::make_mesh(virtual_last, 2, sizes, 2).mesh), b);
    }
}

TEST(device_matrix, refusals_name_the_axis) {
  using enum hp::mesh_code;
  EXPECT_EQ(refusal({"x"}, {2, 2}), (hp::mesh_status{axis_count_differs_from_name_count, 2}));
  EXPECT_EQ(refusal({"x", "y"}, {2, 0}), (hp::mesh_status{axis_size_is_not_positive, 1}));
  EXPECT_EQ(refusal({"x", "y"}, {-2, 2}), (hp::mesh_status{axis_size_is_not_positive, 0}));
  EXPECT_EQ(refusal({"x", ""}, {2, 2}), (hp::mesh_status{axis_name_is_empty_or_too_long, 1}));
  EXPECT_EQ(refusal({"a_name_of_more_than_thirty_one_characters"}, {2}),
            (hp::mesh_status{axis_name_is_empty_or_too_long, 0}));
  EXPECT_EQ(refusal({"x", "y", "x"}, {2, 2, 2}), (hp::mesh_status{axis_name_is_used_twice, 2}));
  EXPECT_EQ(refusal({"interleaved_parallel", "x"}, {2, 2}), (hp::mesh_status{interleaved_axis_is_not_last, 0}));
  EXPECT_EQ(refusal({"x", "y"}, {1 << 20, 1 << 20}).code, device_count_overflows);
  EXPECT_EQ(refusal({"a", "b", "c", "d", "e", "f", "g", "h", "i"}, {1, 1, 1, 1, 1, 1, 1, 1, 1}).code, too_many_axes);
  EXPECT_EQ(refusal({"a", "b", "c", "d", "e", "f", "g", "h"}, {2, 2, 2, 2, 2, 2, 2, 2}).code, ok);
}

TEST(device_matrix, names_that_the_text_of_maps_reserves_are_refused) {
  using enum hp::mesh_code;
  for (const char* name : {"a,b", ",",   "~x",  "~",     "None", " ",   "a b", "a ",  "\t",   "a\n",  "(a)",
                           "[a]", "a:2", "a=2", "\"a\"", "a*",   "{a}", "a|b", "a;b", "\x7f", "a\x01"}) {
    EXPECT_FALSE(hp::is_axis_name(name)) << name;
    EXPECT_EQ(refusal({"x", name}, {2, 2}), (hp::mesh_status{axis_name_is_reserved, 1})) << name;
  }
  for (const char* name : {"dp", "x1", "2d", "_", "data-parallel", "a.b", "tp/2", "none", "NONE", "Nones", "\xce\xb1",
                           "interleaved_parallel"}) {
    EXPECT_TRUE(hp::is_axis_name(name)) << name;
    EXPECT_EQ(refusal({"x", name}, {2, 2}).code, ok) << name;
  }
  EXPECT_FALSE(hp::is_axis_name(""));
  EXPECT_FALSE(hp::is_axis_name("a_name_of_more_than_thirty_one_characters"));
}

TEST(device_matrix, an_axis_is_found_by_its_whole_name) {
  EXPECT_EQ(hp::axis_index(mesh::value, "dp"), 0);
  EXPECT_EQ(hp::axis_index(mesh::value, "d"), -1);
  EXPECT_EQ(hp::axis_index(mesh::value, "dpp"), -1);
}

}  // namespace
