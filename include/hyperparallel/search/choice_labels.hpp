// SPDX-License-Identifier: Apache-2.0
#pragma once
// Label setting on the stages of a chain: every way to take the nodes so far that may still become one of
// the best choices is a label (time, memory, state).
//
// Choices are ordered by time, then memory, then lexicographically. A label is dropped where `wanted` others of its
// state come before it and hold no more memory: each completion of it has as many better ones. Labels are made in
// lexicographic order of their candidates and kept so, which makes the comparison one of indices. A label whose bound
// exceeds the ceiling has no completion of at most that time in the budget.
//
// Law: the first `wanted` choices of at most `ceiling` time and `budget` memory, in their order, whatever the price of
// memory is; a poor price only leaves more labels.

#include <hyperparallel/search/choice_relaxation.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

inline constexpr int most_best_choices = 32;

struct choice_label {
  std::int64_t time = 0, memory = 0;
  int state = 0;  ///< or -1: dropped
  int parent = 0, candidate = 0;
};

/// How a kept label arose.
struct choice_trace {
  int parent = 0, candidate = 0;
};

/// `labels` are kept over all stages, `made` are the extensions in one stage before the dominated ones are dropped.
struct choice_room {
  int labels = 0, made = 0;
};

struct choice_scratch {
  choice_room room{};
  growing_array<std::int64_t> least_memory;  ///< state -> of the rest of a path
  growing_array<std::int64_t> least_price;   ///< state -> time and priced memory of the rest of a path
  growing_array<choice_trace> trace;
  growing_array<choice_label> front;  ///< what the last stage kept
  growing_array<choice_label> made;
  growing_array<int> order, merged, bucket;

  constexpr choice_scratch(const choice_stages& s, const choice_room& most) : room(most) {
    least_memory.resize(s.states, 0);
    least_price.resize(s.states, 0);
    trace.resize(room.labels);
    front.resize(room.made + 1);
    made.resize(room.made);
    order.resize(room.made, 0);
    merged.resize(room.made, 0);
    bucket.resize(s.widest + 1, 0);
  }
};

/// How far a label setting came; `ends` are the labels of the last stage, x.order[0 .. ends) lists them in the order of
/// choices in x.made. `full`: the room did not hold them all.
struct choice_labels {
  bool full = false;
  int ends = 0;
  std::int64_t kept = 0, made = 0;
};

/// Sorts x.order[begin .. end) by time, then memory; equal ones stay in the order they have.
constexpr void sort_labels(choice_scratch& x, int begin, int end) {
  const auto before = [&x](int a, int b) {
    const choice_label &p = x.made[a], &q = x.made[b];
    return p.time < q.time || (p.time == q.time && p.memory < q.memory);
  };
  for (int half = 1; half < end - begin; half *= 2)
    for (int i = begin; i + half < end; i += 2 * half) {
      const int middle = i + half, last = end - middle < half ? end : middle + half;
      if (!before(x.order[middle], x.order[middle - 1])) continue;
      int a = i, b = middle, to = i;
      while (a < middle && b < last) {
        const bool second = before(x.order[b], x.order[a]);
        x.merged[to++] = second ? x.order[b++] : x.order[a++];
      }
      while (a < middle) x.merged[to++] = x.order[a++];
      for (int k = i; k < to; ++k) x.order[k] = x.merged[k];
    }
}

/// Drops, of the sorted labels x.order[begin .. end) of one state, those that `wanted` earlier ones dominate.
constexpr void drop_dominated(choice_scratch& x, int begin, int end, int wanted, bool limited) {
  std::int64_t lowest[most_best_choices] = {};  // the least memories so far, ascending
  int held = 0;
  for (int i = begin; i < end; ++i) {
    choice_label& l = x.made[x.order[i]];
    const std::int64_t memory = limited ? l.memory : 0;
    if (held == wanted && lowest[held - 1] <= memory) {
      l.state = -1;
      continue;
    }
    if (held < wanted) ++held;
    int k = held - 1;
    for (; k > 0 && lowest[k - 1] > memory; --k) lowest[k] = lowest[k - 1];
    lowest[k] = memory;
  }
}

/// x.order lists the labels made in `stage` by state, each state's by their number; x.bucket[i] is where state i ends.
constexpr void sort_by_state(choice_scratch& x, const choice_stage& stage, int made) {
  for (int i = 0; i <= stage.states; ++i) x.bucket[i] = 0;
  for (int i = 0; i < made; ++i) {
    ++x.bucket[x.made[i].state - stage.first_state];
    x.order[i] = 0;
  }
  for (int i = 0, sum = 0; i < stage.states; ++i) {
    const int count = x.bucket[i];
    x.bucket[i] = sum;
    sum += count;
  }
  for (int i = 0; i < made; ++i) x.order[x.bucket[x.made[i].state - stage.first_state]++] = i;
}

/// Needs in the scratch least_memory, and the sums of `price` in least_price. O(labels made · log), plus the states.
constexpr choice_labels set_labels(const choice_stages& s, std::int64_t budget, bool limited, const memory_price& price,
                                   std::int64_t ceiling, int wanted, choice_scratch& x) {
  choice_labels out;
  int fronts = 1, first = -1, traces = 0;
  x.front[0] = {};
  const std::int64_t most_price = ceiling + price(budget);
  for (int v = 0; v < s.size(); ++v) {
    const choice_stage now = s.stage[v], after = s.stage[v + 1];
    int made = 0;
    for (int i = 0; i < fronts; ++i) {
      const choice_label l = x.front[i];
      int t = now.first_transition + (l.state - now.first_state) * now.candidates;
      for (int c = 0; c < now.candidates; ++c, ++t) {
        const int next = s.next[t];
        if (s.time[t] == impossible_time || x.least_memory[next] == impossible_time) continue;
        const std::int64_t time = l.time + s.time[t], memory = l.memory + s.memory[now.first_memory + c];
        if (time > ceiling || memory + x.least_memory[next] > budget) continue;
        if (time + price(memory) + x.least_price[next] > most_price) continue;
        if (made == x.room.made) return out.full = true, out;
        x.made[made++] = {time, memory, next, first + i, c};
      }
    }
    out.made += made;
    sort_by_state(x, after, made);
    for (int i = 0, begin = 0; i < after.states; begin = x.bucket[i++]) {
      sort_labels(x, begin, x.bucket[i]);
      if (v + 1 < s.size()) drop_dominated(x, begin, x.bucket[i], wanted, limited);
    }
    if (v + 1 == s.size()) {
      out.ends = made;
      out.kept += made;
      return out;
    }
    first = traces;
    fronts = 0;
    for (int i = 0; i < made; ++i) {
      if (x.made[i].state < 0) continue;
      if (traces == x.room.labels) return out.full = true, out;
      x.front[fronts++] = x.made[i];
      x.trace[traces++] = {x.made[i].parent, x.made[i].candidate};
    }
    out.kept = traces;
  }
  return out;
}

}}}  // namespace hyperparallel::v0_2::detail
