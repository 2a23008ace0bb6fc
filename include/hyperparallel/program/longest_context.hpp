// SPDX-License-Identifier: Apache-2.0
#pragma once
// The longest context at which serving a decoder fits into memory, and what binds it.
//
//   hp::longest_context(llama3, plan, device, reserve)                               {tokens, what binds}
//   hp::longest_hidden_context(llama3, plan, device, links, reserve, hp::serving_step::prefill)
//
// The second lets as many layers' caches lie in DRAM as it takes, if what comes from there takes no longer than what
// runs beside it in prefill, in decode, so that the time is that of an HBM that is large enough. Memory counts as
// `verdict_of` counts it: fits, not tight.
//
// Laws: a context fits iff it is at most the longest, which is at least that without offloading where DRAM has room;
// what is hidden is at most what fits. O(layers + log tokens · stages), the second O(layers · log tokens).

#include <hyperparallel/program/plan_fit.hpp>
#include <hyperparallel/program/serving_estimate.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Longer contexts are not looked at, nor are those whose operations leave 64 bits: up to there nothing binds.
inline constexpr extent_t largest_context = extent_t{1} << 40;

enum class context_bound : unsigned char { hbm_size, dram_size, positions, dram_link, nothing };

constexpr const char* name_of(context_bound b) {
  constexpr const char* names[] = {"HBM", "DRAM", "learned positions", "link to DRAM", "nothing"};
  return names[static_cast<int>(b)];
}

struct context_limit {
  extent_t tokens = 0;  ///< 0: not even weights fit
  context_bound bound = context_bound::hbm_size;
  extent_t offloaded_layers = 0;  ///< of a stage
  friend constexpr bool operator==(const context_limit&, const context_limit&) = default;
};

enum class serving_step : unsigned char { prefill, decode };

namespace detail {

/// Whether all stages fit, and else which memory is too small.
class serving_room {
 public:
  constexpr serving_room(const decoder& d, const serving_plan& plan, const device_value& device,
                         const memory_reserve& reserve)
      : p(plan), stages(amounts_of_stages(d, plan)) {
    hbm = largest_peak(reserve, device.tier[0].bytes);
    dram = bytes_behind(device, memory_kind::dram);
  }

  constexpr extent_t layers() const {
    extent_t most = 0;
    for (const serving_amounts& a : stages) most = larger(most, a.layers);
    return most;
  }
  /// What is too small, or `nothing`.
  constexpr context_bound check(extent_t context) const {
    for (const serving_amounts& a : stages) {
      const serving_memory m = serving_memory_of(a, p, context);
      if (m.peak() > hbm) return context_bound::hbm_size;
      if (m.offloaded > dram) return context_bound::dram_size;
    }
    return context_bound::nothing;
  }
  constexpr void offload(extent_t layers) { p.offloaded_layers = layers; }
  /// Whether in every stage what comes from DRAM takes no longer than what runs beside it; the code where it is not
  /// priced.
  constexpr cost_code check_hiding(extent_t context, serving_step step, const device_value& device,
                                   const interconnect& links, bool& hides) const {
    hides = true;
    for (const serving_amounts& a : stages) {
      const serving_pass pass(a, p, device, links);
      const serving_phase phase =
          step == serving_step::prefill ? pass.prefill_beside_links(context) : pass.decode_beside_links(context);
      hides = hides && phase.ok() && phase.hides_dram();
      if (!phase.ok()) return phase.code;
    }
    return cost_code::ok;
  }

 private:
  /// The largest peak that a device of `bytes` holds beside the reserve.
  static constexpr extent_t largest_peak(const memory_reserve& reserve, extent_t bytes) {
    const extent_t room = bytes - reserve.library_bytes;
    if (room < 0) return -1;
    const extent_t thousand = 1000 + reserve.allocator_per_mille;
    return room / thousand * 1000 + room % thousand * 1000 / thousand;
  }

  serving_plan p;
  growing_array<serving_amounts> stages;
  extent_t hbm = 0, dram = 0;
};

/// The largest number up to `most` for which `holds` holds, which it does for all below; 0 where for none from 1 on.
template <class Predicate>
constexpr extent_t largest_that(extent_t most, const Predicate& holds) {
  extent_t low = 0, high = most + 1;
  while (high - low > 1) {
    const extent_t middle = low + (high - low) / 2;
    (holds(middle) ? low : high) = middle;
  }
  return low;
}

constexpr context_limit longest_in(const serving_room& room, const decoder& d) {
  const extent_t most = d.positions > 0 ? d.positions : largest_context;
  context_limit limit;
  limit.tokens = largest_that(most, [&](extent_t n) { return room.check(n) == context_bound::nothing; });
  limit.bound = limit.tokens < most ? room.check(limit.tokens + 1)
                : d.positions > 0   ? context_bound::positions
                                    : context_bound::nothing;
  return limit;
}

}  // namespace detail

/// With the layers offloaded that the plan names; its context is not read. Precondition: `check_serving` says ok.
constexpr context_limit longest_context(const decoder& d, const serving_plan& p, const device_value& device,
                                        const memory_reserve& reserve) {
  context_limit limit = detail::longest_in(detail::serving_room(d, p, device, reserve), d);
  limit.offloaded_layers = p.offloaded_layers;
  return limit;
}

/// Over all numbers of offloaded layers, of equal contexts the fewest. Precondition: `check_serving` says ok, hardware
/// can be.
constexpr context_limit longest_hidden_context(const decoder& d, const serving_plan& p, const device_value& device,
                                               const interconnect& links, const memory_reserve& reserve,
                                               serving_step step) {
  detail::serving_room room(d, p, device, reserve);
  context_limit best;
  const extent_t most = tier_behind(device, memory_kind::dram) < 0 ? 0 : room.layers();
  for (extent_t layers = 0; layers <= most; ++layers) {
    room.offload(layers);
    context_limit limit = detail::longest_in(room, d);
    const auto hides = [&](extent_t n) {
      bool hidden = false;
      room.check_hiding(n, step, device, links, hidden);
      return hidden;
    };
    if (const extent_t hidden = detail::largest_that(limit.tokens, hides); hidden < limit.tokens) {
      bool more = false;
      const bool priced = room.check_hiding(hidden + 1, step, device, links, more) == cost_code::ok;
      limit = {hidden, priced ? context_bound::dram_link : context_bound::nothing, layers};
    }
    limit.offloaded_layers = layers;
    if (layers == 0 || limit.tokens > best.tokens) best = limit;
  }
  return best;
}

}}  // namespace hyperparallel::v0_2
