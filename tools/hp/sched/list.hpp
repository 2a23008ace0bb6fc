// SPDX-License-Identifier: Apache-2.0
#pragma once
// hp sched list: the published schedules, and for which shapes each exists.

#include <cstdio>
#include <string>

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
  return p == hp::stage_placement::v ? "there and back" : "in a loop";
}

/// What `s` says that it needs of P ranks and m micro-batches.
inline std::string needs_of(const hp::named_schedule& s) {
  const int chunks = s.fixed_chunks > 0 ? s.fixed_chunks : 2, ranks = 5;
  const hp::pipeline_status few = s.check({ranks, chunks, 1}), odd = s.check({ranks, chunks, 2 * ranks + 1});
  if (few.code == hp::pipeline_code::too_few_micro_batches)
    return few.needed == ranks ? "m >= P" : "m >= " + std::to_string(few.needed / ranks) + " P";
  if (odd.code == hp::pipeline_code::micro_batches_do_not_divide) return "m a multiple of max(1, floor(m / P))";
  return "";
}

inline int list(bool as_json) {
  hp::report::table table({"name", "stages lie", "--chunks", "needs"});
  json listed = json::array();
  for (const hp::named_schedule& s : hp::schedule_table.item) {
    const std::string chunks = s.fixed_chunks > 0 ? std::to_string(s.fixed_chunks) : "1 and more";
    table.row({s.name, words_of(s.placement), chunks, needs_of(s)});
    listed.push_back({{"name", s.name},
                      {"placement", s.placement == hp::stage_placement::v ? "v" : "loop"},
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
