// SPDX-License-Identifier: Apache-2.0
#pragma once
// A run, planned or real, as a trace that Perfetto and chrome://tracing open: one process per rank, one row per queue.
//
//   hp::atomic_file file("trace.json");                                   // fails here when it cannot be written
//   …
//   hp::report::write_trace(file, flow, schedule, executor.profile(), executor.names());
//   file.commit();
//
// Law: every task that ran is one complete event ("ph": "X") on its queue's row, with its exact start and duration in
// microseconds; events of one row do not overlap when the tasks did not. Tasks that never ran are left out.
// Format: "Trace Event Format", JSON object form.

#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include <hyperparallel/report/json_text.hpp>
#include <hyperparallel/report/queue_name.hpp>
#include <hyperparallel/report/text_sink.hpp>
#include <hyperparallel/runtime/failure.hpp>
#include <hyperparallel/runtime/profile.hpp>
#include <hyperparallel/taskflow/simulate.hpp>

namespace hyperparallel::report {

/// How the trace's processes are called and numbered; several traces share a file when their numbers differ.
struct trace_options {
  std::string process = "rank";  ///< rank 3 is the process "rank 3"
  int first_process = 0;         ///< the process number of rank 0
};

/// Writes the events of one trace file, in any number of parts, then its end.
template <text_sink Sink>
class trace_writer {
 public:
  explicit trace_writer(Sink& sink) : sink_(sink) { put("{{\"displayTimeUnit\":\"ms\",\"traceEvents\":["); }
  trace_writer(const trace_writer&) = delete;
  trace_writer& operator=(const trace_writer&) = delete;

  /// Names the processes and rows of `machine`, in the order in which they are to be shown.
  void machine(const machine_shape& m, const trace_options& options = {}) {
    const int per_rank = queues_per_rank(m);
    for (int rank = 0; rank < m.ranks; ++rank) {
      const int process = options.first_process + rank;
      metadata("process_name", process, 0, "name", json_string(options.process + " " + std::to_string(rank)));
      metadata("process_sort_index", process, 0, "sort_index", std::to_string(process));
      for (int row = 0; row < per_rank; ++row) {
        metadata("thread_name", process, row, "name", json_string(queue_name(m, rank * per_rank + row)));
        metadata("thread_sort_index", process, row, "sort_index", std::to_string(row));
      }
    }
  }

  /// One task on its row. `start` and `duration` count `1 / per_microsecond` of a microsecond, a power of ten; `more` is
  /// added to the arguments, and begins with a comma unless it is empty.
  void span(int process, int row, std::string_view name, std::string_view category, std::int64_t start,
            std::int64_t duration, std::int64_t per_microsecond, std::string_view arguments) {
    separate();
    put("{{\"ph\":\"X\",\"pid\":{},\"tid\":{},\"ts\":", process, row);
    microseconds(start, per_microsecond);
    put(",\"dur\":");
    microseconds(duration, per_microsecond);
    put(",\"name\":{},\"cat\":{},\"args\":{{{}}}}}", json_string(name), json_string(category), arguments);
    if (buffer_.size() >= flush_bytes) flush();
  }

  /// The end of the file. Nothing may follow.
  void finish() {
    put("\n]}}\n");
    flush();
  }

 private:
  static constexpr std::size_t flush_bytes = std::size_t{1} << 16;

  template <class... Arguments>
  void put(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    fmt::format_to(std::back_inserter(buffer_), format, std::forward<Arguments>(arguments)...);
  }

  void separate() {
    put("{}", first_ ? "\n" : ",\n");
    first_ = false;
  }

  void metadata(const char* what, int process, int row, const char* key, const std::string& value) {
    separate();
    put("{{\"ph\":\"M\",\"pid\":{},\"tid\":{},\"name\":\"{}\",\"args\":{{\"{}\":{}}}}}", process, row, what, key, value);
  }

  void microseconds(std::int64_t value, std::int64_t per_microsecond) {
    const int digits = per_microsecond == microsecond ? 6 : 3;
    put("{}.{:0{}}", value / per_microsecond, value % per_microsecond, digits);
  }

  void flush() {
    sink_.write(std::string_view(buffer_.data(), buffer_.size()));
    buffer_.clear();
  }

  Sink& sink_;
  fmt::memory_buffer buffer_;
  bool first_ = true;
};

}  // namespace hyperparallel::report
