// SPDX-License-Identifier: Apache-2.0
#pragma once
// Lower bounds on memory and time of a decoder's plan, from sizes alone: what a search may leave out without pricing it.
//
//   hp::memory_bound(llama3, plan) <= hp::estimate_plan(llama3, plan, prices).evaluation.memory
//   hp::time_bound(llama3, plan, prices) <= hp::estimate_plan(llama3, plan, prices).evaluation.time
//
// Memory: parameters and AdamW's two states; gradients, where micro-batches add to them; and what forward keeps for
// backward: the tensor that enters each layer, and without recomputation the two inner ones of feed-forward layers. Of
// parameters a stage has ceil(layers / pp) layers and 1 / pp of embedding and head, cut by tp, the routed experts also by
// ep, and what ZeRO shards by the other data axes.
// Time: products of matrices and attention at the peak rate; and where tp cuts the layers, what a device receives from the
// others of its group in reduce-scatters and all-gathers, at the sum of the bandwidths of all links there. Without experts
// and branches side by side both are on one chain: in forward each product waits for its operand and each reduction for its product, in backward the
// gradients of operands do. Otherwise the longer of the two counts alone. Overheads, latencies, reductions of gradients
// and what stages hand over are left out. Units: bytes, picoseconds. O(layers).

#include <hyperparallel/program/plan_estimate.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// Parameters that are inside layers, and the two tables outside them.
struct layer_parameters {
  double dense = 0, experts = 0, outside = 0;
  constexpr layer_parameters(const decoder& d, extent_t counted_experts) {
    const decoder_parameters<double> all = count_decoder<double>(d, counted_experts);
    experts = all.experts;
    dense = all.attention + all.feed_forward + all.shared_experts;
    outside = all.embedding + all.head;
  }
};

/// The share of the layers that the largest stage has at least.
constexpr double stage_layers_share(const decoder& d, const decoder_plan& p) {
  if (p.pp == 1 || repeated_layers(d) < d.layers) return 1.0 / p.pp;
  return static_cast<double>((d.layers + p.pp - 1) / p.pp) / static_cast<double>(d.layers);
}

/// Seconds to receive a byte from devices of one group of tp: all links there at once.
constexpr double seconds_a_byte(const interconnect& net, int tp) {
  double bandwidth = 0;
  if (net.kind == interconnect_kind::full_mesh) {
    extent_t inner = 1;
    for (int a = net.mesh.axis_count - 1; a >= 0 && inner < tp; --a) {
      const extent_t size = net.mesh.size[a];
      bandwidth += static_cast<double>(smaller(size, extent_t{tp}) - 1) * static_cast<double>(net.along[a].bandwidth);
      inner *= size;
    }
    return 1 / bandwidth;
  }
  const topology_value& t = net.topology;
  for (int l = 0; l < t.level_count && (l == 0 || t.level[l - 1].group < tp); ++l)
    bandwidth += static_cast<double>(t.level[l].bandwidth);
  return 1 / bandwidth;
}

constexpr double larger_of(double a, double b) { return a < b ? b : a; }

/// Operations of attention scores and their use for a token in forward, in all layers; half of the reach is masked.
constexpr double score_operations(const decoder& d, extent_t sequence) {
  const latent_attention_layer& a = d.latent_attention;
  const extent_t widths = d.has_latents ? a.heads * (a.head_dim + a.rope_dim + a.value_dim)
                                        : d.attention.query_heads * 2 * d.attention.head_dim;
  double sum = 0;
  for (extent_t layer = 0; layer < d.layers; ++layer)
    sum += static_cast<double>(widths) *
           static_cast<double>(d.is_windowed(layer) ? smaller(d.attention.window, sequence) : sequence);
  return sum;
}

/// What rounding of shares may take off.
inline constexpr double bound_slack = 0.999;

}  // namespace detail

/// Domain: check_plan says ok.
constexpr extent_t memory_bound(const decoder& d, const decoder_plan& p) {
  const detail::layer_parameters all(d, d.experts.experts);
  const double data = static_cast<double>(p.dp) * p.cp, share = detail::stage_layers_share(d, p);
  const double dense = (all.dense * share + all.outside / p.pp) / p.tp, experts = all.experts * share / p.tp / p.ep;
  const auto bytes = [&](double each, bool sharded) {
    return each * (sharded ? dense / (data * p.ep) + experts / data : dense + experts);
  };
  const double tokens = static_cast<double>(p.batch) / p.micro_batches * static_cast<double>(p.sequence) /
                        (static_cast<double>(p.dp) * p.ep * p.cp);
  extent_t segments = d.layers;  // whose entering tensors are kept: groups of layers are computed again as one
  if (p.recomputed) {
    segments = 0;
    d.visit_runs([&](const decoder::layer_run& run) { segments += run.repeats; });
  }
  const double entering = static_cast<double>(segments * d.hidden) / (p.sequence_parallel ? p.tp : 1);
  double within = 0;  // what both products into a feed-forward layer make
  for (extent_t layer = 0; layer < d.layers; ++layer)
    within += 2 * static_cast<double>(d.is_sparse(layer) ? d.experts.top_k * d.experts.width + d.experts.shared_width
                                                         : d.feed_forward.width);
  const double kept = 2 * tokens * share * static_cast<double>(smaller(p.pp, p.micro_batches)) *
                      (entering + (p.recomputed ? 0.0 : within / p.tp));
  double sum = bytes(4, p.zero >= 3) + bytes(8, p.zero >= 1) + kept;
  if (p.micro_batches > 1) sum += bytes(4, p.zero >= 2);
  return larger(extent_t{0}, static_cast<extent_t>(sum * detail::bound_slack) - 4096);
}

/// Domain: check_plan says ok, the device has a matrix rate.
constexpr extent_t time_bound(const decoder& d, const decoder_plan& p, const plan_prices& prices) {
  const detail::layer_parameters active(d, d.experts.top_k);
  const device_value& device = prices.device();
  const double rate = static_cast<double>(matrix_peak(device, number_format::bfloat16)) *
                      static_cast<double>(device.gmm_cold.parts_per_million) / 1e6;
  const double tokens = static_cast<double>(p.batch) / p.micro_batches * static_cast<double>(p.sequence) /
                        (static_cast<double>(p.dp) * p.ep * p.cp);
  const double rounds = p.micro_batches + p.pp - 1, share = detail::stage_layers_share(d, p);
  const double head = static_cast<double>(d.vocabulary) * static_cast<double>(d.hidden) / p.pp;
  // Of one micro-batch: products of forward, of which backward has twice as many.
  const double products = 2 * (active.dense + active.experts) * share * tokens / p.tp / rate;
  const double scores = detail::score_operations(d, p.sequence) * share * tokens / p.tp / rate;
  const double again = p.recomputed ? products / 2 + scores : 0.0;  // the last product need not be
  const double last = 6 * head * tokens / p.tp / rate;
  // Two reductions a layer leave and enter the blocks, there and back.
  const double layers = share * static_cast<double>(d.layers);
  const double received = p.tp == 1 ? 0.0
                                    : 2 * tokens * static_cast<double>(d.hidden) * (p.tp - 1) / p.tp *
                                          detail::seconds_a_byte(prices.links(), p.tp);
  const bool chained = !d.has_experts && !d.has_latents && !d.side_by_side;
  const double forward = received * (chained ? 4 : 2) * detail::larger_of(layers - 1, 0.0), backward = forward;
  double time = 3 * products + 3.5 * scores + again + last;
  if (chained)
    time = products + scores + forward + detail::larger_of(2 * products, products + backward) + 2.5 * scores + again +
           last;
  else
    time = detail::larger_of(time, forward + backward);
  return static_cast<extent_t>(time * rounds * 1e12 * detail::bound_slack);
}

}}  // namespace hyperparallel::v0_2
