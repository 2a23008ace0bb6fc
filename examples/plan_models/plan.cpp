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
/// Searches for more devices take minutes: without arguments they are left out.
constexpr int most_quick_devices = 16;

/// The least and the most sequences of a micro-batch that are tried; a step of fewer is one micro-batch.
constexpr int least_batch = 32, most_batch = 2048;

/// False, after one line on the error stream, where there is no plan.
bool plan(const std::string& model, models::graph_builder build, int devices, const choice& c) {
  const int sequences = c.sequences > 0 ? c.sequences : devices > most_quick_devices ? 4 * devices : 8 * devices;
  std::vector<hp::graph> graphs;
  std::vector<std::string> names;
  for (const int micro_batches : models::micro_batches_of(sequences, least_batch, most_batch))
    for (const bool recomputed : {false, true}) {
      graphs.push_back(build(sequences / micro_batches, micro_batches, recomputed));
      names.push_back(std::to_string(micro_batches) + (micro_batches == 1 ? " micro-batch" : " micro-batches") +
                      (recomputed ? ", recomputed" : ""));
    }
  const std::string title =
      fmt::format("{} on {} {}, {} sequences of 4096 a step", model, devices, devices == 1 ? "die" : "dies", sequences);
  hp::search_limits limits;
  limits.reduced = !c.full;
  limits.context = c.context > 0 ? c.context : devices > most_quick_devices || !c.full ? 1 : 4;
  limits.tensor = c.tensor > 0 ? c.tensor : 16;
  limits.pipeline = c.pipeline > 0 ? c.pipeline : devices > most_quick_devices ? 8 : 4;
  const auto start = std::chrono::steady_clock::now();
  const hp::search_result r = hp::search_strategies(graphs.data(), static_cast<int>(graphs.size()), machine::device,
                                                    machine::topology, devices, limits);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  if (!r.ok()) {
    std::fflush(stdout);
    fmt::print(stderr, "plan_models: {}: {}\n", title,
               r.hardware.ok() ? hp::report::cause_text(r.certificate) : hp::to_text(r.hardware));
    return false;
  }
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
  struct planned_model {
    const char *key, *name;
    models::graph_builder build;
    std::vector<int> machines;  ///< on which it is planned where no other is asked for: it fits
  };
  const planned_model planned_models[] = {
      {"llama", "Llama-3-8B", models::sized_training_graph<models::llama3_8b>, {8, 16}},
      {"qwen", "Qwen3-30B-A3B", models::sized_training_graph<models::qwen3_30b_a3b>, {16}},
      {"deepseek", "DeepSeek-V3", models::sized_training_graph<models::deepseek_v3>, {256}},
  };
  bool planned = true;
  for (const planned_model& m : planned_models) {
    if (c.model != m.key && c.model != "all") continue;
    for (const int devices : c.devices > 0 ? std::vector<int>{c.devices} : m.machines)
      if (devices <= most_quick_devices || c.devices > 0 || c.model != "all")
        planned = plan(m.name, m.build, devices, c) && planned;
  }
  return planned;
}

}  // namespace plan_models
