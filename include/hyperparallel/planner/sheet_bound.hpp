// SPDX-License-Identifier: Apache-2.0
#pragma once
// The time that no software can beat for a plan of a decoder, by the data sheet of the hardware alone.
//
//   hp::sheet_bound(llama3, plan, hp::h100::device, hp::h100::topology).picoseconds()
//
// Peaks of matrix cores, of memory and of links, without the shares of them that products and transfers reach: no figure
// of the library's own enters. Counted is what every implementation of the plan does, all of it in the narrowest format of the plan:
//   operations   6 a token and parameter that multiplies, attention over the half that the causal mask leaves, nothing
//                again, 4 where adapters alone are trained; the stages of a pipeline wait for each other as 1F1B with one chunk a stage has it
//   memory       a stage's weights beyond what L2 may keep of them, in forward and in backward of every micro-batch
//   links        along tp what both products of a block gather, forward and backward; along the data axes the updated
//                weights, or the sum of gradients, once a step. Reductions may happen in a switch and are not counted, nor
//                are slots of experts, which may all stay where they are
// The bound is the longest of the three. An estimate or a measurement below it has an error, not a better plan.
// Law: it depends on no efficiency, latency or overhead of the hardware; it grows with tokens, layers and widths.
// Units: seconds, picoseconds. O(layers).

#include <hyperparallel/planner/plan_bounds.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct sheet_bound_value {
  double operations = 0, memory = 0, links = 0;  ///< seconds of a step
  constexpr double seconds() const { return detail::larger_of(detail::larger_of(operations, memory), links); }
  constexpr extent_t picoseconds() const { return detail::whole_part_of(seconds() * 1e12 * detail::bound_slack); }
};

namespace detail {

/// Tokens that one token of a causal sequence attends to on average. Domain: reach ≤ sequence, sequence ≥ 1.
constexpr double mean_reach(double reach, double sequence) { return reach * (1 - reach / (2 * sequence)); }

/// Operations of a step that cannot be left out, of all devices. O(layers).
constexpr double least_operations_of(const decoder& d, const decoder_plan& p) {
  const decoder_parameters<double> active = count_decoder<double>(d, d.experts.top_k);
  // Norms are no products of matrices.
  double multiplied = active.total() - active.positions - active.norms - (d.tied ? 0.0 : active.embedding);
  // Slots beyond the room of an expert are dropped.
  if (d.has_experts && d.experts.capacity_factor < 1 && d.experts.slots != expert_slots::dropless)
    multiplied -= active.experts * (1 - d.experts.capacity_factor);
  const double sequence = static_cast<double>(p.sequence);
  double each = operations_a_token(
      d, multiplied, [&](extent_t layer) { return mean_reach(reach_of(d, layer, p.sequence), sequence); });
  // Frozen weights have no gradients, and the first layer's inputs need none through them.
  if (p.adapter_rank > 0) each -= 2 * (multiplied + active.attention / static_cast<double>(d.layers));
  return each * static_cast<double>(p.batch) * sequence;
}

/// Bytes of an element in the narrowest format of the plan.
constexpr double narrow_bytes(const decoder_plan& p) {
  return p.formats.product_bits() == 0 ? 2.0 : p.formats.product_bits() / 8.0;
}

/// What the links of a device carry to it at least in a step. O(layers).
constexpr double least_link_time(const decoder& d, const decoder_plan& p, double share, const interconnect& net) {
  double time = 0;
  if (p.tp > 1) {
    // What enters each branch is gathered, its gradient is, too.
    const double gathers = static_cast<double>(d.branch_count()) * share * (d.side_by_side ? 1 : 2) * p.micro_batches;
    const double hidden = narrow_bytes(p) * static_cast<double>(d.hidden) * tokens_of(p);
    time += gathers * hidden * (p.tp - 1) / p.tp * seconds_a_byte(net, p.tp);
  }
  const extent_t data = extent_t{p.dp} * p.cp;
  if (data > 1 && (p.adapter_rank == 0 || p.zero == 3)) {
    const stage_parameters stage(d, p);
    time +=
        narrow_bytes(p) * stage.dense * (1 - 1 / static_cast<double>(data)) * seconds_a_byte(net, data * p.ep * p.tp);
  }
  return time;
}

}  // namespace detail

/// Domain: check_plan says ok; the device has a matrix rate in the plan's formats.
constexpr sheet_bound_value sheet_bound(const decoder& d, const decoder_plan& p, const device_value& device,
                                        const interconnect& net) {
  const double devices = static_cast<double>(device_count_of(p)), m = p.micro_batches;
  const double waiting = (m + p.pp - 1) / m;  // of the stages, however their work is dealt
  const double peak = static_cast<double>(matrix_peak(device, p.formats.product));
  const detail::stage_parameters stage(d, p);
  sheet_bound_value b;
  b.operations = detail::least_operations_of(d, p) / devices / peak * waiting;
  const double read =
      detail::larger_of(detail::narrow_bytes(p) * stage.dense - static_cast<double>(device.l2_bytes), 0.0);
  const double passes = p.adapter_rank > 0 ? 2 - 1.0 / static_cast<double>(d.layers) : 2;
  b.memory = passes * m * read / static_cast<double>(device.tier[0].bandwidth);
  b.links = detail::least_link_time(d, p, detail::stage_layers_share(d, p), net);
  return b;
}

}}  // namespace hyperparallel::v0_2
