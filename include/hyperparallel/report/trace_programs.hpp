// SPDX-License-Identifier: Apache-2.0
#pragma once
// Programs that ran beside each other, or are to, as a trace that Perfetto and chrome://tracing open: one process, one row
// for each program, called by its name and group.
//
//   hp::report::write_program_trace(file, graph, c.times());                       by the clock: nanoseconds
//   hp::report::write_program_trace(file, graph, hp::play_programs(graph, 20));    by durations alone: microseconds
//
// Law: a firing is one complete event ("ph": "X") on its program's row, at its exact time. O(firings).

#include <string>
#include <vector>

#include <hyperparallel/controller/firing.hpp>
#include <hyperparallel/groups/program_times.hpp>
#include <hyperparallel/report/trace.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace report {

/// A unit of time is 10^-digits microseconds: 0, 3 or 6.
template <text_sink Sink>
void write_program_trace(Sink& sink, const program_graph& g, const std::vector<firing_time>& firings,
                         int digits = nanosecond_digits) {
  trace_writer<Sink> writer(sink);
  writer.name_process(0, "programs");
  for (int p = 0; p < g.program.size; ++p) {
    const group_program& one = g.program[p];
    writer.name_row(0, p, one.name.text + (one.group.text[0] == '\0' ? "" : std::string(" on ") + one.group.text));
  }
  for (const firing_time& f : firings) {
    const char* const name = g.program[f.program].name.text;
    writer.span(0, f.program, name + (" " + std::to_string(f.number)), name, f.begin, f.end - f.begin, digits,
                "\"firing\":" + std::to_string(f.number));
  }
  writer.finish();
}

/// Domain: the play is not refused.
template <text_sink Sink>
void write_program_trace(Sink& sink, const program_graph& g, const program_times& t, int digits = microsecond_digits) {
  std::vector<firing_time> firings;
  for (int p = 0; p < g.program.size; ++p)
    for (int k = 0; k < t.firings; ++k) firings.push_back({p, k, t.start[p * t.firings + k], t.end[p * t.firings + k]});
  write_program_trace(sink, g, firings, digits);
}

}}}  // namespace hyperparallel::v0_2::report
