// SPDX-License-Identifier: Apache-2.0
#pragma once
// An execution table that owns its arrays, in a constant expression and at run time: of plans whose synchronisation is by
// progress words alone.

#include <hyperparallel/support/growing_array.hpp>
#include <hyperparallel/taskflow/execution_table.hpp>
#include <hyperparallel/taskflow/task.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Arrays as in `fixed_execution_table`.
struct grown_execution_table {
  execution_size size{};
  int first_operation = 0, operations = 0, time_shift = 0;
  growing_array<execution_record> record;
  growing_array<int> queue_begin;
  growing_array<word_wait> wait;
  growing_array<int> reader;
  growing_array<queue_use> use;  ///< of each queue
};

namespace detail {

/// Lists, for each record, the queues that wait for it. `queue_of(word)` is the queue whose record a wait is for,
/// `visit_readers(word, queue, visit)` calls `visit` for the numbers by which that record lists `queue`. Domain: waits and
/// ends of waits are there. O(tasks + readers).
template <class QueueOf, class VisitReaders>
constexpr void list_readers(grown_execution_table& t, const QueueOf& queue_of, const VisitReaders& visit_readers) {
  growing_array<int> next(t.size.tasks, 0);  // how often a record is waited for, then where its next reader goes
  const auto awaited = [&](const word_wait& w) { return t.queue_begin.item[queue_of(w.word)] + w.threshold - 1; };
  const auto visit = [&](const auto& list) {
    for (int q = 0, w = 0; q < t.size.queues; ++q)
      for (int r = t.queue_begin.item[q]; r < t.queue_begin.item[q + 1]; ++r)
        for (; w < t.record.item[r].wait_end; ++w)
          visit_readers(t.wait.item[w].word, q, [&](int reader) { list(awaited(t.wait.item[w]), reader); });
  };
  visit([&](int record, int) { ++next.item[record]; });
  int readers = 0;
  for (int r = 0; r < t.size.tasks; ++r) {
    const int first = readers;
    t.record.item[r].reader_end = readers += next.item[r];
    next.item[r] = first;
  }
  t.reader.resize(readers, 0);
  visit([&](int record, int reader) { t.reader.item[next.item[record]++] = reader; });
  t.size.waits = t.wait.size;
  t.size.readers = readers;
}
constexpr void list_readers(grown_execution_table& t) {
  list_readers(t, [](int word) { return word; }, [](int, int queue, const auto& visit) { visit(queue); });
}

}  // namespace detail

}}  // namespace hyperparallel::v0_2
