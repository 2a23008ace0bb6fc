// SPDX-License-Identifier: Apache-2.0
// The text of a mesh gives the mesh back; every complaint is a sentence of its own.

#include <hyperparallel/report/format_mesh.hpp>

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace hp = hyperparallel;

namespace {

hp::mesh_value read(const std::string& text) {
  std::vector<std::string> names;
  std::vector<int> sizes;
  for (std::size_t at = 1; at < text.size() - 1;) {
    const std::size_t equals = text.find('=', at), end = text.find_first_of(",)", equals);
    names.push_back(text.substr(at, equals - at));
    sizes.push_back(std::stoi(text.substr(equals + 1, end - equals - 1)));
    at = end + 2;
  }
  std::vector<const char*> list;
  for (const std::string& n : names) list.push_back(n.c_str());
  return hp::make_mesh(list.data(), static_cast<int>(list.size()), sizes.data(), static_cast<int>(sizes.size())).mesh;
}

TEST(format_mesh, reads_back) {
  const char* names[] = {"dp", "a_longer_axis_name", "tp", "interleaved_parallel"};
  for (int count = 1; count <= 4; ++count)
    for (int n = 0; n < 81; ++n) {
      const int sizes[] = {n % 3 + 1, n / 3 % 3 + 1, n / 9 % 3 + 2, n / 27 + 1};
      const hp::mesh_result m = hp::make_mesh(names, count, sizes, count);
      ASSERT_EQ(m.status.code, hp::mesh_code::ok);
      EXPECT_EQ(read(to_text(m.mesh)), m.mesh);
    }
}

TEST(format_mesh, golden) {
  const char* names[] = {"dp", "cp", "tp"};
  const int sizes[] = {2, 2, 4};
  const hp::mesh_value m = hp::make_mesh(names, 3, sizes, 3).mesh;
  EXPECT_EQ(fmt::format("{}", m), "(dp=2, cp=2, tp=4)");
  EXPECT_EQ(fmt::format("{}", m.shape), "2x2x4");
  EXPECT_EQ(fmt::format("{}", hp::axis{"dp", 8}), "dp=8");
  EXPECT_EQ(fmt::format("{}", hp::rank_list{3, 5}), "[5, 6, 7]");
  const int ranks[] = {3, 1, 2};
  EXPECT_EQ(fmt::format("{}", hp::rank_list{3, ranks}), "[3, 1, 2]");
  EXPECT_EQ(fmt::format("{}", hp::mesh_status{hp::mesh_code::axis_size_is_not_positive, 1}),
            "an axis size is not positive (axis number 1)");
  EXPECT_EQ(fmt::format("{}", hp::rank_list_status{hp::rank_list_code::rank_is_listed_twice, 2}),
            "a rank is listed twice (position 2)");
  EXPECT_EQ(fmt::format("{}", hp::sub_mesh_status{hp::sub_mesh_code::axis_is_unknown, 0}),
            "an axis is not in the mesh (name number 0)");
}

template <class Code>
void expect_distinct(Code last) {
  std::set<std::string> texts;
  for (int c = 0; c <= static_cast<int>(last); ++c) texts.insert(to_text(static_cast<Code>(c)));
  EXPECT_EQ(texts.size(), static_cast<std::size_t>(last) + 1);
  EXPECT_FALSE(texts.contains("unknown"));
}

TEST(format_mesh, has_a_sentence_for_every_code) {
  expect_distinct(hp::mesh_code::axis_name_is_reserved);
  expect_distinct(hp::rank_list_code::mesh_is_not_valid);
  expect_distinct(hp::sub_mesh_code::flattened_name_is_not_valid);
  EXPECT_EQ(to_text(hp::mesh_status{}), "ok");
  EXPECT_EQ(to_text(hp::rank_list_status{}), "ok");
  EXPECT_EQ(to_text(hp::sub_mesh_status{}), "ok");
}

}  // namespace
