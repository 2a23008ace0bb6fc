// SPDX-License-Identifier: Apache-2.0
#pragma once
// A1: the twelve latencies of the MoE module, by discrete events. Both columns come from one description of the
// published order (`moe_expert_events`), one lowering, one scheduler, one simulator: operators one after the other in
// waves of whole tiles, or the fused taskflow with events for whole experts and the hop of its executor.

#include <stdexcept>
#include <string>

#include <fmt/format.h>

#include <hyperparallel/lowering/moe_program.hpp>
#include <hyperparallel/lowering/planned_flow.hpp>
#include <hyperparallel/mpmd/moe_expert_events.hpp>

#include "anchor.hpp"
#include "parameters.hpp"
#include "published.hpp"

namespace tables {

inline constexpr int degrees[] = {4, 8, 16};
inline constexpr hp::moe_pass passes[] = {hp::moe_pass::forward, hp::moe_pass::backward};

constexpr const char* name_of(hp::moe_pass pass) { return pass == hp::moe_pass::forward ? "forward" : "backward"; }

constexpr double milliseconds(std::int64_t picoseconds) {
  return static_cast<double>(picoseconds) / static_cast<double>(hp::millisecond);
}

/// The layer that the module table is about, over `ep` devices.
constexpr hp::moe_layer published_layer(int ep) {
  using namespace published;
  return {hidden, intermediate, local_experts * ep, top_k, ep * tokens};
}

struct module_run {
  std::int64_t makespan = 0, bound = 0;
  hp::exposure communication{};
};

/// Simulates a flow that must be schedulable and safe.
inline module_run checked_run(hp::planned_flow& flow, const std::string& what) {
  if (flow.verify().code != hp::verify_code::ok) throw std::logic_error(what + ": the plan is not safe");
  const hp::simulated_figures figures = flow.simulate();
  if (figures.result.code != hp::simulation_code::ok) throw std::logic_error(what + ": the plan does not run");
  return {figures.result.makespan, flow.bound().value, figures.communication};
}

/// The module in the published order; `hop` is what its executor needs from a signal to the wait that it releases.
inline module_run run_published_order(const parameters& p, int ep, hp::moe_pass pass, hp::expert_event_form form,
                                      std::int64_t hop) {
  const bool fused = form == hp::expert_event_form::fused;
  const hp::device_value device = p.device(true);
  hp::moe_expert_events order;
  order.layer = published_layer(ep);
  order.devices = ep;
  order.pass = pass;
  order.form = form;
  order.gmm = fused ? device.gmm_warm : device.gmm_cold;
  order.vector_queues = p.vector_queues.value;
  hp::moe_options machine;
  machine.vector_queues = p.vector_queues.value;
  hp::planned_flow flow(hp::chain_builder{hp::describe_expert_events(order, device, p.all_to_all())},
                        hp::moe_machine(machine, 1), {hp::priority::reference_order, hop});
  return checked_run(flow, fmt::format("published order, EP{} {}", ep, name_of(pass)));
}

/// The module table as it is simulated: [degree][pass], milliseconds.
struct module_figures {
  double serialized[3][2] = {}, fused[3][2] = {};
  /// Speed-up of forward and backward together.
  double speed_up(int degree) const {
    return (serialized[degree][0] + serialized[degree][1]) / (fused[degree][0] + fused[degree][1]);
  }
};

inline module_figures simulate_modules(const parameters& p) {
  module_figures out;
  for (int d = 0; d < 3; ++d)
    for (int i = 0; i < 2; ++i) {
      using hp::expert_event_form;
      // Launches between serialized operators are inside their fitted efficiency.
      out.serialized[d][i] =
          milliseconds(run_published_order(p, degrees[d], passes[i], expert_event_form::serialized, 0).makespan);
      out.fused[d][i] = milliseconds(
          run_published_order(p, degrees[d], passes[i], expert_event_form::fused, p.paper_hop.value).makespan);
    }
  return out;
}

inline anchor_rows module_table(const module_figures& m) {
  anchor_rows rows;
  for (int d = 0; d < 3; ++d) {
    const published::module_row& r = published::module_table[d];
    const double serialized[] = {r.serialized_forward, r.serialized_backward},
                 fused[] = {r.fused_forward, r.fused_backward};
    for (int i = 0; i < 2; ++i) {
      rows.push_back({"A1", fmt::format("EP{} {}, serialized operators", r.ep, name_of(passes[i])), "ms", serialized[i],
                      m.serialized[d][i], criterion::relative, 0.03, 2, standing::fit});
      rows.push_back({"A1", fmt::format("EP{} {}, fused, published order", r.ep, name_of(passes[i])), "ms", fused[i],
                      m.fused[d][i], criterion::relative, 0.05, 2, standing::fit});
    }
    rows.push_back({"A1", fmt::format("EP{} forward and backward, speed-up", r.ep), "x", r.serialized() / r.fused(),
                    m.speed_up(d), criterion::printed, 0, 3});
  }
  return rows;
}

}  // namespace tables
