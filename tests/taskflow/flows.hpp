// SPDX-License-Identifier: Apache-2.0
#pragma once
// Flows that the taskflow tests share: the tile flow of one MoE layer, and loose plans that a test can change at will.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <random>
#include <vector>

#include <hyperparallel/taskflow.hpp>

namespace taskflow_test {

namespace hp = hyperparallel;

/// dispatch -> 4 x GMM1 -> 2 x SwiGLU -> 2 x GMM2 -> combine for each tile of each rank: 10 tasks a tile, ragged
/// durations. `buffers` > 0: tiles share that many sets of slots in turn, so a dispatch waits until the tile that used
/// the set before is combined.
struct moe_tiles {
  int tiles = 4;
  int ranks = 1;
  int buffers = 0;

  template <class Flow>
  constexpr void operator()(Flow& f) const {
    using enum hp::resource;
    using enum hp::access_mode;
    const int sets = buffers > 0 ? buffers : tiles;
    for (int r = 0; r < ranks; ++r) {
      const int first_slot = f.size.slots, first_event = f.size.events;
      for (int i = 0; i < 4 * sets; ++i) hp::add_slot(f, r, 0, i * 8192, 8192);
      for (int i = 0; i < 5 * tiles; ++i) hp::add_event(f, r);
      for (int b = 0; b < tiles; ++b) {
        const int x = first_slot + 4 * (b % sets), e = first_event + 5 * b;
        const std::int64_t ragged = (b * 7919 + r * 31) % 13 * 1000;
        hp::add_task(f, link, r, 50000 + ragged, 0, b);
        if (b >= sets) hp::add_wait(f, e + 4 - 5 * sets);
        hp::add_signal(f, e);
        hp::add_access(f, x, 0, 8, write);
        for (int c = 0; c < 4; ++c) {
          hp::add_task(f, aic, r, 300000 + ragged, 1, b);
          hp::add_wait(f, e);
          hp::add_signal(f, e + 1);
          hp::add_access(f, x, 0, 8, read);
          hp::add_access(f, x + 1, c, c + 1, write);
        }
        for (int c = 0; c < 2; ++c) {
          hp::add_task(f, aiv, r, 100000 + ragged, 2, b);
          hp::add_wait(f, e + 1);
          hp::add_signal(f, e + 2);
          hp::add_access(f, x + 1, 0, 4, read);
          hp::add_access(f, x + 2, c, c + 1, write);
        }
        for (int c = 0; c < 2; ++c) {
          hp::add_task(f, aic, r, 250000 + ragged, 3, b);
          hp::add_wait(f, e + 2);
          hp::add_signal(f, e + 3);
          hp::add_access(f, x + 2, 0, 2, read);
          hp::add_access(f, x + 3, c, c + 1, write);
        }
        hp::add_task(f, link, r, 50000 + ragged, 4, b);
        hp::add_wait(f, e + 3);
        hp::add_signal(f, e + 4);
        hp::add_access(f, x + 3, 0, 2, read);
      }
    }
  }
};

/// Whether every count is asked for in full.
inline bool exhaustive() { return std::getenv("HYPERPARALLEL_EXHAUSTIVE") != nullptr; }

struct loose_task {
  hp::resource kind = hp::resource::aic;
  int rank = 0;
  std::int64_t duration = 1;
  std::vector<hp::wait> waits;
  std::vector<int> signals;
  std::vector<hp::access> accesses;
  int pair = -1;  ///< the message that it sends or receives, of plans with rendezvous
};

/// A flow as lists, with optional frozen queues. The units of all slots are bytes.
struct loose_plan {
  hp::machine_shape machine{};
  int events = 0, slots = 0;
  std::vector<loose_task> task;
  std::vector<std::vector<int>> queue;
  std::vector<hp::slot> place;         ///< where slots lie; those past its end: 64 bytes each on rank 0
  std::vector<std::int64_t> capacity;  ///< of each tier; empty: one tier that holds all slots

  hp::slot place_of(int s) const {
    const auto i = static_cast<std::size_t>(s);
    return i < place.size() ? place[i] : hp::slot{0, 0, std::int64_t{s} * 64, 64};
  }
  std::vector<std::int64_t> capacities() const {
    return capacity.empty() ? std::vector<std::int64_t>{std::int64_t{1} << 40} : capacity;
  }

  template <class Flow>
  void operator()(Flow& f) const {
    for (int e = 0; e < events; ++e) hp::add_event(f, 0);
    for (int s = 0; s < slots; ++s) {
      const hp::slot at = place_of(s);
      hp::add_slot(f, at.rank, at.tier, at.offset, at.bytes);
    }
    int item = 0;
    for (const loose_task& k : task) {
      hp::add_task(f, k.kind, k.rank, k.duration, 0, item++);
      for (const hp::wait& w : k.waits) hp::add_wait(f, w.event, w.threshold);
      for (const int e : k.signals) hp::add_signal(f, e);
      for (const hp::access& a : k.accesses) hp::add_access(f, a.slot, a.begin, a.end, a.mode);
    }
  }
};

/// Puts the plan's queues into `s`, with the order of a run of them, and tells whether there is one. Else the order
/// respects the queues and no wait: what a plan that cannot run would claim.
inline bool freeze_queues(const hp::dynamic_taskflow& f, const loose_plan& p, hp::dynamic_schedule& s,
                          hp::detail::dynamic_exact_scratch& x) {
  s.machine = p.machine;
  s.task_count = 0;
  bool once = true;
  std::vector<bool> seen(p.task.size());
  for (std::size_t q = 0; q < p.queue.size(); ++q) {
    s.queue_begin[q] = s.task_count;
    for (const int t : p.queue[q]) {
      s.queue_task[s.task_count++] = t;
      s.queue[t] = static_cast<int>(q);
      once = once && !seen[static_cast<std::size_t>(t)];
      seen[static_cast<std::size_t>(t)] = true;
    }
  }
  s.queue_begin[p.queue.size()] = s.task_count;
  if (once && hp::detail::derive_order(f, s, x)) return true;
  std::vector<std::size_t> next(p.queue.size());
  for (int position = 0; position < s.task_count; ++position) {
    std::size_t least = p.queue.size();
    for (std::size_t q = 0; q < p.queue.size(); ++q)
      if (next[q] < p.queue[q].size() && (least == p.queue.size() || p.queue[q][next[q]] < p.queue[least][next[least]]))
        least = q;
    s.order[position] = p.queue[least][next[least]++];
  }
  return false;
}

/// Flow and schedule of a plan with frozen queues; `complete` tells whether its queues can all run.
struct realised {
  explicit realised(const loose_plan& p)
      : flow(hp::measure(p)),
        schedule(total(p), static_cast<int>(p.queue.size())),
        exact(flow_size(p), static_cast<int>(p.queue.size())) {
    p(flow);
    hp::seal(flow);
    complete = freeze_queues(flow, p, schedule, exact);
  }
  static int total(const loose_plan& p) {
    std::size_t n = p.task.size();
    for (const auto& q : p.queue) n += q.size();
    return static_cast<int>(n);
  }
  static hp::taskflow_size flow_size(const loose_plan& p) { return hp::measure(p); }

  hp::owned_taskflow flow;
  hp::owned_schedule schedule;
  hp::detail::owned_exact_scratch exact;
  bool complete = false;
};

/// The plan's queues as the list scheduler freezes them.
inline void schedule_queues(loose_plan& p, hp::priority policy = hp::priority::upward_rank) {
  const hp::taskflow_size n = hp::measure(p);
  const int queues = hp::queue_count(p.machine);
  hp::owned_taskflow f(n);
  p(f);
  hp::seal(f);
  hp::owned_schedule s(n.tasks, queues);
  hp::owned_schedule_scratch x(n, queues);
  hp::list_schedule(f, p.machine, {policy, 0}, s, x);
  p.queue.assign(static_cast<std::size_t>(queues), {});
  for (int q = 0; q < queues; ++q)
    p.queue[static_cast<std::size_t>(q)].assign(s.queue_task + s.queue_begin[q], s.queue_task + s.queue_begin[q + 1]);
}

/// Every task with waits, signals and intervals of its own; no queues.
inline loose_plan expand(const hp::dynamic_taskflow& f, const hp::machine_shape& machine) {
  loose_plan p;
  p.machine = machine;
  p.events = f.size.events;
  p.slots = f.size.slots;
  p.place.assign(f.slot, f.slot + f.size.slots);
  for (const hp::slot& s : p.place) {
    const auto tier = static_cast<std::size_t>(s.tier);
    if (p.capacity.size() <= tier) p.capacity.resize(tier + 1);
    p.capacity[tier] = std::max(p.capacity[tier], s.offset + s.bytes);
  }
  for (int t = 0; t < f.size.tasks; ++t) {
    const hp::task& k = f.task[t];
    p.task.push_back({k.kind,
                      k.rank,
                      k.duration,
                      {f.wait + k.wait_begin, f.wait + k.wait_end},
                      {f.signal + k.signal_begin, f.signal + k.signal_end},
                      {f.access + k.access_begin, f.access + k.access_end}});
    for (hp::wait& w : p.task.back().waits) w.event += k.first_event;
    for (int& e : p.task.back().signals) e += k.first_event;
    for (hp::access& a : p.task.back().accesses)
      a = {a.slot + k.first_slot, a.begin + k.part * a.step, a.end + k.part * a.step, a.mode, 0};
  }
  return p;
}

/// What a builder writes, in the queues of the list scheduler.
template <class Build>
loose_plan loosen(const Build& build, const hp::machine_shape& machine,
                  hp::priority policy = hp::priority::upward_rank) {
  hp::owned_taskflow f(hp::measure(build));
  build(f);
  hp::seal(f);
  loose_plan p = expand(f, machine);
  schedule_queues(p, policy);
  return p;
}

/// What `seal` would write, so that a mutant's later signals do not move its thresholds.
inline void freeze_thresholds(loose_plan& p) {
  for (auto& k : p.task)
    for (auto& w : k.waits)
      if (w.threshold == hp::all_signals) {
        w.threshold = 0;
        for (const auto& o : p.task)
          w.threshold += static_cast<int>(std::count(o.signals.begin(), o.signals.end(), w.event));
      }
}

inline int below(std::mt19937& random, int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); }

/// A random flow on four queues: conflicts mostly guarded by a wait, some joint events, some progress words of the
/// single link.
inline loose_plan random_plan(std::mt19937& random, int tasks) {
  loose_plan p;
  p.machine = {1, {2, 1, 1, 0, 0}};
  p.slots = 1 + below(random, 4);
  p.events = tasks + 1;  // one each, and the link's progress word
  int sent = 0;
  for (int t = 0; t < tasks; ++t) {
    loose_task k;
    k.kind = static_cast<hp::resource>(below(random, 3));
    k.duration = below(random, 5);
    const int uses = below(random, 3);
    for (int u = 0; u < uses; ++u) {
      const int begin = below(random, 3), slot = below(random, p.slots);
      k.accesses.push_back({slot, begin, begin + 1 + below(random, 2),
                            below(random, 2) == 0 ? hp::access_mode::write : hp::access_mode::read});
    }
    for (int earlier = 0; earlier < t; ++earlier) {
      const loose_task& o = p.task[static_cast<std::size_t>(earlier)];
      bool meets = false;
      for (const auto& a : k.accesses)
        for (const auto& b : o.accesses)
          meets = meets || (a.slot == b.slot && a.begin < b.end && b.begin < a.end &&
                            (a.mode == hp::access_mode::write || b.mode == hp::access_mode::write));
      if ((meets && below(random, 20) != 0) || below(random, 12) == 0)
        k.waits.push_back({o.signals[0], hp::all_signals});
    }
    if (sent > 0 && below(random, 4) == 0) k.waits.push_back({tasks, 1 + below(random, sent)});
    // A task may join the event of the task before, as long as nobody waits for it yet.
    bool joins = t > 0 && below(random, 3) == 0;
    const int last = t > 0 ? p.task[static_cast<std::size_t>(t - 1)].signals[0] : -1;
    for (const auto& w : k.waits) joins = joins && w.event != last;
    for (const auto& o : p.task)
      for (const auto& w : o.waits) joins = joins && w.event != last;
    k.signals.push_back(joins ? last : t);
    if (k.kind == hp::resource::link) {
      k.signals.push_back(tasks);
      ++sent;
    }
    p.task.push_back(k);
  }
  return p;
}

}  // namespace taskflow_test
