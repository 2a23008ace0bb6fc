// SPDX-License-Identifier: Apache-2.0
#pragma once
// A simulated timeline as an SVG drawing: one row per queue, one bar per task, coloured by operation.
//
// Laws: a task's bar begins and ends where its times lie between 0 and the makespan, to a thousandth of a unit; equal
// inputs give equal bytes. The drawing is its own legend: names stand beside the rows and colours below, and each bar
// has its task as a tooltip.

#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

#include <hyperparallel/report/format_taskflow.hpp>
#include <hyperparallel/report/text_sink.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace report {

/// Sizes in SVG units.
struct gantt_options {
  int rank = 0;
  int width = 1200;  ///< of the bars, without the names
  int row = 12;      ///< height of a queue's row
};

/// Text inside XML: the five reserved characters escaped, control characters as '?'.
inline std::string xml_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else if (c == '\'')
      out += "&apos;";
    else
      out += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
  }
  return out;
}

/// Colours that differ for neighbouring numbers. Source: Okabe and Ito, colour universal design.
constexpr const char* colour_of(int operation) {
  constexpr const char* colours[] = {"#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00",
                                     "#f0e442", "#999999", "#882255", "#44aa99", "#332288", "#ddcc77"};
  return colours[static_cast<unsigned>(operation) % 12];
}

/// Draws one rank. Domain: a timeline that `simulate` filled, `makespan` at least its own. O(tasks).
template <text_sink Sink, class Flow, class Schedule, class Timeline>
void write_gantt(Sink& sink, const Flow& f, const Schedule& s, const Timeline& line, std::int64_t makespan,
                 const program_names& names = {}, const gantt_options& options = {}) {
  constexpr int margin = 70;
  const int rows = queues_per_rank(s.machine), bottom = rows * options.row;
  bool used[64] = {};
  const auto at = [&](std::int64_t time) {
    return makespan == 0 ? 0.0 : static_cast<double>(time) / static_cast<double>(makespan) * options.width;
  };
  sink.write(
      fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" font-family=\"sans-serif\" "
                  "font-size=\"9\">\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
                  margin + options.width + 10, bottom + 50));
  for (int row = 0; row < rows; ++row) {
    const int queue = options.rank * rows + row, top = row * options.row;
    std::string out = fmt::format("<text x=\"2\" y=\"{}\">{}</text>\n", top + options.row - 3,
                                  xml_text(queue_name(s.machine, queue)));
    for (int i = s.queue_begin[queue]; i < s.queue_begin[queue + 1]; ++i) {
      const int t = s.queue_task[i], operation = f.task[t].operation;
      if (operation >= 0 && operation < 64) used[operation] = true;
      fmt::format_to(std::back_inserter(out),
                     "<rect x=\"{:.3f}\" y=\"{}\" width=\"{:.3f}\" height=\"{}\" fill=\"{}\"><title>{}, {} to "
                     "{}</title></rect>\n",
                     margin + at(line.start[t]), top + 1, at(line.end[t]) - at(line.start[t]), options.row - 2,
                     colour_of(operation), xml_text(task_text(f, t, names)), duration{line.start[t]},
                     duration{line.end[t]});
    }
    sink.write(out);
  }
  std::string legend =
      fmt::format("<text x=\"{}\" y=\"{}\">0</text>\n<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n", margin,
                  bottom + 14, margin + options.width, bottom + 14, duration{makespan});
  int x = margin;
  for (int operation = 0; operation < 64; ++operation) {
    if (!used[operation]) continue;
    const std::string name = operation_name(names, operation);
    legend +=
        fmt::format("<rect x=\"{}\" y=\"{}\" width=\"9\" height=\"9\" fill=\"{}\"/><text x=\"{}\" y=\"{}\">{}</text>\n",
                    x, bottom + 24, colour_of(operation), x + 12, bottom + 32, xml_text(name));
    x += 24 + 6 * static_cast<int>(name.size());
  }
  sink.write(legend + "</svg>\n");
}

}}}  // namespace hyperparallel::v0_2::report
