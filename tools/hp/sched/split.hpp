// SPDX-License-Identifier: Apache-2.0
#pragma once
// hp sched split: layers in stages, as Megatron and torch take them; and Megatron's layouts held against the least.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include <hyperparallel/pipeline/stage_layout.hpp>

#include "../refusals.hpp"
#include "list.hpp"
#include "megatron_layout.hpp"

namespace sched {

struct split_request {
  int layers = 0, stages = 0;
  std::vector<std::int64_t> weights{};  ///< one a layer; none: all the same
  std::int64_t embedding = 0, loss = 0, prediction = 1;
  std::string format = "megatron", prefix = "layers", checked{};
  bool as_json = false;
};

/// Layers in stages, and what each stage weighs.
struct weighed_stages {
  stage_contents has{};
  std::vector<std::int64_t> weights{};

  std::vector<std::int64_t> from_heaviest() const {
    std::vector<std::int64_t> sorted = weights;
    std::sort(sorted.begin(), sorted.end(), std::greater<>());
    return sorted;
  }
};

/// The layers of a request, and as one more its modules of multi-token prediction.
class weighed_layers {
 public:
  weighed_layers(const split_request& given, int layers, int predictions)
      : given_(given), layers_(layers), predictions_(predictions) {
    weights_.resize(layers, 1);
    for (int i = 0; i < static_cast<int>(given.weights.size()); ++i)
      weights_[i] = given.weights[static_cast<std::size_t>(i)];
    if (predictions > 0) weights_.push(predictions * given.prediction);
  }

  /// Where there are layers enough.
  hp::stage_split least(int stages, hp::stage_limits limits) const {
    return hp::lay_out_stages(weights_, stages, {given_.embedding, given_.loss}, limits);
  }
  stage_contents contents(const hp::stage_split& s) const {
    stage_contents has;
    for (int stage = 0; stage < s.stages(); ++stage) {
      has.add_stage();
      has.layers.back() = std::min(s.first[stage + 1], layers_) - std::min(s.first[stage], layers_);
      if (s.first[stage] <= layers_ && layers_ < s.first[stage + 1]) has.predictions.back() = predictions_;
    }
    return has;
  }
  weighed_stages weigh(const stage_contents& has) const {
    weighed_stages w{.has = has};
    for (int stage = 0, layer = 0; stage < has.stages(); ++stage) {
      const std::size_t i = static_cast<std::size_t>(stage);
      std::int64_t& weight = w.weights.emplace_back(stage == 0 ? given_.embedding : 0);
      for (int end = layer + has.layers[i]; layer < end; ++layer) weight += weights_[layer];
      if (has.predictions[i] > 0) weight += weights_[layers_];
      if (stage + 1 == has.stages()) weight += given_.loss;
    }
    return w;
  }

 private:
  const split_request& given_;
  int layers_, predictions_;
  hp::growing_array<std::int64_t> weights_{};
};

/// The layers with which torch's stages begin, but for the first one.
inline std::vector<std::string> torch_split_points(const hp::stage_split& s, const std::string& prefix) {
  std::vector<std::string> points;
  for (int stage = 1; stage < s.stages(); ++stage) points.push_back(prefix + "." + std::to_string(s.first[stage]));
  return points;
}

inline json json_of(const weighed_stages& w) {
  json stages = json::array();
  int first = 0;
  for (std::size_t i = 0; i < w.weights.size(); ++i) {
    json one = {{"first_layer", first}, {"layers", w.has.layers[i]}, {"weight", w.weights[i]}};
    if (w.has.predictions[i] > 0) one["predictions"] = w.has.predictions[i];
    stages.push_back(one);
    first += w.has.layers[i];
  }
  return stages;
}

/// "1, 2 x 30, 0"
template <class T>
std::string runs_text(const std::vector<T>& numbers) {
  std::string text;
  for (std::size_t i = 0, end = 0; i < numbers.size(); i = end) {
    while (end < numbers.size() && numbers[end] == numbers[i]) ++end;
    text += (i > 0 ? ", " : "") + std::to_string(numbers[i]) + (end - i > 1 ? " x " + std::to_string(end - i) : "");
  }
  return text;
}

inline void check_count(const char* name, int given, int found, const char* what) {
  if (given != 0 && given != found)
    throw hp_tool::bad_input(fmt::format("{} {}, but the layout of --check has {} {}", name, given, found, what));
}
inline void check_weights(const split_request& given, int layers) {
  const std::size_t listed = given.weights.size();
  if (listed > 0 && listed != static_cast<std::size_t>(layers))
    throw hp_tool::bad_input(fmt::format("--weights has {} numbers for {} layers", listed, layers));
}

inline int check_layout(const split_request& given) {
  const stage_contents has = read_megatron_layout(given.checked);
  int layers = 0, predictions = 0;
  for (const int n : has.layers) layers += n;
  for (const int n : has.predictions) predictions += n;
  check_count("--layers", given.layers, layers, "layers");
  check_count("--stages", given.stages, has.stages(), "stages");
  check_weights(given, layers);
  const weighed_layers all(given, layers, predictions);
  const weighed_stages stages = all.weigh(has), least = all.weigh(all.contents(all.least(has.stages(), {})));
  const std::vector<std::int64_t> ours = stages.from_heaviest(), theirs = least.from_heaviest();
  const bool is_least = ours[0] == theirs[0];
  std::size_t differs = 0;
  while (differs < ours.size() && ours[differs] == theirs[differs]) ++differs;
  const std::string better = megatron_layout(least.has);
  if (given.as_json) {
    json out = {{"layers", layers}, {"heaviest", ours[0]}, {"lightest", ours.back()}, {"least_heaviest", theirs[0]}};
    out["is_least"] = is_least;
    out["is_least_in_ties"] = differs == ours.size();
    out["stages"] = json_of(stages);
    out["least"] = better;
    hp_tool::print(out);
    return is_least ? 0 : 1;
  }
  fmt::print("{} layers{} in {} stages: {}\n", layers, predictions > 0 ? fmt::format(" and {} MTP", predictions) : "",
             has.stages(), runs_text(has.layers));
  fmt::print("the stages weigh {}; the heaviest {}{}\n", runs_text(stages.weights), ours[0],
             ours.size() > 1 ? fmt::format(", the second-heaviest {}", ours[1]) : "");
  const std::string set = "of all layouts with E first and L last in as many stages, with or without layers, ";
  if (!is_least)
    fmt::print("{}the least has {}: {}\n", set, theirs[0], better);
  else if (differs < ours.size())
    fmt::print("{}none has less; behind the heaviest, one has {} in place of {}: {}\n", set, theirs[differs],
               ours[differs], better);
  else
    fmt::print("{}none has less, nor less behind the heaviest\n", set);
  return is_least ? 0 : 1;
}

inline int split(const split_request& given) {
  if (!given.checked.empty()) return check_layout(given);
  const int layers = given.layers > 0 ? given.layers : static_cast<int>(given.weights.size());
  if (layers == 0) throw hp_tool::bad_input("--layers is missing");
  if (given.stages == 0) throw hp_tool::bad_input("--stages is missing");
  check_weights(given, layers);
  if (layers > most_layers) throw hp_tool::bad_input(fmt::format("there are more than {} layers", most_layers));
  const bool for_torch = given.format == "torch";
  const weighed_layers all(given, layers, 0);
  const hp::stage_split s = all.least(given.stages, {.first = false, .inner = for_torch, .last = for_torch});
  if (!s.ok())
    throw hp_tool::bad_input(fmt::format(
        "{} layers are too few for {} stages of torch, of which the first alone may have none", layers, given.stages));
  const weighed_stages stages = all.weigh(all.contents(s));
  const std::string megatron = megatron_layout(stages.has);
  if (given.as_json) {
    json out = {{"layers", layers}, {"heaviest", s.heaviest}, {"lightest", s.lightest}, {"stages", json_of(stages)}};
    out["megatron"] = megatron;
    const bool has_points =
        std::find(stages.has.layers.begin() + 1, stages.has.layers.end(), 0) == stages.has.layers.end();
    out["torch"] = has_points ? json(torch_split_points(s, given.prefix)) : json();
    hp_tool::print(out);
  } else if (for_torch) {
    const json points = torch_split_points(s, given.prefix);
    std::puts(points.dump(-1, ' ', false, json::error_handler_t::replace).c_str());
  } else {
    std::puts(megatron.c_str());
  }
  return 0;
}

}  // namespace sched
