// SPDX-License-Identifier: Apache-2.0
#pragma once
// hp sched list: the published schedules, and for which shapes each exists.

#include <cstdio>
#include <string>

#include <nlohmann/json.hpp>

#include <hyperparallel/pipeline/schedule_list.hpp>
#include <hyperparallel/report/table.hpp>

#include "../json_output.hpp"

namespace sched {

namespace hp = hyperparallel;
using hp_tool::json;

inline std::string known_names() {
  std::string known;
  for (const hp::named_schedule& s : hp::schedule_table.item)
    known += (known.empty() ? "" : ", ") + std::string(s.name);
  return known;
}

inline std::string words_of(hp::stage_placement p) {
  if (p == hp::stage_placement::listed) return "as listed";
  if (p == hp::stage_placement::both) return "both ways, on two ranks each";
  return p == hp::stage_placement::v ? "there and back" : "in a loop";
}

/// Those with a rule.
inline constexpr hp::stage_placement placements[] = {hp::stage_placement::loop, hp::stage_placement::v,
                                                     hp::stage_placement::both};

/// As --placement spells it.
inline const char* name_of(hp::stage_placement p) {
  return p == hp::stage_placement::both ? "both" : p == hp::stage_placement::v ? "v" : "loop";
}

/// What `s` says that it needs of P ranks and m micro-batches.
inline std::string needs_of(const hp::named_schedule& s) {
  using hp::pipeline_code;
  const int chunks = s.fixed_chunks > 0 ? s.fixed_chunks : 2, ranks = 6;
  const hp::pipeline_status few = s.check({ranks, chunks, 2}), odd = s.check({ranks, chunks, 2 * ranks + 1});
  std::string needs;
  const auto add = [&needs](const std::string& need) { needs += (needs.empty() ? "" : ", ") + need; };
  if (s.check({ranks - 1, chunks, 2 * ranks}).code == pipeline_code::ranks_do_not_divide) add("P even");
  if (odd.code == pipeline_code::directions_do_not_divide) add("m even");
  if (few.code == pipeline_code::too_few_micro_batches)
    add(few.needed == ranks ? "m >= P" : "m >= " + std::to_string(few.needed / ranks) + " P");
  if (odd.code == pipeline_code::micro_batches_do_not_divide) add("m a multiple of max(1, floor(m / P))");
  return needs;
}

inline int list(bool as_json) {
  hp::report::table table({"name", "stages lie", "--chunks", "needs"});
  json listed = json::array();
  for (const hp::named_schedule& s : hp::schedule_table.item) {
    const std::string chunks = s.fixed_chunks > 0 ? std::to_string(s.fixed_chunks) : "1 and more";
    table.row({s.name, words_of(s.placement), chunks, needs_of(s)});
    listed.push_back({{"name", s.name},
                      {"placement", name_of(s.placement)},
                      {"chunks", s.fixed_chunks > 0 ? json(s.fixed_chunks) : json()},
                      {"needs", needs_of(s)}});
  }
  if (as_json)
    hp_tool::print({{"schedules", listed}});
  else
    std::fputs((table.text() + "P ranks, m micro-batches\n").c_str(), stdout);
  return 0;
}

}  // namespace sched
