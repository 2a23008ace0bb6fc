// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/pipeline/stage_split.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <tuple>
#include <vector>

namespace hp = hyperparallel;

namespace {

std::vector<int> sizes_of(const hp::stage_split& s) {
  std::vector<int> sizes;
  for (int stage = 0; stage < s.stages(); ++stage) sizes.push_back(s.layers_of(stage));
  return sizes;
}

/// A split as the law orders it: the heaviest stage, the lightest one the other way round, then layers of earlier stages.
struct candidate {
  std::int64_t heaviest = 0, lightest = INT64_MAX;
  std::vector<int> sizes;
  friend bool operator<(const candidate& a, const candidate& b) {
    return std::tie(a.heaviest, b.lightest, b.sizes) < std::tie(b.heaviest, a.lightest, a.sizes);
  }
};

/// The best of all splits of the layers from `begin` on behind those of `so_far`.
void search(const std::vector<std::int64_t>& weights, std::size_t begin, int stages, const candidate& so_far,
            std::vector<candidate>& all) {
  if (stages == 0 && begin == weights.size()) all.push_back(so_far);
  if (stages == 0) return;
  std::int64_t weight = 0;
  for (std::size_t end = begin + 1; end <= weights.size(); ++end) {
    weight += weights[end - 1];
    candidate next = so_far;
    next.heaviest = std::max(next.heaviest, weight);
    next.lightest = std::min(next.lightest, weight);
    next.sizes.push_back(static_cast<int>(end - begin));
    search(weights, end, stages - 1, next, all);
  }
}

TEST(stage_split, equals_the_best_of_all_splits) {
  std::mt19937 random(17);
  const auto up_to = [&](int most) { return std::uniform_int_distribution<int>(0, most)(random); };
  for (int round = 0; round < 600; ++round) {
    const int layers = 1 + up_to(8), stages = 1 + up_to(layers - 1), largest = up_to(11);
    std::vector<std::int64_t> weights;
    hp::growing_array<std::int64_t> given;
    for (int i = 0; i < layers; ++i) given.push(weights.emplace_back(up_to(largest)));
    std::vector<candidate> all;
    search(weights, 0, stages, {}, all);
    const candidate best = *std::min_element(all.begin(), all.end());
    const hp::stage_split ours = hp::split_layers(given, stages);
    ASSERT_TRUE(ours.ok());
    EXPECT_EQ(ours.heaviest, best.heaviest);
    EXPECT_EQ(ours.lightest, best.lightest);
    EXPECT_EQ(sizes_of(ours), best.sizes);
  }
}

TEST(stage_split, layers_that_weigh_the_same_differ_by_one_and_the_first_stages_have_more) {
  EXPECT_EQ(sizes_of(hp::split_layers(10, 4)), (std::vector{3, 3, 2, 2}));
  for (int layers = 1; layers <= 40; ++layers)
    for (int stages = 1; stages <= layers; ++stages) {
      const hp::stage_split s = hp::split_layers(layers, stages);
      for (int stage = 0; stage < stages; ++stage)
        EXPECT_EQ(s.layers_of(stage), layers / stages + (stage < layers % stages ? 1 : 0));
    }
}

TEST(stage_split, there_is_none_of_fewer_layers_than_stages_or_of_weights_that_are_none) {
  EXPECT_FALSE(hp::split_layers(3, 4).ok());
  EXPECT_FALSE(hp::split_layers(3, 0).ok());
  EXPECT_FALSE(hp::split_layers(0, 1).ok());
  hp::growing_array<std::int64_t> weights;
  weights.resize(3, 1);
  weights[1] = -1;
  EXPECT_FALSE(hp::split_layers(weights, 2).ok());
  weights[1] = INT64_MAX - 1;
  EXPECT_FALSE(hp::split_layers(weights, 2).ok());
  weights[1] = INT64_MAX - 2;
  EXPECT_EQ(hp::split_layers(weights, 3).heaviest, INT64_MAX - 2);
}

constexpr bool heavy_head_stands_alone() {
  hp::growing_array<std::int64_t> weights;
  weights.resize(7, 2);
  weights[6] = 6;
  const hp::stage_split s = hp::split_layers(weights, 3);
  return s.heaviest == 6 && s.lightest == 6 && s.layers_of(0) == 3 && s.layers_of(1) == 3 && s.layers_of(2) == 1;
}
static_assert(heavy_head_stands_alone());

}  // namespace
