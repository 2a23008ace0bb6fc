// SPDX-License-Identifier: Apache-2.0
// Slices of all ranks cover a tensor; what cannot be cut is refused.

#include "reshard/set_layout.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace rs = hp_tool::reshard;

namespace {

rs::set_layout layout_of(std::vector<rs::layout_axis> axes) {
  return {std::move(axes), {{"*.up.*", {{"tp"}}}, {"*.down.*", {{}, {"tp", "x"}}}, {"*norm*", {}}}};
}

TEST(SetLayout, SlicesOfAllRanksCover) {
  for (const std::int64_t tp : {1, 2, 3})
    for (const std::int64_t x : {1, 2}) {
      const rs::set_layout l = layout_of({{"x", x}, {"tp", tp}});
      for (const char* name : {"a.up.w", "a.down.w", "norm"}) {
        std::vector<int> seen(static_cast<std::size_t>(12 * 12), 0);
        for (std::int64_t r = 0; r < l.ranks(); ++r) {
          const rs::index_box b = l.slice_of(name, {12, 12}, r);
          for (std::int64_t i = b[0].begin; i < b[0].end; ++i)
            for (std::int64_t k = b[1].begin; k < b[1].end; ++k) ++seen[static_cast<std::size_t>(i * 12 + k)];
        }
        for (const int n : seen) EXPECT_EQ(n, seen[0]);
        EXPECT_EQ(seen[0], std::string(name) == "norm" ? tp * x : std::string(name) == "a.up.w" ? x : 1);
      }
    }
}

TEST(SetLayout, StagesHaveLayersAndExpertsRanks) {
  rs::set_layout l = layout_of({{"pp", 2}, {"ep", 2}});
  const auto held = [&](const char* name) {
    std::string out;
    for (std::int64_t r = 0; r < 4; ++r) out += l.holds(name, r, 5, 4) ? '1' : '0';
    return out;
  };
  EXPECT_EQ(held("model.layers.1.up"), "1100");
  EXPECT_EQ(held("model.layers.2.up"), "0011");
  EXPECT_EQ(held("model.layers.2.mlp.experts.1.up"), "0010");
  EXPECT_EQ(held("model.layers.0.mlp.experts.3.up"), "0100");
  EXPECT_EQ(held("model.embed_tokens.weight"), "1100");
  EXPECT_EQ(held("lm_head.weight"), "0011");
  l.stages = {3, 2};
  EXPECT_EQ(held("model.layers.2.up"), "1100");
}

TEST(SetLayout, RefusesInOneLine) {
  const rs::set_layout l = layout_of({{"tp", 3}});
  const auto told = [&](const char* name, const std::vector<std::int64_t>& extents) {
    try {
      l.slice_of(name, extents, 0);
    } catch (const rs::layout_error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_EQ(told("a.up.w", {8, 4}), "tensor 'a.up.w', [8, 4]: 3 shards do not divide dim 0; these do: 1, 2, 4");
  EXPECT_NE(told("other", {8}).find("tensor 'other' is named by no rule of the layout tp=3"), std::string::npos);
  EXPECT_NE(told("a.down.w", {8}).find("has 1 dims, its rule '*.down.*' maps 2"), std::string::npos);
  EXPECT_EQ(told("other", {}), "");
  rs::set_layout uneven = l;
  uneven.is_uneven = true;
  EXPECT_EQ(uneven.slice_of("a.up.w", {8, 4}, 1)[0], (rs::index_range{2, 5}));
}

}  // namespace
