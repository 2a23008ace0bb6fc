// SPDX-License-Identifier: Apache-2.0
#pragma once
// Placements of the three towers and their fusion by name: which ranks run which module, how, and what is not trained.
// The model knows nothing of them.

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <hyperparallel/hardware/gpu_presets.hpp>
#include <hyperparallel/lowering/submodel_program.hpp>
#include <hyperparallel/price/module_times.hpp>
#include <hyperparallel/step/training_step.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/world/program_error.hpp>
#include <hyperparallel/world/refused_submodels.hpp>

#include "../models/omni_modal.hpp"

namespace omni_modal {

namespace hp = hyperparallel;

/// Ranks 0 to `ranks` - 1 of a group are the next ones of the world; '!' before a module says that it is frozen.
struct placed_group {
  std::string name{};
  std::string strategy{};
  int ranks = 1;
  std::vector<std::string> modules{};
};

inline hp::submodel_plan plan_of(const std::vector<placed_group>& groups) {
  hp::submodel_plan plan;
  for (const placed_group& g : groups) {
    const int first = std::exchange(plan.table.world, plan.table.world + g.ranks);
    hp::add_group(plan.table, g.name.c_str(), hp::rank_range{first, plan.table.world - 1});
    plan.strategy.push(hp::strategy_called(g.strategy.c_str(), g.ranks).strategy);
    for (const std::string& m : g.modules) {
      const bool frozen = m[0] == '!';
      plan.table.placed[hp::add_module(plan.table, m.c_str() + (frozen ? 1 : 0), g.name.c_str())].frozen = frozen;
    }
  }
  return plan;
}

struct named_placement {
  const char* name;
  const char* about;
  std::vector<placed_group> groups;  ///< none: by load
};

inline const std::vector<named_placement>& placements() {
  static const std::vector<named_placement> all{
      {"one-group", "all modules on all ranks", {{"all", "zero1", 8, {"text", "vision", "audio", "fusion"}}}},
      {"apart",
       "a group of two ranks for each module",
       {{"text", "zero1", 2, {"text"}},
        {"vision", "zero1", 2, {"vision"}},
        {"audio", "zero1", 2, {"audio"}},
        {"fusion", "zero1", 2, {"fusion"}}}},
      {"by-load", "groups as large as the work of their modules asks for", {}},
      {"shared",
       "the towers of text and sound on one group",
       {{"language", "dp", 2, {"text", "audio"}}, {"vision", "zero2", 4, {"vision"}}, {"fusion", "tp", 2, {"fusion"}}}},
      {"unequal",
       "meshes that are not alike: tensors, data, both",
       {{"text", "single", 1, {"text"}},
        {"vision", "tp", 2, {"vision"}},
        {"audio", "single", 1, {"audio"}},
        {"fusion", "dp-tp", 4, {"fusion"}}}},
      {"frozen-vision",
       "the tower of images is not trained",
       {{"text", "dp", 2, {"text"}},
        {"vision", "tp", 2, {"!vision"}},
        {"audio", "zero1", 2, {"audio"}},
        {"fusion", "zero3", 2, {"fusion"}}}},
      {"frozen-towers",
       "the fusion alone is trained",
       {{"towers", "dp", 4, {"!text", "!vision", "!audio"}}, {"fusion", "zero3-tp", 4, {"fusion"}}}}};
  return all;
}

/// The graph of a step of training; what the table's frozen modules read is frozen. Throws program_error where the table does
/// not fit the model.
inline hp::graph training_step_of(const models::omni_sizes& sizes, int micro_batches, const hp::group_table& table,
                                  hp::data_type activation, hp::data_type parameter) {
  hp::model_builder m({.activation = activation, .parameter = parameter, .unrolled = true});
  models::build_omni_modal(m, sizes);
  const hp::submodel_status s = table.group.empty() ? hp::submodel_status{} : hp::freeze_modules(m.graph, table);
  if (!s.ok()) throw hp::program_error(hp::text_of_refusal(m.graph, table, s));
  return hp::training_graph(std::move(m.graph), {}, {.micro_batches = micro_batches});
}

/// The four modules, on no group.
inline hp::group_table modules_alone() {
  hp::group_table t;
  for (const char* name : models::omni_modules) hp::add_module(t, name, "all");
  return t;
}

inline hp::strategy_value zero1_of(int ranks) {
  return hp::strategy_called(ranks == 1 ? "single" : "zero1", ranks).strategy;
}

/// A group for each module, as large as its work asks for: no split of the devices has a lesser longest time. Throws
/// std::invalid_argument.
inline hp::submodel_plan plan_by_load(const hp::graph& g, int devices, const hp::device_value& device) {
  const auto loads = hp::loads_of_modules(g, modules_alone(), devices, device, zero1_of);
  const hp::device_split s = hp::split_devices(loads, devices);
  if (!s.status.ok()) throw std::invalid_argument(std::string("no split by load: ") + hp::name_of(s.status.code));
  hp::submodel_plan plan{hp::groups_of_split(s, models::omni_modules, devices), {}};
  for (const int n : s.devices) plan.strategy.push(zero1_of(n));
  return plan;
}

/// The placement of that name; `step` is a step of training of which nothing is frozen. Throws std::invalid_argument with the
/// names that there are.
inline hp::submodel_plan placement_called(const std::string& name, const hp::graph& step) {
  std::string known;
  for (const named_placement& p : placements()) {
    known += (known.empty() ? "" : ", ") + std::string(p.name);
    if (name == p.name) return p.groups.empty() ? plan_by_load(step, 8, hp::h100::device) : plan_of(p.groups);
  }
  throw std::invalid_argument("no placement is called \"" + name + "\"; known: " + known);
}

}  // namespace omni_modal
