// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a strategy search found, and why: plans in the order of their times, what their time is made of, the memory of
// a device; the best strategy that has a name; what was covered.
//
//   plan            mesh         pipeline  options  parts             time     by     compute  exposed     memory    behind
//   winner          dp 4, tp 2          1  ZeRO 3   tensor, sequence  8.178 s  clock  7.239 s  935.000 ms  53.0 GiB
//   next            …
//   best by name: …                                                   8.322 s  estimate …                            1.76 %
//
// Times are by the clock of the plan where it was simulated (strategy_simulation.hpp), else estimated. Law: every plan has a row;
// `behind` is what its time exceeds the winner's by, in parts of the winner's.

#include <algorithm>
#include <string>
#include <vector>

#include <hyperparallel/report/format_hardware.hpp>
#include <hyperparallel/report/format_program.hpp>
#include <hyperparallel/search/strategy_search.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace report {

namespace detail {

/// "ZeRO 3 everywhere, ring": the options of the whole model.
inline std::string options_text(const found_plan& p) {
  if (p.named) return "";
  const bool once = p.frame.zero == hyperparallel::detail::zero_gathered_once;
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

}  // namespace detail

/// A search with names of its graphs, which must outlive it; none: numbers.
struct named_search {
  const search_result& result;
  const std::vector<std::string>& graphs;
};

namespace detail {

inline std::string certificate_text(const search_certificate& c) {
  std::string out = fmt::format("{} frames: {} cannot hold the model, {} cannot be as fast, {} are refused\n", c.frames,
                                c.frames_too_large, c.frames_too_slow, c.frames_refused);
  out += fmt::format("{} plans in the others, told by {} partitionings; {} strategies by name\n", c.plans,
                     c.partitionings, c.named);
  if (c.simulations.made > 0)
    out += fmt::format("{} of the best simulated, {} of which do not fit by address\n", c.simulations.made,
                       c.simulations.unfit);
  if (c.law_breaks > 0) out += fmt::format("{} plans differ from the sum of their parts\n", c.law_breaks);
  if (!c.complete) out += "the search is not complete\n";
  if (c.lower_bound == 0) return out + (c.complete ? "none of them fits\n" : "");
  return out + fmt::format(
                   "no plan of them that fits takes less than {}, moves beside what does not need them,\n"
                   "each by the fastest of its candidates on this topology\n",
                   to_text(duration{c.lower_bound}));
}

inline extent_t most_stages(const search_certificate& c) {
  return std::min<extent_t>(c.limits.pipeline, c.extents.layers);
}

/// "7 divides neither batch (64) nor key_heads (8) and is above the largest pipeline degree (4)": why `q` divides no
/// degree. Empty where one may have it.
inline std::string undealt_text(const search_certificate& c, extent_t q) {
  const extent_t stages = most_stages(c);
  std::vector<std::string> undivided, beyond;
  if (q <= stages) return "";
  const auto ask = [&](const std::string& dim, extent_t extent, const char* degree, extent_t most) {
    const bool divides = extent % q == 0;
    if (!divides) undivided.push_back(fmt::format("{} ({})", dim, extent));
    if (divides && q > most) beyond.push_back(fmt::format("{} degree ({})", degree, most));
    return !divides || q > most;
  };
  if (!ask("batch", c.extents.batch, "data", q) || !ask("seq", c.extents.sequence, "context", c.limits.context))
    return "";
  if (q > c.limits.tensor)
    beyond.push_back(fmt::format("tensor degree ({})", c.limits.tensor));
  else if (c.refused.code != strategy_code::dim_does_not_divide ||
           !ask(c.refused_dim.text, c.refused.extent, "tensor", q))
    return "";
  beyond.push_back(fmt::format("pipeline degree ({})", stages));
  const std::size_t count = undivided.size();
  std::string out = std::to_string(q) + (q == c.devices ? "" : fmt::format(", a factor of {},", c.devices)) +
                    (count == 1   ? " does not divide "
                     : count == 2 ? " divides neither "
                                  : " divides none of ");
  for (std::size_t i = 0; i < count; ++i)
    out += (i == 0 ? "" : count == 2 ? " nor " : i + 1 == count ? " and " : ", ") + undivided[i];
  for (std::size_t i = 0; i < beyond.size(); ++i)
    out += (i == 0 ? " and is above the largest " : i + 1 == beyond.size() ? " and " : ", ") + beyond[i];
  return out;
}

/// Why no degrees are legal: a prime factor of the devices that none may have; else that their product has no place, or
/// what the partitioner said last.
inline std::string illegal_text(const search_certificate& c) {
  for (extent_t left = c.devices, q = 2; left > 1; ++q) {
    if (left % q != 0) continue;
    while (left % q == 0) left /= q;
    if (const std::string why = undealt_text(c, q); !why.empty()) return why;
  }
  if (c.frames == 0)
    return fmt::format(
        "tensor degrees up to {}, context degrees up to {} and pipeline degrees up to {} leave none that "
        "divides batch ({})",
        c.limits.tensor, c.limits.context, most_stages(c), c.extents.batch);
  const std::string last = c.refused.code == strategy_code::dim_does_not_divide
                               ? fmt::format("dim \"{}\" of extent {} does not divide by {}", c.refused_dim.text,
                                             c.refused.extent, c.refused.pieces)
                               : name_of(c.refused.code);
  return fmt::format("the partitioner refuses all {} meshes and options, the last because {}", c.frames, last);
}

}  // namespace detail

/// Why there is no plan, in one sentence: no degrees that are legal, too little memory, or no price.
inline std::string cause_text(const search_certificate& c) {
  if (!c.has_legal_frames())
    return fmt::format("no degrees are legal on {} devices: {}", c.devices, detail::illegal_text(c));
  if (c.least_memory != not_counted && c.least_memory > c.budget)
    return fmt::format("no plan fits: each holds at least {} a device, a device has {}",
                       to_text(byte_count{c.least_memory}), to_text(byte_count{c.budget}));
  if (c.simulations.unfit > 0)
    return fmt::format("none of the {} best plans fits: what is alive does, their addresses take more than {} a device",
                       c.simulations.unfit, to_text(byte_count{c.budget}));
  if (c.least_peak != not_counted)
    return fmt::format("no plan fits: the smallest that was accounted in full takes {} a device, a device has {}",
                       to_text(byte_count{c.least_peak}), to_text(byte_count{c.budget}));
  if (c.price != cost_code::ok) return fmt::format("no plan has a price: {}", to_text(c.price));
  return "no plan was found";
}

inline std::string to_text(const named_search& s) {
  const search_result& r = s.result;
  if (!r.hardware.ok()) return "nothing is searched: " + to_text(r.hardware) + "\n";
  if (!r.ok()) return cause_text(r.certificate) + "\n" + detail::certificate_text(r.certificate);
  table t({"plan", "mesh", "pipeline", "graph", "options", "parts", "time", "by", "compute", "exposed", "memory",
           "behind"});
  const std::int64_t best = r.plan[0].time();
  const auto row = [&](const std::string& title, const found_plan& p) {
    const plan_evaluation& e = p.evaluation;
    const extent_t exposed = p.simulated.ok() ? p.simulated.times.exposed : e.time - e.times.compute_busy;
    const std::size_t g = static_cast<std::size_t>(p.graph);
    t.row({p.named ? title + ": " + p.strategy.name.text : title, mesh_text(p.strategy.mesh),
           std::to_string(p.frame.pipeline), g < s.graphs.size() ? s.graphs[g] : std::to_string(p.graph),
           detail::options_text(p), detail::families_text(p), to_text(duration{p.time()}),
           p.simulated.ok() ? "clock" : "estimate", to_text(duration{p.time() - exposed}), to_text(duration{exposed}),
           to_text(byte_count{e.memory}), p.time() == best ? "" : share_text(p.time() - best, best)});
  };
  for (int i = 0; i < r.plan.size; ++i) row(i == 0 ? "winner" : "next", r.plan[i]);
  if (!r.best_named.empty()) row("best by name", r.best_named[0]);
  return t.text() + detail::certificate_text(r.certificate);
}

}  // namespace report

/// The search as text; `graphs` are names of the graphs.
inline report::named_search told(const search_result& r, const std::vector<std::string>& graphs) { return {r, graphs}; }

inline std::string to_text(const search_result& r) { return report::to_text(report::named_search{r, {}}); }

}}  // namespace hyperparallel::v0_2
