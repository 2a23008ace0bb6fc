// SPDX-License-Identifier: Apache-2.0
#pragma once
// The pictures of hp truth's page (report/page.hpp): predicted against measured, of what has been predicted.
//
// Laws: a run of class B has a dot, a row of what else is predicted one; a picture without dots is not there.

#include <map>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "book.hpp"

namespace truth {

/// One picture: dots with a text each, in groups by name.
class scatter_picture {
 public:
  void add(double measured, double predicted, const std::string& group, const std::string& text) {
    if (!(measured > 0 && predicted > 0 && std::isfinite(measured) && std::isfinite(predicted))) return;
    const auto [at, fresh] = number.try_emplace(group, groups.size());
    if (fresh) groups.push_back(group);
    dots.push_back({measured, predicted, at->second, text});
  }
  void put(json& pictures, const char* title, const char* about, const char* unit) {
    if (dots.empty()) return;
    pictures.push_back({{"kind", "scatter"},
                        {"title", title},
                        {"about", about},
                        {"unit", unit},
                        {"x_name", "measured"},
                        {"y_name", "predicted"},
                        {"band", 0.2},
                        {"groups", std::move(groups)},
                        {"dots", std::move(dots)}});
  }

 private:
  json groups = json::array(), dots = json::array();
  std::map<std::string, std::size_t> number;
};

inline std::string dot_text(const judged_row& r) {
  std::string text = r.row.id + ", " + r.row.model.name;
  if (!r.row.device.empty()) text += fmt::format(", {} of {}", r.row.run.devices, r.row.device);
  if (r.row.is_fit()) text += ", fit";
  return r.said.fix.empty() ? text : text + "\n" + r.said.fix;
}

/// Predicted against measured: seconds of a step by family, bytes, seconds of reinforcement, ratios.
inline json pictures_of(const truth_book& book) {
  constexpr const char* lines = "On the line both are equal; the dashed lines are 20 % off.";
  scatter_picture steps, memory, reinforcement, ratios;
  for (const timed_run& r : book.runs)
    if (r.said.ok())
      steps.add(r.seconds.value, r.said.step_seconds, book.of(r).family,
                dot_text(book.rows[static_cast<std::size_t>(r.rows[0])]));
  for (const measured_row& r : book.measured)
    for (const measured_amount& a : r.amounts) {
      const bool is_bytes = std::string(a.name).ends_with("_bytes");
      (is_bytes ? memory : steps)
          .add(a.measured, a.predicted, r.program + (is_bytes ? std::string(" ") + a.name : ""), r.id + ", " + r.model);
    }
  for (const judged_row& r : book.rows) {
    if (!r.is_used()) continue;
    if (r.cls.cls == row_class::memory) memory.add(r.measured, r.predicted, r.row.family, dot_text(r));
    if (r.cls.cls == row_class::ratio && !is_reinforcement(r.row))
      ratios.add(r.measured, r.predicted, r.row.family, dot_text(r));
  }
  for (const rl_comparison& c : book.reinforcement) {
    const judged_row& r = book.rows[static_cast<std::size_t>(c.row)];
    const bool is_ratio = c.figure == rl_figure::hours || c.figure == rl_figure::weights;
    (is_ratio ? ratios : reinforcement)
        .add(c.measured, c.predicted, is_ratio ? r.row.family : r.row.family + " " + r.row.quantity, dot_text(r));
  }
  json pictures = json::array();
  steps.put(pictures, "Seconds of a step", lines, "seconds");
  memory.put(pictures, "Memory of a device", lines, "bytes");
  reinforcement.put(pictures, "Seconds of training by reinforcement", lines, "seconds");
  ratios.put(pictures, "Ratios to the row that is compared with", lines, "");
  return pictures;
}

}  // namespace truth
