// SPDX-License-Identifier: Apache-2.0
// docs/how-to/train-an-omni-modal-model.md
#undef NDEBUG
#include <cassert>
#include <cstdint>
#include <utility>

#include <hyperparallel/groups/split_choice.hpp>
#include <hyperparallel/hardware/gpu_presets.hpp>
#include <hyperparallel/price/module_times.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/train.hpp>
#include <hyperparallel/world/model_run.hpp>

#include "../../examples/models/omni_modal.hpp"

namespace hp = hyperparallel;

void towers() {
  hp::group_table t;
  t.world = 8;
  hp::add_group(t, "language", hp::rank_range{0, 1});
  hp::add_group(t, "seeing", hp::rank_range{2, 5});
  hp::add_group(t, "joining", hp::rank_range{6, 7});
  hp::add_module(t, "text", "language");
  hp::add_module(t, "audio", "language");
  hp::add_module(t, "vision", "seeing");
  hp::add_module(t, "fusion", "joining");
  t.placed[2].frozen = true;  // the tower of images is not trained

  hp::model_builder m({.unrolled = true});
  models::build_omni_modal(m, {});
  assert(hp::freeze_modules(m.graph, t).ok());  // before gradients are made
  const hp::graph g = hp::training_graph(std::move(m.graph), {}, {.micro_batches = 4});

  hp::submodel_plan plan{t, {}};
  for (const auto& [name, ranks] : {std::pair{"dp", 2}, std::pair{"zero2", 4}, std::pair{"tp", 2}})
    plan.strategy.push(hp::strategy_called(name, ranks).strategy);
  hp::model_run<float> run(g, plan);
  run.train_step([&](int micro) { run.set_random_inputs(static_cast<std::uint64_t>(micro)); });

  const auto loads = hp::loads_of_modules(g, t, 8, hp::h100::device, [](int ranks) {
    return hp::strategy_called(ranks == 1 ? "single" : "zero1", ranks).strategy;
  });
  const hp::device_split split = hp::split_devices(loads, 8);
  assert(hp::is_least_split(loads, 8, split));
  const hp::lowered_program l =
      hp::lower_training(run.world().program(), {.topology = hp::on_topology(hp::h100::topology)});
  const hp::part_times clock = hp::times_of_parts(l, hp::h100::device);  // makespan, idle of each group and of all
  assert(clock.ok() && clock.idle() < 1'000'000);
}

void choice() {
  hp::growing_array<hp::compiled_split> compiled;
  compiled.push({{}, {}, 110});
  compiled.push({{}, {}, 115});
  for (const int devices : {1, 4, 1, 2}) compiled[0].devices.push(devices);
  for (const int devices : {1, 1, 4, 2}) compiled[1].devices.push(devices);
  for (const int room : {512, 576, 200, 512}) compiled[0].room.push(room);  // tokens, patches, frames, tokens
  for (const int room : {512, 160, 2000, 512}) compiled[1].room.push(room);
  hp::growing_array<hp::extent_t> seen;
  for (const int n : {400, 150, 1800, 400}) seen.push(n);
  const hp::split_choice c = hp::choose_split(compiled, seen, {.split = 0, .steps = 20, .move = 30});
  assert(c.split == 1 && c.time == 20 * 115 + 30);
}

int main() {
  towers();
  choice();
}
