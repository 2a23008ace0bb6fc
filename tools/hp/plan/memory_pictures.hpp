// SPDX-License-Identifier: Apache-2.0
#pragma once
// The memory of a device over a step as pictures of a page: without a pipeline over a timeline of the step, of stages of a
// pipeline over the schedule.

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <hyperparallel/planner/stage_memory.hpp>
#include <hyperparallel/planner/step_timeline.hpp>

#include "../pictures.hpp"
#include "answer.hpp"
#include "json.hpp"

namespace decoder_plans {

inline double seconds_of(hp::extent_t picoseconds) { return static_cast<double>(picoseconds) / 1e12; }

inline json kinds_of_memory() {
  json kinds = json::array();
  for (int c = 0; c < hp::memory_class_count; ++c) kinds.push_back(name_of(static_cast<hp::memory_class>(c)));
  return kinds;
}

/// Points of a picture of areas as they come.
struct drawn_memory {
  json points = json::array(), labels = json::array(), evenly = json::array(), gaps = json::array();

  /// A point in time, what is held of each kind, and what happens from there on.
  json& add(const auto& point, std::string label) {
    json out = {seconds_of(point.time)};
    for (const hp::extent_t bytes : point.bytes) out.push_back(bytes);
    if (point.evenly) evenly.push_back(points.size());
    labels.push_back(std::move(label));
    points.push_back(std::move(out));
    return points.back();
  }

  json picture(std::string title, const char* about, const char* axis, hp::extent_t total, json kinds,
               const answer& a) && {
    const hp::extent_t beside = a.measured ? a.beside_bytes(a.estimate) : hp::extent_t{0};
    const std::string measured = beside == 0 ? ""
                                             : fmt::format(" Not drawn: by the measured run {} {} held.",
                                                           to_text(hp::report::byte_count{std::abs(beside)}),
                                                           beside < 0 ? "less are" : "more are");
    return {{"kind", "areas"},
            {"title", std::move(title)},
            {"about", about + measured},
            {"axis", axis},
            {"unit", "bytes"},
            {"x_unit", "seconds"},
            {"total", seconds_of(total)},
            {"kinds", std::move(kinds)},
            {"points", std::move(points)},
            {"labels", std::move(labels)},
            {"evenly", std::move(evenly)},
            {"limit", {{"name", "what the device has"}, {"value", a.hardware.device.tier[0].bytes}}},
            {"gaps", std::move(gaps)}};
  }
};

/// Calls `visit(point)` for the first, the last and the highest point, and for each that differs in one kind of memory from the one
/// before it by more than a thousandth of the highest.
template <class Visit>
void visit_marked_points(const hp::step_timeline& line, const Visit& visit) {
  const auto is_lower = [](const hp::memory_point& x, const hp::memory_point& y) { return x.total() < y.total(); };
  const hp::memory_point* const highest = std::max_element(line.memory.begin(), line.memory.end(), is_lower);
  const hp::extent_t least = highest->total() / 1000;
  const auto is_near = [&](hp::extent_t x, hp::extent_t y) { return std::abs(x - y) <= least; };
  const hp::memory_point* last = nullptr;
  for (const hp::memory_point& m : line.memory) {
    if (last != nullptr && &m != highest && &m + 1 != line.memory.end() &&
        std::equal(std::begin(m.bytes), std::end(m.bytes), std::begin(last->bytes), is_near))
      continue;
    last = &m;
    visit(m);
  }
}

/// `name(step)` is that of a step of the program.
template <class Name>
json memory_of_device(const hp::step_timeline& line, const answer& a, bool by_clock, const Name& name) {
  drawn_memory drawn;
  if (by_clock)
    visit_marked_points(line, [&](const hp::memory_point& m) { drawn.add(m, "in " + name(m.step)); });
  else
    for (const hp::memory_point& m : line.memory) drawn.add(m, "in " + name(m.step));
  if (line.others_end > line.others_start)
    drawn.gaps.push_back({seconds_of(line.others_start), seconds_of(line.others_end - line.others_start),
                          "the other micro-batches hold what the first one does"});
  return std::move(drawn).picture(
      "Memory of a device over time",
      by_clock ? "By kind, over the tasks of the first micro-batch and of the update: what is "
                 "held from its first use to its last. Changes below a thousandth of the peak are "
                 "not drawn."
               : "By kind, over the steps of the first micro-batch and of the update; between "
                 "layers that are alike it goes evenly.",
      "step", line.total, kinds_of_memory(), a);
}

/// "forward of micro-batch 5; activations of micro-batches 2 to 5".
inline std::string text_of(const hp::stage_memory_point& m) {
  const std::string number = std::to_string(m.micro_batch + 1), oldest = std::to_string(m.oldest + 1);
  std::string out = m.doing == hp::stage_doing::forward    ? "forward of micro-batch " + number
                    : m.doing == hp::stage_doing::backward ? "backward of micro-batch " + number
                    : m.doing == hp::stage_doing::updates  ? "norm and update"
                                                           : "waiting for another stage";
  if (m.in_flight == 1) return out + "; activations of micro-batch " + oldest;
  if (m.in_flight > 1)
    out += "; activations of micro-batches " + oldest + " to " + std::to_string(m.oldest + m.in_flight);
  return out;
}

/// `stage` counts from 0.
inline json memory_of_stage(const hp::stage_memory_lines& lines, int stage, const answer& a) {
  const hp::stage_memory_line line = lines.of(stage);
  drawn_memory drawn;
  const hp::extent_t beside = a.estimate.beside(),
                     fewer = std::min(beside, hp::extent_t{0});  // activations, by address
  constexpr auto activations = static_cast<std::size_t>(hp::memory_class::activations);
  for (hp::stage_memory_point m : line.point) {
    m.bytes[activations] = std::max(m.bytes[activations] + fewer, hp::extent_t{0});
    drawn.add(m, text_of(m)).push_back(m.passing > 0 ? std::max(beside, hp::extent_t{0}) : m.passing);
  }
  if (line.left_out > 0)
    drawn.gaps.push_back({seconds_of(line.left_out_start), seconds_of(line.left_out_end - line.left_out_start),
                          std::to_string(line.left_out) + " more micro-batches like the last"});
  json kinds = kinds_of_memory();
  kinds.push_back("passing, while it computes");
  return std::move(drawn).picture(
      "Memory of a device of stage " + std::to_string(stage + 1) + " of " + std::to_string(a.plan.pp),
      "By kind, over the schedule 1F1B: a forward adds the activations of its micro-batch, a backward ends them, here "
      "evenly. Every stage is drawn as the account has it: with the layers of the fullest, and an equal part of "
      "what is in no layer, embedding and head; what passes, and where it takes less its activations, make it as full "
      "as the fullest stage is by address.",
      "schedule", a.estimate.evaluation.time, std::move(kinds), a);
}

/// Of at most four stages, the first and the last among them. Precondition: there are several.
inline std::vector<json> memory_of_stages(const hp::stage_memory_lines& lines, const answer& a) {
  std::vector<json> out;
  if (!lines.ok()) return out;
  const int shown = std::min(a.plan.pp, 4);
  for (int k = 0; k < shown; ++k) out.push_back(memory_of_stage(lines, k * (a.plan.pp - 1) / (shown - 1), a));
  return out;
}

}  // namespace decoder_plans
