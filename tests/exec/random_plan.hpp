// SPDX-License-Identifier: Apache-2.0
#pragma once
// Plans for the tests of exec/: a chain, and random ones that are safe by construction, on storage that lives with them.

#include <hyperparallel/taskflow/builder.hpp>

#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

namespace hyperparallel::testing_plans {

struct owned_plan {
  dynamic_taskflow flow;
  dynamic_schedule schedule;
  std::vector<std::vector<int>> inputs;  ///< the tasks that must have ended before each task begins, queue order aside

  std::vector<task> tasks;
  std::vector<wait> waits;
  std::vector<int> signals;
  std::vector<access> accesses;
  std::vector<event> events;
  std::vector<slot> slots;
  std::vector<int> runs;
  std::vector<int> queue, queue_begin, queue_task, order;

  owned_plan() = default;
  owned_plan(const owned_plan&) = delete;
  owned_plan& operator=(const owned_plan&) = delete;

  template <class Build>
  void build(const Build& write) {
    const taskflow_size size = measure(write);
    const auto length = [](int n) { return static_cast<std::size_t>(n) + 1; };
    tasks.resize(length(size.tasks));
    waits.resize(length(size.waits));
    signals.resize(length(size.signals));
    accesses.resize(length(size.accesses));
    events.resize(length(size.events));
    slots.resize(length(size.slots));
    runs.resize(length(size.runs));
    flow = {{}, tasks.data(), waits.data(), signals.data(), accesses.data(), events.data(), slots.data(), runs.data()};
    write(flow);
    seal(flow);
  }

  /// Queues in index order; `queue_of[t]` is task t's queue.
  void enqueue(const machine_shape& machine, const std::vector<int>& queue_of) {
    queue = queue_of;
    queue_begin.assign(static_cast<std::size_t>(queue_count(machine)) + 1, 0);
    queue_task.clear();
    for (int q = 0; q < queue_count(machine); ++q) {
      for (int t = 0; t < flow.size.tasks; ++t)
        if (queue_of[static_cast<std::size_t>(t)] == q) queue_task.push_back(t);
      queue_begin[static_cast<std::size_t>(q) + 1] = static_cast<int>(queue_task.size());
    }
    schedule.machine = machine;
    schedule.task_count = flow.size.tasks;
    schedule.queue = queue.data();
    order.resize(static_cast<std::size_t>(flow.size.tasks) + 1);
    std::iota(order.begin(), order.end(), 0);
    schedule.order = order.data();
    schedule.queue_begin = queue_begin.data();
    schedule.queue_task = queue_task.data();
  }
};

/// `count` tasks on `queues` queues of one rank; each waits for up to `fan_in` earlier tasks by an event of its own,
/// and some also for a prefix of an earlier queue's progress counter. Every task writes slot number `its own number`,
/// and reads those of the tasks that it waits for.
inline void random_plan(owned_plan& plan, int count, int queues, int fan_in, unsigned seed) {
  std::mt19937 random(seed);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  const auto at = [](int i) { return static_cast<std::size_t>(i); };
  std::vector<int> queue_of(at(count));
  for (int& q : queue_of) q = below(queues);
  plan.inputs.assign(at(count), {});
  std::vector<std::vector<int>> outputs(at(count));
  std::vector<std::vector<wait>> prefix(at(count));
  for (int t = 1; t < count; ++t) {
    for (int i = below(fan_in + 1); i > 0; --i) {
      const int before = below(t);
      plan.inputs[at(t)].push_back(before);
      outputs[at(before)].push_back(t);
    }
    if (below(4) != 0) continue;
    const int q = below(queues);
    std::vector<int> earlier;
    for (int b = 0; b < t; ++b)
      if (queue_of[at(b)] == q) earlier.push_back(b);
    if (earlier.empty()) continue;
    const int threshold = 1 + below(static_cast<int>(earlier.size()));
    prefix[at(t)].push_back({count + q, threshold});
    plan.inputs[at(t)].insert(plan.inputs[at(t)].end(), earlier.begin(), earlier.begin() + threshold);
  }
  const auto write = [&](auto& f) {
    for (int e = 0; e < count + queues; ++e) add_event(f, 0);
    for (int s = 0; s < count; ++s) add_slot(f, 0, 0, 8 * s, 8);
    for (int t = 0; t < count; ++t) {
      add_task(f, resource::aic, 0, 1, t % 3, t);
      bool joined = false;
      for (const int before : plan.inputs[at(t)])
        for (const int to : outputs[at(before)]) joined |= to == t;
      if (joined) add_wait(f, t);
      for (const wait& w : prefix[at(t)]) add_wait(f, w.event, w.threshold);
      for (const int to : outputs[at(t)]) add_signal(f, to);
      add_signal(f, count + queue_of[at(t)]);
      for (const int before : plan.inputs[at(t)]) add_access(f, before, 0, 8, access_mode::read);
      add_access(f, t, 0, 8, access_mode::write);
    }
  };
  plan.build(write);
  plan.enqueue({1, {queues, 0, 0, 0, 0}}, queue_of);
}

/// A chain of tasks that come from two queues by turns.
inline void alternating_plan(owned_plan& plan, int tasks) {
  plan.build([&](auto& f) {
    add_event(f, 0, tasks);
    for (int t = 0; t < tasks; ++t) {
      add_task(f, t % 2 == 0 ? resource::aic : resource::aiv, 0, 1, 0, t);
      if (t > 0) add_wait(f, t - 1);
      add_signal(f, t);
    }
  });
  std::vector<int> queue_of;
  for (int t = 0; t < tasks; ++t) queue_of.push_back(t % 2);
  plan.enqueue({1, {1, 1, 0, 0, 0}}, queue_of);
}

}  // namespace hyperparallel::testing_plans
