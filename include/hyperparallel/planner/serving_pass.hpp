// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a pass through a stage takes when a decoder is served: roofs of prefill and of decode (serving_estimate.hpp).
//
// Sums over tokens and chunks are closed forms. Laws: no roof falls with the context; `stage_time` is at least each
// roof. Units: picoseconds, bytes, operations. O(1), with links O(levels + ep on a full mesh).

#include <hyperparallel/planner/serving_amounts.hpp>
#include <hyperparallel/redistribution/rank_collectives.hpp>

namespace hyperparallel { inline namespace v0_2 {

enum class serving_roof : unsigned char { operations, hbm_bytes, dram_bytes, links };

constexpr const char* name_of(serving_roof r) {
  constexpr const char* names[] = {"operations", "HBM", "DRAM", "links"};
  return names[static_cast<int>(r)];
}
inline constexpr int serving_roof_count = 4;

/// A pass of one stage, or all of a prompt's.
struct serving_phase {
  cost_code code = cost_code::ok;
  extent_t roof[serving_roof_count] = {};  ///< of the slowest stage
  extent_t time = 0;                       ///< of all stages
  double tokens_per_second = 0;            ///< of all devices
  constexpr bool ok() const { return code == cost_code::ok; }
  constexpr extent_t of(serving_roof r) const { return roof[static_cast<int>(r)]; }
  /// Of the slowest stage.
  constexpr extent_t stage_time() const {
    return counted_sum(
        larger(larger(of(serving_roof::operations), of(serving_roof::hbm_bytes)), of(serving_roof::dram_bytes)),
        of(serving_roof::links));
  }
  /// The longest of the roofs; of equal ones the first.
  constexpr serving_roof bound() const {
    int longest = 0;
    for (int r = 1; r < serving_roof_count; ++r)
      if (roof[r] > roof[longest]) longest = r;
    return static_cast<serving_roof>(longest);
  }
  /// Whether what comes from DRAM takes no longer than the rest that runs beside it.
  constexpr bool hides_dram() const {
    return of(serving_roof::dram_bytes) <= larger(of(serving_roof::operations), of(serving_roof::hbm_bytes));
  }
};

namespace detail {

/// Positions before themselves and themselves that the first `tokens` tokens see, at most `window` each.
constexpr extent_t seen_positions(extent_t tokens, extent_t window) {
  const extent_t growing = smaller(tokens, window);
  const extent_t triangle =
      growing % 2 == 0 ? counted_product(growing / 2, growing + 1) : counted_product((growing + 1) / 2, growing);
  return counted_sum(triangle, counted_product(tokens - growing, window));
}

/// Cached positions that the chunks of a prompt read: each those before it, at most `window`.
constexpr extent_t positions_before_chunks(extent_t tokens, extent_t chunk, extent_t window) {
  const extent_t later = ceil_divide(tokens, chunk) - 1;
  const extent_t growing = smaller(later, window / chunk);
  return counted_sum(counted_product(chunk, seen_positions(growing, growing)),
                     counted_product(later - growing, window));
}

/// Prices passes of a stage.
class serving_pass {
 public:
  constexpr serving_pass(const serving_amounts& amounts, const serving_plan& plan, const device_value& device,
                         const interconnect& net)
      : a(amounts), p(plan), d(device), links(net) {}

  /// Of one token of each of the sequences that a stage works on at once, `context` of each being cached.
  constexpr serving_phase decode(extent_t context) const {
    serving_phase phase = decode_beside_links(context);
    note(phase, serving_roof::links, then(collectives(p.sequences_at_once()), handed(p.sequences_at_once())));
    return phase;
  }
  constexpr serving_phase decode_beside_links(extent_t context) const {
    const extent_t tokens = p.sequences_at_once();
    const auto positions = [&](extent_t full, extent_t windowed) {
      return counted_product(
          tokens, counted_sum(counted_product(full, context), counted_product(windowed, a.windowed(context))));
    };
    const extent_t seen = positions(a.full_layers, a.windowed_layers);
    const offloaded_layers off = offloaded_of(a, p);
    serving_phase phase;
    note(phase, serving_roof::operations,
         operations(counted_sum(products(tokens), counted_product(2, tokens, a.head),
                                counted_product(seen, a.decode_operations), state_operations(tokens))));
    note(phase, serving_roof::hbm_bytes,
         streamed(counted_sum(bytes_of_bits(counted_sum(streamed_bits(tokens), a.head_bits), 1), cache_bytes(seen),
                              state_bytes(tokens))));
    note(phase, serving_roof::dram_bytes, fetched(cache_bytes(positions(off.full, off.windowed)), 0, off.count()));
    return phase;
  }

  /// Of the prompt of one sequence.
  constexpr serving_phase prefill(extent_t tokens) const {
    const extent_t chunk = smaller(p.chunk, tokens), whole = tokens / chunk, rest = tokens % chunk;
    serving_phase phase = prefill_beside_links(tokens);
    note(phase, serving_roof::links,
         then(then(repeated(collectives(chunk), whole), rest > 0 ? collectives(rest) : time_cost{}),
              then(repeated(handed(chunk), whole), rest > 0 ? handed(rest) : time_cost{})));
    return phase;
  }
  constexpr serving_phase prefill_beside_links(extent_t tokens) const {
    const extent_t chunk = smaller(p.chunk, tokens), whole = tokens / chunk, rest = tokens % chunk,
                   passes = whole + (rest > 0 ? 1 : 0);
    const auto over_layers = [](extent_t full, extent_t of_full, extent_t windowed, extent_t of_windowed) {
      return counted_sum(counted_product(full, of_full), counted_product(windowed, of_windowed));
    };
    const extent_t window = larger(a.window, 1);
    const extent_t read = positions_before_chunks(tokens, chunk, tokens),
                   read_windowed = positions_before_chunks(tokens, chunk, window);
    const offloaded_layers off = offloaded_of(a, p);
    const extent_t seen =
        over_layers(a.full_layers, seen_positions(tokens, tokens), a.windowed_layers, seen_positions(tokens, window));
    const extent_t weights =
        counted_sum(counted_product(whole, streamed_bits(chunk)), rest > 0 ? streamed_bits(rest) : 0);
    const extent_t cache = counted_sum(over_layers(a.full_layers, read, a.windowed_layers, read_windowed),
                                       counted_product(a.cached_layers(), tokens));
    serving_phase phase;
    note(phase, serving_roof::operations,
         operations(counted_sum(products(tokens), 2 * a.head, counted_product(seen, a.prefill_operations),
                                state_operations(tokens))));
    note(phase, serving_roof::hbm_bytes,
         streamed(counted_sum(bytes_of_bits(counted_sum(weights, a.head_bits), 1), cache_bytes(cache),
                              state_bytes(passes))));
    // Both ways at once: what chunks read, and what they leave.
    note(phase, serving_roof::dram_bytes,
         fetched(cache_bytes(over_layers(off.full, read, off.windowed, read_windowed)),
                 cache_bytes(counted_product(off.count(), tokens)), counted_product(off.count(), passes)));
    return phase;
  }

 private:
  static constexpr void note(serving_phase& phase, serving_roof r, const time_cost& t) {
    if (phase.ok()) phase.code = t.code;
    phase.roof[static_cast<int>(r)] = t.picoseconds;
  }
  static constexpr time_cost repeated(const time_cost& t, extent_t times) {
    const checked_extent all = checked_multiply(t.picoseconds, times);
    if (!t.ok() || !all.overflow) return {t.code, all.value};
    return {cost_code::overflow, longest_time};
  }
  constexpr time_cost at_rate(extent_t amount, std::int64_t rate, efficiency share) const {
    if (amount == not_counted) return {cost_code::overflow, longest_time};
    return work_time(amount, 1, 1, rate, share);
  }
  constexpr time_cost operations(extent_t amount) const {
    return at_rate(amount, matrix_peak(d, number_format::bfloat16), d.gmm_cold);
  }
  constexpr time_cost streamed(extent_t bytes) const { return at_rate(bytes, d.tier[0].bandwidth, d.tier[0].reached); }
  constexpr time_cost fetched(extent_t in, extent_t out, extent_t copies) const {
    if (copies == 0) return {};
    const int t = tier_behind(d, memory_kind::dram);
    if (t < 0) return {cost_code::rate_is_not_positive, 0};
    return then(latencies(copies, d.tier[t].latency), at_rate(larger(in, out), d.tier[t].bandwidth, d.tier[t].reached));
  }
  constexpr extent_t cache_bytes(extent_t positions) const {
    return counted_product(positions, bytes_of_bits(a.cached, p.cache_bits));
  }
  constexpr extent_t state_operations(extent_t tokens) const {
    return counted_product(a.linear_layers, tokens, a.state_operations);
  }
  /// Of states that are read and written so many times.
  constexpr extent_t state_bytes(extent_t times) const {
    return counted_product(2, times, counted_product(a.linear_layers, a.state_bytes));
  }
  /// Operations of tokens in products with weights but the head's.
  constexpr extent_t products(extent_t tokens) const {
    return counted_product(2, tokens, counted_sum(a.blocks, counted_product(a.top_k, a.expert_parameters)));
  }
  /// Bits of the parameters that a pass reads but for the head: of routed experts those that the tokens of all ep ranks may
  /// choose.
  constexpr extent_t streamed_bits(extent_t tokens) const {
    const extent_t chosen = smaller(a.experts, counted_product(tokens, p.ep, a.top_k));
    return counted_sum(a.block_bits, counted_product(chosen, a.expert_bits));
  }
  constexpr time_cost collectives(extent_t tokens) const {
    const extent_t vectors = counted_product(2, tokens, a.hidden);
    const extent_t reductions = a.layers * (a.one_reduction ? 1 : 2);
    if (vectors == not_counted) return {cost_code::overflow, longest_time};
    const time_cost reduced = repeated(all_reduce_time(links, p.tp, vectors), reductions);
    if (p.ep == 1 || a.sparse_layers == 0) return reduced;
    const extent_t dealt = counted_product(2, counted_product(tokens, a.expert_row), a.top_k);
    if (dealt == not_counted) return {cost_code::overflow, longest_time};
    return then(reduced, repeated(all_to_all_time(links, p.ep, p.tp, dealt), 2 * a.sparse_layers));
  }
  constexpr time_cost handed(extent_t tokens) const {
    if (p.pp == 1) return {};
    const extent_t vectors = counted_product(2, tokens, a.hidden);
    if (vectors == not_counted) return {cost_code::overflow, longest_time};
    return transfer_time(links, 0, p.tp * p.ep * p.dp, vectors);
  }

  const serving_amounts& a;
  const serving_plan& p;
  const device_value& d;
  const interconnect& links;
};

}  // namespace detail

}}  // namespace hyperparallel::v0_2
