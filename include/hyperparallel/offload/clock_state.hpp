// SPDX-License-Identifier: Apache-2.0
#pragma once
// The state of the planner's clock (offload_clock.hpp) in one period: what storages, gaps, tiers and queues are at.
//
// Law: `prepare` gives every run of one plan the same state. O(gaps + operators + storages) a run, without allocation.

#include <hyperparallel/offload/offload_copies.hpp>
#include <hyperparallel/offload/offload_event.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// A time that no period reaches: the plan waits for itself, or takes longer than asked for.
inline constexpr extent_t endless = longest_time;

class clock_state {
 public:
  offload_program program;
  use_chains chains;
  /// Of the last run: the most bytes in each tier, and the first operator that did not start where it was endless.
  extent_t peak[most_tiers] = {};
  int stuck = -1;

  /// Domain: a checked program.
  constexpr explicit clock_state(const offload_program& p) : program(p), chains(chains_of(p)) {
    const int storages = p.storage.size, tiers = p.tier.size, gaps = chains.gap.size;
    time_in_.resize(storages * tiers, 0);
    time_out_.resize(storages * tiers, 0);
    for (int s = 0; s < storages; ++s)
      for (int t = 1; t < tiers; ++t) {
        time_in_[s * tiers + t] = link_copy_time(p.link[p.tier[t].in_link], p.storage[s].bytes);
        time_out_[s * tiers + t] = link_copy_time(p.link[p.tier[t].out_link], p.storage[s].bytes);
      }
    bytes_.resize(storages, 0);
    resident_.resize(storages, false);
    released_after_.resize(storages, -1);
    for (int s = 0; s < storages; ++s) {
      bytes_.item[s] = p.storage.item[s].bytes;
      resident_.item[s] = p.storage.item[s].persistent && detail::touches(p.storage.item[s]);
      released_after_.item[s] = p.storage.item[s].persistent ? -1 : p.storage.item[s].access_count;
    }
    storage_.resize(storages);
    gap_.resize(gaps);
    copies_.resize(gaps);
    ended_.resize(p.op.size, 0);
    item_.resize(2 * gaps + p.op.size);
    store_head_.resize(p.op.size + 1, -1);
    fetch_head_.resize(p.op.size + 1, -1);
    by_need_ = detail::gaps_by_need(chains, p.op.size);
  }

  /// Picoseconds a copy of the gap's storage takes from or to a tier.
  constexpr extent_t time_in(int gap, int tier) const {
    return time_in_.item[chains.gap.item[gap].storage * program.tier.size + tier];
  }
  constexpr extent_t time_out(int gap, int tier) const {
    return time_out_.item[chains.gap.item[gap].storage * program.tier.size + tier];
  }
  /// Gaps by falling operator that needs them back.
  constexpr const growing_array<int>& by_need() const { return by_need_; }
  /// Whether the copy out of an offloaded gap was needed in the last run.
  constexpr bool stored(int gap) const { return copies_.item[gap].needs_store; }

 protected:
  struct storage_state {
    int ended = 0;     // accesses
    int written = -1;  // the last access of those that writes
    int readers = 0;   // running recomputations that read it
    int acting = -1;   // the gap, not kept, that is ahead or in which it is
    bool resident = false;
  };
  struct gap_state {
    int next = -1;        // the storage's next gap that is not kept
    int next_store = -1;  // of the same issue point
    int next_fetch = -1;
    bool stored = false, away = false;
  };
  struct queue_item {
    int next = -1;
    int after = -1;  // its issue point
  };

  // Items: the store of gap g is 2g, its fetch 2g + 1, collective q is copy_items() + q.
  constexpr int copy_items() const { return 2 * chains.gap.size; }
  constexpr int queue_of(int q) const { return program.op.item[q].link + 1; }

  constexpr void append(int link, int item, int after) {
    item_.item[item] = {-1, after};
    if (tail_[link] >= 0)
      item_.item[tail_[link]].next = item;
    else
      head_[link] = item;
    tail_[link] = item;
  }

  /// The state at the begin of a period; false where what is there does not fit.
  constexpr bool prepare() {
    for (int t = 0; t < program.tier.size; ++t) used_[t] = peak[t] = 0;
    for (int r = 0; r <= program.link.size; ++r) {
      until_[r] = endless;
      head_[r] = tail_[r] = -1;
    }
    next_ = 0;
    stuck = 0;
    for (int q = 0; q < program.op.size; ++q) ended_.item[q] = 0;
    // What has no gaps, or keeps in all of them, is where it always is.
    const int* const first_gap = chains.first_gap.item;
    for (int s = 0, g = 0, storages = program.storage.size; s < storages; ++s) {
      const int end = first_gap[s + 1];
      while (g < end && plan_[g].choice == gap_choice::keep) ++g;
      if (g < end) {
        prepare_storage(s);
        g = end;
        continue;
      }
      storage_.item[s] = {.resident = resident_.item[s]};
      if (resident_.item[s]) used_[0] += bytes_.item[s];
    }
    for (int t = 0; t < program.tier.size; ++t) {
      peak[t] = used_[t];
      if (used_[t] > program.tier.item[t].capacity) return false;
    }
    for (int i = 0; i < by_need_.size; ++i) {
      const int g = by_need_.item[i];
      if (plan_[g].choice != gap_choice::offload) continue;
      gap_.item[g].next_fetch = fetch_head_.item[plan_[g].fetch_after + 1];
      fetch_head_.item[plan_[g].fetch_after + 1] = g;
    }
    for (int g = chains.gap.size - 1; g >= 0; --g) {
      if (plan_[g].choice != gap_choice::offload || !copies_.item[g].needs_store) continue;
      gap_.item[g].next_store = store_head_.item[plan_[g].store_after + 1];
      store_head_.item[plan_[g].store_after + 1] = g;
    }
    for (int p = -1; p < program.op.size; ++p) {
      for (int g = store_head_.item[p + 1]; g >= 0; g = gap_.item[g].next_store)
        append(program.tier.item[plan_[g].tier].out_link, 2 * g, p);
      for (int g = fetch_head_.item[p + 1]; g >= 0; g = gap_.item[g].next_fetch)
        append(program.tier.item[plan_[g].tier].in_link, 2 * g + 1, p);
      store_head_.item[p + 1] = fetch_head_.item[p + 1] = -1;
      if (p + 1 < program.op.size && program.op.item[p + 1].link >= 0)
        append(program.op.item[p + 1].link, copy_items() + p + 1, p);
    }
    return true;
  }

  /// One that leaves tier 0 in some gap.
  constexpr void prepare_storage(int s) {
    storage_state& state = storage_.item[s];
    state = {};
    const int first = chains.first_gap.item[s], end = chains.first_gap.item[s + 1];
    state.resident = resident_.item[s] && !detail::starts_away(chains, plan_, s);
    const unsigned home = detail::home_tiers(chains, plan_, s), held = state.resident ? home | 1u : home;
    for (int t = 0; held >> t != 0; ++t)
      if ((held >> t & 1u) != 0) used_[t] += bytes_.item[s];
    detail::derive_copies(chains, plan_, s, home, copies_.item);
    for (int g = end - 1; g >= first; --g) {
      if (plan_[g].choice == gap_choice::keep) continue;
      gap_.item[g] = {.next = state.acting};
      state.acting = g;
    }
  }

  growing_array<extent_t> time_in_, time_out_;  // of each storage and tier
  growing_array<extent_t> bytes_;               // of each storage
  growing_array<bool> resident_;                // of each storage that is kept: in tier 0 between two periods
  growing_array<int> released_after_;           // of each storage: so many accesses; -1 where it is persistent
  growing_array<storage_state> storage_;
  growing_array<gap_state> gap_;
  growing_array<gap_copies> copies_;
  growing_array<unsigned char> ended_;  // of each operator
  growing_array<queue_item> item_;
  growing_array<int> store_head_, fetch_head_, by_need_;
  const gap_decision* plan_ = nullptr;
  extent_t used_[most_tiers] = {};
  extent_t until_[most_links + 1] = {};                        // of compute, then of each link: `endless` where idle
  int running_[most_links + 1] = {};                           // likewise, what runs there
  int head_[most_links + 1] = {}, tail_[most_links + 1] = {};  // of each link
  int next_ = 0;
};

}}  // namespace hyperparallel::v0_2
