// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sentences about programs beside each other: refusals of graphs and placements, waits of a deadlock, the cycle of a period.

#include <string>

#include <hyperparallel/groups/placement.hpp>
#include <hyperparallel/groups/program_period.hpp>
#include <hyperparallel/groups/refused_groups.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

inline const char* program_at(const program_graph& g, int p) {
  return p < 0 || p >= g.program.size ? "" : g.program.item[p].name.text;
}
inline const char* edge_at(const program_graph& g, int e) {
  return e < 0 || e >= g.edge.size ? "" : g.edge.item[e].name.text;
}

inline std::string text_of_wait(const program_graph& g, const program_wait& w) {
  const std::string to = program_at(g, w.to), from = program_at(g, w.from);
  switch (w.kind) {
    case wait_kind::itself:
      return to + " waits for itself";
    case wait_kind::delivery:
      return to + " waits for " + edge_at(g, w.number) + " of " + from;
    case wait_kind::room:
      return to + " waits for room in " + edge_at(g, w.number) + " behind " + from;
    case wait_kind::turn:
      return to + " waits for its turn behind " + from + " in row " + std::to_string(w.number);
  }
  return "";
}

/// "train waits for samples of rollout, rollout waits for weights of train"; "" where no programs wait for each other.
/// Domain: a graph whose numbers check_programs accepts.
inline std::string text_of_cycle(const program_graph& g) {
  std::string text;
  for (const program_wait& w : order_of_firing(g.program.size, waits_of(g)).cycle)
    text += (text.empty() ? "" : ", ") + detail::text_of_wait(g, w);
  return text;
}

}  // namespace detail

/// The sentence of a refusal by check_programs, check_waits, period_of or play_programs; "ok" of none.
inline std::string text_of_refusal(const programs_status& s, const program_graph& g, const group_table& t = {}) {
  if (s.ok()) return "ok";
  if (s.code == programs_code::groups_are_refused) return text_of_refusal(s.groups, t);
  const bool cycle = s.code == programs_code::programs_wait_for_each_other;
  const std::string given = std::to_string(s.given), expected = std::to_string(s.expected),
                    rank = std::to_string(s.rank), row = std::to_string(s.row), other_row = std::to_string(s.other),
                    waits = cycle ? detail::text_of_cycle(g) : "";
  const char* const wanted =
      s.code == programs_code::program_names_no_group ? g.program.item[s.program].group.text : "";
  const detail::slot_text slots[] = {
      {"program_named", detail::program_at(g, s.program)},
      {"other_program", s.code == programs_code::rows_share_a_rank ? "" : detail::program_at(g, s.other)},
      {"edge_named", detail::edge_at(g, s.edge)},
      {"group_named", s.group < 0 || s.group >= t.group.size ? "" : t.group.item[s.group].name.text},
      {"wanted_group", wanted},
      {"row_number", s.row < 0 ? "" : row.c_str()},
      {"other_row", other_row.c_str()},
      {"rank_number", rank.c_str()},
      {"given", given.c_str()},
      {"expected", expected.c_str()},
      {"waits", waits.c_str()}};
  return detail::sentence_of((std::string("programs_code::") + name_of(s.code)).c_str(), slots).text;
}

/// Of check_placement.
inline std::string text_of_refusal(const placement_status& s, const program_graph& g, const group_table& t = {}) {
  if (s.ok()) return "ok";
  if (s.code == placement_code::programs_are_refused) return text_of_refusal(s.programs, g, t);
  const std::string given = std::to_string(s.given), expected = std::to_string(s.expected), row = std::to_string(s.row);
  const detail::slot_text slots[] = {{"program_named", detail::program_at(g, s.program)},
                                     {"other_program", detail::program_at(g, s.other)},
                                     {"row_number", s.row < 0 ? "" : row.c_str()},
                                     {"given", given.c_str()},
                                     {"expected", expected.c_str()}};
  return detail::sentence_of((std::string("placement_code::") + name_of(s.code)).c_str(), slots).text;
}

/// "23134 = rollout 12847 + weights 410 + train 9877, 1 firing": time and firings of the critical cycle, which may run
/// through several periods. Domain: the period is not refused.
inline std::string text_of_period(const program_graph& g, const program_period& p) {
  extent_t time = 0, firings = 0;
  std::string parts;
  const auto add = [&](const char* name, extent_t part) {
    time += part;
    parts += (parts.empty() ? "" : " + ") + std::string(name) + " " + std::to_string(part);
  };
  const int waits = p.cycle.size, first = detail::first_of_least(waits, [&](int i) { return p.cycle[i].from; });
  for (int i = 0; i < waits; ++i) {
    const program_wait& w = p.cycle[(first + i) % waits];
    add(detail::program_at(g, w.from), g.program[w.from].duration);
    if (w.delay > 0) add(detail::edge_at(g, w.number), w.delay);
    firings += w.back;
  }
  return std::to_string(time) + " = " + parts + ", " + std::to_string(firings) +
         (firings == 1 ? " firing" : " firings");
}

}}  // namespace hyperparallel::v0_2
