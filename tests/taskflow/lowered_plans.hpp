// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the tests of execution tables share: random plans of every kind, and the order that a plan or a table promises,
// by brute force.

#include <random>
#include <vector>

#include <hyperparallel/taskflow/lower_execution.hpp>

#include "flows.hpp"

namespace taskflow_test {

/// Tasks of two ranks on `queues` queues each. `wild`: queue orders may be cyclic and thresholds out of reach.
inline loose_plan random_loose_plan(unsigned seed, int tasks, int queues, bool wild) {
  std::mt19937 random(seed);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  loose_plan p;
  p.machine.ranks = 2;
  p.machine.queues[0] = queues;
  p.queue.resize(static_cast<std::size_t>(2 * queues));
  std::vector<int> signals;  // by event
  for (int t = 0; t < tasks; ++t) {
    loose_task k;
    k.rank = below(2);
    k.duration = 1 + below(5);
    for (int w = below(3); w > 0 && !signals.empty(); --w) {
      const int e = below(static_cast<int>(signals.size())), total = signals[static_cast<std::size_t>(e)];
      if (total == 0 && !wild) continue;
      const int kind = below(8);
      const int threshold = wild && kind == 0 ? total + 1 : kind < 3 && total > 1 ? 1 + below(total) : hp::all_signals;
      k.waits.push_back({e, threshold});
      // An event that somebody waits for gets no more signals, so that later ones cannot make a cycle.
      if (!wild) signals[static_cast<std::size_t>(e)] = -total - 1;
    }
    for (int& s : signals)
      if (s < 0) s = -s - 1;
    for (int s = below(3); s > 0; --s) {
      const bool fresh = signals.empty() || below(2) == 0;
      if (fresh) signals.push_back(0);
      const int e = fresh ? static_cast<int>(signals.size()) - 1 : below(static_cast<int>(signals.size()));
      bool awaited = false;
      for (const loose_task& before : p.task)
        for (const hp::wait& w : before.waits) awaited |= w.event == e;
      for (const hp::wait& w : k.waits) awaited |= w.event == e;
      if (awaited && !wild) continue;
      k.signals.push_back(e);
      ++signals[static_cast<std::size_t>(e)];
    }
    auto& queue = p.queue[static_cast<std::size_t>(k.rank * queues + below(queues))];
    if (wild && below(6) == 0)
      queue.insert(queue.begin(), t);
    else
      queue.push_back(t);
    p.task.push_back(k);
  }
  p.events = static_cast<int>(signals.size());
  return p;
}

/// `after[a][b]`: b begins only after a has ended, in every interleaving. `runs[t]`: t ends in every interleaving.
struct promised_order {
  std::vector<std::vector<bool>> after;
  std::vector<bool> runs;
  friend bool operator==(const promised_order&, const promised_order&) = default;
};

/// By runs that go as far as they can without ever ending one task; `begins` is such a run.
template <class Begins>
promised_order order_of(int tasks, const Begins& begins) {
  promised_order o;
  o.runs = begins(-1);
  for (int a = 0; a < tasks; ++a) {
    o.after.push_back(begins(a));
    o.after.back().flip();
  }
  return o;
}

template <class Flow, class Schedule>
promised_order order_of_plan(const Flow& f, const Schedule& s) {
  hp::detail::owned_exact_scratch x(f.size, hp::queue_count(s.machine));
  return order_of(f.size.tasks, [&](int withheld) {
    hp::detail::run_greedily(f, s, withheld, x, [](int) {});
    return std::vector<bool>(x.begun, x.begun + f.size.tasks);
  });
}

/// Reads the table alone, the way the executor does: a queue publishes only positions that have readers. `without` is
/// a wait that is left out, or -1.
template <class Table>
promised_order order_of_table(const Table& t, int without = -1) {
  return order_of(t.size.tasks, [&](int withheld) {
    std::vector<bool> begun(static_cast<std::size_t>(t.size.tasks));
    std::vector<int> word(static_cast<std::size_t>(t.size.queues + t.size.counters)), next;
    for (int q = 0; q < t.size.queues; ++q) next.push_back(t.queue_begin[q]);
    for (bool moved = true; moved;) {
      moved = false;
      for (int q = 0; q < t.size.queues; ++q)
        for (int& r = next[static_cast<std::size_t>(q)]; r < t.queue_begin[q + 1]; ++r) {
          const hp::execution_record& k = t.record[r];
          bool ready = true;
          for (int w = hp::wait_begin(t, r); w < k.wait_end; ++w)
            ready &= w == without || word[static_cast<std::size_t>(t.wait[w].word)] >= t.wait[w].threshold;
          if (!ready) break;
          begun[static_cast<std::size_t>(k.task)] = true;
          if (k.task == withheld) break;
          moved = true;
          if (hp::detail::reader_begin(t, r) < k.reader_end)
            word[static_cast<std::size_t>(q)] = r + 1 - t.queue_begin[q];
          for (int g = hp::signal_begin(t, r); g < k.signal_end; ++g) ++word[static_cast<std::size_t>(t.signal[g])];
        }
    }
    return begun;
  });
}

/// A table made at run time, with its working memory.
struct lowered {
  template <class Flow, class Schedule>
  lowered(const Flow& f, const Schedule& s, const hp::execution_options& options = {})
      : scratch(f.size, hp::queue_count(s.machine)) {
    scratch.take_waits(most = hp::join_events(f, s, options, scratch.join));
    hp::prune_plan(f, s, scratch);
    table = std::make_unique<hp::owned_execution_table>(hp::measure_table(f, s, scratch));
    hp::fill_table(f, s, hp::measure_table(f, s, scratch), scratch, *table);
  }
  hp::detail::owned_execution_scratch scratch;
  int most = 0;
  std::unique_ptr<hp::owned_execution_table> table;
};

}  // namespace taskflow_test
