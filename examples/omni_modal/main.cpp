// SPDX-License-Identifier: Apache-2.0
//
// omni_modal [--placement NAME | --groups FILE.json [--strategies NAME,…]] [--steps N] [--compare] [--trace FILE] …
//
// Trains three towers and their fusion on groups of simulated ranks, by a placement of that name or a file of process groups. Prints
// the groups, the clock of a step, how long each group is idle, and losses. `--compare` exits with 1 where a loss differs from one
// device's by more than 1e-9 in doubles, 1e-4 in floats, relative.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

#include <hyperparallel/groups/refused_groups.hpp>
#include <hyperparallel/io/atomic_file.hpp>
#include <hyperparallel/io/group_file.hpp>
#include <hyperparallel/report/trace_parts.hpp>
#include <hyperparallel/world/model_run.hpp>

#include "../command_line.hpp"
#include "placements.hpp"

namespace {

using namespace omni_modal;

struct options {
  std::string placement = "by-load";
  std::string groups{};  ///< a file; empty: the placement
  std::string table{};
  std::vector<std::string> strategies{};
  int steps = 5, micro_batches = 4, threads = 0;
  std::string trace{};
  bool doubles = false, compare = false, large = false, list = false;
};

/// The table of the file with a strategy for each group. Throws io_error or std::invalid_argument.
hp::submodel_plan plan_of_file(const options& o) {
  const hp::group_tables all = hp::read_group_file(o.groups);
  const int at = o.table.empty() ? 0 : hp::find_table(all, o.table.c_str());
  if (at < 0) throw std::invalid_argument(o.groups + " has no table \"" + o.table + "\"");
  hp::submodel_plan plan{all.table[at], {}};
  const auto groups = static_cast<std::size_t>(plan.table.group.size);
  if (!o.strategies.empty() && o.strategies.size() != groups)
    throw std::invalid_argument("--strategies names " + std::to_string(o.strategies.size()) + ", the table has " +
                                std::to_string(groups) + " groups");
  for (std::size_t k = 0; k < groups; ++k) {
    const int ranks = static_cast<int>(hp::rank_count(plan.table.group[static_cast<int>(k)]));
    plan.strategy.push(o.strategies.empty() ? zero1_of(ranks)
                                            : hp::strategy_called(o.strategies[k].c_str(), ranks).strategy);
  }
  return plan;
}

/// A row for each group: which ranks it has, and what runs on them.
void print_groups(const hp::submodel_plan& plan) {
  const hp::group_table& t = plan.table;
  std::printf("%-12s", "ranks");
  for (int r = 0; r < t.world; ++r) std::printf("%3d", r);
  std::printf("\n");
  for (int k = 0; k < t.group.size; ++k) {
    std::printf("%-12s", t.group[k].name.text);
    for (int r = 0; r < t.world; ++r) std::printf("%3s", hp::position_in(t.group[k], r) >= 0 ? "#" : ".");
    std::printf("  %s:", plan.strategy[k].name.text);
    for (const hp::placed_module& m : t.placed)
      if (m.group == t.group[k].name) std::printf(" %s%s", m.name.text, m.frozen ? " (frozen)" : "");
    std::printf("\n");
  }
}

/// What a step takes on H100s, and the trace that was asked for.
void print_clock(const options& o, const hp::submodel_plan& plan, const hp::submodel_program& p) {
  const hp::lowered_program l = hp::lower_training(p.program, {.topology = hp::on_topology(hp::h100::topology)});
  const hp::part_times t = hp::times_of_parts(l, hp::h100::device);
  if (!t.ok()) {
    return static_cast<void>(std::printf("a step has no price on H100\n"));
  }
  std::printf("a step by the clock, on H100: %.3f ms; ranks are idle for %.1f %%:",
              static_cast<double>(t.makespan) * 1e-9, static_cast<double>(t.idle()) * 1e-4);
  for (int k = 0; k < t.ranks.size; ++k)
    std::printf("%s %s %.1f %%", k == 0 ? "" : ",", plan.table.group[p.group_of_part[k]].name.text,
                static_cast<double>(t.idle(k)) * 1e-4);
  std::printf("\n");
  if (o.trace.empty()) return;
  hp::atomic_file file(o.trace);
  hp::growing_array<hp::short_text> names;
  for (const int k : p.group_of_part) names.push(plan.table.group[k].name);
  hp::report::write_parts_trace(file, l, hp::h100::device, names);
  file.commit();
}

template <class Run>
std::vector<double> train(Run& run, const options& o) {
  std::vector<double> losses;
  for (int s = 0; s < o.steps; ++s)
    losses.push_back(static_cast<double>(
        run.train_step([&](int micro) { run.set_random_inputs(static_cast<std::uint64_t>(micro)); })));
  return losses;
}

template <class T>
int train_and_tell(const options& o, const hp::graph& g, const hp::submodel_plan& plan) {
  hp::model_run_options how;
  how.program.execution.threads = o.threads;
  hp::model_run<T> run(g, plan, how);
  const std::vector<double> losses = train(run, o);
  for (std::size_t s = 0; s < losses.size(); ++s)
    if (s < 3 || s + 1 == losses.size() || s % 10 == 9) std::printf("step %zu: loss %.9f\n", s + 1, losses[s]);
  if (!o.compare) return 0;
  hp::model_run<T> alone(g, hp::strategy_called("single", 1).strategy, how);
  const std::vector<double> reference = train(alone, o);
  double difference = 0;
  for (std::size_t s = 0; s < losses.size(); ++s)
    difference = std::max(difference, std::abs(losses[s] - reference[s]) / std::abs(reference[s]));
  const double tolerance = o.doubles ? 1e-9 : 1e-4;
  const bool within = difference <= tolerance;
  std::printf("largest relative difference of a loss from one device: %.3g (%s the tolerance %.0e)\n", difference,
              within ? "within" : "beyond", tolerance);
  return within ? 0 : 1;
}

/// The exit status. Throws where placement, file or strategies do not fit.
int run(const options& o) {
  if (o.list) {
    for (const named_placement& p : placements()) std::printf("%-14s %s\n", p.name, p.about);
    return 0;
  }
  const models::omni_sizes sizes = o.large ? models::large_omni : models::omni_sizes{};
  const int micro_batches = o.large ? 24 : o.micro_batches;
  const hp::data_type type = o.doubles ? hp::f64 : hp::f32;
  const auto step_of = [&](const hp::group_table& t) {
    return training_step_of(sizes, micro_batches, t, o.large ? hp::bf16 : type, o.large ? hp::f32 : type);
  };
  const hp::submodel_plan plan = o.groups.empty() ? placement_called(o.placement, step_of({})) : plan_of_file(o);
  const hp::graph g = step_of(plan.table);
  const hp::submodel_program p = hp::partition(g, plan);
  if (!p.ok()) throw hp::program_error(hp::text_of_refusal(g, plan, p));
  print_groups(plan);
  print_clock(o, plan, p);
  if (o.large) return 0;
  return o.doubles ? train_and_tell<double>(o, g, plan) : train_and_tell<float>(o, g, plan);
}

}  // namespace

int main(int argc, char** argv) {
  using command_line::whole;
  options o;
  command_line::program app("Trains towers of text, images and sound and their fusion on groups of ranks.",
                            "omni_modal");
  const command_line::option placement =
      app.add_option("--placement", o.placement, "by name, see --list (default: by-load)");
  const command_line::option groups =
      app.add_option("--groups", o.groups, "a file of process groups (docs/reference/process-groups.md)")
          .excludes(placement);
  app.add_option("--table", o.table, "of a file with several (default: the first)").needs(groups);
  app.add_option("--strategies", o.strategies, "of the file's groups, in their order, as tp,zero1 (default: zero1)")
      .delimiter(',')
      .needs(groups);
  const command_line::option steps =
      app.add_option("--steps", o.steps, "of training (default: 5)").check(whole(1, 1'000'000));
  app.add_option("--micro-batches", o.micro_batches, "of a step (default: 4)").check(whole(1, 1024));
  app.add_option("--threads", o.threads, "that simulate the ranks (default: all cores)").check(whole(0, 64));
  app.add_option("--trace", o.trace, "writes what the clock says of all groups to this file, for Perfetto or hp trace");
  app.add_flag("--f64", o.doubles, "compute in doubles");
  const command_line::option compare =
      app.add_flag("--compare", o.compare, "train on one device as well and compare every loss");
  app.add_flag("--large", o.large, "the clock alone, of a model of half a billion parameters on H100")
      .excludes(steps)
      .excludes(compare);
  app.add_flag("--list", o.list, "list the placements");
  return command_line::run(app, argc, argv, [&] { return run(o); });
}
