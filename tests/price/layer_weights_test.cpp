// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/price/layer_weights.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <vector>

#include <hyperparallel/hardware/presets.hpp>

#include "models/piped_model.hpp"

namespace {

using namespace hyperparallel;

TEST(layer_weights, equal_layers_weigh_alike_and_the_ends_more) {
  const sharded_program p = partition(programs::piped_graph(6, 2), programs::strategy_of_parts("tp", 2));
  const growing_array<std::int64_t> weight = layer_weights(p, matrix384::device);
  ASSERT_EQ(weight.size, 6);
  for (int l = 2; l < 5; ++l) EXPECT_EQ(weight[l], weight[1]);
  EXPECT_GT(weight[0], weight[1]);  // the embedding
  EXPECT_GT(weight[5], weight[1]);  // head and loss
  extent_t all = 0;
  for (const program_step& s : p.step)
    if (!s.is_move && !is_in(s.phase, update_phases))
      all += hyperparallel::detail::price_of_compute(matrix384::device, p, s.index).time.picoseconds;
  EXPECT_EQ(std::accumulate(weight.begin(), weight.end(), extent_t{0}), all);
}

/// Against every split.
TEST(layer_weights, no_split_has_a_lighter_heaviest_stage) {
  for (const int layers : {4, 7})
    for (const int stages : {2, 3, 4}) {
      const graph g = programs::piped_graph(layers, 2, "layers.*");
      const strategy_value s = programs::strategy_of_parts("dp", 2);
      const growing_array<int> chosen = layers_by_time(g, s, matrix384::device, stages);
      ASSERT_EQ(chosen.size, stages);
      const growing_array<std::int64_t> weight = layer_weights(partition(g, s), matrix384::device);
      const auto heaviest = [&](const std::vector<int>& split) {
        std::int64_t most = 0;
        int layer = 0;
        for (const int n : split) {
          std::int64_t stage = 0;
          for (int k = 0; k < n; ++k) stage += weight[layer++];
          most = std::max(most, stage);
        }
        return most;
      };
      std::int64_t best = INT64_MAX;
      std::vector<int> split;
      const std::function<void(int)> visit = [&](int left) {
        if (static_cast<int>(split.size()) == stages) {
          if (left == 0) best = std::min(best, heaviest(split));
          return;
        }
        for (int n = 1; n <= left; ++n) {
          split.push_back(n);
          visit(left - n);
          split.pop_back();
        }
      };
      visit(layers);
      EXPECT_EQ(heaviest({chosen.begin(), chosen.end()}), best);
      pipeline_value pipeline{.schedule = schedule_called("1F1B"), .ranks = stages, .layers = chosen};
      EXPECT_TRUE(partition(g, s, pipeline).ok());
    }
}

TEST(layer_weights, what_has_no_split_has_no_layers) {
  const graph g = programs::piped_graph(2, 1);
  EXPECT_TRUE(layers_by_time(g, programs::strategy_of_parts("dp", 2), matrix384::device, 3).empty());
  EXPECT_TRUE(layers_by_time(g, programs::strategy_of_parts("tp", 64), matrix384::device, 2).empty());
}

}  // namespace
