// SPDX-License-Identifier: Apache-2.0
#pragma once
// The pictures of hp plan's page (report/page.hpp): those of a step in time, traffic, layouts, plans beside each other.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <hyperparallel/price/device_traffic.hpp>
#include <hyperparallel/price/traffic_account.hpp>
#include <hyperparallel/report/format_program.hpp>

#include "../pictures.hpp"
#include "search.hpp"
#include "step_pictures.hpp"
#include "time_causes.hpp"

namespace decoder_plans {

/// What a plan's step moves, and how its parameters are laid out.
class program_pictures {
 public:
  explicit program_pictures(const answer& asked)
      : a(asked),
        prices(a.prices()),
        p(hp::planned_program(a.config.model, a.plan)),
        priced(p, prices),
        moves(priced.moves()) {}

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

 private:
  static constexpr std::size_t most_layouts = 4;
  static constexpr int most_paired = 64;

  const hp::layout_value& layout_of(int tensor) const { return p.value[p.home[tensor]].layout; }

  const answer& a;
  hp::plan_prices prices;
  hp::sharded_program p;
  hp::priced_program priced;
  hp::program_moves moves;
};

/// What a measured run holds beside kinds, allocator and libraries; where it holds less, that is taken off the allocator, what passes, and kinds.
inline void add_measured(json& held, hp::extent_t beside) {
  hp::extent_t less = std::max(-beside, hp::extent_t{0});
  for (std::size_t i = held.size() - 1; i-- > 0;) {
    const auto bytes = held[i].get<hp::extent_t>();
    const hp::extent_t off = std::min(less, bytes);
    held[i] = bytes - off;
    less -= off;
  }
  held.push_back(std::max(beside, hp::extent_t{0}));
}

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
    for (int kind = 0; kind < hp::memory_class_count; ++kind) held.push_back(held_of(e, kind));
    held.push_back(passing_of(e));
    held.push_back(a.allocator_bytes(e));
    held.push_back(a.reserve.library_bytes);
    if (a.measured) add_measured(held, a.beside_bytes(e));
    memory.push_back({{"name", name}, {"values", std::move(held)}});
  }
  json kinds = kinds_of_memory();
  for (const char* more : {"passing, at the peak", "allocator", "run time and libraries"}) kinds.push_back(more);
  if (a.measured) kinds.push_back("beside these, by the measured run");
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
  const step_pictures drawn(a);
  for (json& memory : drawn.memory()) pictures.push_back(std::move(memory));
  pictures.push_back(drawn.timeline());
  const program_pictures step(a);
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
