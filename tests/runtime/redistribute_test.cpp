// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include <hyperparallel/layout/tensor_map.hpp>
#include <hyperparallel/redistribution/bound.hpp>
#include <hyperparallel/runtime/redistribute.hpp>

namespace hp = hyperparallel;

namespace {

/// Every layout of `rank` dims over the mesh: each axis is unused or put at any place of any dim's list.
void add_layouts(const hp::mesh_shape& m, int rank, int axis, std::vector<std::vector<int>>& dims,
                 std::vector<hp::layout_value>& all) {
  if (axis == m.axis_count) {
    hp::layout_value l = hp::replicated(m, rank);
    for (int d = 0; d < rank; ++d)
      for (const int a : dims[static_cast<std::size_t>(d)]) hp::append_cut(l, {d, a, 1, m.size[a]});
    all.push_back(l);
    return;
  }
  add_layouts(m, rank, axis + 1, dims, all);
  for (std::vector<int>& list : dims)
    for (std::size_t place = 0; place <= list.size(); ++place) {
      list.insert(list.begin() + static_cast<std::ptrdiff_t>(place), axis);
      add_layouts(m, rank, axis + 1, dims, all);
      list.erase(list.begin() + static_cast<std::ptrdiff_t>(place));
    }
}

std::vector<hp::layout_value> layouts(const hp::mesh_shape& m, int rank) {
  std::vector<std::vector<int>> dims(static_cast<std::size_t>(rank));
  std::vector<hp::layout_value> all;
  add_layouts(m, rank, 0, dims, all);
  return all;
}

/// Number of each element of the box in the whole tensor, in row-major order of the box.
std::vector<std::uint16_t> elements(const hp::box& b, const hp::shape& s) {
  std::vector<std::uint16_t> list;
  for (hp::extent_t i = b.dim[0].begin; i < b.dim[0].end; ++i)
    for (hp::extent_t j = b.dim[1].begin; j < b.dim[1].end; ++j)
      list.push_back(static_cast<std::uint16_t>(i * s.extent[1] + j));
  return list;
}

void expect_moved(const hp::layout_value& from, const hp::layout_value& to, const hp::shape& s) {
  hp::arena_redistribution move(from, to, s, sizeof(std::uint16_t), {.threads = 1});
  const auto at = [&](const hp::layout_value& l, int r) { return hp::slice_at(l, s, hp::coordinates_of(l.mesh, r)); };
  for (int r = 0; r < move.ranks(); ++r) {
    const std::vector<std::uint16_t> mine = elements(at(from, r), s);
    std::copy(mine.begin(), mine.end(), move.source<std::uint16_t>(r).begin());
  }
  ASSERT_EQ(move.run(), hp::run_result::complete);
  for (int r = 0; r < move.ranks(); ++r) {
    const std::span<std::uint16_t> got = move.target<std::uint16_t>(r);
    ASSERT_EQ(std::vector<std::uint16_t>(got.begin(), got.end()), elements(at(to, r), s));
    ASSERT_EQ(move.received(r), 2 * hp::least_received(from, to, s, hp::coordinates_of(from.mesh, r)));
  }
}

TEST(arena_redistribution, moves_every_pair_of_a_2x2_mesh_at_its_bound) {
  const std::vector<hp::layout_value> all = layouts({2, {2, 2}}, 2);
  ASSERT_EQ(all.size(), 11U);
  for (const hp::layout_value& from : all)
    for (const hp::layout_value& to : all) expect_moved(from, to, {8, 12});
}

TEST(arena_redistribution, moves_pairs_whose_cuts_do_not_refine) {
  const std::vector<hp::layout_value> all = layouts({2, {2, 3}}, 2);
  for (const hp::layout_value& from : all)
    for (const hp::layout_value& to : all) expect_moved(from, to, {12, 12});
}

TEST(arena_redistribution, moves_padded_dims) {
  hp::layout_value from = hp::replicated({2, {2, 2}}, 2), to = from;
  hp::append_cut(from, {0, 0, 1, 2});
  hp::append_cut(from, {0, 1, 1, 2});
  from.padded = 1;
  hp::append_cut(to, {1, 1, 1, 2});
  for (int rows : {1, 3, 5, 7, 10}) expect_moved(from, to, {rows, 6});
  for (int rows : {1, 3, 5, 7, 10}) expect_moved(to, from, {rows, 6});
}

TEST(arena_redistribution, runs_again_on_new_values) {
  const std::vector<hp::layout_value> all = layouts({2, {2, 2}}, 2);
  hp::arena_redistribution move(all.front(), all.back(), {4, 4}, sizeof(float));
  for (int round = 0; round < 3; ++round) {
    for (int r = 0; r < move.ranks(); ++r)
      for (float& x : move.source<float>(r)) x = static_cast<float>(round);
    move.run();
    for (int r = 0; r < move.ranks(); ++r)
      for (const float x : move.target<float>(r)) ASSERT_EQ(x, static_cast<float>(round));
  }
}

TEST(arena_redistribution, refuses_by_exception) {
  hp::layout_value from = hp::replicated({1, {4}}, 1), to = from;
  hp::append_cut(to, {0, 0, 1, 4});
  EXPECT_THROW(hp::arena_redistribution(from, to, hp::shape{6}, 4), std::invalid_argument);
  hp::arena_redistribution move(from, to, hp::shape{8}, 4);
  EXPECT_THROW(move.source<double>(0), std::invalid_argument);
}

}  // namespace
