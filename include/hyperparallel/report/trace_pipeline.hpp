// SPDX-License-Identifier: Apache-2.0
#pragma once
// A pipeline schedule as a trace that Perfetto and chrome://tracing open: one process a pipeline, one row a rank, and a
// counter of what each rank holds.
//
// Laws: an action that takes time is one complete event ("ph": "X") on its rank's row, at its exact time; the two of an
// overlapped pair have one time, the F first. Any other action is an instant where its rank reaches it.

#include <cstddef>
#include <string>

#include <hyperparallel/report/draw_pipeline.hpp>
#include <hyperparallel/report/trace.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace report {

struct pipeline_trace_options {
  int process = 0;                  ///< of the pipeline; several share a file when their numbers differ
  int digits = microsecond_digits;  ///< a unit of time is 10^-digits microseconds: 0, 3 or 6
};

/// Adds a pipeline to a trace. O(entries).
template <text_sink Sink>
void add_pipeline(trace_writer<Sink>& writer, const pipeline_drawing& d, const pipeline_trace_options& options = {}) {
  writer.name_process(options.process, d.name.empty() ? "pipeline" : d.name);
  for (int r = 0; r < d.ranks; ++r) {
    const std::string rank = "rank " + std::to_string(r);
    writer.name_row(options.process, r, rank);
    const auto event = [&](const pipeline_action& a, const pipeline_box& b) {
      const std::string name = to_text(a);
      const char* const kind = action_letters(a.kind);
      if (b.takes_time())
        writer.span(options.process, r, name, kind, b.start, b.end - b.start, options.digits,
                    fmt::format("\"stage\":{},\"micro_batch\":{}", a.stage, a.micro_batch));
      else
        writer.instant(options.process, r, name, kind, b.start, options.digits);
    };
    for (const pipeline_box& b : d.row[static_cast<std::size_t>(r)]) {
      event(b.action, b);
      if (b.is_pair) event(b.beside, b);
    }
    for (const activation_step& s : d.held[static_cast<std::size_t>(r)])
      writer.counter(options.process, "activations of " + rank, d.in_bytes ? "bytes" : "chunks", s.time, options.digits,
                     s.amount);
  }
}

/// A whole trace file of one pipeline.
template <text_sink Sink>
void write_pipeline_trace(Sink& sink, const pipeline_drawing& d, const pipeline_trace_options& options = {}) {
  trace_writer<Sink> writer(sink);
  add_pipeline(writer, d, options);
  writer.finish();
}

}}}  // namespace hyperparallel::v0_2::report
