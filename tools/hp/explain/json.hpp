// SPDX-License-Identifier: Apache-2.0
#pragma once
// An explained move as JSON: its kind, what each step brings, the certificate, the ways with their prices. Figures are those
// of the text; who holds what is told by the layouts alone.

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <hyperparallel/report/explain_relocation.hpp>
#include <hyperparallel/report/format_choice.hpp>

#include "../json_amounts.hpp"
#include "arguments.hpp"

namespace explain_json {

namespace hp = hyperparallel;
using hp_tool::json;

/// `ranks` are left out where they are 0, 1, ….
inline json side_of(const hp::mesh_value& mesh, const hp::shape& shape, const hp::layout_value& layout,
                    const std::vector<int>& ranks) {
  json extents = json::array();
  for (int d = 0; d < shape.rank; ++d) extents.push_back(shape.extent[d]);
  json out = {{"mesh", hp_tool::json_of(mesh)},
              {"shape", std::move(extents)},
              {"layout", fmt::format("{}", hp::named(layout, mesh))}};
  if (!ranks.empty()) out["ranks"] = ranks;
  return out;
}

inline json step_of(const char* kind, const hp::report::step_load& load, hp::extent_t bytes) {
  return {{"kind", kind},
          {"received_by_all_bytes", load.total * bytes},
          {"received_by_a_rank_bytes", load.received * bytes},
          {"sent_by_a_rank_bytes", load.sent * bytes},
          {"messages_to_a_rank", load.messages}};
}

/// `peak` says what the peak supposes.
inline json certificate_of(const hp::move_certificate& c, const char* peak, hp::extent_t bytes) {
  return {{"received_by_all_bytes", c.received_total * bytes},
          {"least_of_any_program_bytes", c.least_total * bytes},
          {"received_by_a_rank_bytes", c.received_maximum * bytes},
          {"sent_by_a_rank_bytes", c.sent_maximum * bytes},
          {"peak_bytes", c.peak_elements * bytes},
          {"peak_with_source", peak}};
}

inline json links_of(const hp::interconnect& links) {
  json out = json::array();
  const auto add = [&](const std::string& name, const hp::link_level& l) {
    out.push_back(
        {{"name", name}, {"bytes_per_second", l.bandwidth}, {"latency_seconds", hp_tool::seconds_or_null(l.latency)}});
  };
  for (int l = 0; l < link_count(links); ++l) add(link_at(links, l).name.text, link_at(links, l));
  return out;
}

/// All ways: those that could be counted with their figures, the others with why there is none.
inline json ways_of(const hp::chosen_move& choice, hp::extent_t bytes) {
  json out = json::array();
  for (int i = 0; i < hp::move_candidate_count; ++i) {
    const hp::move_alternative& a = choice.alternative[i];
    const hp::move_figures& f = a.figures;
    const auto candidate = static_cast<hp::move_candidate>(i);
    json way = {{"way", name_of(candidate)}, {"chosen", choice.candidate == candidate}};
    if (a.why_not != hp::candidate_code::ok) way["why_not"] = text_of(a.why_not);
    if (a.why_not == hp::candidate_code::ok || a.why_not >= hp::candidate_code::links_do_not_carry_it) {
      way["steps"] = f.steps;
      way["received_by_all_bytes"] = f.received_total * bytes;
      way["received_by_a_rank_bytes"] = f.received_maximum * bytes;
      way["messages_to_a_rank"] = f.messages_maximum;
      way["peak_bytes"] = f.peak_elements * bytes;
      way["seconds"] = f.time.ok() ? hp_tool::seconds_or_null(f.time.picoseconds) : json();
    }
    out.push_back(std::move(way));
  }
  return out;
}

/// `plan` is the one of fewest bytes, `choice` the way in which it is carried out; two parts travel at the same time.
inline json move_of(const hp::move_plan& plan, const hp::chosen_move& choice, const hp::interconnect& links,
                    hp::extent_t bytes) {
  json steps = json::array();
  hp::move_certificate c;
  if (plan.step_count > 0) {
    for (int i = 0; i < choice.plan.count; ++i) {
      const hp::move_plan& part = choice.plan.part[i];
      for (int k = 0; k < part.step_count; ++k) {
        steps.push_back(step_of(name_of(part.step[k].kind), hp::report::load_of(part.step[k], part.shape), bytes));
        if (choice.plan.count > 1) steps.back()["part"] = i;
      }
    }
    const hp::extent_t positions = hp::position_count(plan.step[0].source.mesh);
    std::vector<hp::extent_t> entries(static_cast<std::size_t>(hp::tally_size(hp::without_links, positions)));
    const hp::move_figures f = hp::figures_of(choice.plan, hp::without_links, 1, entries.data());
    c.received_total = f.received_total;
    c.least_total = hp::least_received_total(plan);
    c.received_maximum = f.received_maximum;
    c.sent_maximum = f.sent_maximum;
    c.peak_elements = f.peak_elements;
  }
  return {{"kind", name_of(plan.kind)},
          {"steps", std::move(steps)},
          {"certificate", certificate_of(c, "given up", bytes)},
          {"links", links_of(links)},
          {"ways", ways_of(choice, bytes)}};
}

inline json relocation_of(const hp::relocation& r, hp::extent_t bytes) {
  json steps = json::array();
  for (int k = 0; k < r.plan.step_count; ++k)
    steps.push_back(step_of(name_of(r.plan.step[k].kind), hp::report::load_of(r, k), bytes));
  hp::relocation_certificate c;
  if (r.plan.step_count > 0) {
    std::vector<hp::extent_t> tally(static_cast<std::size_t>(hp::tally_size(r)));
    c = hp::certify(r, tally.data());
  }
  return {
      {"kind", name_of(r.plan.kind)}, {"steps", std::move(steps)}, {"certificate", certificate_of(c, "kept", bytes)}};
}

}  // namespace explain_json
