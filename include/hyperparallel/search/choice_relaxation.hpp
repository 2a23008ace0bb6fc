// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bounds on the choices of a chain: the least that the rest of a path adds, and the memory budget relaxed to a
// price of a byte (the Lagrange multiplier).
//
// Laws: for any price p, a choice of memory m ≤ budget takes at least min over all choices (time + p(memory)) minus
// p(budget). Prices are integers: memory is shifted to below 2^31, products stay below 2^61, and as floors add up to at
// most the floor of the sum, rounding only lowers the bound. The bound of the price found is at least that of price 0.

#include <hyperparallel/search/choice_stages.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// What a byte costs: memory m counts as ((m >> shift) · factor) >> scale picoseconds.
struct memory_price {
  int shift = 0, scale = 0;
  std::int64_t factor = 0;
  constexpr std::int64_t operator()(std::int64_t memory) const { return ((memory >> shift) * factor) >> scale; }
};

/// Every choice within the budget takes at least `bound`.
struct relaxed_choice {
  memory_price price{};
  std::int64_t bound = 0;
};

/// least[state]: the least Σ price(time, memory) over the transitions from there to the end; impossible_time where none
/// leads there. O(transitions).
template <class Price>
constexpr void fill_remaining(const choice_stages& s, std::int64_t* least, const Price& price) {
  for (int i = 0; i < s.states; ++i) least[i] = impossible_time;
  least[s.states - 1] = 0;
  for (int v = s.size() - 1; v >= 0; --v) {
    const choice_stage now = s.stage[v];
    for (int i = 0, t = now.first_transition; i < now.states; ++i) {
      std::int64_t best = impossible_time;
      for (int c = 0; c < now.candidates; ++c, ++t) {
        if (s.time[t] == impossible_time || least[s.next[t]] == impossible_time) continue;
        const std::int64_t sum = price(s.time[t], s.memory[now.first_memory + c]) + least[s.next[t]];
        if (sum < best) best = sum;
      }
      least[now.first_state + i] = best;
    }
  }
}

/// The memory of the path that `least` was the sum of; of equal ones the lexicographically smallest.
template <class Price>
constexpr std::int64_t memory_of_least(const choice_stages& s, const std::int64_t* least, const Price& price) {
  std::int64_t memory = 0;
  for (int v = 0, state = 0; v < s.size(); ++v) {
    const choice_stage now = s.stage[v];
    int t = now.first_transition + (state - now.first_state) * now.candidates;
    for (int c = 0; c < now.candidates; ++c, ++t) {
      if (s.time[t] == impossible_time || least[s.next[t]] == impossible_time) continue;
      const std::int64_t m = s.memory[now.first_memory + c];
      if (price(s.time[t], m) + least[s.next[t]] != least[state]) continue;
      memory += m;
      state = s.next[t];
      break;
    }
  }
  return memory;
}

/// The most that a path can take and hold.
struct choice_extent {
  std::int64_t time = 0, memory = 0;
};

constexpr choice_extent extent_of(const choice_stages& s) {
  choice_extent sum;
  for (int v = 0; v < s.size(); ++v) {
    const choice_stage now = s.stage[v];
    std::int64_t most_time = 0, most_memory = 0;
    for (int t = now.first_transition, end = t + now.states * now.candidates; t < end; ++t)
      if (s.time[t] != impossible_time && s.time[t] > most_time) most_time = s.time[t];
    for (int c = 0; c < now.candidates; ++c)
      if (s.memory[now.first_memory + c] > most_memory) most_memory = s.memory[now.first_memory + c];
    sum.time += most_time;
    sum.memory += most_memory;
  }
  return sum;
}

/// The best bound that one price of memory gives, with its sums in `least_price`. Domain: a path within `budget`
/// exists, and `budget` ≤ most.memory. The price is found by doubling and halving, to a 4096th. O(40 · transitions).
constexpr relaxed_choice relax_memory(const choice_stages& s, const choice_extent& most, std::int64_t budget,
                                      std::int64_t* least_price) {
  memory_price price;
  while ((most.memory >> price.shift) >= std::int64_t{1} << 31) ++price.shift;
  const std::int64_t units = (most.memory >> price.shift) + 1, highest = (std::int64_t{1} << 61) / units;
  std::int64_t scaled = most.time / units;
  for (std::int64_t time = most.time; scaled < std::int64_t{1} << 24 && price.scale < 40; ++price.scale) {
    if (time < std::int64_t{1} << 60) time *= 2;
    scaled = time / units;
  }
  relaxed_choice best;
  best.bound = -1;
  std::int64_t tried = -1;
  // Prices the memory by `factor`; true where the path of least price is within the budget.
  const auto attempt = [&](std::int64_t factor) {
    price.factor = tried = factor;
    const auto sum = [price](std::int64_t time, std::int64_t memory) { return time + price(memory); };
    fill_remaining(s, least_price, sum);
    const std::int64_t bound = least_price[0] - price(budget);
    if (bound > best.bound) best = {price, bound};
    return memory_of_least(s, least_price, sum) <= budget;
  };
  if (attempt(0)) return best;
  std::int64_t low = 0, high = scaled >> 8 > 0 ? scaled >> 8 : 1;
  if (high > highest) high = highest;
  while (!attempt(high) && high < highest) {
    low = high;
    high = high > highest / 4 ? highest : high * 4;
  }
  while (high - low > 1 + (high >> 12)) {
    const std::int64_t middle = low + (high - low) / 2;
    (attempt(middle) ? high : low) = middle;
  }
  if (tried != best.price.factor) attempt(best.price.factor);
  return best;
}

}}}  // namespace hyperparallel::v0_2::detail
