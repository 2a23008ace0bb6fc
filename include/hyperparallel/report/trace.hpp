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
// microseconds. In a real run two more may stand around it: "wait", from when its worker found it blocked to its start,
// and "signal", from its end until its waiters could go on. Events of one row do not overlap when the tasks did not.
// Tasks that never ran are left out.
// Format: "Trace Event Format", JSON object form.

#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include <hyperparallel/exec/failure.hpp>
#include <hyperparallel/exec/profile.hpp>
#include <hyperparallel/hardware/units.hpp>
#include <hyperparallel/report/json_text.hpp>
#include <hyperparallel/report/queue_name.hpp>
#include <hyperparallel/report/text_formatter.hpp>
#include <hyperparallel/report/text_sink.hpp>
#include <hyperparallel/taskflow/simulate.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace report {

namespace detail {

/// Digits after the point of a microsecond.
inline constexpr int picosecond_digits = 6;

}  // namespace detail
inline constexpr int nanosecond_digits = 3;
inline constexpr int microsecond_digits = 0;

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
    const int per_rank = hyperparallel::detail::queues_per_rank(m);
    for (int rank = 0; rank < m.ranks; ++rank) {
      const int process = options.first_process + rank;
      name_process(process, options.process + " " + std::to_string(rank));
      for (int row = 0; row < per_rank; ++row) name_row(process, row, detail::queue_name(m, rank * per_rank + row));
    }
  }

  /// Names one process, or one row of it; they are shown in the order of their numbers.
  void name_process(int process, std::string_view name) {
    metadata("process_name", process, 0, "name", detail::json_string(name));
    metadata("process_sort_index", process, 0, "sort_index", std::to_string(process));
  }
  void name_row(int process, int row, std::string_view name) {
    metadata("thread_name", process, row, "name", detail::json_string(name));
    metadata("thread_sort_index", process, row, "sort_index", std::to_string(row));
  }

  /// One task on its row. Start and duration count 10^-`digits` microseconds: 6 for picoseconds, 3 for nanoseconds,
  /// 0 for microseconds. `arguments` are the members of a JSON object. Domain: start, duration >= 0.
  void span(int process, int row, std::string_view name, std::string_view category, std::int64_t start,
            std::int64_t duration, int digits, std::string_view arguments) {
    separate();
    put("{{\"ph\":\"X\",\"pid\":{},\"tid\":{},\"ts\":", process, row);
    microseconds(start, digits);
    put(",\"dur\":");
    microseconds(duration, digits);
    put(",\"name\":{},\"cat\":{},\"args\":{{{}}}}}", detail::json_string(name), detail::json_string(category),
        arguments);
    if (buffer_.size() >= flush_bytes) flush();
  }

  /// What takes no time, on its row.
  void instant(int process, int row, std::string_view name, std::string_view category, std::int64_t time, int digits) {
    separate();
    put("{{\"ph\":\"i\",\"s\":\"t\",\"pid\":{},\"tid\":{},\"ts\":", process, row);
    microseconds(time, digits);
    put(",\"name\":{},\"cat\":{}}}", detail::json_string(name), detail::json_string(category));
    if (buffer_.size() >= flush_bytes) flush();
  }

  /// A counter of the process: its value, in words `unit`, from `time` on.
  void counter(int process, std::string_view name, std::string_view unit, std::int64_t time, int digits,
               std::int64_t value) {
    separate();
    put("{{\"ph\":\"C\",\"pid\":{},\"ts\":", process);
    microseconds(time, digits);
    put(",\"name\":{},\"args\":{{{}:{}}}}}", detail::json_string(name), detail::json_string(unit), value);
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
    put("{{\"ph\":\"M\",\"pid\":{},\"tid\":{},\"name\":\"{}\",\"args\":{{\"{}\":{}}}}}", process, row, what, key,
        value);
  }

  void microseconds(std::int64_t value, int digits) {
    if (digits == microsecond_digits) return put("{}", value);
    const std::int64_t scale = digits == detail::picosecond_digits ? microsecond : microsecond / nanosecond;
    put("{}.{:0{}}", value / scale, value % scale, digits);
  }

  void flush() {
    sink_.write(std::string_view(buffer_.data(), buffer_.size()));
    buffer_.clear();
  }

  Sink& sink_;
  fmt::memory_buffer buffer_;
  bool first_ = true;
};

namespace detail {

/// One task's event: "GMM1 12" is item 12 of the operation GMM1.
template <class Sink, class Flow, class Schedule>
void write_span(trace_writer<Sink>& writer, const Flow& f, const Schedule& s, int t, std::int64_t start,
                std::int64_t end, int digits, const std::string& more, const program_names& names,
                const trace_options& options) {
  const int per_rank = hyperparallel::detail::queues_per_rank(s.machine), queue = s.queue[t];
  writer.span(options.first_process + queue / per_rank, queue % per_rank,
              operation_name(names, f.task[t].operation) + " " + std::to_string(f.task[t].item),
              name_of(f.task[t].kind), start, end - start, digits,
              fmt::format("\"task\":{},\"item\":{}{}", t, f.task[t].item, more));
}

}  // namespace detail

/// Adds a simulated run: every task of the flow at its planned time. Domain: a timeline that `simulate` filled.
template <class Sink, class Flow, class Schedule, int Tasks>
void add_run(trace_writer<Sink>& writer, const Flow& f, const Schedule& s, const timeline<Tasks>& line,
             const program_names& names = {}, const trace_options& options = {}) {
  writer.machine(s.machine, options);
  for (int i = 0; i < s.task_count; ++i) {
    const int t = s.queue_task[i];
    detail::write_span(writer, f, s, t, line.start[t], line.end[t], detail::picosecond_digits, {}, names, options);
  }
}

/// Adds a real run: every task that ran, with the worker that ran it, its wait if it had to wait, and its signals if it
/// has any. Domain: the profile of an executor of this plan.
template <class Sink, class Flow, class Schedule>
void add_run(trace_writer<Sink>& writer, const Flow& f, const Schedule& s, const record_profile& profile,
             const program_names& names = {}, const trace_options& options = {}) {
  writer.machine(s.machine, options);
  for (int i = 0; i < s.task_count; ++i) {
    const int t = s.queue_task[i];
    const task_record& r = profile.task[static_cast<std::size_t>(t)];
    if (r.worker < 0 || r.end < r.start) continue;
    const int per_rank = hyperparallel::detail::queues_per_rank(s.machine),
              process = options.first_process + s.queue[t] / per_rank;
    const auto beside = [&](const char* what, std::int64_t from, std::int64_t to) {
      writer.span(process, s.queue[t] % per_rank, what, what, from, to - from, nanosecond_digits,
                  fmt::format("\"of\":{}", t));
    };
    if (r.wait >= 0 && r.wait < r.start) beside("wait", r.wait, r.start);
    detail::write_span(writer, f, s, t, r.start, r.end, nanosecond_digits, fmt::format(",\"worker\":{}", r.worker),
                       names, options);
    if (f.task[t].signal_begin < f.task[t].signal_end && r.end < r.signalled) beside("signal", r.end, r.signalled);
  }
}

/// A whole trace file of one run, simulated (a timeline) or real (a record_profile).
template <text_sink Sink, class Flow, class Schedule, class Times>
void write_trace(Sink& sink, const Flow& f, const Schedule& s, const Times& times, const program_names& names = {},
                 const trace_options& options = {}) {
  trace_writer<Sink> writer(sink);
  add_run(writer, f, s, times, names, options);
  writer.finish();
}

}}}  // namespace hyperparallel::v0_2::report
