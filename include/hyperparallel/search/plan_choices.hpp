// SPDX-License-Identifier: Apache-2.0
#pragma once
// The chain of choices of one plan space: a node a block, a candidate a variant, and only variants that fit together
// follow each other; and its best choices, in a constant evaluation as at run time.
//
// A candidate's time in it is that of both queues one after the other: how long the plan takes where nothing overlaps.
// Law: the choices that nothing forbids are the choices of candidates of the space, one each, with the times and
// memories of segment_costs.hpp.

#include <hyperparallel/search/choice_chain.hpp>
#include <hyperparallel/search/segment_costs.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// Whether sums over the chain stay far from the end of 64 bits, and its transitions below 2^30.
constexpr bool can_search(const segment_costs& c) {
  constexpr std::int64_t most_total = std::int64_t{1} << 60, most_transitions = std::int64_t{1} << 30;
  std::int64_t time = 0, memory = 0, transitions = 0;
  for (int b = 0, before = 1; b < c.size(); before = c.variant[b++].size) {
    std::int64_t most_time = 0, most_memory = 0;
    for (const block_variant& v : c.variant[b]) {
      if (c.is_alive(b, v.candidate)) most_time = larger(most_time, v.busy.compute + v.busy.carried);
      most_memory = larger(most_memory, v.memory);
    }
    transitions += std::int64_t{before} * c.variant[b].size;
    if (c.variant[b].empty() || most_time > most_total - time || most_memory > most_total - memory ||
        transitions > most_transitions)
      return false;
    time += most_time;
    memory += most_memory;
  }
  return c.size() > 0;
}

/// The chain of the variants of `c`: a node a block. O(Σ products of neighbours' variants).
constexpr choice_stages stages_of(const segment_costs& c) {
  choice_stages s;
  for (int b = 0; b < c.size(); ++b) {
    growing_array<choice_candidate> candidate;
    for (const block_variant& v : c.variant[b])
      candidate.push({c.is_alive(b, v.candidate) ? v.busy.compute + v.busy.carried : impossible_time, v.memory});
    s.add(candidate, [&](int left, int right) {
      return follows_on(c.variant[b - 1][left], c.variant[b][right]) ? 0 : impossible_time;
    });
  }
  s.close();
  return s;
}

/// The best choices of variants of at most `budget` memory, first block first.
constexpr void find_best_variants(const segment_costs& c, extent_t budget, choice_answer& answer) {
  answer.code = choice_search_code::too_large;
  if (detail::can_search(c)) search_choices(stages_of(c), budget, answer);
}

/// Calls `visit(chosen, limit)` for each row of variants that fit, are busy for less than `limit` in either queue
/// and certainly hold at most `budget`, until it says false; it may lower the limit. Exponential in the worst case.
template <class Visit>
constexpr void visit_rows(const segment_costs& c, extent_t budget, extent_t limit, const Visit& visit) {
  const int n = c.size();
  growing_array<busy_times> rest;       // least of block b and those behind it, each queue by itself
  growing_array<extent_t> rest_memory;  // likewise
  rest.resize(n + 1);
  rest_memory.resize(n + 1, 0);
  for (int b = n - 1; b >= 0; --b) {
    busy_times least{longest_time, longest_time};
    extent_t least_memory = longest_time;
    for (const block_variant& v : c.variant[b]) {
      if (!c.is_alive(b, v.candidate)) continue;
      least.compute = smaller(least.compute, v.busy.compute);
      least.carried = smaller(least.carried, v.busy.carried);
      least_memory = smaller(least_memory, v.memory);
    }
    rest[b] = rest[b + 1];
    rest[b] += least;
    rest_memory[b] = rest_memory[b + 1] + least_memory;
  }
  int chosen[max_model_parts] = {-1}, b = 0;
  busy_times busy[max_model_parts + 1] = {};
  extent_t memory[max_model_parts + 1] = {};
  while (b >= 0) {
    if (++chosen[b] == c.variant[b].size) {
      --b;
      continue;
    }
    const block_variant& v = c.variant[b][chosen[b]];
    if (!c.is_alive(b, v.candidate) || (b > 0 && !follows_on(c.variant[b - 1][chosen[b - 1]], v))) continue;
    busy[b + 1] = busy[b];
    busy[b + 1] += v.busy;
    memory[b + 1] = memory[b] + v.memory;
    busy_times least = busy[b + 1];
    least += rest[b + 1];
    if (least.bound() >= limit || memory[b + 1] + rest_memory[b + 1] > budget) continue;
    if (b + 1 < n)
      chosen[++b] = -1;
    else if (!visit(chosen, limit))
      return;
  }
}

}}}  // namespace hyperparallel::v0_2::detail
