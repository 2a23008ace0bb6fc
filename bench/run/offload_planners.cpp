// SPDX-License-Identifier: Apache-2.0
//
// bench_offload_planners [PROGRAMS]: the planner of memory tiers next to what others do (offload_baselines.hpp).
//
// First on random periods, whose budgets lie anywhere between what one operator needs and what all need. Then on a
// training step of a small model, durations at stated rates, with three quarters, a half and 35 % of its memory. The
// bandwidth of its one link, which copies in and out share, is such that all copies of the plan together take a
// quarter, a half, and all of the time of computing.
//
// All times but those of planning come from the same clock, under whose rules all plans run; the bound is what no plan
// beats, exposed what a plan takes beyond its operators and recomputations. A baseline takes the parameters that make
// it fastest, found by running them all: its planning is that sweep. Demand paging decides while it runs. Planning is
// measured once a random period, of which the table has the median, and three times for a training step.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <vector>

#include <hyperparallel/graph/gradient.hpp>
#include <hyperparallel/graph/optimizer.hpp>
#include <hyperparallel/lowering/program_offload.hpp>
#include <hyperparallel/lowering/program_slots.hpp>
#include <hyperparallel/lowering/step_durations.hpp>
#include <hyperparallel/offload/offload_planner.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/strategy/partition.hpp>

#include "../../examples/command_line.hpp"
#include "../../examples/models/small_moe.hpp"
#include "alternating.hpp"
#include "offload_baselines.hpp"
#include "random_periods.hpp"

namespace {

namespace hp = hyperparallel;
using offload_baselines::baseline;
using offload_baselines::baseline_run;
using offload_baselines::baselines;

constexpr int schemes = 1 + static_cast<int>(std::size(baselines));  // the planner is the first

const char* name_of(int scheme) { return scheme == 0 ? "planner" : to_text(baselines[scheme - 1]); }

/// The end of a line.
void print_planning(int scheme, double ns) {
  if (scheme > 0 && baselines[scheme - 1] == baseline::demand_paging)
    std::printf("%12s\n", "none");
  else
    std::printf("%12.2f\n", ns * 1e-6);
}

/// What one scheme makes of one program.
struct outcome {
  baseline_run run;
  double planning_ns = 0;
  bool runs() const { return run.time != hp::endless; }
  hp::extent_t moved() const { return run.bytes_in + run.bytes_out; }
};

double ratio(hp::extent_t a, hp::extent_t b) { return static_cast<double>(a) / static_cast<double>(b); }

/// Of scheme `scheme` on `p`; planning is measured `rounds` times.
outcome outcome_of(int scheme, const hp::offload_program& p, int rounds) {
  outcome o;
  std::vector<double> planning_ns;
  for (int i = 0; i < rounds; ++i)
    planning_ns.push_back(bench::time_ns([&] {
      if (scheme > 0) {
        o.run = offload_baselines::run_baseline(baselines[scheme - 1], p);
        return;
      }
      const hp::offload_certificate c = hp::plan_offload(p).certificate;
      o.run = {c.feasible ? c.time : hp::endless, c.exposed, c.bytes_in, c.bytes_out};
    }));
  o.planning_ns = bench::median(planning_ns);
  return o;
}

hp::extent_t time_bound(const hp::offload_program& p) { return hp::bounds_of(p, hp::chains_of(p)).time; }

/// Of one scheme over all random programs.
struct summary {
  int runs = 0, faster = 0;  ///< than the planner
  double over_bound = 0, over_planner = 0, worst = 0, exposed = 0;
  double moved = 0, moved_by_planner = 0;
  std::vector<double> planning_ns;

  void enter(const outcome& o, const outcome& planner, hp::extent_t bound) {
    planning_ns.push_back(o.planning_ns);
    if (!o.runs() || !planner.runs()) return;
    ++runs;
    faster += o.run.time < planner.run.time ? 1 : 0;
    const double over = ratio(o.run.time, planner.run.time);
    over_bound += ratio(o.run.time, bound);
    over_planner += over;
    worst = std::max(worst, over);
    exposed += ratio(o.run.exposed, o.run.time);
    moved += static_cast<double>(o.moved());
    moved_by_planner += static_cast<double>(planner.moved());
  }
};

void compare_on_random_periods(int programs) {
  summary of[schemes];
  random_periods::draw d(23);
  for (int i = 0; i < programs; ++i) {
    const hp::offload_program p = random_periods::random_program(d, random_periods::long_shape(d, 60));
    const outcome planner = outcome_of(0, p, 1);
    for (int s = 0; s < schemes; ++s) of[s].enter(s == 0 ? planner : outcome_of(s, p, 1), planner, time_bound(p));
  }
  std::printf("%d random periods of 12 to 60 operators; means over those that run\n\n", programs);
  std::printf("%-20s %6s %13s %15s %7s %7s %15s %16s %12s\n", "", "runs", "time / bound", "time / planner", "worst",
              "faster", "exposed / time", "moved / planner", "planning ms");
  for (int s = 0; s < schemes; ++s) {
    const summary& one = of[s];
    std::printf("%-20s %6d ", name_of(s), one.runs);
    if (one.runs == 0) {
      std::printf("%13s\n", "none runs");
      continue;
    }
    std::printf("%13.3f %15.3f %7.3f %7d %15.3f %16.2f ", one.over_bound / one.runs, one.over_planner / one.runs,
                one.worst, one.faster, one.exposed / one.runs, one.moved / std::max(one.moved_by_planner, 1.0));
    print_planning(s, bench::median(one.planning_ns));
  }
}

hp::sharded_program training_step() {
  hp::model_builder m({.unrolled = true});
  models::build_small_moe(m, {.sequence = 128, .hidden = 128, .head_dim = 16, .expert_width = 128});
  hp::differentiate(m.graph);
  hp::append_optimizer(m.graph, {});
  return hp::partition(m.graph, hp::strategy_called("single", 1).strategy);
}

/// A training step that runs again and again under a budget, with one slower tier behind one link.
struct training_period {
  hp::sharded_program program = training_step();
  hp::program_moves moves = hp::kinds_of_moves(program);
  hp::growing_array<hp::extent_t> duration = hp::step_durations(program, moves);

  hp::offload_program within(hp::extent_t budget, hp::extent_t bytes_per_second) const {
    hp::tier_hardware h;
    h.tier.push({budget, -1, -1});
    h.tier.push({hp::extent_t{1} << 50, 0, 0});
    h.link.push({bytes_per_second, 0});
    return hp::offload_period_of(program, moves, duration, h).problem;
  }
};

/// The period whose plan's copies take about `copies` of the time of computing, as far as four attempts find it.
hp::offload_program calibrated(const training_period& period, hp::extent_t budget, hp::extent_t compute,
                               double copies) {
  hp::offload_program p;
  hp::extent_t moved = budget;
  for (int attempt = 0; attempt < 4; ++attempt) {
    p = period.within(budget,
                      static_cast<hp::extent_t>(ratio(moved, compute) / copies * static_cast<double>(hp::second)));
    const hp::offload_certificate c = hp::plan_offload(p).certificate;
    moved = c.bytes_in + c.bytes_out;
    if (moved == 0 || std::abs(ratio(hp::link_copy_time(p.link[0], moved), compute) / copies - 1) < 0.05) break;
  }
  return p;
}

double mebibytes(hp::extent_t bytes) { return static_cast<double>(bytes) / 1048576; }
double milliseconds(hp::extent_t time) { return static_cast<double>(time) * 1e-9; }

void compare_on_a_training_step() {
  const training_period period;
  const hp::extent_t peak = hp::alive_maximum(period.program);
  hp::extent_t compute = 0;
  for (const hp::extent_t one : period.duration) compute += one;
  const hp::offload_program free = period.within(peak, hp::second);
  std::printf("\na training step: %d operators, %d gaps; %.1f MiB without a budget, computing takes %.1f ms\n",
              free.op.size, hp::gaps_of(free).size, mebibytes(peak), milliseconds(compute));
  std::printf("\n%7s %7s %17s  %-20s %13s %11s %11s %12s\n", "budget", "MB/s", "copies / compute", "", "time / bound",
              "exposed ms", "moved MiB", "planning ms");
  const hp::extent_t least = hp::least_budget(free, hp::chains_of(free)).bytes;
  for (const int percent : {75, 50, 35})
    for (const double copies : {0.25, 0.5, 1.0}) {
      const hp::extent_t budget = std::max(peak / 100 * percent, least);
      const hp::offload_program p = calibrated(period, budget, compute, copies);
      for (int s = 0; s < schemes; ++s) {
        const outcome o = outcome_of(s, p, 3);
        if (s == 0)
          std::printf("%5.0f %% %7.1f %17.2f  ", 100 * ratio(budget, peak),
                      static_cast<double>(p.link[0].bytes_per_second) * 1e-6,
                      ratio(hp::link_copy_time(p.link[0], o.moved()), compute));
        else
          std::printf("%34s", "");
        if (o.runs())
          std::printf("%-20s %13.3f %11.1f %11.1f ", name_of(s), ratio(o.run.time, time_bound(p)),
                      milliseconds(o.run.exposed), mebibytes(o.moved()));
        else
          std::printf("%-20s %13s %11s %11s ", name_of(s), "does not run", "", "");
        print_planning(s, o.planning_ns);
      }
    }
}

}  // namespace

int main(int argc, char** argv) {
  int programs = 200;
  command_line::program app("The planner of memory tiers beside what others do.", "bench_offload_planners");
  app.add_option("programs", programs, "random periods").check(command_line::whole(1, 1'000'000));
  return command_line::run(app, argc, argv, [&] {
    compare_on_random_periods(programs);
    compare_on_a_training_step();
    return 0;
  });
}
