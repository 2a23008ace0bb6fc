// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a thread reads while it executes a plan: per queue a run of small records, and only the synchronisation that
// the frozen order does not imply.
//
// Synchronisation is by words, each a monotone count. Word q < queues is queue q's *progress word*: its one writer, the
// queue, stores the position (1, 2, …) of a record that has ended. Words from `queues` on are counters: every signal of
// their event adds one. A record begins when every word that it waits for has reached its threshold.
//
// In storage a record's waits, readers and signals follow those of the record before it, queue by queue, so each range
// is given by its end alone.

#include <hyperparallel/support/array_bound.hpp>
#include <hyperparallel/taskflow/scratch.hpp>
#include <hyperparallel/taskflow/storage.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Holds when `word` has reached `threshold`.
struct word_wait {
  int word;
  int threshold;
  friend constexpr bool operator==(const word_wait&, const word_wait&) = default;
};

/// One task as its queue runs it. `kernel` is the task's operation less the table's first one.
struct execution_record {
  int task, rank, item;
  int kernel;
  int wait_end;
  int reader_end;  ///< the queues that wait for this very position; none: it is not published
  int signal_end;  ///< counters that it raises
  int start;       ///< planned begin, in units of 2^`time_shift` picoseconds: a thread of several queues follows it
  friend constexpr bool operator==(const execution_record&, const execution_record&) = default;
};

/// What a queue holds.
struct queue_use {
  resource kind = resource::aic;  ///< of its tasks
  std::int64_t load = 0;          ///< one a task, and their durations
  friend constexpr bool operator==(const queue_use&, const queue_use&) = default;
};

struct execution_size {
  int tasks = 0, queues = 0, waits = 0, readers = 0, signals = 0, counters = 0, listeners = 0;
  friend constexpr bool operator==(const execution_size&, const execution_size&) = default;
};

namespace detail {

/// Inline storage: as a constant, read-only data that threads run from.
template <execution_size Size>
struct fixed_execution_table {
  execution_size size{};
  int first_operation = 0, operations = 0, time_shift = 0;    ///< operations are numbered without large gaps
  execution_record record[array_bound(Size.tasks + 1)] = {};  ///< queue by queue, in queue order
  int queue_begin[array_bound(Size.queues + 1)] = {};         ///< queue -> its first record
  word_wait wait[array_bound(Size.waits + 1)] = {};           ///< by record
  int reader[array_bound(Size.readers + 1)] = {};             ///< by record: queues
  int signal[array_bound(Size.signals + 1)] = {};             ///< by record: words
  int counter_event[array_bound(Size.counters + 1)] = {};     ///< counter -> event
  int counter_total[array_bound(Size.counters + 1)] = {};     ///< counter -> signals in one run
  int listener_begin[array_bound(Size.counters + 1)] = {};    ///< counter -> its first listener
  int listener[array_bound(Size.listeners + 1)] = {};         ///< by counter: the queues that wait for it
};

}  // namespace detail

/// Views of arrays that somebody else owns.
struct dynamic_execution_table {
  execution_size size{};
  int first_operation = 0, operations = 0, time_shift = 0;
  execution_record* record = nullptr;
  int* queue_begin = nullptr;
  word_wait* wait = nullptr;
  int* reader = nullptr;
  int* signal = nullptr;
  int* counter_event = nullptr;
  int* counter_total = nullptr;
  int* listener_begin = nullptr;
  int* listener = nullptr;
};

struct owned_execution_table : dynamic_execution_table {
  explicit owned_execution_table(const execution_size& n) {
    memory.take_each(n.tasks, record);
    memory.take_each(n.queues, queue_begin);
    memory.take_each(n.waits, wait);
    memory.take_each(n.readers, reader);
    memory.take_each(n.signals, signal);
    memory.take_each(n.counters, counter_event, counter_total, listener_begin);
    memory.take_each(n.listeners, listener);
  }
  scratch_memory memory;
};

/// First wait, reader or signal of record `r`.
template <class Table>
constexpr int wait_begin(const Table& t, int r) {
  return r == 0 ? 0 : t.record[r - 1].wait_end;
}
namespace detail {

template <class Table>
constexpr int reader_begin(const Table& t, int r) {
  return r == 0 ? 0 : t.record[r - 1].reader_end;
}

}  // namespace detail
template <class Table>
constexpr int signal_begin(const Table& t, int r) {
  return r == 0 ? 0 : t.record[r - 1].signal_end;
}

}}  // namespace hyperparallel::v0_2
