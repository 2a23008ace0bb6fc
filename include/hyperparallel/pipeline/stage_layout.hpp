// SPDX-License-Identifier: Apache-2.0
#pragma once
// Layers of a model in stages that need not have layers: the first stage has the embedding too, the last one the loss.
//
//   lay_out_stages(weights, 32, {.embedding = 1, .loss = 2})                  Megatron's layouts: any stage without layers
//   lay_out_stages(weights, 32, ends, {.inner = true, .last = true})          torch's split points: all but the first have some
//
// Laws: of all splits of the layers in order into so many stages, within the limits, the heaviest stage is as light as can
// be, then the second-heaviest, and so on; among those, earlier stages take fewer layers, since under 1F1B they keep more
// micro-batches. stage_split.hpp has splits with a layer on each stage. Complexity: stages · layers² comparisons at most,
// stages · layers where weights are alike, each of as many steps as the weights of stages differ.

#include <cstdint>

#include <hyperparallel/pipeline/stage_split.hpp>
#include <hyperparallel/support/growing_array.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// What stands before the first layer and behind the last one.
struct model_ends {
  std::int64_t embedding = 0, loss = 0;
};

/// Which stages have at least one layer.
struct stage_limits {
  bool first = false, inner = false, last = false;
};

namespace detail {

/// Weights of stages, the heaviest first.
struct ordered_weights {
  struct run {
    std::int64_t weight = 0;
    int count = 0;
  };
  growing_array<run> runs;

  /// Calls visit(run) for each of these and one more, until it returns false.
  template <class F>
  constexpr void visit_with(std::int64_t weight, const F& visit) const {
    bool pending = true;
    for (const run& r : runs) {
      const bool joins = r.weight == weight, goes_before = pending && r.weight < weight;
      if (goes_before && !visit(run{weight, 1})) return;
      if (goes_before || joins) pending = false;
      if (!visit(run{r.weight, r.count + (joins ? 1 : 0)})) return;
    }
    if (pending) visit(run{weight, 1});
  }

  /// Those of `rest` and one more.
  constexpr void become(const ordered_weights& rest, std::int64_t weight) {
    runs.clear();
    runs.reserve(rest.runs.size + 1);
    rest.visit_with(weight, [&](run r) {
      runs.push(r);
      return true;
    });
  }
  /// Whether these and one more come before as many others.
  constexpr bool with_is_less(std::int64_t weight, const ordered_weights& other) const {
    int at = 0;
    bool less = false;
    visit_with(weight, [&](run r) {
      const run& o = other.runs[at++];
      less = r.weight != o.weight ? r.weight < o.weight : r.count < o.count;
      return r.weight == o.weight && r.count == o.count;
    });
    return less;
  }
};

/// Layouts of the layers from some layer on, for each number of stages.
class layout_search {
 public:
  constexpr layout_search(const growing_array<std::int64_t>& weights, int stages, model_ends ends, stage_limits limits)
      : weights_(weights), stages_(stages), ends_(ends), limits_(limits) {}

  /// False: there is none.
  constexpr bool run(stage_split& split) {
    const int n = weights_.size;
    heaviest_ = least_heaviest();
    if (heaviest_ < 0) return false;
    count_before();
    ends_of_.resize(stages_ * (n + 1), -1);
    growing_array<ordered_weights> rest;
    for (int left = 1; left <= stages_; ++left) {  // stages from here on
      growing_array<ordered_weights> now(n + 1);
      for (int i = 0; i <= n; ++i)
        if (before_[i] <= stages_ - left) extend(left, i, rest, now[i]);
      rest = static_cast<growing_array<ordered_weights>&&>(now);
    }
    const growing_array<ordered_weights::run>& runs = rest[0].runs;
    split.heaviest = heaviest_;
    split.lightest = runs.last().weight;
    split.first.push(0);
    for (int left = stages_; left > 0; --left) split.first.push(end_of(left, split.first.last()));
    return true;
  }

 private:
  constexpr int& end_of(int left, int layer) { return ends_of_[(left - 1) * (weights_.size + 1) + layer]; }

  /// Calls visit(end, weight) of each stage from layer i on that has `left` − 1 stages behind it, until it returns false.
  template <class F>
  constexpr void visit_stages(int left, int i, const F& visit) const {
    const bool is_first = left == stages_, is_last = left == 1;
    if (is_first && i > 0) return;
    const bool filled =
        (is_first && limits_.first) || (is_last && limits_.last) || (!is_first && !is_last && limits_.inner);
    std::int64_t weight = (is_first ? ends_.embedding : 0) + (is_last ? ends_.loss : 0);
    for (int end = i; end <= weights_.size; ++end) {
      if (end > i) weight += weights_[end - 1];
      if ((filled && end == i) || (is_last && end < weights_.size)) continue;
      if (!visit(end, weight)) return;
    }
  }

  /// −1: there is no layout.
  constexpr std::int64_t least_heaviest() const {
    const int n = weights_.size;
    growing_array<std::int64_t> rest, now;
    rest.resize(n + 1, -1);
    rest[n] = 0;
    for (int left = 1; left <= stages_; ++left) {
      now.clear();
      now.resize(n + 1, -1);
      for (int i = 0; i <= n; ++i)
        visit_stages(left, i, [&](int end, std::int64_t weight) {
          const std::int64_t both = weight > rest[end] ? weight : rest[end];
          if (rest[end] >= 0 && (now[i] < 0 || both < now[i])) now[i] = both;
          return now[i] < 0 || weight < now[i];
        });
      rest = now;
    }
    return rest[0];
  }

  /// How few stages can have the layers before each one, none of them heavier than the heaviest has to be.
  constexpr void count_before() {
    before_.push(0);
    std::int64_t weight = ends_.embedding;
    for (int i = 0, stage = 1; i < weights_.size; ++i) {
      weight += weights_[i];
      if (weight > heaviest_) {
        weight = weights_[i];
        ++stage;
      }
      before_.push(stage);
    }
  }

  constexpr void extend(int left, int i, const growing_array<ordered_weights>& rest, ordered_weights& best) {
    const ordered_weights none;
    int found = -1;
    visit_stages(left, i, [&](int end, std::int64_t weight) {
      if (weight > heaviest_) return false;
      if (left > 1 && rest[end].runs.empty()) return true;
      const bool is_better = found < 0 || (left > 1 && rest[end].with_is_less(weight, best));
      if (!is_better) return true;
      best.become(left > 1 ? rest[end] : none, weight);
      found = end;
      return true;
    });
    end_of(left, i) = found;
  }

  const growing_array<std::int64_t>& weights_;
  int stages_;
  model_ends ends_;
  stage_limits limits_;
  std::int64_t heaviest_ = 0;
  growing_array<int> before_, ends_of_;
};

}  // namespace detail

/// None where a weight is negative, their sum leaves 64 bits, or there are fewer layers than stages that need one.
constexpr stage_split lay_out_stages(const growing_array<std::int64_t>& weights, int stages, model_ends ends = {},
                                     stage_limits limits = {}) {
  stage_split split;
  growing_array<std::int64_t> all = weights;
  all.push(ends.embedding);
  all.push(ends.loss);
  if (stages < 1 || stages >= INT32_MAX / (weights.size + 1) || !detail::weights_fit(all)) return split;
  detail::layout_search search(weights, stages, ends, limits);
  search.run(split);
  return split;
}

}}  // namespace hyperparallel::v0_2
