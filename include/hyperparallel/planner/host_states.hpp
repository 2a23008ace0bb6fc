// SPDX-License-Identifier: Apache-2.0
#pragma once
// Masters and moments of a plan that lie in the host's memory and are updated there: the program without them, and what that takes.
//
//   hp::decoder_plan p{.dp = 8, .zero = 1, .host_states = 1000, …};
//   hp::planned_program(llama3, p)                     a stage's program, with homes of states that are the device's part alone
//   hp::host_update_of(program, form, p, priced, device)
//
// Of each parameter `host_states` per mille are on the host. When gradients of a step are summed, a device copies its part of them down, the host
// updates, and the parameters come back; one after the other, nothing beside it. Both copies go over the first DRAM behind the device's memory, at its
// bandwidth and once its latency. The host's memory is taken to serve a device's update at that tier's rate, since hardware states no other of it:
// what is read are gradients and states, what is written states and parameters. The device's own update is shorter by the part that it does not
// do. The host holds the states, the gradients that came down, and of parameters of 32 bits, which have no master, a copy.
//
// Laws: with nothing on the host the program is the partitioner's, and all amounts are 0; what leaves a device's homes and what is left of
// them are its states. An account alone: what `partition` makes runs with all states on the device. Units: bytes, picoseconds.
// Sources: ZeRO-Offload, 2101.06840; Megatron-LM's HybridDeviceOptimizer, whose fraction is of whole parameters. O(steps).

#include <hyperparallel/planner/decoder_plan.hpp>
#include <hyperparallel/price/plan_evaluation.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// Rounded down.
constexpr extent_t per_mille_of(extent_t amount, int share) {
  return amount / 1000 * share + amount % 1000 * share / 1000;
}

/// Calls `visit(step, compute)` for each update of a parameter with states, but for those that multiply matrices, which no
/// host does.
template <class Visit>
constexpr void visit_updates(const sharded_program& p, const Visit& visit) {
  for (int i = 0; i < p.step.size; ++i) {
    const program_step& s = p.step[i];
    if (s.is_move || s.phase != graph_phase::update) continue;
    const program_compute& c = p.compute[s.index];
    const operator_value& update = p.graph.value_of(p.graph.op[c.op]);
    if (update.states.exist() && update.unit == compute_unit::vector) visit(i, c);
  }
}

/// Calls `visit(storage, bytes)` for each home of states, with what of it is on the host.
template <class Visit>
constexpr void visit_host_states(const sharded_program& p, int on_host, const Visit& visit) {
  if (on_host == 0) return;
  growing_array<bool> seen(p.storage.size, false);
  visit_updates(p, [&](int, const program_compute& c) {
    for (int k = 2; k + 1 < p.graph.op[c.op].operand_count; ++k) {
      const int storage = p.value[c.operand[k]].storage;
      if (!seen[storage]) visit(storage, per_mille_of(local_bytes(p, c.operand[k]), on_host));
      seen[storage] = true;
    }
  });
}

/// Of a program of unrolled layers: what a device of each part has on the host.
constexpr growing_array<extent_t> host_states_of(const sharded_program& p, int on_host) {
  growing_array<extent_t> bytes(parts_of(p), extent_t{0});
  visit_host_states(p, on_host, [&](int storage, extent_t moved) { bytes[p.storage[storage].part] += moved; });
  return bytes;
}

/// Leaves of homes of states what is on the device. Such a program is counted, and not lowered: states no longer fit into their homes.
constexpr void leave_on_device(sharded_program& p, int on_host) {
  visit_host_states(p, on_host, [&](int storage, extent_t moved) { p.storage[storage].bytes -= moved; });
}
/// The program as it was.
constexpr void take_back(sharded_program& p, int on_host) {
  visit_host_states(p, on_host, [&](int storage, extent_t moved) { p.storage[storage].bytes += moved; });
}

}  // namespace detail

/// The program of one stage's devices. Precondition: the plan can be.
constexpr sharded_program planned_program(const decoder& d, const decoder_plan& plan) {
  sharded_program p = partition(training_graph_of(d, plan), strategy_of(plan));
  detail::leave_on_device(p, plan.host_states);
  return p;
}

/// Of a device of the largest stage, in a step.
struct host_update {
  time_cost cost{};
  extent_t states = 0;        ///< that lie on the host
  extent_t bytes = 0;         ///< of its memory: these, gradients, and copies of parameters that have no master
  extent_t room = 0;          ///< of the host's memory for a device
  extent_t down = 0, up = 0;  ///< gradients and parameters that are copied
  extent_t copying = 0;       ///< down and up
  extent_t updating = 0;      ///< on the host
  extent_t saved = 0;         ///< on the device
  constexpr extent_t time() const { return copying + updating; }
  constexpr extent_t added() const { return time() - saved; }
  /// Whether the host has that memory.
  constexpr bool fits() const { return bytes <= room; }
  friend constexpr bool operator==(const host_update&, const host_update&) = default;
};

/// Not priced (`cost`) where the device has no DRAM behind its memory.
constexpr host_update host_update_of(const sharded_program& p, const pipeline_form& form, const decoder_plan& plan,
                                     const priced_program& priced, const device_value& device) {
  host_update h;
  if (plan.host_states == 0) return h;
  const int t = tier_behind(device, memory_kind::dram);
  if (t < 0) {
    h.cost.code = cost_code::rate_is_not_positive;
    return h;
  }
  const memory_tier& host = device.tier[t];
  extent_t copies = 0;
  detail::visit_updates(p, [&](int i, const program_compute& c) {
    const graph_operator& o = p.graph.op[c.op];
    const program_step& s = p.step[i];
    const auto held = [&](int value) {
      return detail::per_mille_of(form.held(s.segment).of(local_bytes(p, value), times_of(p, s)), plan.host_states);
    };
    for (int k = 2; k + 1 < o.operand_count; ++k) h.states += held(c.operand[k]);
    h.down += held(c.operand[1]);
    h.up += held(c.result[0]);
    if (!p.graph.value_of(o).states.has_master()) copies += held(c.operand[0]);
    h.saved +=
        detail::per_mille_of(form.busy(s.segment, s.phase).of(priced.of_step(i), times_of(p, s)), plan.host_states);
  });
  h.room = host.bytes;
  h.bytes = h.states + h.down + copies;
  const time_cost copying = then(copy_time(host, h.down), copy_time(host, h.up));
  const time_cost updating = work_time(h.down + 2 * h.states + copies + h.up, 1, 1, host.bandwidth, host.reached);
  h.cost = then(copying, updating);
  h.copying = copying.picoseconds;
  h.updating = updating.picoseconds;
  return h;
}

}}  // namespace hyperparallel::v0_2
