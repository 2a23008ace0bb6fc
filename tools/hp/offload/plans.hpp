// SPDX-License-Identifier: Apache-2.0
#pragma once
// Plans with and without offload beside each other, and as JSON: the figures of their table.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <hyperparallel/report/format_offload.hpp>

#include "../json_amounts.hpp"
#include "choice.hpp"

namespace offload_plans {

namespace hp = hyperparallel;
using hp_tool::bytes_or_null, hp_tool::json, hp_tool::seconds_or_null;

struct candidate {
  hp::strategy_value strategy{};
  int micro_batches = 1;
  bool recomputed = false;
  hp::extent_t memory = 0, time = 0;
  std::optional<hp::step_offload> offload{};

  hp::extent_t needed() const { return offload ? offload->peak[0] : memory; }
  hp::extent_t takes() const { return offload ? offload->step_time : time; }
};

/// The fastest plans of one model on one number of dies, which fit. Where neither has a place, with offload or without: why.
struct plans_on_dies {
  int devices = 0;
  std::optional<candidate> plain, offloaded, data_parallel, data_parallel_offloaded;
  std::string why;
};

inline json account_json(const hp::step_offload& o) {
  json classes = json::array(), tiers = json::array();
  for (int c = 0; c < hp::memory_class_count; ++c)
    if (const hp::offload_shares& s = o.share[c]; s.kept + s.offloaded + s.recomputed != 0)
      classes.push_back({{"class", name_of(static_cast<hp::memory_class>(c))},
                         {"kept_bytes", s.kept},
                         {"offloaded_bytes", s.offloaded},
                         {"recomputed_bytes", s.recomputed}});
  for (const hp::extent_t bytes : o.peak) tiers.push_back(bytes);
  return {{"classes", std::move(classes)},
          {"budget_bytes", o.budget},
          {"least_budget_bytes", o.least_budget},
          {"tier_peak_bytes", std::move(tiers)},
          {"step_bound_seconds", seconds_or_null(o.step_time_bound)},
          {"copied_in_bytes", o.bytes_in},
          {"copied_out_bytes", o.bytes_out},
          {"operators", o.operators},
          {"storages", o.storages},
          {"gaps", o.gaps}};
}

/// null where none fits.
inline json json_of(const std::optional<candidate>& p, bool account) {
  if (!p) return json();
  json out = {{"strategy", p->strategy.name.text}, {"mesh", hp_tool::json_of(p->strategy.mesh)},
              {"micro_batches", p->micro_batches}, {"recomputed", p->recomputed},
              {"peak_bytes", p->needed()},         {"step_seconds", seconds_or_null(p->takes())}};
  if (!p->offload) return out;
  out["waits_seconds"] = seconds_or_null(p->offload->exposed);
  out["copied_bytes"] = p->offload->bytes_in + p->offload->bytes_out;
  out["host_peak_bytes"] = p->offload->peak[1];
  if (account) out["account"] = account_json(*p->offload);
  return out;
}

inline json json_of(const std::string& model, const std::vector<plans_on_dies>& all, const choice& c) {
  json machines = json::array();
  for (const plans_on_dies& on : all) {
    json one = {{"devices", on.devices}};
    if (!on.why.empty()) one["why"] = on.why;
    one["as_it_is"] = json_of(on.plain, c.account);
    one["with_offload"] = json_of(on.offloaded, c.account);
    one["data_parallel"] = json_of(on.data_parallel, c.account);
    one["data_parallel_with_offload"] = json_of(on.data_parallel_offloaded, c.account);
    machines.push_back(std::move(one));
  }
  return {{"model", model}, {"machines", std::move(machines)}};
}

}  // namespace offload_plans
