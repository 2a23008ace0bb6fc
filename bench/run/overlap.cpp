// SPDX-License-Identifier: Apache-2.0
// How much of its vector work a tile schedule hides behind its products, and whether the virtual clock knows it.
//
//   bench_overlap [rounds [bound]]      default: 9 rounds, vector work repeated until (AIC + AIV) / max(AIC, AIV)
//   is 1.7
//
// The experts' network of a mixture of experts (ffn_tiles.hpp) with real matrix tiles on one AIC and one AIV worker,
// which are two pinned threads. All plans run in turn in every round; figures are medians and, in brackets, minima:
//   kernel by kernel   a barrier after each operation, so one worker rests while the other works
//   naive order        row tile after row tile, no barriers
//   lag of one         row tile after row tile, the second product one row tile behind the first
//   list schedule      the library's order: upward ranks, with one measured duration for each operation
// Overlap efficiency is (serial − measured) / (serial − max(AIC, AIV)): serial is the time kernel by kernel, and AIC
// and AIV are what their tasks take in it, each task by its median over the rounds. The virtual clock is `simulate` of
// the same plan with these medians as durations and 100 ns from a signal to a wait.
//
// OpenBLAS builds that do not know a processor choose slow kernels: OPENBLAS_CORETYPE=SkylakeX in the environment
// chooses those for AVX-512. The first line names those in use.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <hyperparallel/exec/cores.hpp>
#include <hyperparallel/exec/executor.hpp>
#include <hyperparallel/taskflow/list_schedule.hpp>
#include <hyperparallel/taskflow/owned.hpp>
#include <hyperparallel/taskflow/simulate.hpp>

#include "../../examples/command_line.hpp"
#include "alternating.hpp"
#include "ffn_tiles.hpp"

namespace {

namespace hp = hyperparallel;

constexpr std::int64_t synchronisation = 100'000;  ///< picoseconds
constexpr hp::machine_shape machine{1, {1, 1, 0, 0, 0}};
constexpr double least_efficiency = 0.90, most_deviation = 0.10;

using durations = std::vector<std::int64_t>;  ///< picoseconds by bench::task_key

std::size_t key_of(const hp::task& t) { return static_cast<std::size_t>(bench::task_key(t.operation, t.item)); }

class tile_plan {
 public:
  tile_plan(bench::ffn_layer& layer, bench::ffn_order order, hp::priority policy, const durations& expected)
      : tile_plan(layer, bench::ffn_flow{order, expected}, policy) {}

  void run() { executor_->run(); }

  /// What each task took in the last run, nanoseconds.
  template <class Visit>
  void for_each_time(const Visit& visit) const {
    for (int t = 0; t < flow_.size.tasks; ++t) {
      const hp::task_record& r = executor_->profile().task[static_cast<std::size_t>(t)];
      visit(key_of(flow_.task[t]), static_cast<double>(r.end - r.start));
    }
  }

  /// Nanoseconds by the virtual clock.
  double predict(const durations& solo) {
    for (int t = 0; t < flow_.size.tasks; ++t) flow_.task[t].duration = solo[key_of(flow_.task[t])];
    hp::owned_timeline line(flow_.size.tasks);
    hp::owned_simulation_scratch x(flow_.size, hp::queue_count(machine));
    const hp::simulation_result r = hp::simulate(flow_, schedule_, {synchronisation, false}, line, x);
    if (r.code != hp::simulation_code::ok) throw std::runtime_error(hp::to_text(r.code));
    return static_cast<double>(r.makespan) / 1000;
  }

 private:
  tile_plan(bench::ffn_layer& layer, const bench::ffn_flow& build, hp::priority policy)
      : flow_(hp::measure(build)), schedule_(hp::measure(build).tasks, hp::queue_count(machine)) {
    build(flow_);
    hp::seal(flow_);
    hp::owned_schedule_scratch x(flow_.size, hp::queue_count(machine));
    const hp::schedule_status s = hp::list_schedule(flow_, machine, {policy, synchronisation}, schedule_, x);
    if (s.code != hp::schedule_code::ok) throw std::runtime_error(hp::to_text(s.code));
    executor_ =
        std::make_unique<hp::executor<hp::record_profile>>(flow_, schedule_, hp::executor_options{.threads = 2});
    layer.bind(*executor_);
  }

  hp::owned_taskflow flow_;
  hp::owned_schedule schedule_;
  std::unique_ptr<hp::executor<hp::record_profile>> executor_;
};

/// The times of every task, gathered over runs.
class task_times {
 public:
  void add(const tile_plan& p) {
    p.for_each_time([this](std::size_t key, double ns) { time_[key].push_back(ns); });
  }
  durations medians() const {
    durations d;
    for (const std::vector<double>& t : time_) d.push_back(std::llround(1000 * bench::median(t)));
    return d;
  }

 private:
  std::vector<std::vector<double>> time_ = std::vector<std::vector<double>>(bench::ffn_tasks);
};

struct busy {
  double aic = 0, aiv = 0;  ///< nanoseconds
  double longest() const { return std::max(aic, aiv); }
};

busy busy_times(const durations& d) {
  busy b;
  for (int o = 0; o < bench::ffn_operations; ++o)
    for (int k = bench::task_key(o, 0); k < bench::task_key(o + 1, 0); ++k)
      (bench::resource_of(o) == hp::resource::aic ? b.aic : b.aiv) +=
          static_cast<double>(d[static_cast<std::size_t>(k)]) / 1000;
  return b;
}

/// What a planner knows: one duration for all tiles of an operation.
durations by_operation(const durations& d) {
  durations out(d.size());
  for (int o = 0; o < bench::ffn_operations; ++o) {
    const auto first = bench::task_key(o, 0), last = bench::task_key(o + 1, 0);
    std::vector<double> tiles(d.begin() + first, d.begin() + last);
    std::fill(out.begin() + first, out.begin() + last, std::llround(bench::median(tiles)));
  }
  return out;
}

durations measure_alone(tile_plan& serial) {
  task_times times;
  for (int i = 0; i < 3; ++i) {
    serial.run();
    times.add(serial);
  }
  return times.medians();
}

/// Sets how often vector work is repeated so that AIC has all the work and AIV `part` of it; returns the tasks' times.
durations balance(bench::ffn_layer& layer, tile_plan& serial, double part) {
  layer.passes = 1;
  const busy once = busy_times(measure_alone(serial));
  double each = once.aiv;
  for (int i = 0; i < 2; ++i) {  // one more pass costs less than the first one
    layer.passes = std::max(1.0, 1 + (part * once.aic - once.aiv) / each);
    const busy now = busy_times(measure_alone(serial));
    if (layer.passes > 1) each = (now.aiv - once.aiv) / (layer.passes - 1);
  }
  return measure_alone(serial);
}

struct row {
  const char* name;
  tile_plan& plan;
  bool ours;
  std::size_t variant = 0;
};

void measure(int rounds, double bound) {
  bench::ffn_layer layer;
  const durations equal(bench::ffn_tasks, 1'000'000);
  tile_plan serial(layer, bench::ffn_order::operations, hp::priority::reference_order, equal);
  serial.run();
  const std::vector<float> expected = layer.out();
  if (!(layer.error() < 1e-4)) throw std::runtime_error("the network's result is wrong");

  const durations expected_times = by_operation(balance(layer, serial, bound - 1));
  tile_plan naive(layer, bench::ffn_order::row_tiles, hp::priority::reference_order, expected_times);
  tile_plan lagged(layer, bench::ffn_order::lagged, hp::priority::reference_order, expected_times);
  tile_plan listed(layer, bench::ffn_order::row_tiles, hp::priority::upward_rank, expected_times);
  row rows[] = {{"kernel by kernel", serial, false},
                {"naive order", naive, false},
                {"lag of one", lagged, false},
                {"list schedule", listed, true}};

  bench::quiet_gate gate(20);
  bench::alternation all(gate);
  task_times solo;
  for (row& r : rows) {
    layer.forget();
    r.plan.run();
    if (std::memcmp(layer.out().data(), expected.data(), expected.size() * sizeof(float)) != 0)
      throw std::runtime_error(std::string(r.name) + ": another result");
    r.variant = all.add([&r, &serial, &solo] {
      const double time = bench::time_ns([&] { r.plan.run(); });
      if (&r.plan == &serial) solo.add(serial);
      return time;
    });
  }
  all.run(rounds);

  const durations alone = solo.medians();
  const busy b = busy_times(alone);
  const double kernel_by_kernel = all.median(rows[0].variant);
  std::printf("%d tasks, %.1f GFLOP in products at %.1f GFLOP/s; vector work %.2f times; %d rounds\n", bench::ffn_tasks,
              bench::ffn::products * 1e-9, bench::ffn::products / b.aic, layer.passes, rounds);
  std::printf("AIC %.1f ms, AIV %.1f ms, sum / longest %.3f\n\n%-18s %20s %9s %11s %14s %9s\n", b.aic * 1e-6,
              b.aiv * 1e-6, (b.aic + b.aiv) / b.longest(), "", "ms", "speed-up", "efficiency", "virtual clock",
              "ratio");
  for (const row& r : rows) {
    const double time = all.median(r.variant), clock = r.plan.predict(alone);
    const double efficiency = (kernel_by_kernel - time) / (kernel_by_kernel - b.longest());
    std::printf("%-18s %9.1f (%8.1f) %9.3f %11.3f %11.1f ms %9.3f", r.name, time * 1e-6, all.minimum(r.variant) * 1e-6,
                kernel_by_kernel / time, efficiency, clock * 1e-6, time / clock);
    if (r.ours)
      std::printf("  efficiency at least %.2f: %s, clock within %.0f %%: %s", least_efficiency,
                  efficiency >= least_efficiency ? "met" : "MISSED", 100 * most_deviation,
                  std::abs(time / clock - 1) <= most_deviation ? "met" : "MISSED");
    std::printf("\n");
  }
  std::printf("\n%d samples, %d of them while another task wanted a core\n", gate.samples(), gate.disturbed());
}

}  // namespace

int main(int argc, char** argv) {
  int rounds = 9;
  double bound = 1.7;
  command_line::program app("An expert's feed-forward network on one AIC and one AIV worker.", "bench_overlap");
  app.add_option("rounds", rounds, "samples of each order").check(command_line::whole(1, 1'000'000));
  app.add_option("bound", bound, "(AIC + AIV) / max").check(command_line::number(1.01, 2));
  return command_line::run(app, argc, argv, [&] {
    if (hp::allowed_cores().size() < 2) throw std::runtime_error("this bench needs two cores");
    bench::one_thread_for_each_product();
    std::printf("matrix tiles by %s, kernels %s\n", bench::matrix_library_name, bench::matrix_library());
    measure(rounds, bound);
    return 0;
  });
}
