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
// Hiding is not monotone: the first token of another chunk has a whole chunk's cache read for its work alone, and a latency
// may be longer than a short context. The longest hidden context is the longest of all that are hidden and fit; of those
// below it all up to `unbroken` are hidden, and the one after that is not.
//
// No context is longer than the positions that the model is made for (`serving_plan::positions`, `decoder::positions`). Where
// they are known `nothing` binds only contexts whose operations leave 64 bits.
//
// Laws: a context fits iff it is at most the longest, which is at least that without offloading where DRAM has room;
// what is hidden is at most what fits, and no longer context that fits is hidden. O(layers + log tokens · stages), the
// second O(layers · stages · chunks · log tokens).

#include <hyperparallel/planner/fit.hpp>
#include <hyperparallel/planner/serving_estimate.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Longer contexts are not looked at, nor are those whose operations leave 64 bits: up to there nothing binds.
inline constexpr extent_t largest_context = extent_t{1} << 40;

enum class context_bound : unsigned char { hbm_size, dram_size, positions, dram_link, nothing };

constexpr const char* name_of(context_bound b) {
  constexpr const char* names[] = {"HBM", "DRAM", "the model", "link to DRAM", "nothing"};
  return names[static_cast<int>(b)];
}

struct context_limit {
  extent_t tokens = 0;  ///< 0: not even weights fit
  context_bound bound = context_bound::hbm_size;
  extent_t offloaded_layers = 0;  ///< of a stage
  extent_t unbroken = 0;          ///< all contexts up to here hold as well
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
  constexpr const growing_array<serving_amounts>& amounts() const { return stages; }
  constexpr const serving_plan& plan() const { return p; }

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

/// The largest number up to `most` for which `holds` holds; 0 where for none from 1 on. Precondition: where it holds it does
/// for all below. O(log most).
template <class Predicate>
constexpr extent_t largest_that(extent_t most, const Predicate& holds) {
  extent_t low = 0, high = most + 1;
  while (high - low > 1) {
    const extent_t middle = low + (high - low) / 2;
    (holds(middle) ? low : high) = middle;
  }
  return low;
}

/// Memory does not fall with the context (serving_amounts.hpp): where a context fits all shorter ones do.
constexpr context_limit longest_in(const serving_room& room, const decoder& d) {
  const extent_t made_for = room.plan().most_positions(d);
  const extent_t most = made_for > 0 ? made_for : largest_context;
  context_limit limit;
  limit.tokens = largest_that(most, [&](extent_t n) { return room.check(n) == context_bound::nothing; });
  limit.unbroken = limit.tokens;
  limit.bound = limit.tokens < most ? room.check(limit.tokens + 1)
                : made_for > 0      ? context_bound::positions
                                    : context_bound::nothing;
  return limit;
}

/// Which contexts hide what comes from DRAM behind the rest, in a plan's stages. A stage hides a context where its roof of
/// DRAM D is at most what runs beside it, F. Neither falls with the context (serving_pass.hpp), and from this alone follow the
/// steps: where D(n) > F(n), no m < n with D(m) > F(n) is hidden, since F(m) <= F(n); where D(n) <= F(n), all m > n with
/// D(m) <= F(n) are hidden, since F(m) >= F(n).
class context_hiding {
 public:
  constexpr context_hiding(const serving_room& room, const device_value& device, const interconnect& net,
                           serving_step asked)
      : stages(room.amounts()), p(room.plan()), d(device), links(net), step(asked) {}

  /// Whether the context has a price in all stages. Amounts do not fall: what leaves 64 bits does so for all longer ones.
  constexpr bool is_priced(extent_t context) const {
    for (const serving_amounts& a : stages)
      if (!pass_of(a, context).ok()) return false;
    return true;
  }
  constexpr bool hides(extent_t context) const {
    for (const serving_amounts& a : stages)
      if (const serving_phase phase = pass_of(a, context); !phase.ok() || !phase.hides_dram()) return false;
    return true;
  }
  /// The longest hidden context up to `most`; what is at most `enough` where none is longer than that.
  constexpr extent_t longest(extent_t most, extent_t enough) const {
    extent_t n = largest_that(most, [&](extent_t m) { return is_priced(m); });
    int agreed = 0;  // stages in a row that hide n
    for (int s = 0; n > enough && agreed < stages.size; s = s + 1 < stages.size ? s + 1 : 0) {
      const extent_t of_stage = longest_of(stages[s], n);
      agreed = of_stage == n ? agreed + 1 : 1;
      n = of_stage;
    }
    return n;
  }
  /// The largest number up to `most`, to which all are hidden.
  constexpr extent_t unbroken(extent_t most) const {
    extent_t n = 1;
    while (n <= most && hides(n)) {
      extent_t last = most;
      for (const serving_amounts& a : stages) last = last_within(a, last, beside(pass_of(a, n)));
      n = last + 1;
    }
    return n - 1;
  }

 private:
  constexpr serving_phase pass_of(const serving_amounts& a, extent_t context) const {
    const serving_pass pass(a, p, d, links);
    return step == serving_step::prefill ? pass.prefill_beside_links(context) : pass.decode_beside_links(context);
  }
  static constexpr extent_t beside(const serving_phase& f) {
    return larger(f.of(serving_roof::operations), f.of(serving_roof::hbm_bytes));
  }
  /// How much longer DRAM takes; negative where it is hidden.
  constexpr extent_t excess(const serving_amounts& a, extent_t context) const {
    const serving_phase f = pass_of(a, context);
    return f.of(serving_roof::dram_bytes) - beside(f);
  }
  /// The largest number up to `most` with D at most `time`. D does not fall.
  constexpr extent_t last_within(const serving_amounts& a, extent_t most, extent_t time) const {
    return largest_that(most, [&](extent_t m) { return pass_of(a, m).of(serving_roof::dram_bytes) <= time; });
  }
  constexpr extent_t longest_of(const serving_amounts& a, extent_t n) const {
    while (n > 0) {
      const serving_phase f = pass_of(a, n);
      if (f.hides_dram()) return n;
      const extent_t below = last_within(a, n - 1, beside(f));
      n = step == serving_step::decode ? smaller(below, before_arc(a, n)) : below;
    }
    return 0;
  }
  /// Of decode the steps above are small where D and F are parallel. Up to the window and from it on every amount is affine
  /// in the context, so D - F is concave, and rounding to picoseconds changes it by at most 1: between two contexts that
  /// exceed by 3 none is hidden. A number below n, or n, so that none from there on up to n is hidden but perhaps itself.
  constexpr extent_t before_arc(const serving_amounts& a, extent_t n) const {
    constexpr extent_t surely = 3;
    if (excess(a, n) < surely) return n;
    extent_t low = a.windowed_layers > 0 && n > a.window ? a.window : 1, high = n;
    if (excess(a, low) >= surely) return low - 1;
    while (high - low > 1) {
      const extent_t middle = low + (high - low) / 2;
      (excess(a, middle) >= surely ? high : low) = middle;
    }
    return low;
  }

  const growing_array<serving_amounts>& stages;
  const serving_plan& p;
  const device_value& d;
  const interconnect& links;
  const serving_step step;
};

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
  const detail::context_hiding hiding(room, device, links, step);
  context_limit best;
  const extent_t most = tier_behind(device, memory_kind::dram) < 0 ? 0 : room.layers();
  for (extent_t layers = 0; layers <= most; ++layers) {
    room.offload(layers);
    context_limit limit = detail::longest_in(room, d);
    if (layers > 0 && limit.tokens <= best.tokens) continue;
    const extent_t hidden = hiding.longest(limit.tokens, best.tokens);
    if (hidden < limit.tokens)
      limit = {hidden, hiding.is_priced(hidden + 1) ? context_bound::dram_link : context_bound::nothing};
    limit.offloaded_layers = layers;
    if (layers == 0 || limit.tokens > best.tokens) best = limit;
  }
  room.offload(best.offloaded_layers);
  best.unbroken = hiding.unbroken(best.tokens);
  return best;
}

}}  // namespace hyperparallel::v0_2
