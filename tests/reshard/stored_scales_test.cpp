// SPDX-License-Identifier: Apache-2.0
// What scales are of, and cuts that keep them with their elements: each element of small tensors by itself.

#include "reshard/stored_scales.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace rs = hp_tool::reshard;

namespace {

using extents = std::vector<std::int64_t>;

TEST(StoredScales, ExtentsSayWhatOneIsOf) {
  const rs::scale_grid block{128, 64};
  EXPECT_EQ(rs::grid_of({256, 200}, {2, 4}, block), block);
  EXPECT_EQ(rs::grid_of({256, 200}, {256}, block), (rs::scale_grid{1, 0}));
  EXPECT_EQ(rs::grid_of({256, 200}, {256, 1}, block), (rs::scale_grid{1, 0}));
  for (const extents& one : {extents{}, extents{1}, extents{1, 1}})
    EXPECT_EQ(rs::grid_of({256, 200}, one, block), rs::scale_grid{});
  EXPECT_EQ(rs::grid_of({100, 60}, {1, 1}, block), block);  // a tensor of one block
  for (const extents& none : {extents{2}, extents{2, 3}, extents{4, 2}, extents{1, 256}, extents{2, 4, 1}})
    EXPECT_FALSE(rs::grid_of({256, 200}, none, block)) << none.size();
  EXPECT_FALSE(rs::grid_of({256}, {2}, block));
  EXPECT_EQ(rs::block_of({}), (rs::scale_grid{128, 128}));
  EXPECT_EQ(rs::block_of({{"scale_rows", 32}}), (rs::scale_grid{32, 128}));
}

TEST(StoredScales, AreNamedByTheirWeight) {
  EXPECT_EQ(rs::weight_of_scales("a.up_proj.weight_scale_inv"), "a.up_proj.weight");
  EXPECT_EQ(rs::weight_of_scales("a.up_proj.weight_scale"), "a.up_proj.weight");
  EXPECT_EQ(rs::weight_of_scales("a.up_proj.input_scale"), "");
}

/// Whether each rank has the scales of its elements and no others, found element by element.
bool keeps_together(const rs::set_layout& l, const extents& weight, const extents& scales, rs::scale_grid g) {
  for (std::int64_t rank = 0; rank < l.ranks(); ++rank) {
    std::set<std::pair<std::int64_t, std::int64_t>> needed, held;
    const rs::index_box w = l.slice_of("a.up.weight", weight, rank), s = l.slice_of("a.up.weight_scale", scales, rank);
    for (std::int64_t i = w[0].begin; i < w[0].end; ++i)
      for (std::int64_t k = w[1].begin; k < w[1].end; ++k)
        needed.insert({g.rows == 0 ? 0 : i / g.rows, g.columns == 0 ? 0 : k / g.columns});
    for (std::int64_t i = s[0].begin; i < s[0].end; ++i)
      for (std::int64_t k = s[1].begin; k < s[1].end; ++k) held.insert({i, k});
    if (needed != held) return false;
    for (const auto& [i, k] : held) {  // no other rank has elements of the same scale, but where it is of all
      const std::int64_t row = i * g.rows, column = k * g.columns;
      if (g.rows != 0 && (row < w[0].begin || std::min(row + g.rows, weight[0]) > w[0].end)) return false;
      if (g.columns != 0 && (column < w[1].begin || std::min(column + g.columns, weight[1]) > w[1].end)) return false;
    }
  }
  return true;
}

TEST(StoredScales, ACutPassesWhereEachRankHasTheScalesOfItsElements) {
  int passed = 0, refused = 0;
  for (std::int64_t rows = 1; rows <= 13; ++rows)
    for (std::int64_t columns = 1; columns <= 7; columns += 3)
      for (std::int64_t step = 1; step <= 4; ++step)
        for (const rs::scale_grid g : {rs::scale_grid{step, step}, rs::scale_grid{1, 0}, rs::scale_grid{}})
          for (std::int64_t tp = 1; tp <= 4; ++tp)
            for (const std::size_t dim : {std::size_t{0}, std::size_t{1}}) {
              rs::set_layout l{{{"tp", tp}}, {{"*.up.weight", {{}, {}}}}};
              l.rules[0].map[dim] = {"tp"};
              l.is_uneven = true;
              const auto blocks = [](std::int64_t n, std::int64_t of) { return of == 0 ? 1 : (n + of - 1) / of; };
              const extents weight = {rows, columns}, scales = {blocks(rows, g.rows), blocks(columns, g.columns)};
              rs::keep_whole(l, "a.up.weight_scale", 2, g);
              const bool has_empty = (dim == 0 ? rows : columns) < tp;  // a rank without elements needs no scales
              bool good = true;
              try {
                rs::check_cuts(l, "a.up.weight", weight, "a.up.weight_scale", scales, g);
              } catch (const rs::plan_error& e) {
                good = false;
                EXPECT_NE(std::string(e.what()).find("'a.up.weight"), std::string::npos);
              }
              ++(good ? passed : refused);
              if (has_empty) continue;
              EXPECT_EQ(good, keeps_together(l, weight, scales, g))
                  << rows << "x" << columns << " by " << g.rows << "x" << g.columns << " tp " << tp << " dim " << dim;
            }
  EXPECT_GT(passed, 1000);
  EXPECT_GT(refused, 400);
}

TEST(StoredScales, RefusesWhatIsNoScale) {
  const auto told = [](const std::vector<rs::model_tensor>& all) -> std::string {
    try {
      rs::scales_in(all, {128, 128});
    } catch (const rs::plan_error& e) {
      return e.what();
    }
    return "";
  };
  const rs::model_tensor weight{"x.weight", "F8_E4M3", {256, 200}, {}};
  EXPECT_EQ(told({weight, {"x.weight_scale_inv", "F32", {2, 2}, {}}}), "");
  EXPECT_EQ(told({weight, {"x.weight_scale_inv", "F8_E8M0", {2, 2}, {}}}), "");
  EXPECT_EQ(
      told({weight, {"x.weight_scale_inv", "F32", {3, 2}, {}}}),
      "tensor 'x.weight_scale_inv' is F32 [3, 2], no scales of F8_E4M3 [256, 200] by blocks of 128 x 128, by rows "
      "or for the tensor; --sizes scale_rows=128,scale_columns=128 says other blocks");
  EXPECT_NE(told({weight, {"x.weight_scale_inv", "I32", {2, 2}, {}}}).find("is I32 [2, 2], no scales"),
            std::string::npos);
  EXPECT_EQ(told({weight, {"x.weight_scale_inv", "F32", {2, 2}, {}}, {"x.weight_scale", "F32", {1}, {}}}),
            "tensor 'x.weight' has scales by two names");
}

}  // namespace
