// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which copies a plan makes, in which order they are listed, and where they hold room in slower tiers.
//
// A copy in a tier is valid until the storage is written. An offloaded gap needs a store where no valid copy is in its
// tier. A storage is at home in a tier, has a valid copy there from the period before and keeps its place all the time,
// where its wrapping gap goes there, and where any of its gaps does if no operator ever writes it. Any other copy takes
// its room with its store and gives it back after the last fetch that needs it.
// Laws: in one period as many bytes enter a storage's room as leave it; a storage that is never written needs no store
// in the tier of its wrapping gap. O(gaps).

#include <hyperparallel/offload/offload_plan.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Of one gap that is offloaded; all false of others.
struct gap_copies {
  bool needs_store = false;
  bool takes_room = false;  ///< with the store
  bool frees_room = false;  ///< after the fetch
  friend constexpr bool operator==(const gap_copies&, const gap_copies&) = default;
};

namespace detail {

/// Whether storage `s` is away from tier 0 between periods.
constexpr bool starts_away(const use_chains& c, const gap_decision* plan, int s) {
  const int last = c.first_gap.item[s + 1] - 1;
  return last >= c.first_gap.item[s] && c.gap.item[last].wraps && plan[last].choice == gap_choice::offload;
}

/// The tiers in which storage `s` is at home, one bit each.
constexpr unsigned home_tiers(const use_chains& c, const gap_decision* plan, int s) {
  const int first = c.first_gap.item[s], last = c.first_gap.item[s + 1] - 1;
  if (last < first || !c.gap.item[last].wraps) return 0;
  unsigned tiers = 0;
  for (int g = c.gap.item[last].last_write < 0 ? first : last; g <= last; ++g)
    if (plan[g].choice == gap_choice::offload) tiers |= 1u << plan[g].tier;
  return tiers;
}

/// Fills in the copies of the gaps of storage s; `home` are its home tiers.
constexpr void derive_copies(const use_chains& c, const gap_decision* plan, int s, unsigned home, gap_copies* copies) {
  const int end = c.first_gap.item[s + 1];
  unsigned clean = home;        // tiers with a valid copy
  int version = -1;             // the write that the valid copies are of
  int latest[most_tiers] = {};  // the last gap that left to each tier
  for (int g = c.first_gap.item[s]; g < end; ++g) {
    copies[g] = {};
    if (plan[g].choice != gap_choice::offload) continue;
    const int tier = plan[g].tier;
    const bool has_home = (home >> tier & 1u) != 0;
    if (c.gap.item[g].last_write_access != version) clean = 0;
    version = c.gap.item[g].last_write_access;
    const bool needed = (clean >> tier & 1u) == 0;
    if (!needed && !has_home) copies[latest[tier]].frees_room = false;
    copies[g] = {needed, needed && !has_home, !has_home};
    latest[tier] = g;
    clean |= 1u << tier;
  }
}

}  // namespace detail

/// Of each gap. Domain: the chains of a program, a legal plan for it.
constexpr growing_array<gap_copies> copies_of(const use_chains& c, const gap_decision* plan) {
  growing_array<gap_copies> copies(c.gap.size);
  for (int s = 0; s + 1 < c.first_gap.size; ++s)
    detail::derive_copies(c, plan, s, detail::home_tiers(c, plan, s), copies.item);
  return copies;
}

namespace detail {

/// Gaps by falling operator that needs them back, equal ones by falling number: the order in which copies in are listed.
constexpr growing_array<int> gaps_by_need(const use_chains& c, int operators) {
  growing_array<int> head, next, order;
  head.resize(operators + 1, -1);
  next.resize(c.gap.size, -1);
  order.reserve(c.gap.size);
  for (int g = 0; g < c.gap.size; ++g) {
    next[g] = head[c.gap[g].to];
    head[c.gap[g].to] = g;
  }
  for (int q = operators; q >= 0; --q)
    for (int g = head[q]; g >= 0; g = next[g]) order.push(g);
  return order;
}

}  // namespace detail

}}  // namespace hyperparallel::v0_2
