// SPDX-License-Identifier: Apache-2.0
//
// Plans the training of Llama-3-8B, Qwen3-30B-A3B and DeepSeek-V3 on a machine of 8 dies, one of 16, or a supernode.
//
//   plan_models                        all of them on 8 and on 16 dies, in the reduced space
//   plan_models --model llama --devices 16 --full --sequences 128
//
// For each: the plans that a search found beside the best strategy with a name, then the winner's account: memory of a
// die by class, operations, bytes by link level, times with what is exposed. Where there is no plan: one line on the
// error stream that says why. Exit status: 0 where every model has a plan on every machine that was asked for, else 1.

#include <hyperparallel/report/format_search.hpp>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "command_line.hpp"
#include "models/deepseek_v3.hpp"
#include "models/llama3_8b.hpp"
#include "models/qwen3_30b_a3b.hpp"
#include "models/training_graph.hpp"

namespace {

namespace hp = hyperparallel;

using machine = hp::matrix384;
constexpr int most_devices = 4096;

struct choice {
  std::string model = "all";
  int devices = 0;    ///< 0: all machines
  int sequences = 0;  ///< in a step of training; 0: eight a die, on the supernode four
  bool full = false, accounts = true;
  int tensor = 0, context = 0, pipeline = 0;
};

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

int main(int argc, char** argv) {
  CLI::App app{"Plans the training of large models.", "plan_models"};
  choice c;
  app.add_option("--model", c.model, "(default: all)")->check(CLI::IsMember({"llama", "qwen", "deepseek", "all"}));
  app.add_option("--devices", c.devices, "dies; 0: 8 and 16; more than 16 of a supernode take minutes")
      ->check(command_line::whole(0, most_devices));
  app.add_option("--sequences", c.sequences, "of 4096 tokens in a step of training; 0: eight a die, on many dies four")
      ->check(command_line::whole(0, 1 << 20));
  const std::pair<const char*, int*> degrees[] = {
      {"tensor", &c.tensor}, {"context", &c.context}, {"pipeline", &c.pipeline}};
  for (const auto& [name, degree] : degrees)
    app.add_option(std::string("--") + name, *degree, std::string("largest ") + name + " degree; 0: by the machine")
        ->check(command_line::whole(0, most_devices));
  app.add_flag("--full", c.full, "the full space");
  app.add_flag("!--no-accounts", c.accounts, "tables of plans only");
  return command_line::run(app, argc, argv, [&] {
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
    return planned ? 0 : 1;
  });
}
