// SPDX-License-Identifier: Apache-2.0
#pragma once
// The pictures of a pipeline schedule's page (report/page.hpp): each rank's actions in time, how long it idles, what it holds.

#include <string>
#include <utility>

#include <hyperparallel/report/draw_pipeline.hpp>

#include "../pictures.hpp"

namespace sched {

namespace hp = hyperparallel;

inline hp_tool::json pictures_of(const hp::report::pipeline_drawing& d) {
  using hp_tool::json;
  hp_tool::numbered_texts names, groups;
  json rows = json::array(), spans = json::array(), busy = json::array(), peaks = json::array();
  for (int r = 0; r < d.ranks; ++r) {
    const std::string name = "rank " + std::to_string(r);
    const hp::rank_account& rank = d.account.rank[r];
    rows.push_back(name);
    for (const hp::report::pipeline_box& b : d.row[static_cast<std::size_t>(r)]) {
      std::string kind = hp::action_letters(b.action.kind), text = hp::to_text(b.action);
      if (b.is_pair) {
        kind += " and " + std::string(hp::action_letters(b.beside.kind));
        text += " and " + hp::to_text(b.beside);
      }
      spans.push_back({r, groups.number_of(kind), names.number_of(text), b.start, b.end - b.start, b.action.stage,
                       b.action.micro_batch});
    }
    busy.push_back(
        {{"name", name},
         {"values", {rank.busy, rank.span() - rank.busy, rank.first_start, d.account.makespan - rank.last_end}}});
    peaks.push_back({{"name", name}, {"values", {d.peak(r)}}});
  }
  return {{{"kind", "timeline"},
           {"title", "The schedule"},
           {"about", hp::report::figures_of(d)},
           {"unit", ""},
           {"total", d.account.makespan},
           {"rows", std::move(rows)},
           {"groups", groups.take()},
           {"names", names.take()},
           {"details", {"stage", "micro-batch"}},
           {"spans", std::move(spans)}},
          {{"kind", "bars"},
           {"title", "Time of each rank"},
           {"about", ""},
           {"unit", ""},
           {"parts", {"busy", "idle between its actions", "before the first", "behind the last"}},
           {"rows", std::move(busy)}},
          {{"kind", "bars"},
           {"title", "The most that a rank holds"},
           {"about", ""},
           {"unit", d.in_bytes ? "bytes" : "chunks"},
           {"parts", {"activations"}},
           {"rows", std::move(peaks)}}};
}

}  // namespace sched
