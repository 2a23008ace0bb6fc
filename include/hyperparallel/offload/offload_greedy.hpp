// SPDX-License-Identifier: Apache-2.0
#pragma once
// Plans made at one go: a cover of gaps (gap_cover.hpp), and every copy in is issued as late as still hides it, or as late as
// its room allows.
//
// Law: any cover runs when copies are issued last. O(gaps · operators).

#include <hyperparallel/offload/gap_cover.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// When copies in are issued.
enum class fetch_issue : unsigned char {
  last,    ///< after the operator before the one that needs it
  hidden,  ///< as late as hides it on its link, in order of need
  roomy,   ///< so, but no earlier than there is room
  eager,   ///< as early as there is room, in order of need: what is needed first takes it first
};
inline constexpr int fetch_issues = 4;

/// What greedy plans of one program have in common. Refers to the clock.
class greedy_planner : public gap_cover {
 public:
  using gap_cover::gap_cover;

  /// Issues all copies in `distance` operators before they are needed, at most at the begin of their gaps.
  constexpr void issue_ahead(int distance, growing_array<gap_decision>& plan) const {
    for (int g = 0; g < plan.size; ++g) {
      const storage_gap& gap = clock.chains.gap[g];
      const int earliest = gap.wraps ? -1 : gap.from;
      plan[g].store_after = earliest_store(g, plan);
      plan[g].fetch_after = gap.to - distance < earliest ? earliest : gap.to - distance;
    }
  }

  /// Moves all copies in to their issue points. Stores start at the last write, or at the begin of the gap.
  constexpr void issue(fetch_issue way, bool early_stores, growing_array<gap_decision>& plan) {
    const use_chains& c = clock.chains;
    extent_t free_until[most_links] = {};
    int not_before[most_links] = {};
    for (int l = 0; l < most_links; ++l) {
      free_until[l] = longest_time;
      not_before[l] = -1;
    }
    room_ = level_;
    for (int i = 0; i < clock.by_need().size; ++i) {
      const int g = clock.by_need().item[way == fetch_issue::eager ? clock.by_need().size - 1 - i : i];
      gap_decision& d = plan.item[g];
      if (d.choice != gap_choice::offload) continue;
      d.store_after = early_stores ? earliest_store(g, plan) : c.gap.item[g].from;
      d.fetch_after = c.gap.item[g].to - 1;
      if (way == fetch_issue::eager)
        fill_room(g, not_before[clock.program.tier.item[d.tier].in_link], d);
      else if (way != fetch_issue::last)
        pull_forward(g, way, free_until[clock.program.tier.item[d.tier].in_link], d);
    }
  }

 private:
  /// The last write before gap g, or the operator before which the storage is back from where it was before.
  constexpr int earliest_store(int g, const growing_array<gap_decision>& plan) const {
    const use_chains& c = clock.chains;
    const int s = c.gap.item[g].storage;
    int back = starts_away(c, plan.item, s) ? detail::first_op(clock.program, s) : -1;
    for (int k = c.first_gap.item[s]; k < g; ++k)
      if (plan.item[k].choice != gap_choice::keep) back = c.gap.item[k].to;
    return back > c.gap.item[g].last_write ? back : c.gap.item[g].last_write;
  }

  /// `free_until`: from when on the link is taken by copies that are needed later.
  constexpr void pull_forward(int g, fetch_issue way, extent_t& free_until, gap_decision& d) {
    const storage_gap& gap = clock.chains.gap.item[g];
    const extent_t bytes = storage_of(g).bytes;
    const extent_t begin = smaller(times.start.item[gap.to], free_until) - clock.time_in(g, d.tier);
    free_until = begin;
    const int earliest = gap.wraps ? -1 : gap.from;
    while (d.fetch_after > earliest && times.end.item[d.fetch_after] > begin) {
      if (way == fetch_issue::roomy) {
        if (room_.item[d.fetch_after] + bytes > clock.program.tier.item[0].capacity) return;
        room_.item[d.fetch_after] += bytes;
      }
      --d.fetch_after;
    }
  }

  /// `not_before`: when the copy before it on the link is issued.
  constexpr void fill_room(int g, int& not_before, gap_decision& d) {
    const storage_gap& gap = clock.chains.gap.item[g];
    const extent_t most = clock.program.tier.item[0].capacity - storage_of(g).bytes;
    const int begin = gap.wraps ? -1 : gap.from, earliest = begin > not_before ? begin : not_before;
    while (d.fetch_after > earliest && room_.item[d.fetch_after] <= most) {
      room_.item[d.fetch_after] += storage_of(g).bytes;
      --d.fetch_after;
    }
    not_before = d.fetch_after;
  }

  growing_array<extent_t> room_;  // bytes in tier 0 at each operator
};

}}}  // namespace hyperparallel::v0_2::detail
