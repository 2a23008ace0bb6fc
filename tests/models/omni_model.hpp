// SPDX-License-Identifier: Apache-2.0
#pragma once
// A small model of two towers and their fusion, and tables that place its modules on groups of ranks.

#include <hyperparallel/layers.hpp>
#include <hyperparallel/lowering/submodel_program.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>

#include <models/trained_models.hpp>

#include <algorithm>
#include <initializer_list>
#include <random>
#include <string>
#include <vector>

namespace programs {

/// Parameters that two modules read.
enum class shared_parameter { none, table, matrix };

struct omni_shape {
  int micro_batches = 2;
  int tower_layers = 1;
  shared_parameter shared = shared_parameter::none;  ///< the text's table in the fusion; a matrix in both towers
  hp::data_type type = hp::f64;
};

/// "text": an embedding and feed-forward blocks; "vision": patches and blocks; "fusion": their sum, a block, logits, the loss.
constexpr void build_omni(hp::model_builder& m, const omni_shape& s) {
  const int batch = m.dim("batch", 8), sequence = m.dim("seq", 4), hidden = m.dim("hidden", 8),
            vocabulary = m.dim("vocab", 16), values = m.dim("patch_values", 6);
  const int tokens = m.index_input("tokens", {batch, sequence}), labels = m.index_input("labels", {batch, sequence});
  const int image = m.input("image", {batch, sequence, values});
  const int matrix = s.shared == shared_parameter::matrix ? m.parameter("shared.weight", {hidden, hidden}) : -1;
  const hp::gelu_layer block{.width = 16};
  const auto tower = [&](int x) {
    if (matrix >= 0) x = m.contract("projection", "*a,ab->*b", x, matrix);
    return m.repeat("layers", s.tower_layers, x,
                    [&](hp::model_builder& b, int y) { return b.sum("residual", y, block(b, y)); });
  };
  int table = -1;
  const int read = m.scope("text", [&] {
    table = m.parameter("embedding.weight", {vocabulary, hidden});
    return tower(m.apply<hp::ops::embed>("embedding", {tokens, table}));
  });
  const int seen = m.scope("vision", [&] { return tower(hp::linear_layer{"patch", {hidden}}(m, image)); });
  m.loss(m.scope("fusion", [&] {
    const int x = m.sum("joined", read, seen), y = m.sum("residual", x, block(m, x));
    const int logits = s.shared == shared_parameter::table ? m.contract("logits", "*h,vh->*v", y, table)
                                                           : hp::linear_layer{"logits", {vocabulary}}(m, y);
    return hp::mean_cross_entropy(m, logits, labels);
  }));
}

/// The graph of a training step, with what the table's frozen modules read frozen.
constexpr hp::graph omni_graph(const omni_shape& s, const hp::group_table* frozen_by = nullptr) {
  hp::model_builder m({.activation = s.type, .parameter = s.type, .unrolled = true});
  build_omni(m, s);
  if (frozen_by != nullptr) hp::freeze_modules(m.graph, *frozen_by);
  return trained(m, {.unrolled = true, .micro_batches = s.micro_batches, .type = s.type});
}

/// A group of neighbouring ranks, the modules on it, and its strategy.
struct omni_group {
  const char* name = "";
  const char* strategy = "single";
  int ranks = 1;
  std::initializer_list<const char*> modules{};
};

/// The groups one behind another; a module whose name begins with '!' is frozen.
constexpr hp::submodel_plan omni_plan(std::initializer_list<omni_group> groups) {
  hp::submodel_plan plan;
  for (const omni_group& g : groups) {
    hp::add_group(plan.table, g.name, hp::rank_range{plan.table.world, plan.table.world + g.ranks - 1});
    plan.table.world += g.ranks;
    plan.strategy.push(hp::strategy_called(g.strategy, g.ranks).strategy);
    for (const char* name : g.modules) {
      const bool frozen = name[0] == '!';
      plan.table.placed[hp::add_module(plan.table, frozen ? name + 1 : name, g.name)].frozen = frozen;
    }
  }
  return plan;
}

/// The modules of towers of two layers, cut smaller, on up to five groups of any order; some that are not the fusion frozen.
inline hp::submodel_plan random_omni_plan(std::mt19937& random) {
  std::vector<std::vector<const char*>> modules{
      {"fusion.*"},         {"text.embedding*", "text.projection"}, {"text.layers.0.*"},
      {"text.layers.1.*"},  {"vision.patch", "vision.projection"},  {"vision.layers.0.*"},
      {"vision.layers.1.*"}};
  std::shuffle(modules.begin(), modules.end(), random);
  constexpr struct {
    const char* name;
    int ranks;
  } strategies[] = {{"single", 1}, {"single", 2}, {"dp", 2},    {"dp", 4},    {"tp", 2},    {"tp", 4},
                    {"tp-sp", 2},  {"zero1", 2},  {"zero2", 4}, {"zero3", 2}, {"dp-tp", 4}, {"zero3-tp", 4}};
  const auto below = [&](std::size_t n) { return random() % n; };
  const std::size_t groups = 1 + below(5);
  hp::submodel_plan plan;
  for (std::size_t g = 0; g < groups; ++g) {
    const auto& s = strategies[below(std::size(strategies))];
    hp::add_group(plan.table, ("g" + std::to_string(g)).c_str(),
                  hp::rank_range{plan.table.world, plan.table.world + s.ranks - 1});
    plan.table.world += s.ranks;
    plan.strategy.push(hp::strategy_called(s.name, s.ranks).strategy);
  }
  for (std::size_t m = 0; m < modules.size(); ++m) {
    const std::size_t group = m < groups ? m : below(groups);
    const int at = hp::add_module(plan.table, ("m" + std::to_string(m)).c_str(), ("g" + std::to_string(group)).c_str());
    for (const char* pattern : modules[m]) plan.table.placed[at].operators.push(pattern);
    plan.table.placed[at].frozen = modules[m][0][0] != 'f' && below(4) == 0;
  }
  return plan;
}

}  // namespace programs
