// SPDX-License-Identifier: Apache-2.0
#pragma once
// Layers of a model in stages: neighbouring layers, at least one on each stage, as even as they can be.
//
// Law: the heaviest stage is as light as in any split; among those splits the lightest stage is as heavy as it can be; among
// those, earlier stages take more layers. What stands before the first layer or behind the last one (embedding, loss) is
// added to the weight of that layer.

#include <cstdint>

#include <hyperparallel/support/growing_array.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Stage s has the layers [first[s], first[s + 1]).
struct stage_split {
  growing_array<int> first;  ///< one more than stages; empty: there is no split
  std::int64_t heaviest = 0, lightest = 0;

  constexpr bool ok() const { return first.size > 0; }
  constexpr int stages() const { return first.size - 1; }
  constexpr int layers_of(int stage) const { return first[stage + 1] - first[stage]; }
};

namespace detail {

/// Whether no weight is negative and their sum fits 64 bits.
constexpr bool weights_fit(const growing_array<std::int64_t>& weights) {
  std::int64_t left = INT64_MAX;
  for (const std::int64_t w : weights) {
    if (w < 0 || w > left) return false;
    left -= w;
  }
  return true;
}

/// Splits of the layers from `layer` on, for each number of stages; laid out stage by stage.
class split_table {
 public:
  constexpr explicit split_table(const growing_array<std::int64_t>& weights) : weights_(weights) {}

  /// The least weight that the heaviest of `stages` stages can have.
  constexpr std::int64_t least_heaviest(int stages) const {
    const int n = weights_.size;
    growing_array<std::int64_t> rest, now;
    rest.resize(n + 1, INT64_MAX);
    rest[n] = 0;
    for (int s = 1; s <= stages; ++s) {
      now.clear();
      now.resize(n + 1, INT64_MAX);
      for (int i = n - s; i >= 0; --i) {
        std::int64_t weight = 0;
        for (int end = i + 1; end <= n - s + 1; ++end) {
          weight += weights_[end - 1];
          if (weight >= now[i]) break;
          const std::int64_t heaviest = weight > rest[end] ? weight : rest[end];
          if (heaviest < now[i]) now[i] = heaviest;
        }
      }
      rest = now;
    }
    return rest[0];
  }

  /// Fills in the greatest weight that the lightest stage can have where none is heavier than `heaviest`, for each layer
  /// and number of stages from there.
  constexpr void fill(int stages, std::int64_t heaviest) {
    const int n = weights_.size;
    lightest_.resize((stages + 1) * (n + 1), -1);  // −1: there is no split
    lightest_[n] = INT64_MAX;
    for (int s = 1; s <= stages; ++s)
      for (int i = n - s; i >= 0; --i) {
        std::int64_t weight = 0, best = -1;
        for (int end = i + 1; end <= n - s + 1; ++end) {
          weight += weights_[end - 1];
          if (weight > heaviest) break;
          const std::int64_t rest = lightest(s - 1, end), both = weight < rest ? weight : rest;
          if (both > best) best = both;
        }
        lightest_[s * (n + 1) + i] = best;
      }
  }
  constexpr std::int64_t lightest(int stages, int layer) const {
    return lightest_[stages * (weights_.size + 1) + layer];
  }

 private:
  const growing_array<std::int64_t>& weights_;
  growing_array<std::int64_t> lightest_;
};

}  // namespace detail

/// Layers of these weights in `stages` stages. None where there are fewer layers than stages, a weight is negative or their
/// sum leaves 64 bits. Complexity: stages · layers² at most, layers² where weights are alike.
constexpr stage_split split_layers(const growing_array<std::int64_t>& weights, int stages) {
  stage_split split;
  const int n = weights.size;
  if (stages < 1 || stages > n || stages >= INT32_MAX / (n + 1) || !detail::weights_fit(weights)) return split;
  detail::split_table table(weights);
  split.heaviest = table.least_heaviest(stages);
  table.fill(stages, split.heaviest);
  split.lightest = table.lightest(stages, 0);
  split.first.push(0);
  for (int left = stages - 1, i = 0; left >= 0; --left) {
    std::int64_t weight = 0;
    int most = i;
    for (int end = i + 1; end <= n - left; ++end) {
      weight += weights[end - 1];
      if (weight > split.heaviest) break;
      if (weight >= split.lightest && table.lightest(left, end) >= split.lightest) most = end;
    }
    split.first.push(most);
    i = most;
  }
  return split;
}

/// Layers that all weigh the same.
constexpr stage_split split_layers(int layers, int stages) {
  growing_array<std::int64_t> weights(layers > 0 ? layers : 0, 1);
  return split_layers(weights, stages);
}

}}  // namespace hyperparallel::v0_2
