// SPDX-License-Identifier: Apache-2.0
#pragma once
// The pictures of hp plan's page (report/page.hpp): memory over time, the timeline of a step, plans beside each other.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <hyperparallel/program/device_traffic.hpp>
#include <hyperparallel/program/traffic_account.hpp>
#include <hyperparallel/report/format_program.hpp>

#include "../pictures.hpp"
#include "memory_pictures.hpp"
#include "search.hpp"
#include "time_causes.hpp"

namespace decoder_plans {

/// The timeline of a plan's step and what a device holds meanwhile.
class step_pictures {
 public:
  explicit step_pictures(const answer& asked)
      : a(asked),
        prices(a.hardware.device, a.hardware.links),
        p(hp::partition(hp::training_graph_of(a.config.model, a.plan), hp::strategy_of(a.plan))),
        priced(p, prices),
        moves(priced.moves()),
        line(hp::timeline_of(p, hp::pipeline_form(p.graph, a.plan.pp), priced, prices.links())) {}

  json timeline() const {
    hp_tool::numbered_texts names, groups;
    json spans = json::array();
    for (const hp::timeline_span& s : line.span)
      spans.push_back({s.link ? 1 : 0, groups.number_of(group_of(s)), names.number_of(name_of_step(s.step)),
                       seconds_of(s.start), seconds_of(s.end - s.start), s.micro_batch + 1, s.repetition + 1});
    json gaps = json::array();
    for (const hp::timeline_gap& g : line.gap)
      gaps.push_back({g.link ? 1 : 0, seconds_of(g.start), seconds_of(g.end - g.start), text_of(g)});
    return {{"kind", "timeline"},
            {"title", "A step in time"},
            {"about",
             a.plan.pp > 1
                 ? "The queues of one stage's device; each step takes its share of the stage. What stages hand over is "
                   "not in it."
                 : "The queues of a device. Hatched: what takes as long as the last that is drawn."},
            {"axis", "step"},
            {"unit", "seconds"},
            {"total", seconds_of(line.total)},
            {"rows", {"computing", "communication"}},
            {"groups", groups.take()},
            {"names", names.take()},
            {"details", {"micro-batch", "repetition"}},
            {"spans", std::move(spans)},
            {"gaps", std::move(gaps)}};
  }

  /// What a device receives in a step, by phase and by the axes of the mesh along which it comes.
  json traffic() const {
    std::vector<unsigned> axes;
    std::vector<std::vector<hp::extent_t>> bytes(hp::graph_phase_count);
    const hp::pipeline_form form(p.graph, a.plan.pp);
    hp::visit_traffic(p, moves,
                      [&](const hp::program_step& s, const hp::move_kind& k, hp::extent_t received, hp::extent_t) {
                        const std::size_t column =
                            static_cast<std::size_t>(std::find(axes.begin(), axes.end(), k.axes) - axes.begin());
                        if (column == axes.size()) {
                          axes.push_back(k.axes);
                          for (std::vector<hp::extent_t>& row : bytes) row.push_back(0);
                        }
                        bytes[static_cast<std::size_t>(s.phase)][column] += form.held(s.segment).of(received);
                      });
    json rows = json::array(), columns = json::array(), values = json::array();
    for (const unsigned mask : axes) columns.push_back(hp::report::axes_text(p.mesh, mask));
    for (int phase = 0; phase < hp::graph_phase_count; ++phase) {
      rows.push_back(hp::name_of(static_cast<hp::graph_phase>(phase)));
      values.push_back(bytes[static_cast<std::size_t>(phase)]);
    }
    return {{"kind", "matrix"},
            {"title", "Traffic on the mesh"},
            {"about",
             "What the busiest receiver of each move takes in a step, by phase and by the axes along which it comes; " +
                 hp::report::mesh_text(p.mesh) + "."},
            {"unit", "bytes"},
            {"row_name", "phase"},
            {"column_name", "along"},
            {"rows", std::move(rows)},
            {"columns", std::move(columns)},
            {"values", std::move(values)}};
  }

  /// Of more devices there is no matrix.
  bool has_pairs() const { return hp::position_count(p.mesh.shape) <= most_paired; }
  json pairs() const {
    hp::program_moves chosen = moves;  // on these links
    chosen.links = prices.links();
    const hp::device_traffic t = hp::traffic_between(p, chosen, hp::pipeline_form(p.graph, a.plan.pp));
    json names = json::array(), values = json::array();
    for (int receiver = 0; receiver < t.devices; ++receiver) {
      json row = json::array();
      for (int sender = 0; sender < t.devices; ++sender) row.push_back(t.of(receiver, sender));
      names.push_back(std::to_string(receiver));
      values.push_back(std::move(row));
    }
    return {{"kind", "matrix"},
            {"title", "Traffic between devices"},
            {"about", std::string("All moves of a step") +
                          (a.plan.pp > 1 ? " among the devices of one stage; what stages hand over is not in it" : "") +
                          ". Devices are numbered along " + hp::report::mesh_text(p.mesh) + ", the last axis fastest."},
            {"unit", "bytes"},
            {"row_name", "device"},
            {"column_name", "receives from device"},
            {"rows", names},
            {"columns", std::move(names)},
            {"values", std::move(values)}};
  }

  /// Of parameters, an example of each layout, the largest first.
  std::vector<json> layouts() const {
    std::vector<int> shown;
    for (int t = 0; t < p.graph.tensor.size; ++t) {
      if (p.graph.tensor[t].kind != hp::graph_tensor_kind::parameter || p.home[t] < 0) continue;
      const auto same =
          std::find_if(shown.begin(), shown.end(), [&](int other) { return layout_of(other) == layout_of(t); });
      if (same == shown.end())
        shown.push_back(t);
      else if (elements_of(p.graph.tensor[t]) > elements_of(p.graph.tensor[*same]))
        *same = t;
    }
    std::sort(shown.begin(), shown.end(), [&](int x, int y) {
      const hp::extent_t of_x = elements_of(p.graph.tensor[x]), of_y = elements_of(p.graph.tensor[y]);
      return of_x != of_y ? of_x > of_y : x < y;
    });
    if (shown.size() > most_layouts) shown.resize(most_layouts);
    std::vector<json> out;
    for (const int t : shown)
      out.push_back(hp_tool::layout_picture(
          fmt::format("{} {}: {}", p.graph.name_of_tensor(t), p.graph.tensor[t].shape, hp::named(layout_of(t), p.mesh)),
          layout_of(t), p.mesh, p.graph.tensor[t].shape, hp::all_ranks(p.mesh.shape)));
    return out;
  }

  /// Memory over time: of a device; of a pipeline, of a device of some of its stages.
  std::vector<json> memory() const {
    if (a.plan.pp > 1)
      return memory_of_stages({p, hp::pipeline_form(p.graph, a.plan.pp), a.estimate.evaluation, line}, a);
    return {memory_of_device(line, a, [&](int step) { return name_of_step(step); })};
  }

 private:
  static constexpr std::size_t most_layouts = 4;
  static constexpr int most_paired = 64;

  const hp::layout_value& layout_of(int tensor) const { return p.value[p.home[tensor]].layout; }

  const char* group_of(const hp::timeline_span& s) const {
    return s.link ? hp::name_of(kind_of(moves, p.step[s.step].index).plan) : hp::name_of(p.step[s.step].phase);
  }

  /// "layers.attention.query (contract)", "all-gather of layers.attention.query.weight along dp".
  std::string name_of_step(int step) const {
    const hp::program_step& s = p.step[step];
    if (!s.is_move) {
      const hp::graph_operator& op = p.graph.op[p.compute[s.index].op];
      return std::string(p.graph.text_at(op.name)) + " (" + p.graph.value_of(op).name + ")";
    }
    const hp::move_kind& kind = kind_of(moves, s.index);
    const hp::program_move& m = p.move[s.index];
    std::string out = std::string(hp::name_of(kind.plan)) + " of " + p.graph.name_of_tensor(p.value[m.target].tensor);
    const std::string axes = hp::report::axes_text(p.mesh, kind.axes);
    if (!axes.empty()) out += " along " + axes;
    int together = 0;
    for (const hp::program_move& other : p.move) together += m.bucket >= 0 && other.bucket == m.bucket ? 1 : 0;
    return together > 1 ? out + ", a bucket of " + std::to_string(together) : out;
  }

  static std::string text_of(const hp::timeline_gap& g) {
    return std::to_string(g.count) + (g.step < 0 ? " more micro-batches" : " more layers") + " like the last";
  }

  const answer& a;
  hp::plan_prices prices;
  hp::sharded_program p;
  hp::priced_program priced;
  hp::program_moves moves;
  hp::step_timeline line;
};

/// Plans beside each other, the first of them `what`: by cause of time, and by kind of memory.
inline void compare(json& pictures, const answer& a, const std::vector<hp::plan_estimate>& plans,
                    const std::string& about) {
  json times = json::array(), memory = json::array();
  for (const hp::plan_estimate& e : plans) {
    const time_causes t(e);
    const std::string name =
        fixes_of(e.plan) +
        (hp::device_count_of(e.plan) == a.devices ? "" : " on " + std::to_string(hp::device_count_of(e.plan)));
    times.push_back(
        {{"name", name},
         {"values", {seconds_of(t.computing), seconds_of(t.bubble), seconds_of(t.exposed), seconds_of(t.handed)}}});
    json held = json::array();
    for (const hp::extent_t bytes : e.held) held.push_back(bytes);
    held.push_back(e.passing);
    held.push_back(a.reserve.needed(e.evaluation.memory) - e.evaluation.memory - a.reserve.library_bytes);
    held.push_back(a.reserve.library_bytes);
    memory.push_back({{"name", name}, {"values", std::move(held)}});
  }
  json kinds = kinds_of_memory();
  for (const char* more : {"passing, at the peak", "allocator", "run time and libraries"}) kinds.push_back(more);
  pictures.push_back({{"kind", "bars"},
                      {"title", "Time of a step by cause"},
                      {"about", about},
                      {"unit", "seconds"},
                      {"parts", {"computing", "bubble", "exposed communication", "handed from stage to stage"}},
                      {"rows", std::move(times)}});
  pictures.push_back({{"kind", "bars"},
                      {"title", "Memory of a device at its peak, by kind"},
                      {"about", about},
                      {"unit", "bytes"},
                      {"parts", std::move(kinds)},
                      {"limit", {{"name", "what the device has"}, {"value", a.hardware.device.tier[0].bytes}}},
                      {"rows", std::move(memory)}});
}

inline void draw_step(json& pictures, const answer& a) {
  const step_pictures step(a);
  for (json& memory : step.memory()) pictures.push_back(std::move(memory));
  pictures.push_back(step.timeline());
  if (json traffic = step.traffic(); !traffic["columns"].empty()) {
    pictures.push_back(std::move(traffic));
    if (step.has_pairs()) pictures.push_back(step.pairs());
  }
  for (json& layout : step.layouts()) pictures.push_back(std::move(layout));
}

inline json pictures_of(const answer& a) {
  json pictures = json::array();
  std::vector<hp::plan_estimate> plans;
  if (a.status.ok()) plans.push_back(a.estimate);
  for (const priced_plan& p : a.others) plans.push_back(p.estimate);
  if (a.status.ok()) draw_step(pictures, a);
  if (!plans.empty())
    compare(pictures, a, plans,
            !a.status.ok()     ? "The nearest plans that can be."
            : plans.size() > 1 ? "The plan, and the smallest changes that make it fit."
                               : "The plan.");
  return pictures;
}

inline json pictures_of(const search_answer& s) {
  json pictures = json::array();
  if (!s.found.ok()) return pictures;
  compare(pictures, s.best, {s.found.best.begin(), s.found.best.end()},
          "The fastest plans that fit, the fastest first.");
  draw_step(pictures, s.best);
  return pictures;
}

}  // namespace decoder_plans
