// SPDX-License-Identifier: Apache-2.0
#pragma once
// The best choices of a chain within a memory budget, exactly: shortest paths through its stages (Viterbi), memory as a
// second coordinate of the labels (Pareto label setting).
//
// Choices are ordered by time, then memory, then lexicographically (node 0 first).
//
// Laws: the answer's choices are the first of all choices within the budget in that order. Where labels outgrow their
// room the code says so, and the `count` first choices are right even then.
//
// Labels are set below a ceiling on time that starts a little above the bound of the relaxed problem and moves away
// from it twice as far each time, until as many choices as wanted lie below it or no choice can lie above. What lies
// below a ceiling does not depend on it, so nothing is approximate. Without a budget O(transitions · wanted · log) each
// time; with one the labels may grow exponentially in the worst case (the knapsack problem is one), which the ceiling
// keeps to those between the bound and the optimum.

#include <hyperparallel/search/choice_labels.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

enum class choice_search_code : unsigned char {
  ok,
  too_large,    ///< numbers or transitions that no search takes
  impossible,   ///< no choice avoids what is forbidden
  over_budget,  ///< the least memory of any choice is `least_memory`
  labels_full,  ///< the room for labels does not do; `count` choices are proved
};

/// The best `count` ≤ `room` choices, 1 to most_best_choices; of choice b, node n takes candidate choice[b · nodes + n].
/// Fewer than `room` with code ok: there are no more.
struct choice_answer {
  int room = 0;
  choice_search_code code = choice_search_code::ok;
  int count = 0;
  std::int64_t least_memory = 0;
  std::int64_t relaxed_bound = 0;  ///< on the time, with memory priced instead of limited
  std::int64_t time[most_best_choices] = {};
  std::int64_t memory[most_best_choices] = {};
  growing_array<int> choice;

  constexpr choice_answer(int nodes, int best) : room(best) { choice.resize(nodes * best, 0); }
};

/// Reads choice b off its last label and the traces behind it.
constexpr void read_choice(const choice_stages& s, const choice_scratch& x, int b, choice_answer& answer) {
  const choice_label& end = x.made[x.order[b]];
  answer.time[b] = end.time;
  answer.memory[b] = end.memory;
  int candidate = end.candidate;
  for (int v = s.size() - 1, parent = end.parent; v >= 0; --v) {
    answer.choice[b * s.size() + v] = candidate;
    if (v == 0) break;
    candidate = x.trace[parent].candidate;
    parent = x.trace[parent].parent;
  }
}

/// search_choices with one room for labels.
constexpr void search_within_room(const choice_stages& s, std::int64_t budget, choice_scratch& x,
                                  choice_answer& answer) {
  answer.code = choice_search_code::ok;
  answer.count = 0;
  fill_remaining(s, x.least_memory.item, [](std::int64_t, std::int64_t memory) { return memory; });
  answer.least_memory = x.least_memory[0];
  if (answer.least_memory > budget || answer.least_memory == impossible_time) {
    answer.code = answer.least_memory == impossible_time ? choice_search_code::impossible  //
                                                         : choice_search_code::over_budget;
    return;
  }
  const choice_extent most = extent_of(s);
  const bool limited = budget < most.memory;
  if (!limited) budget = most.memory;
  const relaxed_choice relaxed = relax_memory(s, most, budget, x.least_price.item);
  answer.relaxed_bound = relaxed.bound;
  for (std::int64_t above = (relaxed.bound >> 12) + 1;; above *= 2) {
    const bool all = relaxed.bound + above >= most.time;
    const std::int64_t ceiling = all ? most.time : relaxed.bound + above;
    const choice_labels found = set_labels(s, budget, limited, relaxed.price, ceiling, answer.room, x);
    if (found.full) {
      answer.code = choice_search_code::labels_full;
      return;
    }
    answer.count = found.ends < answer.room ? found.ends : answer.room;
    for (int b = 0; b < answer.count; ++b) read_choice(s, x, b, answer);
    if (answer.count == answer.room || all) return;
  }
}

/// Fills `answer` with the best choices of at most `budget` memory. Labels are given room as they need it, to `most`.
constexpr void search_choices(const choice_stages& s, std::int64_t budget, choice_answer& answer,
                              const choice_room& most = {1 << 22, 1 << 21}) {
  for (choice_room now{1 << 6, 1 << 6};; now = {now.labels * 4, now.made * 4}) {
    if (now.labels > most.labels) now.labels = most.labels;
    if (now.made > most.made) now.made = most.made;
    choice_scratch x(s, now);
    detail::search_within_room(s, budget, x, answer);
    if (answer.code != choice_search_code::labels_full) return;
    if (now.labels == most.labels && now.made == most.made) return;
  }
}

}}}  // namespace hyperparallel::v0_2::detail
