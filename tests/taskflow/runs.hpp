// SPDX-License-Identifier: Apache-2.0
#pragma once
// Random flows of runs of tiles, single changes of them, and queues that chance has changed.

#include <random>
#include <vector>

#include "flows.hpp"

namespace taskflow_test {

/// A random flow of runs on four queues, as a builder: conflicts mostly guarded by a wait for the earlier run's event,
/// some waits for part of the link's progress word, some runs that join the event of the run before.
struct random_runs {
  struct run {
    hp::task_draft draft;
    int tiles;
  };
  std::vector<run> runs;
  int events = 0, slots = 1;

  explicit random_runs(std::mt19937& random) {
    const int count = 2 + below(random, 4);
    events = count + 1;  // one each, and the link's progress word
    slots = 1 + below(random, 2);
    int tasks = 0, sent = 0;
    for (int r = 0; r < count && tasks < 9; ++r) {
      run u;
      u.tiles = 1 + below(random, 3);
      tasks += u.tiles;
      hp::task_draft& d = u.draft;
      d.task.kind = static_cast<hp::resource>(below(random, 3));
      d.task.duration = below(random, 4);
      d.task.item = 10 * r;
      d.task.part = below(random, 4) == 0 ? below(random, 3) : 0;
      const int uses = below(random, 3);
      for (int a = 0; a < uses; ++a) {
        const int begin = 2 + below(random, 3), length = 1 + below(random, 2), steps[] = {0, 1, 1, 2, 2, -1};
        d.access[d.accesses++] = {below(random, slots), begin, begin + length,
                                  below(random, 2) == 0 ? hp::access_mode::write : hp::access_mode::read,
                                  steps[below(random, 6)]};
      }
      for (int e = 0; e < r; ++e)
        if (d.waits < 3 &&
            ((meet(u, runs[static_cast<std::size_t>(e)]) && below(random, 25) != 0) || below(random, 10) == 0))
          d.wait[d.waits++] = {runs[static_cast<std::size_t>(e)].draft.signal[0], hp::all_signals};
      if (sent > 0 && below(random, 3) == 0) d.wait[d.waits++] = {count, 1 + below(random, sent)};
      d.signal[d.signals++] = r;
      if (d.task.kind == hp::resource::link) {
        d.signal[d.signals++] = count;
        sent += u.tiles;
      }
      runs.push_back(u);
    }
  }

  static bool meet(const run& x, const run& y) {
    for (int i = 0; i < x.tiles; ++i)
      for (int j = 0; j < y.tiles; ++j)
        for (int a = 0; a < x.draft.accesses; ++a)
          for (int b = 0; b < y.draft.accesses; ++b) {
            const hp::access &u = x.draft.access[a], &v = y.draft.access[b];
            const int one = (x.draft.task.part + i) * u.step, other = (y.draft.task.part + j) * v.step;
            if (u.slot == v.slot && u.begin + one < v.end + other && v.begin + other < u.end + one &&
                (u.mode == hp::access_mode::write || v.mode == hp::access_mode::write))
              return true;
          }
    return false;
  }

  template <class Flow>
  void operator()(Flow& f) const {
    hp::add_event(f, 0, events);
    hp::add_slot(f, 0, 0, 0, 64, slots, 64);
    for (const run& u : runs) hp::append(f, u.draft, u.tiles);
  }
};

inline constexpr int run_mutations = 14;

inline constexpr const char* run_mutation_names[run_mutations] = {
    "queues changed",        "tile of another part", "step changed",          "shared accesses",
    "shared signals",        "shared waits",         "tile without wait",     "tile without signal",
    "lowered threshold",     "slot or mode changed", "tile of another class", "tile with other events",
    "tile with other slots", "longer interval"};

/// Changes what tiles share, or one tile of a run. False where chance picked nothing that it applies to.
inline bool mutate_runs(hp::dynamic_taskflow& f, int which, std::mt19937& random) {
  const auto pick = [&](int n) { return below(random, n); };
  hp::task &k = f.task[pick(f.size.tasks)], &o = f.task[pick(f.size.tasks)];
  switch (which) {
    case 0:  // none: the queues alone are changed
      return true;
    case 1:  // a tile takes the place of another part
      k.part += 1 - 2 * pick(2);
      return true;
    case 2:  // a step that lets tiles meet, or pulls them apart
      if (f.size.accesses == 0) return false;
      f.access[pick(f.size.accesses)].step = pick(4) - 1;
      return true;
    case 3:  // two runs share accesses
      k.access_begin = o.access_begin;
      k.access_end = o.access_end;
      return true;
    case 4:  // two runs share signals
      k.signal_begin = o.signal_begin;
      k.signal_end = o.signal_end;
      return true;
    case 5:  // two runs share waits
      k.wait_begin = o.wait_begin;
      k.wait_end = o.wait_end;
      return true;
    case 6:  // one tile without its last wait
      return k.wait_begin < k.wait_end-- || (++k.wait_end, false);
    case 7:  // one tile without its last signal
      return k.signal_begin < k.signal_end-- || (++k.signal_end, false);
    case 8: {  // lowered threshold of a whole run
      if (f.size.waits == 0) return false;
      hp::wait& w = f.wait[pick(f.size.waits)];
      return w.threshold > 1 && w.threshold-- > 1;
    }
    case 9:  // a run uses another slot, or in the other mode
      if (f.size.accesses == 0) return false;
      f.access[pick(f.size.accesses)].slot = pick(f.size.slots);
      f.access[pick(f.size.accesses)].mode = pick(2) == 0 ? hp::access_mode::read : hp::access_mode::write;
      return true;
    case 10:  // one tile of another class
      k.kind = static_cast<hp::resource>(pick(3));
      return true;
    case 11: {  // one tile with other events
      k.first_event = 1 - 2 * pick(2);
      for (int w = k.wait_begin; w < k.wait_end; ++w)
        if (f.wait[w].event + k.first_event < 0 || f.wait[w].event + k.first_event >= f.size.events) k.first_event = 0;
      for (int g = k.signal_begin; g < k.signal_end; ++g)
        if (f.signal[g] + k.first_event < 0 || f.signal[g] + k.first_event >= f.size.events) k.first_event = 0;
      return k.first_event != 0;
    }
    case 12:  // one tile with other slots
      k.first_slot = 1 - 2 * pick(2);
      for (int a = k.access_begin; a < k.access_end; ++a)
        if (f.access[a].slot + k.first_slot < 0 || f.access[a].slot + k.first_slot >= f.size.slots) k.first_slot = 0;
      return k.first_slot != 0;
    default:  // longer intervals
      if (f.size.accesses == 0) return false;
      ++f.access[pick(f.size.accesses)].end;
      return true;
  }
}

inline constexpr hp::machine_shape machine_of_runs{1, {2, 1, 1, 0, 0}};

/// The flow's tasks in queues that the scheduler chose and chance has changed. Counts the flow's uses again.
inline loose_plan changed_queues(hp::dynamic_taskflow& f, std::mt19937& random) {
  constexpr int queues = 4;
  f.size.signal_uses = f.size.access_uses = 0;
  for (int t = 0; t < f.size.tasks; ++t) {
    f.size.signal_uses += f.task[t].signal_end - f.task[t].signal_begin;
    f.size.access_uses += f.task[t].access_end - f.task[t].access_begin;
  }
  loose_plan p = expand(f, machine_of_runs);
  schedule_queues(p, below(random, 2) == 0 ? hp::priority::upward_rank : hp::priority::reference_order);
  if (below(random, 2) == 0) {  // the tasks of one queue in another order, or dealt to both matrix cores
    std::vector<int>& q = p.queue[static_cast<std::size_t>(below(random, queues))];
    if (q.size() > 1) std::swap(q[0], q[1 + random() % (q.size() - 1)]);
    if (below(random, 2) == 0 && !p.queue[0].empty()) {
      p.queue[1].insert(p.queue[1].begin(), p.queue[0].back());
      p.queue[0].pop_back();
    }
    std::vector<int>& from = p.queue[static_cast<std::size_t>(below(random, queues))];
    if (below(random, 4) == 0 && !from.empty()) {  // a task in any queue, of its class or not
      const int t = from.back();
      from.pop_back();
      p.queue[static_cast<std::size_t>(below(random, queues))].push_back(t);
    }
  }
  return p;
}

}  // namespace taskflow_test
