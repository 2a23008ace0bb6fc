// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a search for plans found, as JSON: the figures of its text, and the causes of every row's time.

#include <utility>

#include "json.hpp"
#include "search_text.hpp"

namespace decoder_plans {

inline json row_json(const hp::plan_estimate& e, const search_answer& s) {
  const time_causes causes(e);
  json out = json_of(priced_plan{e}, s.best);
  out.erase("changes");
  out["plan"] = json_of(e.plan);
  out["lower_bound_seconds"] = seconds_or_null(least_by_data_sheet(s.best, e));
  out["least_by_shares_seconds"] = seconds_or_null(e.least());
  out["estimated_seconds"] = seconds_or_null(e.evaluation.time);
  out["clock"] = clock_json(e.simulated);
  out["computing_seconds"] = seconds_or_null(causes.computing);
  out["bubble_seconds"] = seconds_or_null(causes.bubble);
  out["exposed_seconds"] = seconds_or_null(causes.exposed);
  out["handed_seconds"] = seconds_or_null(causes.handed);
  out["model_use_share"] = hp::model_use(e, s.best.hardware.device);
  return out;
}

inline json json_of(const search_answer& s) {
  const hp::plan_answer& f = s.found;
  constexpr const char* endings[] = {"complete", "effort", "interrupted"};
  json out = {{"family", s.best.config.family},
              {"parameters", hp::parameters_of(s.best.config.model).total()},
              {"active_parameters", hp::active_parameters_of(s.best.config.model).total()},
              {"not_counted", left_out(s.best.config, s.best.memory)},
              {"positions", s.best.config.positions.is_known() ? json(s.best.config.positions.positions) : json()},
              {"towers", s.best.config.towers},
              {"set_aside", s.best.config.set_aside},
              {"hardware", s.best.hardware.name.text},
              {"devices", s.question.devices},
              {"batch", s.question.batch},
              {"sequence", s.question.sequence},
              {"search",
               {{"legal", f.legal},
                {"too_large_by_bound", f.too_large},
                {"slower_by_bound", f.slower()},
                {"priced", f.priced},
                {"priced_that_do_not_fit", f.priced_unfit},
                {"simulated", f.simulations.made},
                {"replayed", f.simulations.replayed},
                {"simulated_that_do_not_fit", f.simulations.unfit},
                {"left", f.left},
                {"listed_all", f.listed},
                {"unsimulated", f.unsimulated},
                {"uncounted", f.uncounted},
                {"ended_by", endings[static_cast<int>(s.end)]},
                {"complete", f.complete},
                {"lower_bound_seconds", seconds_or_null(f.bound)},
                {"gap_share", f.ok() ? json(s.gap()) : json()},
                {"seconds", s.seconds}}}};
  if (s.best.measured) out["measured"] = measured_json(*s.best.measured);
  json plans = json::array();
  for (const hp::plan_estimate& e : f.best) plans.push_back(row_json(e, s));
  out["plans"] = std::move(plans);
  if (!f.ok()) {
    out["why"] = none_text(s);
    return out;
  }
  out["memory"] = memory_json(s.best);
  if (s.best.comparison) out["convention"] = comparison_json(*s.best.comparison);
  out["step"] = step_json(s.best);
  const bool binds = f.fastest_unfit.time() < f.best[0].time();
  out["memory_binds"] = binds;
  if (binds) out["fastest_that_does_not_fit"] = row_json(f.fastest_unfit, s);
  return out;
}

}  // namespace decoder_plans
