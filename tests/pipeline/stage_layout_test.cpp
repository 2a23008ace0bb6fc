// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/pipeline/stage_layout.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <random>
#include <tuple>
#include <vector>

namespace hp = hyperparallel;

namespace {

/// A layout as the law orders it: weights of stages from the heaviest on, then layers of earlier stages.
struct candidate {
  std::vector<std::int64_t> weights;
  std::vector<int> sizes;
  friend bool operator<(const candidate& a, const candidate& b) {
    return std::tie(a.weights, a.sizes) < std::tie(b.weights, b.sizes);
  }
};

std::vector<int> sizes_of(const hp::stage_split& s) {
  std::vector<int> sizes;
  for (int stage = 0; stage < s.stages(); ++stage) sizes.push_back(s.layers_of(stage));
  return sizes;
}

/// All layouts, by all sequences of sizes whose sum is the number of layers.
std::vector<candidate> all_layouts(const std::vector<std::int64_t>& layers, int stages, hp::model_ends ends,
                                   hp::stage_limits limits) {
  std::vector<candidate> all;
  candidate c;
  const std::function<void(std::size_t)> place = [&](std::size_t begin) {
    const int stage = static_cast<int>(c.sizes.size());
    if (stage == stages) {
      if (begin != layers.size()) return;
      candidate sorted = c;
      std::sort(sorted.weights.rbegin(), sorted.weights.rend());
      all.push_back(sorted);
      return;
    }
    const bool is_first = stage == 0, is_last = stage == stages - 1;
    const bool filled =
        (is_first && limits.first) || (is_last && limits.last) || (!is_first && !is_last && limits.inner);
    std::int64_t weight = (is_first ? ends.embedding : 0) + (is_last ? ends.loss : 0);
    for (std::size_t end = begin; end <= layers.size(); ++end) {
      if (end > begin) weight += layers[end - 1];
      if (filled && end == begin) continue;
      c.weights.push_back(weight);
      c.sizes.push_back(static_cast<int>(end - begin));
      place(end);
      c.weights.pop_back();
      c.sizes.pop_back();
    }
  };
  place(0);
  return all;
}

TEST(stage_layout, equals_the_best_of_all_layouts) {
  std::mt19937 random(48);
  const auto up_to = [&](int most) { return std::uniform_int_distribution<int>(0, most)(random); };
  int none = 0;
  for (int round = 0; round < 3000; ++round) {
    const int layers = up_to(8), stages = 1 + up_to(5), largest = up_to(9);
    const hp::model_ends ends = {up_to(12), up_to(12)};
    const hp::stage_limits limits = {up_to(1) == 1, up_to(1) == 1, up_to(1) == 1};
    std::vector<std::int64_t> weights;
    hp::growing_array<std::int64_t> given;
    for (int i = 0; i < layers; ++i) given.push(weights.emplace_back(up_to(largest)));
    const std::vector<candidate> all = all_layouts(weights, stages, ends, limits);
    const hp::stage_split ours = hp::lay_out_stages(given, stages, ends, limits);
    ASSERT_EQ(ours.ok(), !all.empty());
    none += all.empty();
    if (all.empty()) continue;
    const candidate best = *std::min_element(all.begin(), all.end());
    EXPECT_EQ(sizes_of(ours), best.sizes);
    EXPECT_EQ(ours.heaviest, best.weights.front());
    EXPECT_EQ(ours.lightest, best.weights.back());
  }
  EXPECT_GT(none, 50);
}

// Those of split_layers differ in ties alone.
TEST(stage_layout, with_a_layer_on_each_stage_is_as_light_as_a_split_of_layers) {
  std::mt19937 random(49);
  const auto up_to = [&](int most) { return std::uniform_int_distribution<int>(0, most)(random); };
  for (int round = 0; round < 500; ++round) {
    const int layers = 1 + up_to(40), stages = 1 + up_to(layers - 1);
    hp::growing_array<std::int64_t> weights;
    for (int i = 0; i < layers; ++i) weights.push(up_to(30));
    EXPECT_EQ(hp::lay_out_stages(weights, stages, {}, {true, true, true}).heaviest,
              hp::split_layers(weights, stages).heaviest);
  }
}

TEST(stage_layout, there_is_none_of_weights_that_are_none) {
  hp::growing_array<std::int64_t> weights;
  weights.resize(3, 1);
  EXPECT_FALSE(hp::lay_out_stages(weights, 0).ok());
  EXPECT_FALSE(hp::lay_out_stages(weights, 2, {-1, 0}).ok());
  EXPECT_FALSE(hp::lay_out_stages(weights, 2, {INT64_MAX - 3, 1}).ok());
  EXPECT_EQ(hp::lay_out_stages(weights, 1, {INT64_MAX - 4, 1}).heaviest, INT64_MAX);
  EXPECT_FALSE(hp::lay_out_stages(weights, INT32_MAX / 4).ok());
}

// The published layout of DeepSeek-V3's 61 layers in 32 stages has 4 on one; a loss that stands alone brings 2 everywhere.
constexpr bool loss_stands_alone() {
  hp::growing_array<std::int64_t> weights;
  weights.resize(61, 1);
  const hp::stage_split s = hp::lay_out_stages(weights, 32, {.embedding = 1, .loss = 2});
  return s.heaviest == 2 && s.lightest == 2 && s.layers_of(0) == 1 && s.layers_of(1) == 2 && s.layers_of(31) == 0;
}
static_assert(loss_stands_alone());

}  // namespace
