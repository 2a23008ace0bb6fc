// SPDX-License-Identifier: Apache-2.0
#pragma once
// A chain of nodes that each take one of their candidates, with costs between neighbours, as a layered graph whose
// paths are the choices: a state of a stage is the candidate that the node before took.
//
//   time(choice)   = Σ nodes  time[candidate]  +  Σ neighbours  between(candidate, candidate of the next)
//   memory(choice) = Σ nodes  memory[candidate]
//
// Times are picoseconds, memories bytes, none of them negative. `impossible_time` on a candidate or between two forbids
// it. Law: the paths from the one state of the first stage to the one behind the last are the choices that nothing
// forbids, in lexicographic order. Building takes O(transitions).

#include <hyperparallel/support/growing_array.hpp>

#include <cstdint>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

inline constexpr std::int64_t impossible_time = INT64_MAX;

struct choice_candidate {
  std::int64_t time = 0, memory = 0;
};

struct choice_stage {
  int candidates = 0;
  int states = 0, first_state = 0;
  int first_transition = 0;  ///< state s of the stage by candidate c: first_transition + s · candidates + c
  int first_memory = 0;      ///< candidate c: memory[first_memory + c]
};

/// A transition leads from a state of its stage to `next`, a state of the following stage, numbered over all stages.
struct choice_stages {
  growing_array<choice_stage> stage;  ///< and, once closed, one behind the last
  growing_array<std::int64_t> memory;
  growing_array<std::int64_t> time;  ///< or impossible_time
  growing_array<int> next;
  int states = 1, widest = 1;

  /// Number of nodes. Precondition: closed.
  constexpr int size() const { return stage.size - 1; }

  /// Appends a node; `between(a, c)` is the time between candidate a of the node before and candidate c of this one.
  template <class Between>
  constexpr void add(const growing_array<choice_candidate>& candidate, const Between& between) {
    const bool first = stage.empty();
    const int before = first ? 1 : stage.last().candidates;
    stage.push({candidate.size, before, states - before, time.size, memory.size});
    for (const choice_candidate& c : candidate) memory.push(c.memory);
    for (int a = 0; a < before; ++a)
      for (int c = 0; c < candidate.size; ++c) {
        const std::int64_t apart = first ? 0 : between(a, c), own = candidate[c].time;
        const bool impossible = own == impossible_time || apart == impossible_time;
        time.push(impossible ? impossible_time : own + apart);
        next.push(states + c);
      }
    states += candidate.size;
    if (widest < candidate.size) widest = candidate.size;
  }
  /// Leads all candidates of the last node to one state. Precondition: a node was added.
  constexpr void close() {
    states -= stage.last().candidates;
    for (int t = stage.last().first_transition; t < next.size; ++t) next[t] = states;
    stage.push({0, 1, states++, time.size, memory.size});
  }
};

}}}  // namespace hyperparallel::v0_2::detail
