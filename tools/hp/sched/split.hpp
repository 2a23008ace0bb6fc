// SPDX-License-Identifier: Apache-2.0
#pragma once
// hp sched split: layers in stages, as Megatron and torch take them.

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <hyperparallel/pipeline/stage_split.hpp>

#include "../subcommand.hpp"
#include "list.hpp"

namespace sched {

/// The time of a split grows with their square.
inline constexpr int most_layers = 4096;

struct split_request {
  int layers = 0, stages = 0;
  std::vector<std::int64_t> weights;  ///< one a layer; none: all the same
  std::int64_t embedding = 0, loss = 0;
  std::string format = "megatron", prefix = "layers";
  bool as_json = false;
};

/// "Ett|tt|ttL", the value of Megatron's --pipeline-model-parallel-layout.
inline std::string megatron_layout(const hp::stage_split& s) {
  std::string layout = "E";
  for (int stage = 0; stage < s.stages(); ++stage)
    layout += (stage > 0 ? "|" : "") + std::string(static_cast<std::size_t>(s.layers_of(stage)), 't');
  return layout + "L";
}

/// The layers with which torch's stages begin, but for the first one.
inline std::vector<std::string> torch_split_points(const hp::stage_split& s, const std::string& prefix) {
  std::vector<std::string> points;
  for (int stage = 1; stage < s.stages(); ++stage) points.push_back(prefix + "." + std::to_string(s.first[stage]));
  return points;
}

inline int split(const split_request& given) {
  const int listed = static_cast<int>(given.weights.size()), layers = given.layers > 0 ? given.layers : listed;
  if (layers == 0) throw hp_tool::bad_input("--layers is missing");
  if (given.stages == 0) throw hp_tool::bad_input("--stages is missing");
  if (listed > 0 && listed != layers)
    throw hp_tool::bad_input(fmt::format("--weights has {} numbers for {} layers", listed, layers));
  if (layers > most_layers) throw hp_tool::bad_input(fmt::format("there are more than {} layers", most_layers));
  if (given.stages > layers)
    throw hp_tool::bad_input(fmt::format("{} layers are too few for {} stages", layers, given.stages));
  hp::growing_array<std::int64_t> weights;
  weights.resize(layers, 1);
  for (int i = 0; i < listed; ++i) weights[i] = given.weights[static_cast<std::size_t>(i)];
  weights[0] += given.embedding;
  weights[layers - 1] += given.loss;
  const hp::stage_split s = hp::split_layers(weights, given.stages);
  if (given.as_json) {
    json out = {{"layers", layers}, {"heaviest", s.heaviest}, {"lightest", s.lightest}};
    json& stages = out["stages"] = json::array();
    for (int stage = 0; stage < s.stages(); ++stage)
      stages.push_back({{"first_layer", s.first[stage]}, {"layers", s.layers_of(stage)}});
    out["megatron"] = megatron_layout(s);
    out["torch"] = torch_split_points(s, given.prefix);
    hp_tool::print(out);
  } else if (given.format == "torch") {
    const json points = torch_split_points(s, given.prefix);
    std::puts(points.dump(-1, ' ', false, json::error_handler_t::replace).c_str());
  } else {
    std::puts(megatron_layout(s).c_str());
  }
  return 0;
}

}  // namespace sched
