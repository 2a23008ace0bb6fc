// SPDX-License-Identifier: Apache-2.0
#pragma once
// A search and what it found as JSON: the figures of its text. Laws: where nothing was found, "why" says so and there are no
// plans; amounts that were not counted are null.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <hyperparallel/report/format_search.hpp>

#include "../json_amounts.hpp"
#include "../json_output.hpp"

namespace model_plans {

namespace hp = hyperparallel;
using hp_tool::bytes_or_null, hp_tool::json, hp_tool::seconds_or_null;

struct searched_graph {
  int micro_batches = 1;
  bool recomputed = false;
};

/// The search for plans of one model on one machine.
struct search {
  std::string model;
  int devices = 0, sequences = 0;
  std::vector<searched_graph> graph;
  hp::search_result result;
  double took_seconds = 0;
  std::optional<hp::step_account> account;  ///< of the winner, where it is asked for
};

inline std::string why_none(const hp::search_result& r) {
  return r.hardware.ok() ? hp::report::cause_text(r.certificate) : hp::to_text(r.hardware);
}

inline json json_of(const hp::found_plan& p, const search& s) {
  const hp::plan_evaluation& e = p.evaluation;
  const searched_graph& g = s.graph[static_cast<std::size_t>(p.graph)];
  const std::int64_t best = s.result.plan[0].evaluation.time;
  return {{"name", p.named ? json(p.strategy.name.text) : json()},
          {"mesh", hp_tool::json_of(p.strategy.mesh)},
          {"pipeline_stages", p.frame.pipeline},
          {"micro_batches", g.micro_batches},
          {"recomputed", g.recomputed},
          {"options", hp::report::options_text(p)},
          {"parts", hp::report::families_text(p)},
          {"step_seconds", seconds_or_null(e.time)},
          {"compute_seconds", seconds_or_null(e.times.compute_busy)},
          {"exposed_seconds", seconds_or_null(e.time - e.times.compute_busy)},
          {"peak_bytes", bytes_or_null(e.memory)},
          {"behind_share", static_cast<double>(e.time - best) / static_cast<double>(best)}};
}

inline json json_of(const hp::search_certificate& c) {
  return {{"complete", c.complete},
          {"lower_bound_seconds", c.lower_bound == 0 ? json() : seconds_or_null(c.lower_bound)},
          {"frames", c.frames},
          {"frames_too_large", c.frames_too_large},
          {"frames_too_slow", c.frames_too_slow},
          {"frames_refused", c.frames_refused},
          {"plans", c.plans},
          {"partitionings", c.partitionings},
          {"strategies_by_name", c.named},
          {"law_breaks", c.law_breaks},
          {"least_held_bytes", bytes_or_null(c.least_memory)},
          {"least_peak_bytes", bytes_or_null(c.least_peak)},
          {"device_bytes", c.budget}};
}

inline json json_of(const hp::memory_account& m) {
  json classes = json::array();
  for (int c = 0; c < hp::memory_class_count; ++c)
    if (m.most[c] != 0)
      classes.push_back({{"class", name_of(static_cast<hp::memory_class>(c))},
                         {"at_peak_bytes", bytes_or_null(m.at_peak[c])},
                         {"most_bytes", bytes_or_null(m.most[c])},
                         {"always_bytes", bytes_or_null(m.resident[c])}});
  return {{"peak_bytes", bytes_or_null(m.peak)}, {"classes", std::move(classes)}};
}

inline json json_of(const hp::traffic_account& a, const hp::step_account& of) {
  json classes = json::array(), axes = json::array(), levels = json::array();
  for (int c = 0; c < hp::traffic_class_count; ++c)
    if (a.by_class[c] > 0)
      classes.push_back({{"class", name_of(static_cast<hp::traffic_class>(c))}, {"received_bytes", a.by_class[c]}});
  for (const hp::axes_traffic& x : a.by_axes)
    axes.push_back({{"axes", hp::report::axes_text(of.mesh, x.axes)}, {"received_bytes", x.bytes}, {"moves", x.moves}});
  for (int l = 0; l < link_count(of.links); ++l)
    if (a.by_level[l] > 0)
      levels.push_back({{"level", link_at(of.links, l).name.text}, {"fastest_received_bytes", a.by_level[l]}});
  return {{"received_bytes", bytes_or_null(a.bytes)},
          {"moves", a.moves},
          {"classes", std::move(classes)},
          {"axes", std::move(axes)},
          {"levels", std::move(levels)}};
}

inline json json_of(const hp::step_account& a) {
  json units = json::array();
  for (int u = 0; u < hp::compute_unit_count; ++u)
    units.push_back({{"unit", name_of(static_cast<hp::compute_unit>(u))},
                     {"operations", a.work.flops[u]},
                     {"bytes", a.work.bytes[u]},
                     {"busy_seconds", seconds_or_null(a.times.by_unit[u])}});
  return {{"mesh", hp_tool::json_of(a.mesh)},
          {"memory", json_of(a.memory)},
          {"units", std::move(units)},
          {"traffic", json_of(a.traffic, a)},
          {"step_seconds", seconds_or_null(a.times.total.picoseconds)},
          {"communication_seconds", seconds_or_null(a.times.communication_busy)},
          {"exposed_seconds", seconds_or_null(a.times.exposed)},
          {"device_bytes", a.memory_bytes},
          {"matrix_use_share", static_cast<double>(matrix_use(a)) / 10'000}};
}

inline json json_of(const search& s) {
  json out = {{"model", s.model}, {"devices", s.devices}, {"sequences", s.sequences}};
  if (!s.result.ok()) out["why"] = why_none(s.result);
  json& plans = out["plans"] = json::array();
  for (const hp::found_plan& p : s.result.plan) plans.push_back(json_of(p, s));
  out["best_by_name"] = s.result.best_named.empty() ? json() : json_of(s.result.best_named[0], s);
  out["search"] = json_of(s.result.certificate);
  out["search_seconds"] = s.took_seconds;
  if (s.account) out["account"] = json_of(*s.account);
  return out;
}

}  // namespace model_plans
