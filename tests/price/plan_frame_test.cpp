// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/price/plan_frame.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "search/search_models.hpp"

namespace {

namespace hp = hyperparallel;

std::string text_of(const hp::plan_frame& f) {
  std::string text;
  const hp::mesh_value m = hp::mesh_of(f);
  for (int a = 0; a < m.shape.axis_count; ++a)
    text += std::string(m.label[a].text) + std::to_string(m.shape.size[a]) + " ";
  return text;
}

TEST(PlanFrame, AxesStandOuterToInner) {
  EXPECT_EQ(text_of({}), "dp1 ");
  EXPECT_EQ(text_of({.dp = 2, .ep = 3, .cp = 4, .x = 5, .tp = 6}), "dp2 ep3 cp4 x5 tp6 ");
  EXPECT_EQ(text_of({.dp = 2, .tp = 6, .order = hp::axis_order::data_inside}), "tp6 dp2 ");
  EXPECT_EQ(text_of({.dp = 2, .ep = 4, .tp = 6, .order = hp::axis_order::experts_inside}), "dp2 tp6 ep4 ");
  EXPECT_EQ(text_of({.dp = 2, .cp = 4, .tp = 6, .order = hp::axis_order::context_inside}), "dp2 tp6 cp4 ");
}

// Against all degrees, options and orders there are.
TEST(PlanFrame, EachOnceWithinTheLimits) {
  for (const bool reduced : {true, false}) {
    for (const int devices : {1, 2, 6, 8}) {
      const hp::graph g = searched::small_model{.layers = 4, .wide_layers = 2, .batch = 8, .experts = 4}.build();
      hp::search_limits limits;
      limits.reduced = reduced;
      limits.tensor = 4;
      limits.context = 2;
      std::vector<hp::plan_frame> seen;
      hp::detail::visit_frames(g, devices, limits, [&](const hp::plan_frame& f) {
        EXPECT_EQ(f.dp * f.ep * f.cp * f.x * f.tp * f.pipeline, devices);
        EXPECT_EQ(hp::position_count(hp::mesh_of(f).shape) * f.pipeline, devices);
        EXPECT_EQ(8 % (f.dp * f.ep), 0);
        EXPECT_EQ(4 % f.ep, 0);
        EXPECT_LE(f.x * f.tp, 4);
        EXPECT_LE(f.cp, 2);
        EXPECT_LE(f.pipeline, 6);
        for (const hp::plan_frame& other : seen) EXPECT_FALSE(other == f);
        seen.push_back(f);
      });
      int degrees = 0, expected = 0;
      for (int p = 1; p <= 6; ++p)
        for (int t = 1; t <= 4; ++t)
          for (int x = 1; x * t <= 4; ++x)
            for (int c = 1; c <= 2; ++c)
              for (int e = 1; e <= 4; e *= 2)
                if (devices % (p * t * x * c * e) == 0 && (x == 1 || t > 1) && (!reduced || x <= t))
                  expected += 8 % (devices / (p * t * x * c)) == 0 ? 1 : 0;
      for (std::size_t i = 0; i < seen.size(); ++i) {
        bool first = true;
        for (std::size_t k = 0; k < i && first; ++k) {
          hp::plan_frame a = seen[i], b = seen[k];
          a.order = b.order;
          a.context = b.context;
          a.zero = b.zero;
          a.zero_wide = b.zero_wide;
          first = !(a == b);
        }
        degrees += first ? 1 : 0;
      }
      EXPECT_EQ(degrees, expected) << devices << " " << reduced;
    }
  }
}

TEST(PlanFrame, DenseModelsHaveNoExpertAxis) {
  hp::detail::visit_frames(searched::small_model{}.build(), 8, {}, [](const hp::plan_frame& f) { EXPECT_EQ(f.ep, 1); });
}

}  // namespace
