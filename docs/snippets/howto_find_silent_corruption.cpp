// SPDX-License-Identifier: Apache-2.0
// docs/how-to/find-silent-corruption.md
#undef NDEBUG
#include <cassert>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <string>

#include <hyperparallel/checkpoint/run_checkpoints.hpp>
#include <hyperparallel/exec/failure.hpp>
#include <hyperparallel/graph/gradient.hpp>
#include <hyperparallel/graph/optimizer.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/world/model_run.hpp>

#include "../../examples/models/small_moe.hpp"

namespace hp = hyperparallel;

int main() {
  hp::model_builder m({.unrolled = true});
  models::build_small_moe(m, {.batch = 4, .sequence = 8, .layers = 1, .hidden = 16});
  hp::differentiate(m.graph);
  hp::append_optimizer(m.graph, {});
  const hp::graph& graph = m.graph;
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "hyperparallel_silent_corruption";
  std::filesystem::remove_all(folder);
  std::byte* memory = nullptr;

  hp::model_run_options options;
  options.program.checks = {.tasks = true, .moves = true, .state = true};
  hp::model_run<float> run(graph, hp::strategy_called("zero3", 4).strategy, options);
  hp::run_checkpoints kept(folder.string(), run);
  const auto feed = [&](int) { run.set_random_inputs(static_cast<std::uint64_t>(run.steps())); };

  int found = 0;
  while (run.steps() < 4) {
    try {
      run.train_step(feed);
      kept.save();
    } catch (const hp::task_error& e) {  // e.what(): rank, task, tensor
      std::fprintf(stderr, "%s\n", e.what());
      kept.load();
      ++found;
    }
    const int value = run.world().home_of(run.world().tensor("head.norm.weight"));
    if (memory == nullptr && run.steps() == 2) {  // a particle hits the memory of rank 1
      memory = const_cast<std::byte*>(run.world().block_of(value, 1));
      memory[3] ^= std::byte{64};
    }
  }
  assert(found == 1 && memory != nullptr);
  std::filesystem::remove_all(folder);
}
