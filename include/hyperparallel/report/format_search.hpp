// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a strategy search found, and why: plans in the order of their times, what their time is made of, the memory of
// a device; the best strategy that has a name; what was covered.
//
//   plan            mesh         pipeline  sharded  parts               time     compute  moves       memory    behind
//   winner          dp 4, tp 2          1  ZeRO 3   tensor, sequence    8.178 s  7.239 s  935.000 ms  53.0 GiB
//   2nd             …
//   named: 3d       x 1, y 2, …                                         8.322 s  …                              1.76 %
//
// Times are of steps one after the other; what overlap saves is told by an account of the plan's program, which names
// both. Law: every plan has a row; `behind` is what its time exceeds the winner's by, in parts of the winner's.

#include <string>
#include <vector>

#include <hyperparallel/program/strategy_search.hpp>
#include <hyperparallel/report/format_hardware.hpp>
#include <hyperparallel/report/format_program.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace report {

/// "ZeRO 3 everywhere, ring": the options of the whole model.
inline std::string options_text(const found_plan& p) {
  if (p.named) return "";
  const bool once = p.frame.zero == zero_gathered_once;
  std::string out = p.frame.zero > 0 ? "ZeRO " + std::to_string(once ? 3 : p.frame.zero) : "replicated";
  if (once) out += " gathered once";
  if (p.frame.zero_wide) out += " everywhere";
  if (p.frame.cp > 1) out += std::string(", ") + name_of(p.frame.context);
  return out;
}

/// The families of the parts, once where all take one: "tensor / data / tensor / tensor".
inline std::string families_text(const found_plan& p) {
  std::string out;
  bool alike = true;
  for (int i = 0; i < p.family.size; ++i) {
    alike = alike && p.family.item[i] == p.family.item[0];
    out += (i == 0 ? "" : " / ") + std::string(p.family.item[i].text);
  }
  return alike && p.family.size > 0 ? p.family.item[0].text : out;
}

/// A search with names of its graphs, which must outlive it; none: numbers.
struct named_search {
  const search_result& result;
  const std::vector<std::string>& graphs;
};

inline std::string certificate_text(const search_certificate& c) {
  std::string out = fmt::format("{} frames: {} cannot hold the model, {} cannot be as fast, {} are refused\n", c.frames,
                                c.frames_too_large, c.frames_too_slow, c.frames_refused);
  out += fmt::format("{} plans in the others, told by {} partitionings; {} strategies by name\n", c.plans,
                     c.partitionings, c.named);
  if (c.law_breaks > 0) out += fmt::format("{} plans differ from the sum of their parts\n", c.law_breaks);
  if (!c.complete) out += "the search is not complete\n";
  if (c.lower_bound == 0) return out + (c.complete ? "none of them fits\n" : "");
  return out + fmt::format(
                   "no plan of them that fits takes less than {}, moves beside what does not need them,\n"
                   "each by the fastest of its candidates on this topology\n",
                   to_text(duration{c.lower_bound}));
}

/// Why there is no plan: too little memory, no price, or nothing that is legal.
inline std::string cause_text(const search_certificate& c) {
  if (c.least_memory > c.budget)
    return fmt::format("no plan fits: each holds at least {} a device, a device has {}",
                       to_text(byte_count{c.least_memory}), to_text(byte_count{c.budget}));
  if (c.least_peak > 0)
    return fmt::format("no plan fits: the smallest that was accounted in full takes {} a device, a device has {}",
                       to_text(byte_count{c.least_peak}), to_text(byte_count{c.budget}));
  if (c.price != cost_code::ok) return fmt::format("no plan has a price: {}", to_text(c.price));
  if (c.frames == 0)
    return fmt::format(
        "no plan is legal: {} devices have no degrees within the limits of the search that divide batch, "
        "sequence, experts and layers",
        c.devices);
  if (c.frames_refused < c.frames) return "no plan was found";
  const strategy_status& why = c.refused;
  return fmt::format("no plan is legal: the partitioner refuses all {} meshes and options, the last by {}{}", c.frames,
                     name_of(why.code), why.pieces > 0 ? fmt::format(", {} by {}", why.extent, why.pieces) : "");
}

inline std::string to_text(const named_search& s) {
  const search_result& r = s.result;
  if (!r.hardware.ok()) return "nothing is searched: " + to_text(r.hardware) + "\n";
  if (!r.ok()) return cause_text(r.certificate) + "\n" + certificate_text(r.certificate);
  table t({"plan", "mesh", "pipeline", "graph", "options", "parts", "time", "compute", "exposed", "memory", "behind"});
  const std::int64_t best = r.plan[0].evaluation.time;
  const auto row = [&](const std::string& title, const found_plan& p) {
    const plan_evaluation& e = p.evaluation;
    const std::size_t g = static_cast<std::size_t>(p.graph);
    t.row({p.named ? title + ": " + p.strategy.name.text : title, mesh_text(p.strategy.mesh),
           std::to_string(p.frame.pipeline), g < s.graphs.size() ? s.graphs[g] : std::to_string(p.graph),
           options_text(p), families_text(p), to_text(duration{e.time}), to_text(duration{e.times.compute_busy}),
           to_text(duration{e.time - e.times.compute_busy}), to_text(byte_count{e.memory}),
           e.time == best ? "" : share_text(e.time - best, best)});
  };
  for (int i = 0; i < r.plan.size; ++i) row(i == 0 ? "winner" : "next", r.plan[i]);
  if (!r.best_named.empty()) row("best by name", r.best_named[0]);
  return t.text() + certificate_text(r.certificate);
}

}  // namespace report

/// The search as text; `graphs` are names of the graphs.
inline report::named_search told(const search_result& r, const std::vector<std::string>& graphs) { return {r, graphs}; }

inline std::string to_text(const search_result& r) { return report::to_text(report::named_search{r, {}}); }

}}  // namespace hyperparallel::v0_2

template <>
struct fmt::formatter<hyperparallel::search_result>
    : hyperparallel::report::text_formatter<hyperparallel::search_result> {};
template <>
struct fmt::formatter<hyperparallel::report::named_search>
    : hyperparallel::report::text_formatter<hyperparallel::report::named_search> {};
