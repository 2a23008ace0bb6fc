// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shapes of task graphs as a user of the library writes them, and what other schedulers need of them: edges.
//
// Laws: tasks are numbered so that every edge leads upward; every wait is for all signals of its event, hence the tasks
// before a task are the signallers of the events it waits for.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include <hyperparallel/taskflow/builder.hpp>

namespace bench {

namespace hp = hyperparallel;

inline std::size_t at(int i) { return static_cast<std::size_t>(i); }

enum class graph_kind { chain, alternating_chain, wavefront, reduction_tree, layered, moe_tiles };

/// A builder: every task takes `duration` picoseconds and is operation 0.
struct task_graph {
  graph_kind kind;
  std::int64_t duration;

  template <class Flow>
  void operator()(Flow& f) const {
    switch (kind) {
      case graph_kind::chain:
      case graph_kind::alternating_chain:
        return chain(f);
      case graph_kind::wavefront:
        return wavefront(f);
      case graph_kind::reduction_tree:
        return reduction_tree(f);
      case graph_kind::layered:
        return layered(f);
      case graph_kind::moe_tiles:
        return moe_tiles(f);
    }
  }

 private:
  template <class Flow>
  int task(Flow& f, hp::resource r = hp::resource::aic) const {
    return hp::add_task(f, r, 0, duration, 0, 0);
  }

  template <class Flow>
  void chain(Flow& f) const {
    constexpr int length = 10000;
    hp::add_event(f, 0, length - 1);
    for (int t = 0; t < length; ++t) {
      task(f, kind == graph_kind::alternating_chain && t % 2 == 1 ? hp::resource::aiv : hp::resource::aic);
      if (t > 0) hp::add_wait(f, t - 1);
      if (t + 1 < length) hp::add_signal(f, t);
    }
  }

  /// A square whose tasks wait for their upper and left neighbours.
  template <class Flow>
  void wavefront(Flow& f) const {
    constexpr int side = 64;
    hp::add_event(f, 0, side * side - 1);
    for (int t = 0; t < side * side; ++t) {
      task(f);
      if (t >= side) hp::add_wait(f, t - side);
      if (t % side > 0) hp::add_wait(f, t - 1);
      if (t + 1 < side * side) hp::add_signal(f, t);
    }
  }

  /// Two and two join: inner task `leaves + k` waits for tasks 2 k and 2 k + 1.
  template <class Flow>
  void reduction_tree(Flow& f) const {
    constexpr int leaves = 4096, tasks = 2 * leaves - 1;
    hp::add_event(f, 0, leaves - 1);
    for (int t = 0; t < tasks; ++t) {
      task(f);
      if (t >= leaves) hp::add_wait(f, t - leaves);
      if (t + 1 < tasks) hp::add_signal(f, t / 2);
    }
  }

  /// Each task waits for one to three random tasks of the layer before.
  template <class Flow>
  void layered(Flow& f) const {
    constexpr int layers = 100, width = 100, tasks = layers * width;
    std::minstd_rand random(2024);
    std::vector<std::vector<int>> before(tasks);
    std::vector<int> event(tasks, -1);
    for (int t = width; t < tasks; ++t) {
      std::vector<int>& b = before[at(t)];
      for (int draws = 1 + static_cast<int>(random() % 3); draws > 0; --draws)
        b.push_back(t - t % width - width + static_cast<int>(random() % width));
      std::sort(b.begin(), b.end());
      b.erase(std::unique(b.begin(), b.end()), b.end());
      for (const int p : b) event[at(p)] = 0;
    }
    for (int& e : event)
      if (e == 0) e = hp::add_event(f, 0);
    for (int t = 0; t < tasks; ++t) {
      task(f);
      for (const int p : before[at(t)]) hp::add_wait(f, event[at(p)]);
      if (event[at(t)] >= 0) hp::add_signal(f, event[at(t)]);
    }
  }

  /// 8 experts × 16 row tiles: dispatch, 4 column tiles of the first product, each with its activation, 4 of the second
  /// product, combine. Products run on AIC, all else on AIV.
  template <class Flow>
  void moe_tiles(Flow& f) const {
    constexpr int row_tiles = 8 * 16, column_tiles = 4;
    for (int r = 0; r < row_tiles; ++r) {
      const int dispatched = hp::add_event(f, 0), multiplied = hp::add_event(f, 0, column_tiles),
                activated = hp::add_event(f, 0), projected = hp::add_event(f, 0);
      task(f, hp::resource::aiv);
      hp::add_signal(f, dispatched);
      for (int c = 0; c < column_tiles; ++c) {
        task(f);
        hp::add_wait(f, dispatched);
        hp::add_signal(f, multiplied + c);
      }
      for (int c = 0; c < column_tiles; ++c) {
        task(f, hp::resource::aiv);
        hp::add_wait(f, multiplied + c);
        hp::add_signal(f, activated);
      }
      for (int c = 0; c < column_tiles; ++c) {
        task(f);
        hp::add_wait(f, activated);
        hp::add_signal(f, projected);
      }
      task(f, hp::resource::aiv);
      hp::add_wait(f, projected);
    }
  }
};

/// The tasks that each task has to wait for, and its resource class.
struct dependences {
  std::vector<std::vector<int>> before;
  std::vector<hp::resource> kind;
  int tasks() const { return static_cast<int>(before.size()); }
};

template <class Flow>
dependences dependences_of(const Flow& f) {
  dependences d{std::vector<std::vector<int>>(at(f.size.tasks)), {}};
  std::vector<std::vector<int>> signaller(at(f.size.events));
  for (int t = 0; t < f.size.tasks; ++t) {
    const hp::task& k = f.task[t];
    d.kind.push_back(k.kind);
    for (int s = k.signal_begin; s < k.signal_end; ++s) signaller[at(f.signal[s] + k.first_event)].push_back(t);
  }
  for (int t = 0; t < f.size.tasks; ++t) {
    const hp::task& k = f.task[t];
    for (int w = k.wait_begin; w < k.wait_end; ++w)
      for (const int p : signaller[at(f.wait[w].event + k.first_event)]) d.before[at(t)].push_back(p);
  }
  return d;
}

inline int edges(const dependences& d) {
  std::size_t sum = 0;
  for (const std::vector<int>& before : d.before) sum += before.size();
  return static_cast<int>(sum);
}

/// The same tasks as a scheduler sees them that knows no classes.
inline dependences without_classes(dependences d) {
  for (hp::resource& k : d.kind) k = hp::resource::aic;
  return d;
}

/// What no executor can beat: the longest chain, or the work of a class on its workers, where a task takes `own` and
/// `hand_off` passes between tasks of different classes.
inline double bound(const dependences& d, int workers_of_a_class, double own, double hand_off) {
  std::vector<double> end(d.before.size());
  double work[hp::resource_count] = {}, longest = 0;
  for (std::size_t t = 0; t < end.size(); ++t) {
    for (const int p : d.before[t]) end[t] = std::max(end[t], end[at(p)] + (d.kind[at(p)] == d.kind[t] ? 0 : hand_off));
    end[t] += own;
    longest = std::max(longest, end[t]);
    work[static_cast<int>(d.kind[t])] += own;
  }
  for (const double w : work) longest = std::max(longest, w / workers_of_a_class);
  return longest;
}

}  // namespace bench
