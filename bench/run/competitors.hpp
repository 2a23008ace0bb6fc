// SPDX-License-Identifier: Apache-2.0
#pragma once
// The same graphs on the threads of other schedulers, as far as they were found: oneTBB's flow graph and OpenMP's tasks
// with `depend`. Neither can bind tasks to a class of workers. The flow graph is built once and run often; OpenMP
// states its graph in every run, for it knows no other way.

#include <memory>
#include <vector>

#if HYPERPARALLEL_BENCH_TBB
#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#endif

#include "task_graphs.hpp"

namespace bench {

/// What a task of the competitors calls; changed between runs only.
inline void (*task_body)(int task) = nullptr;

#if HYPERPARALLEL_BENCH_TBB
inline constexpr bool has_tbb = true;

class tbb_flow_graph {
  using message = tbb::flow::continue_msg;
  using node = tbb::flow::continue_node<message>;

 public:
  tbb_flow_graph(const dependences& d, int threads)
      : threads_(tbb::global_control::max_allowed_parallelism, at(threads)), arena_(threads) {
    arena_.execute([&] { build(d); });  // a graph runs in the arena that it is made in
  }
  ~tbb_flow_graph() {
    node_.clear();
    start_.reset();
  }
  tbb_flow_graph(const tbb_flow_graph&) = delete;
  tbb_flow_graph& operator=(const tbb_flow_graph&) = delete;

  void run() {
    arena_.execute([this] {
      start_->try_put(message());
      graph_->wait_for_all();
    });
  }

 private:
  void build(const dependences& d) {
    graph_ = std::make_unique<tbb::flow::graph>();
    start_ = std::make_unique<tbb::flow::broadcast_node<message>>(*graph_);
    for (int t = 0; t < d.tasks(); ++t)
      node_.push_back(std::make_unique<node>(*graph_, [t](const message&) { task_body(t); }));
    for (int t = 0; t < d.tasks(); ++t) {
      if (d.before[at(t)].empty()) tbb::flow::make_edge(*start_, *node_[at(t)]);
      for (const int p : d.before[at(t)]) tbb::flow::make_edge(*node_[at(p)], *node_[at(t)]);
    }
  }

  tbb::global_control threads_;
  tbb::task_arena arena_;  ///< so many threads, however many cores there are
  std::unique_ptr<tbb::flow::graph> graph_;
  std::unique_ptr<tbb::flow::broadcast_node<message>> start_;
  std::vector<std::unique_ptr<node>> node_;
};
#else
inline constexpr bool has_tbb = false;

struct tbb_flow_graph {
  tbb_flow_graph(const dependences&, int) {}
  void run() {}
};
#endif

#if defined(_OPENMP)
inline constexpr bool has_openmp = true;

class openmp_tasks {
 public:
  /// `d` must outlive the object.
  openmp_tasks(const dependences& d, int threads) : graph_(d), threads_(threads), done_(d.before.size()) {}

  void run() {
#pragma omp parallel num_threads(threads_)
#pragma omp single
    create();
  }

 private:
  /// Lists of known length: an iterator in the clause would cost OpenMP an allocation for each task.
  /// Domain: no task waits for more than four.
  void create() {
    [[maybe_unused]] char* const done = done_.data();  // g++ sees no use in a clause
    for (int t = 0; t < graph_.tasks(); ++t) {
      const int* const p = graph_.before[at(t)].data();
      switch (graph_.before[at(t)].size()) {
        case 0:
#pragma omp task firstprivate(t) depend(out : done[t])
          task_body(t);
          break;
        case 1:
#pragma omp task firstprivate(t) depend(in : done[p[0]]) depend(out : done[t])
          task_body(t);
          break;
        case 2:
#pragma omp task firstprivate(t) depend(in : done[p[0]], done[p[1]]) depend(out : done[t])
          task_body(t);
          break;
        case 3:
#pragma omp task firstprivate(t) depend(in : done[p[0]], done[p[1]], done[p[2]]) depend(out : done[t])
          task_body(t);
          break;
        default:
#pragma omp task firstprivate(t) depend(in : done[p[0]], done[p[1]], done[p[2]], done[p[3]]) depend(out : done[t])
          task_body(t);
          break;
      }
    }
  }

  const dependences& graph_;
  int threads_;
  std::vector<char> done_;
};
#else
inline constexpr bool has_openmp = false;

struct openmp_tasks {
  openmp_tasks(const dependences&, int) {}
  void run() {}
};
#endif

}  // namespace bench
