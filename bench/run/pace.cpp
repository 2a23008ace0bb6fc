// SPDX-License-Identifier: Apache-2.0
// A run on threads at the pace of simulated hardware against the clock of its plan.
//
//   bench_pace [rounds] [seconds of a step] [--pipelines | --tiles | --groups]      default: 5 1
//
// Six programs of one model on 4 ranks: strategies, or schedules of a pipeline of 4 groups of one rank and 8 micro-batches; or
// three strategies of a model whose moves take half as long as its operators, without tiles and in tiles; or towers and their
// fusion on groups of 8 ranks, under each placement of examples/omni_modal. Every task lasts its price on an H100, stretched so that the fastest step lasts the
// seconds given, and occupies no core meanwhile; its work is done, too. In each round all programs run a step, one after the
// other. Ratios are the median of measured over clock; the bar is 10 %, and that the order of the programs is that of their clocks.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <hyperparallel/hardware/gpu_presets.hpp>
#include <hyperparallel/pipeline/schedule_list.hpp>
#include <hyperparallel/price/clock.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/world/model_run.hpp>

#include "../../examples/command_line.hpp"
#include "../../examples/omni_modal/placements.hpp"
#include "../../tests/models/trained_models.hpp"
#include "../../tests/world/training_models.hpp"

namespace {

namespace hp = hyperparallel;

constexpr int ranks = 4;

struct paced_program {
  std::string name;
  hp::sharded_program program{};
  std::vector<std::string> tiles{};
  hp::run_times clock{};
  std::unique_ptr<hp::model_run<float>> run{};
  std::vector<double> seconds{};
};

double median(std::vector<double> all) {
  std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2), all.end());
  return all[all.size() / 2];
}

double seconds_of_step(hp::model_run<float>& run, int step) {
  const auto begin = std::chrono::steady_clock::now();
  run.train_step([&](int micro) { run.set_random_inputs(static_cast<std::uint64_t>(16 * step + micro)); });
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

std::vector<paced_program> strategies() {
  const hp::graph g = training::small_step(1, 2);
  std::vector<paced_program> all;
  for (const char* const name : {"dp", "hsdp3", "ep", "tp", "ring", "tp-sp"})
    all.push_back({name, hp::partitioned(g, hp::strategy_called(name, ranks).strategy)});
  return all;
}

std::vector<paced_program> pipelines() {
  const hp::graph g = training::small_step(8, 8);
  std::vector<paced_program> all;
  for (const char* const name : {"GPipe", "1F1B", "Interleaved1F1B", "ZB-H1", "ZB-V", "V-Min"}) {
    const hp::named_schedule& s = *hp::schedule_called(name);
    const int chunks = s.fixed_chunks > 0 ? s.fixed_chunks : s.name == std::string("Interleaved1F1B") ? 2 : 1;
    all.push_back({name, hp::partitioned(g, hp::strategy_called("single", 1).strategy,
                                         {.schedule = &s, .ranks = ranks, .chunks = chunks})});
  }
  return all;
}

std::vector<paced_program> groups() {
  const auto step_of = [](const hp::group_table& t) {
    return omni_modal::training_step_of({}, 8, t, hp::f32, hp::f32);
  };
  std::vector<paced_program> all;
  for (const omni_modal::named_placement& each : omni_modal::placements()) {
    const hp::submodel_plan plan = omni_modal::placement_called(each.name, step_of({}));
    all.push_back({each.name, hp::partitioned(step_of(plan.table), plan)});
  }
  return all;
}

/// Experts over links of 8 GB/s a device.
std::vector<paced_program> tiles() {
  const hp::graph g = programs::moe_graph({.unrolled = true}, {.batch = 8,
                                                               .sequence = 64,
                                                               .vocabulary = 64,
                                                               .layers = 2,
                                                               .hidden = 128,
                                                               .query_heads = 4,
                                                               .key_heads = 4,
                                                               .head_dim = 32,
                                                               .experts = 16,
                                                               .top_k = 2,
                                                               .expert_width = 256});
  std::vector<paced_program> all;
  for (const char* const name : {"ep", "ep-tp", "dp-ep"})
    for (const bool tiled : {false, true}) {
      all.push_back(
          {name + std::string(tiled ? ", tiles" : ""), hp::partitioned(g, hp::strategy_called(name, ranks).strategy)});
      if (tiled) all.back().tiles = {"*.experts.*"};
    }
  return all;
}

struct paced_hardware {
  hp::device_value device = hp::h100::device;
  hp::interconnect links = hp::on_topology(hp::h100::topology);
};
/// Operators take time by their operations and bytes alone, so that those of a small model are like those of a large one.
paced_hardware slow_hardware() {
  paced_hardware h;
  h.device.task_overhead = 0;
  h.device.tile = {};
  h.links = hp::on_topology(hp::topology_of(hp::link_level{"links", ranks, 250 * hp::gigabyte, 0}));
  return h;
}

int measure(int rounds, double seconds, std::vector<paced_program> programs, const paced_hardware& hardware) {
  const hp::interconnect& links = hardware.links;
  hp::extent_t fastest = hp::longest_time;
  for (paced_program& one : programs) {
    hp::lowering_options how{.topology = links};
    for (const std::string& pattern : one.tiles) how.tiles.push(pattern.c_str());
    how.step_duration =
        hp::prices_of_steps(one.program, hp::kinds_of_moves(one.program, links), hardware.device).duration;
    one.clock = hp::simulate(hp::lower_training(one.program, how), hardware.device);
    fastest = std::min(fastest, one.clock.makespan);
  }
  const int all_ranks = hp::ranks_of(programs[0].program);
  const auto slower = static_cast<std::int64_t>(seconds * 1e12 / static_cast<double>(fastest));
  for (paced_program& one : programs) {
    hp::model_run_options options;
    options.program.topology = links;
    options.program.pace = {hardware.device, slower};
    options.program.tiles = one.tiles;
    one.run = std::make_unique<hp::model_run<float>>(std::move(one.program), options);
  }
  for (int round = 0; round <= rounds; ++round)
    for (paced_program& one : programs) {
      const double taken = seconds_of_step(*one.run, round);
      if (round > 0) one.seconds.push_back(taken);  // the first one touches memory
    }

  std::printf("%d ranks, %lld times as slow as an H100\n", all_ranks, static_cast<long long>(slower));
  std::printf("%-16s %10s %10s %8s\n", "program", "clock, s", "run, s", "ratio");
  bool close = true;
  for (const paced_program& one : programs) {
    const double clock = static_cast<double>(one.clock.makespan) * static_cast<double>(slower) * 1e-12;
    const double run = median(one.seconds);
    std::printf("%-16s %10.4f %10.4f %8.3f\n", one.name.c_str(), clock, run, run / clock);
    close = close && run / clock > 0.9 && run / clock < 1.1;
  }
  std::sort(programs.begin(), programs.end(),
            [](const paced_program& a, const paced_program& b) { return a.clock.makespan < b.clock.makespan; });
  const bool ordered = std::is_sorted(
      programs.begin(), programs.end(),
      [](const paced_program& a, const paced_program& b) { return median(a.seconds) < median(b.seconds); });
  std::printf("%s 10 %%; order of programs %s\n", close ? "all within" : "not all within",
              ordered ? "as by the clock" : "another than by the clock");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  int rounds = 5;
  double seconds = 1;
  bool of_pipelines = false, of_tiles = false, of_groups = false;
  command_line::program app("Runs at the pace of simulated hardware against the clock of their plans.", "bench_pace");
  app.add_option("rounds", rounds, "steps of each program").check(command_line::whole(1, 1000));
  app.add_option("seconds", seconds, "of a step of the fastest program").check(command_line::number(0.01, 1000));
  const command_line::option pipelined =
      app.add_flag("--pipelines", of_pipelines, "schedules of a pipeline instead of strategies");
  const command_line::option tiled =
      app.add_flag("--tiles", of_tiles, "strategies without tiles and in tiles").excludes(pipelined);
  app.add_flag("--groups", of_groups, "sub-models on groups of ranks").excludes(pipelined).excludes(tiled);
  return command_line::run(app, argc, argv, [&] {
    if (of_groups) return measure(rounds, seconds, groups(), {});
    return of_tiles ? measure(rounds, seconds, tiles(), slow_hardware())
                    : measure(rounds, seconds, of_pipelines ? pipelines() : strategies(), {});
  });
}
