// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a search for plans found, as text: the rows, what was searched, the account of the winner, and why it wins.

#include <algorithm>
#include <string>

#include "search.hpp"
#include "text.hpp"
#include "time_causes.hpp"

namespace decoder_plans {

/// The sentence on memory: whether a faster plan was priced that does not fit.
inline std::string binding_text(const search_answer& s) {
  const hp::plan_estimate& unfit = s.found.fastest_unfit;
  if (unfit.time() >= s.found.best[0].time())
    return "memory does not bind: of the plans that were priced and do not fit none is faster\n";
  return fmt::format("memory binds: {} would take {} and needs {} of {}\n", fixes_of(unfit.plan),
                     time_text(unfit.time()), bytes_text(s.best.needed(unfit)),
                     bytes_text(s.best.hardware.device.tier[0].bytes));
}

/// What the time of a row is by.
inline const char* source_of(const hp::plan_estimate& e) {
  if (e.simulated.is_replayed()) return "replay";
  return e.simulated.ok() ? "clock" : "estimate";
}

inline std::string rows_text(const search_answer& s) {
  hp::report::table t({"", "--fix", "needs", "step", "by", "behind", "tokens/s a device", "MFU"});
  for (int i = 0; i < s.found.best.size; ++i) {
    const hp::plan_estimate& e = s.found.best[i];
    const hp::extent_t best = s.found.best[0].time();
    t.row({std::to_string(i + 1), fixes_of(e.plan), bytes_text(s.best.needed(e)), time_text(e.time()), source_of(e),
           hp::report::share_text(e.time() - best, best), fmt::format("{:.0f}", hp::tokens_per_device_second(e)),
           share_text(hp::model_use(e, s.best.hardware.device))});
  }
  return t.text();
}

inline std::string searched_text(const search_answer& s) {
  const hp::plan_answer& f = s.found;
  std::string out =
      fmt::format("searched in {:.1f} s: {} legal plans, {} too large and {} slower by lower bounds, {} priced",
                  s.seconds, f.legal, f.too_large, f.slower(), f.priced);
  if (f.priced_unfit > 0) out += fmt::format(", {} of which do not fit", f.priced_unfit);
  out += fmt::format(", {} simulated", f.simulations.made);
  if (f.simulations.replayed > 0)
    out += fmt::format(", {} of which by a schedule replayed with simulated stages", f.simulations.replayed);
  if (f.simulations.unfit > 0) out += fmt::format(", {} of which do not fit by address", f.simulations.unfit);
  out += "\n";
  if (!f.listed)
    return out + fmt::format("ended by {} while legal plans were listed, so nothing is known of the others\n",
                             s.end == ending::effort ? "--effort" : "Ctrl-C");
  if (f.uncounted > 0)
    out += fmt::format(
        "not counted: {}, whose step takes 26 days or more, or whose micro-batch leaves 64 bits; bounds do not exclude "
        "them\n",
        count_text(f.uncounted, "plan"));
  if (s.end != ending::complete)
    out += fmt::format("ended by {} with {} plans left and {} that are priced not simulated; ",
                       s.end == ending::effort ? "--effort" : "Ctrl-C", f.left, f.unsimulated);
  if (f.complete)
    out +=
        f.ok() ? "complete: by clock, replay or estimate no other of these plans that fits takes less\n" : "complete\n";
  else if (f.ok())
    out += fmt::format("none that fits takes less than {}: the best takes at most {} longer than the fastest\n",
                       time_text(f.bound), share_text(s.gap()));
  else
    out += fmt::format("none that fits takes less than {}\n", time_text(f.bound));
  return out +
         "plans: all degrees tp, pp, dp, cp and ep that divide, micro-batches that divide the batch, ZeRO 0 to 3,\n"
         "recomputation full or none, sequence parallelism on or off; axes in one order, tp innermost;\nplans that are "
         "tight are searched where none fits\n" +
         (s.best.stack.walked ? fmt::format("of these those that {} has rules for; memory and computing are what it "
                                            "takes, moves this library's\n",
                                            s.best.stack.name)
                              : std::string());
}

inline std::string why_text(const search_answer& s) {
  const hp::plan_estimate &a = s.found.best[0], &b = s.found.best[s.why - 1];
  const time_causes one(a), other(b);
  hp::report::table t({"step", "plan 1", fmt::format("plan {}", s.why), "plan 1 saves"});
  const auto row = [&](const char* name, hp::extent_t x, hp::extent_t y) {
    t.row({name, time_text(x), time_text(y), (y < x ? "-" : "") + time_text(y < x ? x - y : y - x)});
  };
  row("computing", one.computing, other.computing);
  row("bubble", one.bubble, other.bubble);
  row("exposed moves", one.exposed, other.exposed);
  row("handed from stage to stage", one.handed, other.handed);
  row("all", a.time(), b.time());
  return fmt::format("why {} beats {}:\n", fixes_of(a.plan), fixes_of(b.plan)) + t.text() +
         fmt::format("a device needs {} and {}; ", bytes_text(s.best.needed(a)), bytes_text(s.best.needed(b))) +
         binding_text(s);
}

/// The kind of memory that a plan holds most of at its peak.
inline const char* largest_kind(const hp::plan_estimate& e) {
  int largest = 0;
  for (int c = 1; c < hp::memory_class_count; ++c)
    if (held_of(e, c) > held_of(e, largest)) largest = c;
  return passing_of(e) > held_of(e, largest) ? "passing, at the peak" : name_of(static_cast<hp::memory_class>(largest));
}

/// Of the plans that were priced the one that comes closest to fitting, and what it is full of.
inline std::string closest_text(const search_answer& s) {
  const hp::plan_estimate& e = s.found.least_unfit;
  if (e.memory() == hp::not_counted) return "";
  hp::extent_t most = passing_of(e);
  for (int c = 0; c < hp::memory_class_count; ++c) most = std::max(most, held_of(e, c));
  return fmt::format("; {} comes closest: it needs {}, most of it {} ({})", fixes_of(e.plan),
                     bytes_text(s.best.needed(e)), largest_kind(e), bytes_text(most));
}

/// Why there is no plan, in one line.
inline std::string none_text(const search_answer& s) {
  if (s.found.legal == 0)
    return fmt::format("no plan is legal on {} with {} of {} tokens", count_text(s.question.devices, "device"),
                       count_text(s.question.batch, "sequence"), s.question.sequence);
  if (s.found.uncounted > 0 && s.end == ending::complete)
    return fmt::format("no plan that fits was found; {} not counted: name a smaller --batch or --sequence",
                       s.found.uncounted == 1 ? "1 plan was" : fmt::format("{} plans were", s.found.uncounted));
  if (!s.found.complete) return "no plan that fits was found before the search was ended" + closest_text(s);
  return fmt::format("none of {} legal plans fits into {} a device", s.found.legal,
                     bytes_text(s.best.hardware.device.tier[0].bytes)) +
         closest_text(s);
}

inline std::string to_text(const search_answer& s) {
  std::string out = fmt::format("{} on {} of {}, {} of {} tokens in a step\n", s.best.config.family,
                                count_text(s.question.devices, "device"), s.best.hardware.name.text,
                                count_text(s.question.batch, "sequence"), s.question.sequence) +
                    set_aside_text(s.best.config) + trained_text(s.best.config) +
                    beyond_text(s.best.config, s.question.sequence) +
                    not_counted_text(s.best.config, s.best.memory, s.best.hardware.device.tier[0].bytes) +
                    measured_text(s.best.measured) + "\n";
  if (!s.found.ok()) return out + searched_text(s);
  if (s.is_tight)
    out += "none fits; these are tight: they fit where the allocator wastes less than it is counted with\n";
  out += rows_text(s) + "\n" + searched_text(s) + "\n";
  if (s.why > 0) out += why_text(s) + "\n";
  out += "plan 1 ";
  return out + verdict_text(s.best) + "\n" + memory_text(s.best) + "\n" + comparison_text(s.best) + step_text(s.best) +
         "\n" + received_text(s.best) + words_text(s.best);
}

}  // namespace decoder_plans
