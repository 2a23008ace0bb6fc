// SPDX-License-Identifier: Apache-2.0
#pragma once
// Lower bounds on memory and time of a decoder's plan, from sizes alone: what a search may leave out without pricing it.
//
//   hp::memory_bound(llama3, plan) <= hp::estimate_plan(llama3, plan, prices).evaluation.memory
//   hp::time_bound(llama3, plan, prices) <= hp::estimate_plan(llama3, plan, prices).evaluation.time
//
// Memory: parameters and the optimizer's states; gradients; and what forward keeps for backward: the tensor that enters each layer,
// and without recomputation the two inner ones of feed-forward layers, of experts also their rows and results. With
// recomputation those of one layer of experts are there. Under ZeRO 3 the gathered weights of its experts are, too. Of
// parameters a stage has ceil(layers / pp) layers and 1 / pp of embedding and head, cut by tp, the routed experts also by
// ep, and what ZeRO shards by the other data axes.
//
// Time: the longest of three.
//   computing   layers (layer_work.hpp), the head, and gradients that micro-batches add up
//   links       what a device receives, at the sum of the bandwidths of all links there: hidden vectors from its group of
//               tp, slots from its group of ep and tokens for them from that of cp, parameters and gradients from all data axes
//   chain       of computing and links what waits for each other: in forward each product for its operand, each move for
//               its product; in recomputation the same; in backward gradients of operands. Shared experts and moves of
//               parameters are beside it. Branches side by side have none.
// Latencies and what stages hand over are left out. Units: bytes, picoseconds. O(layers).

#include <hyperparallel/planner/estimate.hpp>
#include <hyperparallel/planner/layer_work.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// The share of the layers that the largest stage has at least.
constexpr double stage_layers_share(const decoder& d, const decoder_plan& p) {
  if (p.pp == 1 || repeated_layers(d) < d.layers) return 1.0 / p.pp;
  return static_cast<double>((d.layers + p.pp - 1) / p.pp) / static_cast<double>(d.layers);
}

/// Parameters that a device of the largest stage computes with, and their share that it holds where ZeRO shards them.
struct stage_parameters {
  double dense, experts, tables;  ///< of layers; embedding and head
  double shards, expert_shards;
  double differing;  ///< gradients of an expert's slots, one for each part of them; 1 where all compute on the same
  double repeated;   ///< ranks of cp that compute on the same ones

  constexpr stage_parameters(const decoder& d, const decoder_plan& p) {
    const decoder_parameters<double> all = count_decoder<double>(d, d.experts.experts);
    const double share = stage_layers_share(d, p) / p.tp;
    dense = (all.attention + all.feed_forward + all.shared_experts) * share;
    experts = all.experts * share * p.tp / (static_cast<double>(expert_ranks_of(p)) * expert_widths_of(p));
    tables = (all.embedding + all.head) / p.pp / p.tp;
    shards = static_cast<double>(sharing_ranks(p)) * p.cp * p.ep;
    expert_shards = static_cast<double>(sharing_ranks(p)) * (p.experts_along_cp ? 1 : p.cp);
    const double along_cp = p.experts_along_cp || !d.has_experts ? 1 : static_cast<double>(slots_along_cp(d, p));
    repeated = p.experts_along_cp ? 1 : p.cp / along_cp;
    differing = (d.experts.slots == expert_slots::joint ? 1 : sharing_ranks(p)) * along_cp;
  }
  constexpr double in_layers(bool sharded) const {
    return sharded ? dense / shards + experts / expert_shards : dense + experts;
  }
  constexpr double bytes(double each, bool sharded) const {
    return each * (in_layers(sharded) + (sharded ? tables / shards : tables));
  }
  /// Of those in layers, what a device lacks that holds its shard.
  constexpr double missing() const { return dense + experts - in_layers(true); }
  /// What it receives at least until its shard of their gradients is summed, and until all of them are.
  constexpr double summed() const { return dense * (1 - 1 / shards) + experts * (1 - 1 / differing) / repeated; }
  constexpr double summed_whole() const { return 2 * dense * (1 - 1 / shards) + (differing > 1 ? experts : 0.0); }
};

/// Seconds to receive a byte from others of so many devices in a row: over all links there at once. Domain: 2 devices or more.
constexpr double seconds_a_byte(const interconnect& net, extent_t devices) {
  double bandwidth = 0;
  if (net.kind == interconnect_kind::full_mesh) {
    extent_t inner = 1;
    for (int a = net.mesh.axis_count - 1; a >= 0 && inner < devices; --a) {
      const extent_t size = net.mesh.size[a];
      bandwidth += static_cast<double>(smaller(size, devices) - 1) * static_cast<double>(net.along[a].bandwidth);
      inner *= size;
    }
    return 1 / bandwidth;
  }
  const topology_value& t = net.topology;
  for (int l = 0; l < t.level_count && (l == 0 || t.level[l - 1].group < devices); ++l)
    bandwidth += static_cast<double>(t.level[l].bandwidth);
  return 1 / bandwidth;
}

constexpr double sparse_layers(const decoder& d) {
  double n = 0;
  for (extent_t layer = 0; layer < d.layers; ++layer) n += d.is_sparse(layer) ? 1 : 0;
  return n;
}

/// What the links of a device carry to it at least, in a micro-batch and a stage's share of the layers: seconds.
struct layer_moves {
  double forward = 0, again = 0, backward = 0;  ///< by tp and ep
  double hidden = 0;                            ///< of `backward`: what recomputation may hide
  double parameters = 0;                        ///< and their gradients, by all data axes: beside the chain
  double once = 0;                              ///< of a step: gradients and parameters, under ZeRO 1 and 2

  constexpr layer_moves(const decoder& d, const decoder_plan& p, double share, const interconnect& net) {
    const double wide = 2 * static_cast<double>(d.hidden);
    const double sparse = sparse_layers(d) * share, inner = larger_of(static_cast<double>(d.layers) * share - 1, 0.0);
    const bool one_branch = d.branch_count() == d.layers;
    if (p.tp > 1) {
      const double one = tokens_of(p) * wide * (p.tp - 1) / p.tp * seconds_a_byte(net, p.tp);
      // Where slots travel, what experts give is summed before or behind that; latents are gathered in place of what attention
      // reads. Without sequence parallelism each sum is two: to a part of it, and to all.
      const double plain = inner - (expert_ranks_of(p) > 1 ? (sparse < inner ? sparse : inner) : 0.0),
                   read = d.has_latents ? 0.0 : inner;
      // Of layers with one branch those without experts.
      const double alone = larger_of(inner - sparse, 0.0);
      forward = one * (one_branch            ? 2 * alone
                       : d.side_by_side      ? 2 * inner
                       : p.sequence_parallel ? read + 2 * inner + plain
                                             : 2 * (inner + plain));
      backward = one_branch || d.side_by_side || p.sequence_parallel ? forward : one * 2 * (read + plain);
      again = one * (one_branch || d.side_by_side ? 0.0 : p.sequence_parallel ? read + 2 * inner : 2 * inner);
    }
    if (const double ranks = static_cast<double>(expert_ranks_of(p)); ranks > 1 && sparse > 0) {
      const double row = 2 * static_cast<double>(d.experts.row_width(d.hidden));
      const double one = sparse * expert_slots_of(d, p) * row * (ranks - 1) / ranks *
                         seconds_a_byte(net, extent_t{p.ep} * p.cp * p.tp);
      forward += 2 * one;
      again += 2 * one;
      backward += 2 * one;
      if (p.recomputed) hidden = one;  // to experts, beside what is computed again before them
    }
    if (!p.recomputed || p.selective) again = 0;
    if (p.adapter_rank > 0) backward = hidden = 0;  // the first layer may have less of it
    if (extent_t{p.dp} * p.ep * p.cp == 1) return;
    // Gradients are reduced in each micro-batch under ZeRO 2 and 3, else once; ZeRO 3 gathers parameters twice in each.
    const stage_parameters stage(d, p);
    const double byte = seconds_a_byte(net, extent_t{p.dp} * p.ep * p.cp * p.tp);
    const double gathered = p.formats.weight_bytes() * byte * stage.missing();
    const double gradient = p.formats.gradient_bytes() * byte;
    const double reduced = gradient * stage.summed(), all = gradient * stage.summed_whole();
    if (p.adapter_rank > 0) {  // frozen parameters have no gradients
      parameters = p.zero == 3 ? gathered : 0.0;
      return;
    }
    parameters = p.zero == 3                           ? reduced + 2 * gathered
                 : p.zero == 2                         ? reduced
                 : p.zero == 0 && p.micro_batches == 1 ? all
                                                       : 0.0;
    once = p.zero == 1 ? reduced + gathered : p.zero == 2 ? gathered : p.zero == 0 && p.micro_batches > 1 ? all : 0.0;
  }
};

/// Rounded down; the largest number where it leaves 64 bits. Domain: n ≥ 0.
constexpr extent_t whole_part_of(double n) {
  constexpr extent_t most = not_counted - 1;
  return n < static_cast<double>(most) ? static_cast<extent_t>(n) : most;
}

/// What rounding of shares may take off.
inline constexpr double bound_slack = 0.999;

extent_t memory_bound_in_library(const decoder& d, const decoder_plan& p);
constexpr extent_t memory_bound_here(const decoder& d, const decoder_plan& p) {
  const detail::stage_parameters stage(d, p);
  const double tokens = detail::tokens_of(p), hidden = static_cast<double>(d.hidden);
  const auto cut = [&](extent_t width) { return static_cast<double>(width) / p.tp; };
  if (p.adapter_rank > 0)  // neither gradients nor states, and what is kept is less
    return larger(
        extent_t{0},
        detail::whole_part_of(stage.bytes(p.formats.weight_bytes(), p.zero >= 3) * detail::bound_slack) - 4096);
  extent_t segments = d.layers;  // whose entering tensors are kept: groups of layers are computed again as one
  if (p.recomputed) {
    segments = 0;
    d.visit_runs([&](const decoder::layer_run& run) { segments += run.repeats; });
  }
  const double entering = tokens * static_cast<double>(segments) * hidden / (p.sequence_parallel ? p.tp : 1);
  double sparse = 0, other = 0;
  for (extent_t layer = 0; layer < d.layers; ++layer) {
    sparse += d.is_sparse(layer) ? 1 : 0;
    other += d.is_dense(layer) ? 1 : 0;
  }
  const double row = static_cast<double>(d.experts.row_width(d.hidden));
  const double expert_width = static_cast<double>(d.experts.width) / expert_widths_of(p);
  const double routed = sparse > 0 ? 2 * detail::expert_slots_of(d, p) * (row + expert_width) : 0.0;
  const double within =
      sparse * (routed + 2 * tokens * cut(d.experts.shared_width)) + other * 2 * tokens * cut(d.feed_forward.width);
  const double kept = 2 * detail::stage_layers_share(d, p) * static_cast<double>(smaller(p.pp, p.micro_batches)) *
                      (entering + (p.recomputed || p.modules != 0 ? 0.0 : within));
  double passing = 0;  // in backward of the last layer
  if (d.is_sparse(d.layers - 1)) {
    const double table = p.formats.weight_bytes() * row * static_cast<double>(d.experts.experts) * expert_width /
                         static_cast<double>(expert_ranks_of(p));
    if (p.recomputed) passing += 2 * routed;
    if (p.zero >= 3 && stage.expert_shards > 1) passing += table * (!p.recomputed ? 1 : d.experts.gated ? 3 : 2);
  }
  const double gradients = stage.bytes(p.formats.gradient_bytes(), p.zero >= 2);
  double most = kept + passing + (p.micro_batches > 1 ? stage.bytes(bytes_of(p.formats.sum), p.zero >= 2) : 0.0);
  if (p.pp == 1) most = detail::larger_of(most, gradients);
  const double sum = stage.bytes(p.formats.weight_bytes(), p.zero >= 3) +
                     stage.bytes(state_bytes(p.formats, p.optimizer) * (1 - p.host_states / 1000.0), p.zero >= 1) +
                     most;
  return larger(extent_t{0}, detail::whole_part_of(sum * detail::bound_slack) - 4096);
}

}  // namespace detail

/// Domain: check_plan says ok.
constexpr extent_t memory_bound(const decoder& d, const decoder_plan& p) {
  HYPERPARALLEL_TWIN(detail::memory_bound_in_library(d, p));
  return detail::memory_bound_here(d, p);
}

namespace detail {

extent_t time_bound_in_library(const decoder& d, const decoder_plan& p, const plan_prices& prices, bool overlapped);
constexpr extent_t time_bound_here(const decoder& d, const decoder_plan& p, const plan_prices& prices,
                                   bool overlapped) {
  using detail::larger_of;
  const detail::roofline at(prices.device(), p.formats);
  const detail::stage_parameters stage(d, p);
  const double share = detail::stage_layers_share(d, p), rounds = p.micro_batches + p.pp - 1;
  const double head =
      (p.adapter_rank > 0 ? 1 : 3) *
      at.product(detail::tokens_of(p), static_cast<double>(d.hidden), static_cast<double>(d.vocabulary) / p.tp) / p.pp;
  const double added =
      p.micro_batches == 1 || p.adapter_rank > 0
          ? 0.0
          : (2 * bytes_of(p.formats.sum) + p.formats.gradient_bytes()) * stage.in_layers(p.zero >= 2) * at.byte;
  layer_work work;
  work.add(layer_work_of(d, p, prices.device()), share);
  const detail::layer_moves moves(d, p, share, prices.links());
  double least = work.sum() + head + added;
  least = larger_of(least, moves.forward + moves.again + moves.backward + moves.parameters + moves.once / rounds);
  if (!d.side_by_side && !overlapped)
    least = larger_of(least, work.forward - work.shared + moves.forward + work.again - work.shared_again + moves.again +
                                 larger_of(work.backward, work.gradients + moves.backward - moves.hidden) + head);
  // All wait for the stage that has the head, if not for the one that has the embedding (stage_balance.hpp).
  const double waited = p.pp > 2 ? (p.micro_batches - 1) * (p.pp - 2) * head : 0.0;
  return detail::whole_part_of((least * rounds + waited) * 1e12 * detail::bound_slack);
}

}  // namespace detail

/// Of a stack that hides moves (`overlapped`) nothing is known of the chain. Domain: check_plan says ok, the device has a matrix rate.
constexpr extent_t time_bound(const decoder& d, const decoder_plan& p, const plan_prices& prices,
                              bool overlapped = false) {
  HYPERPARALLEL_TWIN(detail::time_bound_in_library(d, p, prices, overlapped));
  return detail::time_bound_here(d, p, prices, overlapped);
}

namespace detail {

/// What `simulate_plan` says of a plan takes no less: a pipeline is replayed with the layers that its stages have, not with those
/// of the fullest in all of them, which `bound`, the plan's time_bound, has. Law: with m micro-batches the replay takes as long
/// as m - 1 rounds of an average stage and one of each.
constexpr extent_t simulated_time_bound(const decoder& d, const decoder_plan& p, extent_t bound) {
  if (p.pp == 1 || d.layers % p.pp == 0) return bound;
  const double rounds = p.micro_batches - 1, layers = static_cast<double>(d.layers), stages = p.pp;
  const double fullest = static_cast<double>((d.layers + p.pp - 1) / p.pp);
  const double share = (rounds * static_cast<double>(d.layers / p.pp) + layers) / ((rounds + stages) * fullest);
  return detail::whole_part_of(static_cast<double>(bound) * share);
}

}  // namespace detail

}}  // namespace hyperparallel::v0_2
