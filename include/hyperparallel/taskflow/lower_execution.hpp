// SPDX-License-Identifier: Apache-2.0
#pragma once
// From a flow and its schedule to an execution table: the same functions in a constant expression and at run time.
//
//   join_events -> prune_plan -> measure_table -> fill_table
//
// Law: the table's happens-before contains the plan's; a task is published exactly if another one waits for its
// position, and a counter is raised exactly if somebody waits for it.

#include <type_traits>

#include <hyperparallel/taskflow/queue_clocks.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// The size of the table of a plan that `prune_plan` has just been through; numbers the counters that somebody waits
/// for, counts readers and listeners. Complexity: O(tasks + waits + events).
template <class Flow, class Schedule, class Scratch>
constexpr execution_size measure_table(const Flow& f, const Schedule& s, Scratch& x) {
  execution_size n;
  n.tasks = f.size.tasks;
  n.queues = queue_count(s.machine);
  for (int e = 0; e < f.size.events; ++e) x.counter[e] = -1;
  for (int i = 0; i < n.tasks; ++i) x.readers[i] = 0;
  for (int i = 0; i < n.tasks; ++i) {
    const int t = s.queue_task[i], q = x.join.home[t];
    for (int w = x.kept_begin[t]; w < x.kept_end[t]; ++w) {
      ++n.waits;
      if (x.kept[w].word < n.queues) {
        ++x.readers[s.queue_begin[x.kept[w].word] + x.kept[w].threshold - 1];
        ++n.readers;
        continue;
      }
      const int e = x.kept[w].word - n.queues;
      if (x.counter[e] < 0) {
        const int c = n.counters++;
        x.counter[e] = c;
        x.counter_event[c] = e;
        x.listeners[c] = 0;
        x.heard[c] = -1;
        n.signals += x.join.total[e];
      }
      const int c = x.counter[e];
      if (x.heard[c] == q) continue;
      x.heard[c] = q;
      ++x.listeners[c];
      ++n.listeners;
    }
  }
  return n;
}

/// Writes the table that `measure_table` has just sized. Complexity: O(size of the table).
template <class Flow, class Schedule, class Scratch, class Table>
constexpr void fill_table(const Flow& f, const Schedule& s, const execution_size& n, Scratch& x, Table& table) {
  table.size = n;
  int lowest = n.tasks > 0 ? f.task[0].operation : 0, highest = lowest;
  for (int t = 1; t < n.tasks; ++t) {
    const int o = f.task[t].operation;
    lowest = o < lowest ? o : lowest;
    highest = o > highest ? o : highest;
  }
  std::int64_t makespan = 0;
  for (int q = 0; q < n.queues; ++q) makespan = x.free[q] > makespan ? x.free[q] : makespan;
  int shift = 0;
  while (makespan >> shift >= std::int64_t{1} << 30) ++shift;
  table.time_shift = shift;
  table.first_operation = lowest;
  table.operations = n.tasks > 0 ? highest - lowest + 1 : 0;
  for (int q = 0; q <= n.queues; ++q) table.queue_begin[q] = n.queues > 0 ? s.queue_begin[q] : 0;
  for (int c = 0, begin = 0; c <= n.counters; ++c) {
    table.listener_begin[c] = begin;
    if (c == n.counters) break;
    table.counter_event[c] = x.counter_event[c];
    table.counter_total[c] = x.join.total[x.counter_event[c]];
    begin += x.listeners[c];
    x.listeners[c] = table.listener_begin[c];
    x.heard[c] = -1;
  }
  int waits = 0, readers = 0, signals = 0;
  for (int i = 0; i < n.tasks; ++i) {
    const int t = s.queue_task[i], q = x.join.home[t], first_event = f.task[t].first_event;
    for (int w = x.kept_begin[t]; w < x.kept_end[t]; ++w) {
      word_wait k = x.kept[w];
      if (k.word >= n.queues) {
        const int c = x.counter[k.word - n.queues];
        k.word = n.queues + c;
        if (x.heard[c] != q) table.listener[x.listeners[c]++] = q;
        x.heard[c] = q;
      }
      table.wait[waits++] = k;
    }
    for (int g = f.task[t].signal_begin; g < f.task[t].signal_end; ++g) {
      const int c = x.counter[f.signal[g] + first_event];
      if (c >= 0) table.signal[signals++] = n.queues + c;
    }
    const int first = readers;
    readers += x.readers[i];
    x.readers[i] = first;
    table.record[i] = {
        t,     f.task[t].rank, f.task[t].item, f.task[t].operation - lowest,
        waits, readers,        signals,        static_cast<int>((x.end[t] - f.task[t].duration) >> shift)};
  }
  for (int i = 0, w = 0; i < n.tasks; ++i)
    for (; w < table.record[i].wait_end; ++w) {
      const word_wait k = table.wait[w];
      if (k.word >= n.queues) continue;
      int& place = x.readers[s.queue_begin[k.word] + k.threshold - 1];
      table.reader[place++] = x.join.home[table.record[i].task];
    }
}

namespace detail {

/// Two steps, so that the plan is pruned once: a table with room for the most, then one that fits.
template <const auto& Flow, const auto& Schedule, execution_options Options>
struct constant_execution {
  static constexpr int queues = queue_count(Schedule.machine);
  static constexpr taskflow_size room = std::remove_cvref_t<decltype(Flow)>::capacity;

  static constexpr int count_waits() {
    event_joins<room.tasks, room.events, signal_room(room)> x{};
    return join_events(Flow, Schedule, Options, x);
  }
  static constexpr int most_waits = count_waits();
  static constexpr execution_size most{room.tasks,        queues,      most_waits, most_waits,
                                       signal_room(room), room.events, most_waits};

  static constexpr fixed_execution_table<most> lower() {
    fixed_execution_scratch<room, queues, most_waits> x{};
    join_events(Flow, Schedule, Options, x.join);
    prune_plan(Flow, Schedule, x);
    fixed_execution_table<most> table{};
    fill_table(Flow, Schedule, measure_table(Flow, Schedule, x), x, table);
    return table;
  }

  static constexpr auto fit() {
    constexpr fixed_execution_table<most> wide = lower();  // local, so that no object file holds it
    constexpr execution_size n = wide.size;
    fixed_execution_table<n> t{};
    t.size = n;
    t.first_operation = wide.first_operation;
    t.operations = wide.operations;
    t.time_shift = wide.time_shift;
    for (int i = 0; i < n.tasks; ++i) t.record[i] = wide.record[i];
    for (int i = 0; i <= n.queues; ++i) t.queue_begin[i] = wide.queue_begin[i];
    for (int i = 0; i < n.waits; ++i) t.wait[i] = wide.wait[i];
    for (int i = 0; i < n.readers; ++i) t.reader[i] = wide.reader[i];
    for (int i = 0; i < n.signals; ++i) t.signal[i] = wide.signal[i];
    for (int i = 0; i < n.counters; ++i) t.counter_event[i] = wide.counter_event[i];
    for (int i = 0; i < n.counters; ++i) t.counter_total[i] = wide.counter_total[i];
    for (int i = 0; i <= n.counters; ++i) t.listener_begin[i] = wide.listener_begin[i];
    for (int i = 0; i < n.listeners; ++i) t.listener[i] = wide.listener[i];
    return t;
  }
};

}  // namespace detail

/// The table of a constant plan: `Flow` and `Schedule` are constexpr variables of static storage, and so is this.
template <const auto& Flow, const auto& Schedule, execution_options Options = execution_options{}>
inline constexpr auto execution_table_of = detail::constant_execution<Flow, Schedule, Options>::fit();

}}  // namespace hyperparallel::v0_2
