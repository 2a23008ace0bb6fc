// SPDX-License-Identifier: Apache-2.0
// The plans of models on machines, printed.

#include <hyperparallel/report/format_search.hpp>

#include <chrono>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../../../examples/models/deepseek_v3.hpp"
#include "../../../examples/models/llama3_8b.hpp"
#include "../../../examples/models/qwen3_30b_a3b.hpp"
#include "../../../examples/models/training_graph.hpp"
#include "choice.hpp"
#include "json.hpp"

namespace model_plans {
namespace {

namespace hp = hyperparallel;

using machine = hp::matrix384;
/// Searches for more devices take minutes: without arguments they are left out.
constexpr int most_quick_devices = 16;

/// The least and the most sequences of a micro-batch that are tried; a step of fewer is one micro-batch.
constexpr int least_batch = 32, most_batch = 2048;

/// The plans of one model on one machine.
search plan(const std::string& model, models::graph_builder build, int devices, const choice& c) {
  search s;
  s.model = model;
  s.devices = devices;
  s.sequences = c.sequences > 0 ? c.sequences : devices > most_quick_devices ? 4 * devices : 8 * devices;
  std::vector<hp::graph> graphs;
  for (const int micro_batches : models::micro_batches_of(s.sequences, least_batch, most_batch))
    for (const bool recomputed : {false, true}) {
      graphs.push_back(build(s.sequences / micro_batches, micro_batches, recomputed));
      s.graph.push_back({micro_batches, recomputed});
    }
  hp::search_limits limits;
  limits.reduced = !c.full;
  limits.context = c.context > 0 ? c.context : devices > most_quick_devices || !c.full ? 1 : 4;
  limits.tensor = c.tensor > 0 ? c.tensor : 16;
  limits.pipeline = c.pipeline > 0 ? c.pipeline : devices > most_quick_devices ? 8 : 4;
  const auto start = std::chrono::steady_clock::now();
  s.result = hp::search_strategies(graphs.data(), static_cast<int>(graphs.size()), machine::device, machine::topology,
                                   devices, limits);
  s.took_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!s.result.ok() || !c.accounts) return s;
  const hp::found_plan& best = s.result.plan[0];
  const hp::sharded_program p = hp::partition(graphs[static_cast<std::size_t>(best.graph)], best.strategy);
  s.account = hp::account_of(p, machine::device, hp::on_topology(machine::topology));
  return s;
}

std::string title_of(const search& s) {
  return fmt::format("{} on {} {}, {} sequences of 4096 a step", s.model, s.devices, s.devices == 1 ? "die" : "dies",
                     s.sequences);
}

void print_text(const search& s) {
  std::vector<std::string> names;
  for (const searched_graph& g : s.graph)
    names.push_back(std::to_string(g.micro_batches) + (g.micro_batches == 1 ? " micro-batch" : " micro-batches") +
                    (g.recomputed ? ", recomputed" : ""));
  fmt::print("\n=== {}\n\n{}searched in {:.1f} s\n", title_of(s), hp::told(s.result, names), s.took_seconds);
  if (!s.account) return;
  const hp::found_plan& best = s.result.plan[0];
  if (best.frame.pipeline > 1)
    fmt::print("\nthe account is that of all layers on one stage's devices; {} stages that fill and drain take {}\n",
               best.frame.pipeline, hp::report::to_text(hp::report::duration{best.evaluation.time}));
  fmt::print("\n{}", *s.account);
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
  hp_tool::json searches = hp_tool::json::array();
  for (const planned_model& m : planned_models) {
    if (c.model != m.key && c.model != "all") continue;
    for (const int devices : c.devices > 0 ? std::vector<int>{c.devices} : m.machines)
      if (devices <= most_quick_devices || c.devices > 0 || c.model != "all") {
        const search s = plan(m.name, m.build, devices, c);
        if (c.as_json)
          searches.push_back(json_of(s));
        else if (s.result.ok())
          print_text(s);
        if (s.result.ok()) continue;
        std::fflush(stdout);
        fmt::print(stderr, "hp models: {}: {}\n", title_of(s), why_none(s.result));
        planned = false;
      }
  }
  if (c.as_json) hp_tool::print({{"searches", std::move(searches)}});
  return planned;
}

}  // namespace model_plans
