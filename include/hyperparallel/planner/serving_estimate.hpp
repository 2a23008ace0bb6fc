// SPDX-License-Identifier: Apache-2.0
#pragma once
// An estimate, by closed form, of what serving a decoder takes: memory of a device by tier, time of prefill and of
// decode.
//
//   const hp::serving_estimate e = hp::estimate_serving(llama3, plan, device, links);
//   e.memory.peak(), e.prefill.time, e.decode.tokens_per_second, hp::name_of(e.decode.bound())
//
// Time of a pass through a stage is a roofline: the longest of operations, of bytes of HBM and of bytes that come from
// DRAM, each at the share of its peak that the device reaches, and after it what nothing hides: all-reduces over tp,
// all-to-alls over ep, what stages hand over. Prefill takes the prompt of one sequence in chunks; each reads the
// weights and the cache before it. Decode makes one token of each sequence; it reads the weights, of experts at most as
// many as the tokens choose, and all of the cache. A sequence waits for each stage as long as for the slowest.
//
// Products run in bf16 whatever the weights are stored in, tokens are even over experts, attention is causal. Left out:
// launches, norms and activations' traffic, sampling, schedulers. Laws: time is at least each of its roofs; it does not
// fall with the context. Units: picoseconds, bytes.

#include <hyperparallel/planner/serving_pass.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct serving_estimate {
  serving_plan plan{};
  serving_memory memory{};  ///< of the stage that needs most HBM
  extent_t offloaded = 0;   ///< of the stage that needs most DRAM
  extent_t token_cache_bytes =
      0;  ///< what a token leaves on a device of the stage with the most, windows left out of account
  serving_phase prefill{}, decode{};
  constexpr bool ok() const { return prefill.ok() && decode.ok(); }
};

namespace detail {

/// The slower of the passes of two stages; the first complaint stays.
constexpr void keep_slower(serving_phase& kept, const serving_phase& other) {
  if (!kept.ok()) return;
  if (!other.ok() || other.stage_time() > kept.stage_time()) kept = other;
}

/// What a sequence waits for, and the tokens of all devices in that time.
constexpr void finish_phase(serving_phase& phase, const serving_plan& p, double tokens) {
  if (!phase.ok()) return;
  phase.time = counted_product(phase.stage_time(), p.pp);
  if (phase.time == not_counted)
    phase.code = cost_code::overflow;
  else if (phase.time > 0)
    phase.tokens_per_second = tokens * 1e12 / static_cast<double>(phase.time);
}

}  // namespace detail

/// The estimate of a plan. `code` of a phase says why it has no time, as where layers are offloaded and the device has
/// no DRAM. Precondition: `check_serving` says ok, parameters fit, hardware can be; `stages` are those of the plan's
/// degrees. O(stages + ep).
constexpr serving_estimate estimate_serving(const growing_array<serving_amounts>& stages, const serving_plan& p,
                                            const device_value& device, const interconnect& links) {
  serving_estimate e;
  e.plan = p;
  for (int stage = 0; stage < p.pp; ++stage) {
    const serving_amounts& a = stages[stage];
    const serving_memory m = serving_memory_of(a, p, p.context);
    const detail::serving_pass pass(a, p, device, links);
    if (stage == 0 || m.peak() > e.memory.peak()) e.memory = m;
    e.offloaded = larger(e.offloaded, m.offloaded);
    e.token_cache_bytes =
        larger(e.token_cache_bytes, counted_product(a.cached_layers(), bytes_of_bits(a.cached, p.cache_bits)));
    detail::keep_slower(e.prefill, pass.prefill(p.context));
    detail::keep_slower(e.decode, pass.decode(p.context));
  }
  // Stages work on as many sequences at once as there are, each on one.
  const double groups = static_cast<double>(smaller(p.batch, p.data_ranks()));
  detail::finish_phase(e.prefill, p,
                       groups * static_cast<double>(smaller(p.pp, p.sequences())) * static_cast<double>(p.context));
  detail::finish_phase(e.decode, p, static_cast<double>(p.batch));
  return e;
}

/// The same of a decoder. O(layers + stages + ep).
constexpr serving_estimate estimate_serving(const decoder& d, const serving_plan& p, const device_value& device,
                                            const interconnect& links) {
  return estimate_serving(detail::amounts_of_stages(d, p), p, device, links);
}

}}  // namespace hyperparallel::v0_2
