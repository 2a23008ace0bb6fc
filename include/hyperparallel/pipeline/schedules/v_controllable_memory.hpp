// SPDX-License-Identifier: Apache-2.0
#pragma once
// V-Min and V-Half: two chunks a rank, there and back, in a building block of six unit slots that repeats with each
// micro-batch; a third and a half of 1F1B's memory for more ranks, at the price of a bubble.
//
// Laws, until W on every rank: peak at most 2⌊(P + 4) / 3⌋ for V-Min, 2⌊(P + 2) / 2⌋ for V-Half. The order is that of unit
// times, whatever F, I and W take.
// References: Qi et al., "Pipeline Parallelism with Controllable Memory", 2024. The block is theirs; how its ramps are
// squeezed is described at `squeeze`.

#include <hyperparallel/pipeline/schedule.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// Where the actions of micro-batch 0 stand on one rank: F of its first and second stage, I of the second and the first.
struct v_block {
  int slot[4] = {};
};

/// A schedule in slots of unit time.
class v_slots {
 public:
  constexpr v_slots(const pipeline_shape& n, const growing_array<v_block>& block, int most_live)
      : n_(n), most_live_(most_live) {
    // Six slots a micro-batch hold its six actions, so that no more are needed behind the last one's I.
    int last = 0;
    for (const v_block& b : block)
      for (const int slot : b.slot) last = slot > last ? slot : last;
    slots_ = last + 6 * n.micro_batches + 2 * n.micro_batches + 1;
    table_.resize(n.ranks * slots_, idle_slot);
    at_.resize(3 * per_kind(), -1);
    for (int r = 0; r < n.ranks; ++r)
      for (int k = 0; k < n.micro_batches; ++k)
        for (int i = 0; i < 4; ++i) {
          const int stage = i == 1 || i == 2 ? 2 * n.ranks - 1 - r : r;
          put(r, block[r].slot[i] + 6 * k, (i < 2 ? 0 : per_kind()) + stage * n.micro_batches + k);
        }
    add_weight_gradients();
  }

  /// Ramps are those actions that stand before the first rank's first I of its first stage, or behind its last F of it. First
  /// each of them moves to the earliest free slot behind what it needs that keeps the peak. Then, behind the last F, each I
  /// moves on alone and W take what is left; that is undone where it would raise the peak.
  constexpr void squeeze() {
    const int m = n_.micro_batches, head = at_[per_kind()], tail = at_[m - 1];
    move_forward(true, head, tail);
    const growing_array<int> table = table_, at = at_;
    const int behind = at_[m - 1];
    for (int r = 0; r < n_.ranks; ++r)
      for (int slot = behind + 1; slot < slots_; ++slot)
        if (code(r, slot) >= 2 * per_kind()) take(r, slot);
    move_forward(false, -1, behind);
    add_weight_gradients();
    bool fits = true;
    for (int r = 0; r < n_.ranks; ++r) fits = fits && most_live_between(r, 0, slots_ - 1) <= most_live_;
    if (fits) return;
    table_ = table;
    at_ = at;
  }

  template <class Row>
  constexpr void write(Row& out, int rank) const {
    const int m = n_.micro_batches;
    for (int slot = 0; slot < slots_; ++slot) {
      const int x = code(rank, slot), y = x % per_kind();
      if (x == idle_slot) continue;
      if (x < per_kind())
        out.forward(y / m, y % m);
      else if (x < 2 * per_kind())
        out.input_gradient(y / m, y % m);
      else
        out.weight_gradient(y / m, y % m);
    }
  }

 private:
  constexpr int per_kind() const { return 2 * n_.ranks * n_.micro_batches; }
  constexpr int code(int r, int slot) const { return table_[r * slots_ + slot]; }
  constexpr void put(int r, int slot, int x) {
    table_[r * slots_ + slot] = x;
    at_[x] = slot;
  }
  constexpr void take(int r, int slot) {
    at_[code(r, slot)] = -1;
    table_[r * slots_ + slot] = idle_slot;
  }

  /// Each W that is missing, into the first free slot behind its I; those of the second stage first.
  constexpr void add_weight_gradients() {
    const int m = n_.micro_batches;
    for (int r = 0; r < n_.ranks; ++r) {
      const int far = 2 * n_.ranks - 1 - r;
      growing_array<int> waiting[2];
      int next[2] = {};
      for (int slot = 0; slot < slots_; ++slot) {
        const int x = code(r, slot);
        if (x != idle_slot) {
          if (x < per_kind() || x >= 2 * per_kind() || at_[x + per_kind()] >= 0) continue;
          waiting[(x - per_kind()) / m == far ? 0 : 1].push(x + per_kind());
          continue;
        }
        for (int i = 0; i < 2; ++i)
          if (next[i] < waiting[i].size) {
            put(r, slot, waiting[i][next[i]++]);
            break;
          }
      }
    }
  }

  /// The last slot of what `x` needs; −1: it needs nothing.
  constexpr int slot_before(int x) const {
    const int m = n_.micro_batches, n = per_kind();
    if (x >= 2 * n) return at_[x - n];
    if (x < n) return x < m ? -1 : at_[x - m];
    const int forward = at_[x - n], gradient = x + m < 2 * n ? at_[x + m] : -1;
    return forward > gradient ? forward : gradient;
  }

  constexpr int most_live_between(int r, int from, int to) const {
    int live = 0, most = 0;
    for (int slot = 0; slot <= to; ++slot) {
      const int x = code(r, slot);
      if (x == idle_slot) continue;
      live += x < per_kind() ? 1 : x >= 2 * per_kind() ? -1 : 0;
      if (slot >= from && live > most) most = live;
    }
    return most;
  }

  /// Moves what stands before `head` or behind `tail` to its earliest free slot: all, or I alone.
  constexpr void move_forward(bool all, int head, int tail) {
    for (int slot = 0; slot < slots_; ++slot) {
      if (slot >= head && slot <= tail) continue;
      for (int r = 0; r < n_.ranks; ++r) {
        const int x = code(r, slot);
        if (x == idle_slot || (!all && (x < per_kind() || x >= 2 * per_kind()))) continue;
        for (int earlier = slot_before(x) + 1; earlier < slot; ++earlier) {
          if (code(r, earlier) != idle_slot) continue;
          take(r, slot);
          put(r, earlier, x);
          if (x >= per_kind() || most_live_between(r, earlier, slot) <= most_live_) break;
          take(r, earlier);
          put(r, slot, x);
        }
      }
    }
  }

  pipeline_shape n_;
  int most_live_, slots_ = 0;
  growing_array<int> table_;  ///< rank and slot → code of F, I or W, or `idle_slot`
  growing_array<int> at_;     ///< code → slot; −1: it stands nowhere
};

template <class Schedule>
struct v_schedule {
  static constexpr stage_placement placement = stage_placement::v;
  static constexpr pipeline_status fits(const pipeline_shape& n) { return check_chunks(n, 2); }
  /// The ramps do not meet then. Held by a test for up to 16 ranks.
  static constexpr pipeline_period period(const pipeline_shape& n) { return {1, 2 * n.ranks}; }
  /// All rows at once: what one rank runs depends on the others.
  static constexpr void rows(auto& schedule, auto& out, const pipeline_shape& n) {
    growing_array<v_block> block;
    for (int r = 0; r < n.ranks; ++r) block.push(Schedule::block(n.ranks, r));
    v_slots slots(n, block, Schedule::most_activations(n.ranks));
    slots.squeeze();
    for (int r = 0; r < n.ranks; ++r) {
      slots.write(out, r);
      schedule.first.push(schedule.action.size);
    }
  }
};

}  // namespace detail

struct v_min : detail::v_schedule<v_min> {
  static constexpr const char* name = "V-Min";
  static constexpr int most_activations(int ranks) { return 2 * ((ranks + 4) / 3); }
  static constexpr detail::v_block block(int ranks, int rank) {
    const int shift = ranks % 3 == 0 ? 2 : 0;  // no two actions of a rank in one slot
    return {{rank, 2 * ranks - 1 - rank, 2 * ranks + shift + rank, 4 * ranks + shift - 1 - rank}};
  }
};

struct v_half : detail::v_schedule<v_half> {
  static constexpr const char* name = "V-Half";
  static constexpr int most_activations(int ranks) { return 2 * ((ranks + 2) / 2); }
  static constexpr detail::v_block block(int ranks, int rank) {
    const int shift = ranks % 2 == 0 ? 3 : 0;
    return {{2 * rank, 3 * ranks - 2 - rank, 3 * ranks + shift - 1 + 2 * rank, 6 * ranks + shift - 2 - rank}};
  }
};

}}  // namespace hyperparallel::v0_2
