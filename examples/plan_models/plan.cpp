// SPDX-License-Identifier: Apache-2.0
// The plans of one model on one machine, printed.

#include <hyperparallel/report/format_search.hpp>

#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "../models/deepseek_v3.hpp"
#include "../models/llama3_8b.hpp"
#include "../models/qwen3_30b_a3b.hpp"
#include "../models/training_graph.hpp"
#include "choice.hpp"

namespace plan_models {
namespace {

namespace hp = hyperparallel;

using machine = hp::matrix384;
/// With so many sequences in a micro-batch.
template <template <hp::extent_t, hp::extent_t> class Model>
std::vector<models::sized_graph> graphs_of() {
  return models::training_graphs<Model, 32, 64, 128, 256, 512, 1024, 2048>();
}

/// False, after one line on the error stream, where there is no plan.
bool plan(const std::string& model, const std::vector<models::sized_graph>& sizes, int devices, const choice& c) {
  const int sequences = c.sequences > 0 ? c.sequences : devices > 16 ? 4 * devices : 8 * devices;
  std::vector<hp::graph> graphs;
  std::vector<std::string> names;
  for (const models::sized_graph& s : sizes) {
    const int micro_batches = models::micro_batches_of(sequences, s);
    if (micro_batches == 0) continue;
    for (const bool recomputed : {false, true}) {
      graphs.push_back(s.build(micro_batches, recomputed));
      names.push_back(std::to_string(micro_batches) + (micro_batches == 1 ? " micro-batch" : " micro-batches") +
                      (recomputed ? ", recomputed" : ""));
    }
  }
  const std::string title =
      fmt::format("{} on {} {}, {} sequences of 4096 a step", model, devices, devices == 1 ? "die" : "dies", sequences);
  const auto refuse = [&](const std::string& cause) {
    std::fflush(stdout);
    fmt::print(stderr, "plan_models: {}: {}\n", title, cause);
    return false;
  };
  if (graphs.empty()) return refuse(models::no_graph_text(sequences, sizes));
  hp::search_limits limits;
  limits.reduced = !c.full;
  limits.context = c.context > 0 ? c.context : devices > 16 || !c.full ? 1 : 4;
  limits.tensor = c.tensor > 0 ? c.tensor : 16;
  limits.pipeline = c.pipeline > 0 ? c.pipeline : devices > 16 ? 8 : 4;
  const auto start = std::chrono::steady_clock::now();
  const hp::search_result r = hp::search_strategies(graphs.data(), static_cast<int>(graphs.size()), machine::device,
                                                    machine::topology, devices, limits);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  if (!r.ok()) return refuse(hp::report::cause_text(r.certificate));
  fmt::print("\n=== {}\n\n{}searched in {:.1f} s\n", title, hp::told(r, names), took.count());
  if (!c.accounts) return true;
  const hp::found_plan& best = r.plan[0];
  const hp::sharded_program p = hp::partition(graphs[static_cast<std::size_t>(best.graph)], best.strategy);
  if (best.frame.pipeline > 1)
    fmt::print("\nthe account is that of all layers on one stage's devices; {} stages that fill and drain take {}\n",
               best.frame.pipeline, hp::report::to_text(hp::report::duration{best.evaluation.time}));
  fmt::print("\n{}", hp::account_of(p, machine::device, hp::on_topology(machine::topology)));
  return true;
}

}  // namespace

bool plan_all(const choice& c) {
  const std::vector<int> machines = c.devices > 0 ? std::vector<int>{c.devices} : std::vector<int>{8, 16};
  bool planned = true;
  for (const int devices : machines) {
    const auto each = [&](const char* key, const char* model, const std::vector<models::sized_graph>& sizes) {
      if (c.model == key || c.model == "all") planned = plan(model, sizes, devices, c) && planned;
    };
    each("llama", "Llama-3-8B", graphs_of<models::llama3_8b>());
    each("qwen", "Qwen3-30B-A3B", graphs_of<models::qwen3_30b_a3b>());
    each("deepseek", "DeepSeek-V3", graphs_of<models::deepseek_v3>());
  }
  return planned;
}

}  // namespace plan_models
