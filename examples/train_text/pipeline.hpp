// SPDX-License-Identifier: Apache-2.0
#pragma once
// What --strategy, --stages, --schedule and --chunks mean: the strategy within a stage, and the pipeline of the stages.
//
// Any strategy becomes one of a pipeline by --stages. A name with "pp" is the strategy without it: dp-tp-pp is dp-tp in each
// stage. --ranks are those of all groups together. --groups dp:4,tp:2 gives each group a strategy and ranks of its own.

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

#include <hyperparallel/lowering/pipelined_program.hpp>
#include <hyperparallel/pipeline/schedule_list.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>

#include "options.hpp"

namespace train_text {

namespace hp = hyperparallel;

/// Strategy and pipeline; without stages there is no pipeline.
struct chosen_strategy {
  hp::strategy_value strategy{};
  hp::pipeline_value pipeline{};
  bool is_pipeline = false;
};

/// "dp-tp" of "dp-tp-pp"; "single" of "pp".
inline std::string without_pipeline(const std::string& name) {
  std::string rest;
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('-', begin), name.size());
    if (const std::string word = name.substr(begin, end - begin); word != "pp")
      rest += (rest.empty() ? "" : "-") + word;
    begin = end + 1;
  }
  return rest.empty() ? "single" : rest;
}

/// Experts and states of the optimizer on the data axis, tensors on an inner one: of no name without a pipeline.
inline hp::strategy_result zero1_tp_ep(int ranks, std::vector<int> degrees) {
  if (degrees.empty()) degrees = ranks % 2 == 0 ? std::vector{ranks / 2, 2} : std::vector{ranks, 1};
  hp::strategy_result r = hp::strategy_called("ep-tp", ranks, degrees);
  if (r.status.code != hp::strategy_code::ok) return r;
  const hp::mesh_value mesh = r.strategy.mesh;
  r.strategy = {};
  r.strategy.name = hp::short_text("zero1-tp-ep");
  r.strategy.mesh = mesh;
  hp::add_expert_parallel(r.strategy, "ep");
  hp::add_zero(r.strategy, "ep", 1);
  hp::add_tensor_parallel(r.strategy, "tp");
  return r;
}

inline hp::strategy_value strategy_of(const std::string& name, int ranks, const std::vector<int>& degrees) {
  const hp::strategy_result r =
      name == "zero1-tp-ep" ? zero1_tp_ep(ranks, degrees) : hp::strategy_called(name.c_str(), ranks, degrees);
  if (r.status.code == hp::strategy_code::name_is_unknown)
    throw std::invalid_argument("no strategy is called \"" + name + "\": --list shows them");
  if (r.status.code != hp::strategy_code::ok)
    throw std::invalid_argument("strategy \"" + name + "\": " + std::to_string(ranks) +
                                " ranks are not the product of its degrees, " + std::to_string(r.status.pieces));
  return r.strategy;
}

/// "dp:4,tp:2".
inline std::string name_of_groups(const std::vector<std::string>& groups) {
  std::string all;
  for (const std::string& one : groups) all += (all.empty() ? "" : ",") + one;
  return all;
}

/// The strategies of "dp:4", "tp:2".
inline std::vector<hp::strategy_value> strategies_of(const std::vector<std::string>& groups) {
  std::vector<hp::strategy_value> all;
  for (const std::string& one : groups) {
    const std::size_t colon = one.find(':');
    const std::string count = colon == std::string::npos ? "" : one.substr(colon + 1);
    const bool counts =
        !count.empty() && count.size() < 4 && count.find_first_not_of("0123456789") == std::string::npos;
    if (!counts || std::stoi(count) < 1)
      throw std::invalid_argument("--groups: \"" + one + "\" is no strategy with ranks, as dp:4");
    all.push_back(strategy_of(one.substr(0, colon), std::stoi(count), {}));
  }
  return all;
}

/// Throws std::invalid_argument, naming the sizes.
inline chosen_strategy chosen(const train_options& o) {
  chosen_strategy c;
  const std::string within = without_pipeline(o.strategy);
  const std::vector<hp::strategy_value> groups = strategies_of(o.groups);
  c.is_pipeline = within != o.strategy || !o.stages.empty() || !groups.empty();
  if (!c.is_pipeline) {
    c.strategy = strategy_of(o.strategy, o.ranks, o.degrees);
    return c;
  }
  const hp::named_schedule* const schedule = hp::schedule_called(o.schedule.c_str());
  if (schedule == nullptr)
    throw std::invalid_argument("no schedule is called \"" + o.schedule + "\": --list shows them");
  const int chunks = o.chunks > 0 ? o.chunks : schedule->fixed_chunks > 0 ? schedule->fixed_chunks : 1;
  const bool listed = o.stages.size() > 1;
  const int without = static_cast<int>(groups.empty() ? 2 : groups.size()) * chunks;
  const int stages = listed ? static_cast<int>(o.stages.size()) : o.stages.empty() ? without : o.stages[0];
  if (!groups.empty() && stages != without)
    throw std::invalid_argument(std::to_string(stages) + " stages, " + std::to_string(chunks) +
                                " a rank: --groups names " + std::to_string(groups.size()) + " groups");
  if (groups.empty() && (stages % chunks != 0 || o.ranks % (stages / chunks) != 0))
    throw std::invalid_argument(std::to_string(stages) + " stages, " + std::to_string(chunks) +
                                " a rank: " + std::to_string(o.ranks) + " ranks are no multiple of " +
                                std::to_string((stages + chunks - 1) / chunks) + " groups");
  c.pipeline = {.schedule = schedule, .ranks = stages / chunks, .chunks = chunks, .accumulates_in_any_order = true};
  for (std::size_t i = 0; listed && i < o.stages.size(); ++i) c.pipeline.layers.push(o.stages[i]);
  for (const hp::strategy_value& one : groups) c.pipeline.strategy.push(one);
  c.strategy = groups.empty() ? strategy_of(within, o.ranks / c.pipeline.ranks, o.degrees) : groups[0];
  return c;
}

}  // namespace train_text
