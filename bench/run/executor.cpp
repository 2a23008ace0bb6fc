// SPDX-License-Identifier: Apache-2.0
// What the executor adds to a task, beside a loop over function pointers, oneTBB's flow graph and OpenMP's tasks, in
// one process and in turn.
//
//   bench_executor [rounds [part of a shape's name, or all [task microseconds…]]]    default: 11 rounds of all, 0 1 20
//   bench_executor --threads 16 [the same…]  on so many threads; default: 2
//   bench_executor --busy 1 [the same…]      while a process that never sleeps is pinned to the second core
//
// Every scheduler runs each graph with as many threads; ours are pinned, the others are as they come. Our plans are the
// library's list schedules: a queue a thread of one class, or half of them AIC and half AIV where a graph has classes,
// which only ours obey; and four queues a thread. A figure is wall time / tasks, start and finish included:
// the median over the rounds, and the minimum in brackets. Before it is timed, each runs once with a note of the order
// in which tasks began and ended, and a wrong order ends the program.
//
//   hand-off     half a round trip between two pinned threads that spin on flags of lines of their own, measured in
//                the same rounds; beside it, with both flags on one line, which some processors pass on faster
//   loop         the same tasks in one thread
//   bound        the longest chain, or a class's work on its threads, by the loop's time for a task, with the
//                faster hand-off wherever the class changes along the chain; for the competitors, which know no
//                classes, without both
//   overhead     what a figure has beyond its bound; with empty tasks all of it
//   lost         how much longer four queues a thread take than one (the chain: than one in all)
//   pairs        a competitor's time over ours in the same round, start and finish included: the median of the rounds,
//                and in brackets the quarter and three quarters of them
//
// With a busy process hand-offs are not measured and the loop counts with its minimum, so that the bound is that of a
// calm machine; OpenMP, whose threads spin while they wait, is left out.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <hyperparallel/exec/cores.hpp>
#include <hyperparallel/exec/executor.hpp>
#include <hyperparallel/lowering/planned_flow.hpp>

#include "../../examples/command_line.hpp"
#include "alternating.hpp"
#include "busy_process.hpp"
#include "competitors.hpp"
#include "task_body.hpp"
#include "task_graphs.hpp"

namespace {

namespace hp = hyperparallel;

/// Goals: nanoseconds for an empty task (0: 1.2 hand-offs), how many times the competitors' overhead, and the share of
/// the bound with tasks of 1 µs.
struct shape {
  const char* name;
  bench::graph_kind kind;
  bool classed;
  bool wide;  ///< a queue a thread; else one a class
  double empty;
  double times;
  double share;
};

constexpr shape shapes[] = {
    {"chain", bench::graph_kind::chain, false, false, 10, 3, 0.95},
    {"alternating chain", bench::graph_kind::alternating_chain, true, false, 0, 0, 0.95},
    {"wavefront 64x64", bench::graph_kind::wavefront, false, true, 25, 3, 0.95},
    {"reduction tree", bench::graph_kind::reduction_tree, false, true, 25, 3, 0.95},
    {"layered 100x100", bench::graph_kind::layered, false, true, 25, 3, 0.95},
    {"MoE tiles", bench::graph_kind::moe_tiles, true, true, 60, 1.5, 0.93},
};

constexpr double most_lost = 0.15, share_of_long_tasks = 0.97;

/// Goals of pairs with oneTBB's flow graph: of the alternating chain on a calm machine, of all graphs beside a busy process.
constexpr double least_of_chain = 0.95, least_when_disturbed = 0.95, least_of_short_when_disturbed = 0.85;

constexpr std::int64_t synchronisation = 100'000;  ///< picoseconds, for placing tasks

int queues_of(const shape& s, int threads) { return s.wide ? threads : s.classed ? 2 : 1; }

hp::machine_shape machine(const shape& s, int queues) {
  hp::machine_shape m;
  m.queues[static_cast<int>(hp::resource::aic)] = s.classed ? queues / 2 : queues;
  m.queues[static_cast<int>(hp::resource::aiv)] = s.classed ? queues / 2 : 0;
  return m;
}

void compute_kernel(const hp::kernel_call& c) { bench::compute(c.task); }
void note_kernel(const hp::kernel_call& c) { bench::order_check::note(c.task); }

/// Where the two flags of a round trip lie: each on a cache line that only one thread writes, or both on one line.
struct alignas(128) flag_pair {
  std::atomic<int> there{0};
  std::atomic<int> beside{0};
  alignas(128) std::atomic<int> apart{0};
};

/// Nanoseconds from a store on one core to the load on another that sees it.
double hand_off(bool one_line) {
  constexpr int trips = 20'000;
  const std::vector<int> cores = hp::allowed_cores();
  flag_pair flags;
  std::atomic<int>&there = flags.there, &back = one_line ? flags.beside : flags.apart;
  const auto wait = [](const std::atomic<int>& flag, int trip) {
    while (flag.load(std::memory_order_acquire) != trip) {
    }
  };
  std::thread partner([&] {
    const hp::scoped_pin pin(cores[1]);
    for (int i = 1; i <= trips; ++i) {
      wait(there, i);
      back.store(i, std::memory_order_release);
    }
  });
  const hp::scoped_pin pin(cores[0]);
  there.store(1, std::memory_order_release);
  wait(back, 1);  // the partner has begun
  const double time = bench::time_ns([&] {
    for (int i = 2; i <= trips; ++i) {
      there.store(i, std::memory_order_release);
      wait(back, i);
    }
  });
  partner.join();
  return time / (2.0 * (trips - 1));
}

/// Our executor on a plan of its own.
class planned {
 public:
  planned(const shape& s, double microseconds, int queues, int threads)
      : plan_(bench::task_graph{s.kind, std::max<std::int64_t>(std::llround(microseconds * 1e6), 20'000)},
              machine(s, queues), {hp::priority::upward_rank, synchronisation}),
        executor_(plan_.flow(), plan_.schedule(), {.threads = threads}) {
    if (plan_.verify().code != hp::verify_code::ok) throw std::runtime_error(hp::to_text(plan_.verify().code));
  }
  const hp::dynamic_taskflow& flow() const { return plan_.flow(); }
  void bind(hp::kernel k) { executor_.bind(0, k); }
  void run() { executor_.run(); }

 private:
  hp::planned_flow plan_;
  hp::executor<> executor_;
};

struct call_record {
  void (*run)(int);
  int task;
};

/// Everything that runs one graph, with tasks of one length, and what came of it.
class contest {
 public:
  contest(const shape& s, double microseconds, std::int64_t steps, int threads, bool disturbed)
      : shape_(s),
        threads_(threads),
        microseconds_(microseconds),
        disturbed_(disturbed),
        ours_(s, microseconds, queues_of(s, threads), threads),
        many_(s, microseconds, 4 * threads, threads),
        graph_(bench::dependences_of(ours_.flow())),
        tbb_(graph_, threads),
        openmp_(graph_, threads) {
    for (int t = 0; t < graph_.tasks(); ++t) loop_.push_back({&bench::compute, t});
    bind(&note_kernel, &bench::order_check::note);
    check("ours", [this] { ours_.run(); });
    check("ours, 4 queues a thread", [this] { many_.run(); });
    if (bench::has_tbb) check("oneTBB", [this] { tbb_.run(); });
    if (with_openmp()) check("OpenMP", [this] { openmp_.run(); });
    bind(&compute_kernel, &bench::compute);
    bench::compute_steps = steps;
  }

  void measure(int rounds, bench::quiet_gate& gate) {
    bench::alternation all(gate);
    const auto add = [&](const auto& run) {
      return all.add([run, tasks = graph_.tasks()] { return bench::time_ns(run) / tasks; });
    };
    const auto hops = [&](bool one_line) {
      return all.add([this, one_line] { return disturbed_ ? 0.0 : hand_off(one_line); });
    };
    const std::size_t hop = hops(false), one_line = hops(true), loop = add([this] { run_loop(); }),
                      ours = add([this] { ours_.run(); }), many = add([this] { many_.run(); });
    const std::size_t tbb = bench::has_tbb ? add([this] { tbb_.run(); }) : loop;
    const std::size_t openmp = with_openmp() ? add([this] { openmp_.run(); }) : loop;
    all.run(rounds);

    const double own = disturbed_ ? all.minimum(loop) : all.median(loop), tasks = graph_.tasks();
    const double least_hop = std::min(all.median(hop), all.median(one_line));
    const double bound = bench::bound(graph_, shape_.classed ? threads_ / 2 : threads_, own, least_hop) / tasks;
    const double free_bound = bench::bound(bench::without_classes(graph_), threads_, own, 0) / tasks;
    const double time = all.median(ours), floor = empty() ? 0 : bound, free_floor = empty() ? 0 : free_bound;
    const auto row = [&](const char* name, std::size_t v, double least) {
      std::printf("  %-22s %10.1f %10.1f", name, all.median(v), all.minimum(v));
      if (!empty() && least > 0) std::printf(" %8.1f %% %10.1f", 100 * least / all.median(v), all.median(v) - least);
    };
    const auto verdict = [](bool met) { std::printf("  %s\n", met ? "met" : "MISSED"); };
    const auto pairs = [&](std::size_t v) {
      const std::vector<double> ratio = all.ratios(ours, v);
      std::printf("  pairs %.2f (%.2f %.2f)", bench::median(ratio), bench::quantile(ratio, 0.25),
                  bench::quantile(ratio, 0.75));
      return bench::median(ratio);
    };
    // Goals of a calm machine say nothing about a disturbed one.
    const auto calm_verdict = [&](bool met) { disturbed_ ? void(std::printf("\n")) : verdict(met); };

    std::printf("%s: %d tasks, %d edges, bound %.1f ns a task; hand-off %.1f (%.1f) ns, within one line %.1f (%.1f)\n",
                shape_.name, graph_.tasks(), bench::edges(graph_), bound, all.median(hop), all.minimum(hop),
                all.median(one_line), all.minimum(one_line));
    row("loop, one thread", loop, 0);
    std::printf("\n");
    row("ours", ours, bound);
    if (empty()) {
      const double goal = shape_.empty > 0 ? shape_.empty : 1.2 * all.median(hop);
      std::printf("  at most %.1f ns", goal);
      calm_verdict(time <= goal);
    } else {
      const double goal = microseconds_ < 10 ? shape_.share : share_of_long_tasks;
      std::printf("  at least %.0f %%", 100 * goal);
      calm_verdict(bound >= goal * time);
    }
    row("ours, 4 queues a thread", many, bound);
    std::printf("  lost %.1f %%", 100 * (all.median(many) / time - 1));
    if (microseconds_ == 1) {
      std::printf(", below %.0f %%", 100 * most_lost);
      calm_verdict(all.median(many) < (1 + most_lost) * time);
    } else {
      std::printf("\n");
    }
    const auto competitor = [&](const char* name, std::size_t v) {
      if (v == loop) return void(std::printf("  %-22s %s\n", name, disturbed_ ? "left out" : "missing"));
      row(name, v, free_bound);
      const double theirs = all.median(v) - free_floor, over = time - floor;
      if (over > 0)
        std::printf("  overhead %.1f times ours", theirs / over);
      else
        std::printf("  overhead; ours has none");
      const double share = pairs(v), least = v == tbb ? least_share() : 0;
      if (least > 0) {
        std::printf(", at least %.2f", least);
        return verdict(share >= least);
      }
      if (disturbed_ || shape_.times == 0 || microseconds_ >= 10) return void(std::printf("\n"));
      std::printf(", at least %.1f", shape_.times);
      verdict(theirs >= shape_.times * over);
    };
    competitor("oneTBB flow graph", tbb);
    competitor("OpenMP tasks", openmp);
    std::fflush(stdout);
  }

 private:
  bool empty() const { return microseconds_ == 0; }
  bool with_openmp() const { return bench::has_openmp && !disturbed_; }

  /// The least that oneTBB's time may be of ours; 0: no goal.
  double least_share() const {
    if (!disturbed_) return shape_.kind == bench::graph_kind::alternating_chain ? least_of_chain : 0;
    return empty() ? 0 : microseconds_ < 10 ? least_of_short_when_disturbed : least_when_disturbed;
  }

  void bind(hp::kernel kernel, void (*body)(int)) {
    ours_.bind(kernel);
    many_.bind(kernel);
    bench::task_body = body;
  }

  template <class Run>
  void check(const char* name, const Run& run) {
    bench::order_check::restart(graph_.tasks());
    run();
    if (!bench::order_check::holds(graph_))
      throw std::runtime_error(std::string(name) + " ran the tasks of " + shape_.name + " in a wrong order");
  }

  void run_loop() {
    asm volatile("" : : "g"(loop_.data()) : "memory");  // the compiler shall not know the functions
    for (const call_record& c : loop_) c.run(c.task);
  }

  const shape& shape_;
  int threads_;
  double microseconds_;
  bool disturbed_;
  planned ours_, many_;
  bench::dependences graph_;
  bench::tbb_flow_graph tbb_;
  bench::openmp_tasks openmp_;
  std::vector<call_record> loop_;
};

}  // namespace

int main(int argc, char** argv) {
  int rounds = 11;
  std::string part = "all";
  std::vector<double> microseconds{0, 1, 20};
  int busy = -1, threads = 2;
  command_line::program app("Six task graphs on threads, beside other executors.", "bench_executor");
  app.add_option("rounds", rounds, "samples of each executor").check(command_line::whole(1, 1'000'000));
  app.add_option("part", part, "only shapes with this in their name; all: every one");
  app.add_option("microseconds", microseconds, "lengths of a task").check(command_line::number(0, 1e6));
  app.add_option("--threads", threads, "of every scheduler; even").check(command_line::whole(2, 64));
  app.add_option("--busy", busy, "a process that never sleeps is pinned to this one of the two cores")
      .check(command_line::whole(0, 1));
  return command_line::run(app, argc, argv, [&] {
    if (static_cast<int>(hp::allowed_cores().size()) < threads)
      throw std::runtime_error("this bench needs a core a thread: " + std::to_string(threads));
    if (threads % 2 != 0) throw std::runtime_error("half of the threads run AIC queues: --threads is even");
    const bool disturbed = busy >= 0;
    std::optional<bench::busy_process> neighbour;
    const std::int64_t millisecond = bench::steps_for(1e6);
    if (disturbed) neighbour.emplace(hp::allowed_cores()[bench::at(busy)]);
    bench::quiet_gate gate(30, disturbed ? 1 : 0);
    std::printf("oneTBB %s, OpenMP %s; %d threads, placing with %lld ns between queues\n",
                bench::has_tbb ? "found" : "missing", bench::has_openmp ? "found" : "missing", threads,
                static_cast<long long>(synchronisation / 1000));
    for (const double us : microseconds) {
      const int now = us < 10 ? rounds : std::max(1, rounds / 3);
      const auto steps = static_cast<std::int64_t>(us / 1000 * static_cast<double>(millisecond));
      std::printf("\ntasks of %g us, %d rounds\n  %-22s %10s %10s", us, now, "nanoseconds a task", "median", "minimum");
      std::printf(us == 0 ? "\n" : " %10s %10s\n", "of bound", "overhead");
      for (const shape& s : shapes)
        if (part == "all" || std::strstr(s.name, part.c_str()) != nullptr)
          contest(s, us, steps, threads, disturbed).measure(now, gate);
    }
    std::printf("\n%d samples, %d of them while another task wanted a core\n", gate.samples(), gate.disturbed());
    return 0;
  });
}
