// SPDX-License-Identifier: Apache-2.0
// The executor on cores of uneven speed beside oneTBB's flow graph, by simulation: a task sleeps for its length, by the
// speed of its thread, so that there may be many more threads than cores. Both run their own code.
//
//   bench_uneven_cores [--threads 16] [--slow 2] [--speed 0.7] [--milliseconds 5] [--rounds 3]
//   bench_uneven_cores --slow 0 --speed 0.8     speeds spread evenly from 0.8 to 1
//
// Our plans are the library's list schedules for cores of one speed, with one, four and eight queues a thread; classes
// of the MoE tiles hold for ours only. A figure is the median over the rounds; `of bound` is the work by the sum of
// speeds, or the longest chain at full speed, by that figure; `pairs` is oneTBB's time over ours in the same round. To
// wake a thread takes some 50 microseconds here: tasks of some milliseconds stand for 20 microseconds between threads
// that spin.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <hyperparallel/exec/executor.hpp>
#include <hyperparallel/lowering/planned_flow.hpp>

#include "../../examples/command_line.hpp"
#include "alternating.hpp"
#include "competitors.hpp"
#include "task_graphs.hpp"

namespace {

namespace hp = hyperparallel;

/// Threads take speeds in the order in which they come to the first task of a run.
class simulated_cores {
 public:
  static void restart() {
    entered = 0;
    ++generation;
  }

  static void sleep(int) {
    thread_local int seen = 0, me = 0;
    if (seen != generation) {
      seen = generation;
      me = entered++;
    }
    const double speed = speeds[bench::at(me) % speeds.size()];
    std::this_thread::sleep_for(std::chrono::nanoseconds(static_cast<std::int64_t>(nanoseconds / speed)));
  }

  static double together() {
    double sum = 0;
    for (const double s : speeds) sum += s;
    return sum;
  }

  inline static std::vector<double> speeds;
  inline static double nanoseconds = 0;  ///< of a task at full speed

 private:
  inline static std::atomic<int> entered, generation;
};

void sleep_kernel(const hp::kernel_call& c) { simulated_cores::sleep(c.task); }

struct shape {
  const char* name;
  bench::graph_kind kind;
  bool classed;
};
constexpr shape shapes[] = {{"wavefront 64x64", bench::graph_kind::wavefront, false},
                            {"layered 100x100", bench::graph_kind::layered, false},
                            {"MoE tiles", bench::graph_kind::moe_tiles, true}};
constexpr int queues_a_thread[] = {1, 4, 8};

/// Our executor on a plan of its own.
struct planned {
  hp::planned_flow plan;
  hp::executor<> run;

  static hp::machine_shape machine(const shape& s, int queues) {
    hp::machine_shape m;
    m.queues[static_cast<int>(hp::resource::aic)] = s.classed ? queues / 2 : queues;
    m.queues[static_cast<int>(hp::resource::aiv)] = s.classed ? queues / 2 : 0;
    return m;
  }

  planned(const shape& s, int queues, int threads)
      : plan(bench::task_graph{s.kind, 20'000'000}, machine(s, queues), {hp::priority::upward_rank, 100'000}),
        run(plan.flow(), plan.schedule(), {.threads = threads}) {
    if (plan.verify().code != hp::verify_code::ok) throw std::runtime_error(hp::to_text(plan.verify().code));
    run.bind(0, sleep_kernel);
  }
};

void compare(const shape& s, int threads, int rounds) {
  std::vector<std::unique_ptr<planned>> ours;
  for (const int queues : queues_a_thread) ours.push_back(std::make_unique<planned>(s, queues * threads, threads));
  const bench::dependences graph = bench::without_classes(bench::dependences_of(ours[0]->plan.flow()));
  bench::tbb_flow_graph tbb(graph, threads);
  std::vector<std::vector<double>> seconds(ours.size()), ratios(ours.size());
  std::vector<double> theirs;
  const auto time = [](const auto& run) {
    simulated_cores::restart();
    return bench::time_ns(run) * 1e-9;
  };
  for (int round = 0; round < rounds; ++round) {
    theirs.push_back(time([&] { tbb.run(); }));
    for (std::size_t i = 0; i < ours.size(); ++i) {
      seconds[i].push_back(time([&] { ours[i]->run.run(); }));
      ratios[i].push_back(theirs.back() / seconds[i].back());
    }
  }
  const double task = simulated_cores::nanoseconds * 1e-9, work = task * graph.tasks() / simulated_cores::together();
  const double bound = std::max(work, bench::bound(graph, graph.tasks(), task, 0));
  std::printf("%s: %d tasks, bound %.3f s\n", s.name, graph.tasks(), bound);
  const auto row = [&](const char* name, double t) {
    std::printf("  %-24s %8.3f s %6.1f %%", name, t, 100 * bound / t);
  };
  row("oneTBB flow graph", bench::median(theirs));
  for (std::size_t i = 0; i < ours.size(); ++i) {
    std::printf("\n");
    row(("ours, " + std::to_string(queues_a_thread[i]) + " queues a thread").c_str(), bench::median(seconds[i]));
    std::printf("  pairs %.3f", bench::median(ratios[i]));
  }
  std::printf("\n");
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  int threads = 16, slow = 2, rounds = 3;
  double speed = 0.7, milliseconds = 5;
  command_line::program app("Three task graphs on simulated cores of uneven speed, beside oneTBB.",
                            "bench_uneven_cores");
  app.add_option("--threads", threads, "simulated cores, even").check(command_line::whole(2, 64));
  app.add_option("--slow", slow, "of them are slow; 0: speeds are spread evenly").check(command_line::whole(0, 64));
  app.add_option("--speed", speed, "of the slow ones, or the least; others have 1")
      .check(command_line::number(0.01, 1));
  app.add_option("--milliseconds", milliseconds, "of a task at full speed").check(command_line::number(0.1, 1000));
  app.add_option("--rounds", rounds, "of each executor").check(command_line::whole(1, 1000));
  return command_line::run(app, argc, argv, [&] {
    if (!bench::has_tbb) throw std::runtime_error("this bench compares with oneTBB, which was not found");
    if (threads % 2 != 0 || slow > threads)
      throw std::runtime_error("--threads is even, and no fewer than --slow: " + std::to_string(threads));
    simulated_cores::nanoseconds = milliseconds * 1e6;
    bench::task_body = &simulated_cores::sleep;
    for (int i = 0; i < threads; ++i) {
      const int place = i * 5 % threads;  // slow ones are not neighbours
      simulated_cores::speeds.push_back(slow > 0 ? (place < slow ? speed : 1)
                                                 : 1 - (1 - speed) * place / (threads - 1));
    }
    std::printf("%d threads, tasks of %g ms by speeds of", threads, milliseconds);
    for (const double s : simulated_cores::speeds) std::printf(" %.2f", s);
    std::printf("; oneTBB found\n");
    for (const shape& s : shapes) compare(s, threads, rounds);
    return 0;
  });
}
