// SPDX-License-Identifier: Apache-2.0
#pragma once
// How a decoder is served on many devices, every degree fixed, and whether it can be.
//
//   hp::serving_plan p{.tp = 8, .batch = 16, .context = 32768};
//   hp::check_serving(llama3, p, 8).ok()
//
// Degrees multiply to the devices: dp · ep · tp · pp, tp on the innermost links, stages on the outermost. Sequences are
// dealt to dp and ep; ep cuts the routed experts as well. tp cuts heads, widths and vocabulary; of key heads that are
// fewer than tp each device has one. Latents of attention are whole on each device of tp. A stage has an even part of
// the layers, in order, the first the embedding, the last the head. A device's sequences go through the stages in as
// many parts as there are stages.
//
// Laws: where `check_serving` says ok, each device's share of a stage has whole sizes (`share_of`). A context beyond a table
// of learned positions is refused; one beyond `positions` can be computed, and is beyond `longest_context`.

#include <hyperparallel/planner/plan_check.hpp>
#include <hyperparallel/planner/weight_storage.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Invariant of a plan that can be: numbers are at least 1, but `offloaded_layers`; bits are 1 to 16.
struct serving_plan {
  int tp = 1, pp = 1, dp = 1, ep = 1;
  extent_t batch = 1;             ///< sequences that are served together
  extent_t context = 1;           ///< tokens of each
  extent_t chunk = 8192;          ///< tokens of a prompt that are prefilled at once
  int weight_bits = 16;           ///< of a parameter, without scales, where `weights` is empty
  int cache_bits = 16;            ///< of an element of the cache
  extent_t offloaded_layers = 0;  ///< of a stage: their cache lies in DRAM; layers without a window come first
  extent_t positions = 0;         ///< that the model is made for, beside a table of learned ones; 0: not known
  weight_storage weights{};       ///< formats by map; empty: all of `weight_bits`
  friend constexpr bool operator==(const serving_plan&, const serving_plan&) = default;

  constexpr extent_t data_ranks() const { return extent_t{dp} * ep; }
  /// Sequences whose cache a device has, of the data rank with the most.
  constexpr extent_t sequences() const { return ceil_divide(batch, data_ranks()); }
  /// Those of them that a stage works on at once.
  constexpr extent_t sequences_at_once() const { return ceil_divide(sequences(), pp); }
  /// The longest context that the model of these sizes is made for; 0: not known.
  constexpr extent_t most_positions(const decoder& d) const {
    return d.positions > 0 && positions > 0 ? smaller(d.positions, positions) : larger(d.positions, positions);
  }
  /// The same degrees as a plan of training has them.
  constexpr decoder_plan degrees() const { return {.tp = tp, .pp = pp, .dp = dp, .ep = ep}; }
};

/// Whether the plan can be on so many devices, by sizes alone. O(layers).
constexpr decoder_plan_status check_serving(const decoder& d, const serving_plan& p, extent_t devices) {
  detail::plan_demands demand;
  const decoder_plan degrees = p.degrees();
  for (const plan_degree& degree : plan_degrees) demand.within(degree.name, degrees.*degree.of, 1, largest_plan_number);
  demand.within("batch", p.batch, 1, largest_plan_number);
  demand.within("context", p.context, 1, d.positions > 0 ? d.positions : largest_plan_number);
  demand.within("chunk", p.chunk, 1, largest_plan_number);
  demand.within("weights", p.weight_bits, 1, 16);
  demand.within("cache", p.cache_bits, 1, 16);
  demand.within("offload", p.offloaded_layers, 0, largest_plan_number);
  if (!demand.found.ok()) return demand.found;
  if (device_count_of(degrees) != devices)
    demand.note({decoder_plan_code::degrees_are_not_the_devices, "", "", device_count_of(degrees), devices});
  if (p.ep > 1 && !d.has_experts) demand.note({decoder_plan_code::model_has_no_experts, "ep", "", 0, p.ep});
  if (p.ep > 1) demand.divides("ep", "experts", d.experts.experts, p.ep);
  if (p.tp > 1) {
    demand.divides("tp", "attention heads", d.has_latents ? d.latent_attention.heads : d.attention.query_heads, p.tp);
    if (!d.has_latents && p.tp % d.attention.key_heads != 0)
      demand.divides("tp", "key and value heads", d.attention.key_heads, p.tp);
    if (d.has_linear) detail::demand_states(demand, d, p.tp, 1);
    detail::demand_widths(demand, d, p.tp, true);
  }
  if (p.pp > d.layers) demand.note({decoder_plan_code::fewer_layers_than_stages, "pp", "layers", d.layers, p.pp});
  return demand.found;
}

/// Calls `visit(plan)` for all degrees of so many devices that can be, with what else `from` says. O(divisors³ ·
/// layers).
template <class Visit>
constexpr void visit_serving_plans(const decoder& d, const serving_plan& from, int devices, const Visit& visit) {
  const auto visit_divisors = [](int n, const auto& each) {
    for (int i = 1; i <= n; ++i)
      if (n % i == 0) each(i);
  };
  serving_plan p = from;
  visit_divisors(devices, [&](int tp) {
    p.tp = tp;
    visit_divisors(devices / tp, [&](int pp) {
      p.pp = pp;
      visit_divisors(devices / tp / pp, [&](int ep) {
        p.ep = ep;
        p.dp = devices / tp / pp / ep;
        if (check_serving(d, p, devices).ok()) visit(p);
      });
    });
  });
}

/// The decoder of a device's share of each layer: heads, widths and vocabulary by tp. Routed experts are as many as
/// before. Precondition: the plan can be. O(1).
constexpr decoder share_of(const decoder& d, const serving_plan& p) {
  decoder share = d;
  share.vocabulary /= p.tp;
  share.attention.query_heads /= p.tp;
  share.attention.key_heads = larger(share.attention.key_heads / p.tp, 1);
  share.latent_attention.heads /= p.tp;
  if (d.linear.key_heads % p.tp == 0) share.linear.key_heads /= p.tp;
  share.linear.value_heads /= p.tp;
  share.feed_forward.width /= p.tp;
  share.experts.width /= p.tp;
  share.experts.shared_width /= p.tp;
  return share;
}

/// Layers of stage `stage`: those from `first` on, before `end`.
struct stage_layers {
  extent_t first = 0, end = 0;
};
namespace detail {

constexpr stage_layers layers_of_stage(const decoder& d, const serving_plan& p, int stage) {
  return {stage * d.layers / p.pp, (stage + 1) * d.layers / p.pp};
}

}  // namespace detail

}}  // namespace hyperparallel::v0_2
