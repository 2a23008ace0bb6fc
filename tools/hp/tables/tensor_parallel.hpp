// SPDX-License-Identifier: Apache-2.0
#pragma once
// S2: the share of a training step that communication of tensor parallelism is exposed for, on servers of 910B whose
// eight NPUs are joined by HCCS, on 910B joined by RoCE alone, and on a Matrix384 supernode. S3: a dense model of 72
// billion parameters on 8 dies and on 16. S4: the links behind both.
//
// The settings were chosen before they were priced (tensor_parallel_settings.hpp); no source says on which model,
// degree and sequence the published 52.9 % were found. Times are those of hp plan.

#include <stdexcept>
#include <string>

#include <fmt/format.h>

#include <hyperparallel/hardware/ascend_presets.hpp>
#include <hyperparallel/hardware/preset_parts.hpp>
#include <hyperparallel/planner/fit.hpp>

#include "anchor.hpp"
#include "tensor_parallel_settings.hpp"

namespace tables {

namespace published {
/// Per cent of a step that communication of tensor parallelism takes on servers.
inline constexpr double tensor_parallel_share = 52.9;
/// A supernode's links over those of servers: bandwidth, and a hop's latency of 2 us before and 200 ns after.
inline constexpr double link_bandwidth_gain = 15, hop_latency_gain = 10;
}  // namespace published

/// The step of a setting on hardware. Throws where it has no price.
inline hp::plan_estimate step_of(const tensor_parallel_setting& s, const hp::device_value& device,
                                 const hp::interconnect& links) {
  hp::plan_prices prices(device, links);
  if (!hp::check_plan(s.decoder, s.plan, hp::device_count_of(s.plan)).ok())
    throw std::logic_error(std::string(s.model) + ": the setting cannot be");
  const hp::plan_estimate e = hp::estimate_plan(s.decoder, s.plan, prices);
  if (!e.ok()) throw std::logic_error(std::string(s.model) + ": the setting has no price");
  return e;
}

template <class Hardware>
hp::plan_estimate step_on(const tensor_parallel_setting& s) {
  return step_of(s, Hardware::device, hp::interconnect_of(Hardware::topology));
}

/// On 910B that only RoCE joins.
inline hp::plan_estimate step_over_roce(const tensor_parallel_setting& s) {
  using hp::ascend_910b;
  return step_of(s, ascend_910b::device, hp::interconnect_of(hp::topology_of(ascend_910b::topology.level[1])));
}

/// Per cent of the step.
inline double exposed_share(const hp::plan_estimate& e) {
  return 100 * static_cast<double>(e.exposed()) / static_cast<double>(e.evaluation.time);
}

inline anchor_rows tensor_parallel_rows() {
  using hp::ascend_910b, hp::matrix384;
  anchor_rows rows;
  for (const tensor_parallel_setting& s : tensor_parallel_settings) {
    const std::string what = fmt::format("{}, TP{}, {} tokens: exposed on", s.model, s.plan.tp, s.plan.sequence);
    const double hccs = exposed_share(step_on<ascend_910b>(s)), roce = exposed_share(step_over_roce(s)),
                 supernode = exposed_share(step_on<matrix384>(s));
    const auto share = [&](const char* where, double ours) {
      rows.push_back({"S2", what + where, "%", published::tensor_parallel_share, ours, criterion::printed, 0, 1});
    };
    share(" 910B over HCCS", hccs);
    share(" 910B over RoCE", roce);
    share(" Matrix384", supernode);
    const auto falls = [&](const char* from, double before) {
      rows.push_back({"S2", fmt::format("{}: points that it falls on Matrix384, from {}", s.model, from), "%",
                      std::nullopt, before - supernode, criterion::above, 0, 2});
    };
    falls("HCCS", hccs);
    falls("RoCE", roce);
  }
  const auto& [narrow, wide] = wider_tensor_parallel;
  const auto a_die = [](const hp::plan_estimate& e) { return hp::tokens_per_device_second(e); };
  const auto scaled = [&](const hp::plan_estimate& eight, const hp::plan_estimate& sixteen) {
    return a_die(sixteen) / a_die(eight);
  };
  const hp::plan_estimate eight = step_on<matrix384>(narrow), sixteen = step_on<matrix384>(wide);
  const double on_supernode = scaled(eight, sixteen),
               on_servers = scaled(step_on<ascend_910b>(narrow), step_on<ascend_910b>(wide));
  const auto add = [&](const std::string& what, const char* unit, double ours, criterion measure, double limit,
                       int decimals) {
    rows.push_back({"S3", what, unit, std::nullopt, ours, measure, limit, decimals});
  };
  const hp::memory_reserve reserve;
  for (const auto* e : {&eight, &sixteen}) {
    const std::string what = fmt::format("{}, TP{} on {} dies of Matrix384: ", narrow.model, e->plan.tp, e->plan.tp);
    add(what + "step", "s", static_cast<double>(e->evaluation.time) * 1e-12, criterion::printed, 0, 2);
    add(what + "needed of a die's 64", "GiB",
        static_cast<double>(reserve.needed(e->evaluation.memory)) / static_cast<double>(hp::GiB), criterion::above, 64,
        1);
  }
  add("tokens of a die, TP16 over TP8, on Matrix384", "", on_supernode, criterion::at_most, 1, 3);
  add("the same on servers of 910B, whose 16 are joined by RoCE", "", on_servers, criterion::at_most, on_supernode, 3);
  const hp::link_level roce = ascend_910b::topology.level[1], pair = matrix384::topology.level[0],
                       ub = matrix384::topology.level[1];
  const auto times = [](std::int64_t more, std::int64_t less) {
    return static_cast<double>(more) / static_cast<double>(less);
  };
  rows.push_back({"S4", "bandwidth of an NPU: two dies of Matrix384 over a 910B on RoCE", "x",
                  published::link_bandwidth_gain, times(2 * ub.bandwidth, roce.bandwidth), criterion::relative, 0.05,
                  2});
  rows.push_back({"S4", "latency: RoCE over the link of a pair of dies", "x", published::hop_latency_gain,
                  times(roce.latency, pair.latency), criterion::relative, 0.0, 1, standing::calibration});
  return rows;
}

}  // namespace tables
