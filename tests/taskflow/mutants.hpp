// SPDX-License-Identifier: Apache-2.0
#pragma once
// Classes of mistakes that a lowering or a scheduler could make, each a single change of a safe plan.

#include <algorithm>

#include "oracle.hpp"

namespace taskflow_test {

enum class mutation {
  dropped_wait,
  lowered_threshold,
  swapped_neighbours,
  merged_events,
  missing_signal,
  duplicated_task,
  raised_threshold,
  slot_alias,
  removed_task,
  moved_wait,
  moved_task,
  rendezvous_mismatch,
  early_release,
  capacity,
};
inline constexpr int mutation_count = 14;

inline constexpr const char* mutation_names[mutation_count] = {
    "dropped wait",    "lowered threshold", "swapped neighbours", "merged events", "missing signal",
    "duplicated task", "raised threshold",  "slot alias",         "removed task",  "wait for another event",
    "task moved",      "rendezvous order",  "early release",      "capacity"};

namespace detail {

template <class List>
std::size_t pick(std::mt19937& random, const List& list) {
  return static_cast<std::size_t>(below(random, static_cast<int>(list.size())));
}

inline void remove_from_queues(loose_plan& p, std::size_t t) {
  for (auto& tasks : p.queue) tasks.erase(std::remove(tasks.begin(), tasks.end(), static_cast<int>(t)), tasks.end());
}

/// One rank handles two messages the other way round. False where chance picked a queue without two.
inline bool reorder_rendezvous(loose_plan& p, std::mt19937& random) {
  std::vector<int>& q = p.queue[pick(random, p.queue)];
  std::vector<int> pairs;
  for (const int t : q) {
    const int pair = p.task[static_cast<std::size_t>(t)].pair;
    if (pair >= 0 && std::find(pairs.begin(), pairs.end(), pair) == pairs.end()) pairs.push_back(pair);
  }
  if (pairs.size() < 2) return false;
  const std::size_t i = pick(random, pairs), j = pick(random, pairs);
  if (i >= j) return false;
  // The tasks of the later message go in front of the first one of the earlier.
  const auto pair_of = [&](int t) { return p.task[static_cast<std::size_t>(t)].pair; };
  std::vector<int> reordered, late, rest;
  for (const int t : q) (pair_of(t) == pairs[j] ? late : rest).push_back(t);
  for (const int t : rest) {
    if (pair_of(t) == pairs[i]) {
      reordered.insert(reordered.end(), late.begin(), late.end());
      late.clear();
    }
    reordered.push_back(t);
  }
  q = reordered;
  return true;
}

/// A buffer's next tenant no longer waits for one of its readers: the reader does not tell, or an earlier user of the
/// buffer tells in its place.
inline bool release_early(loose_plan& p, std::mt19937& random) {
  struct release {
    std::size_t reader, signal;
    int event;
    std::vector<std::size_t> earlier;
  };
  std::vector<release> found;
  for (std::size_t b = 0; b < p.task.size(); ++b)
    for (std::size_t r = 0; r < b; ++r) {
      bool reads_before = false;
      std::vector<std::size_t> earlier;
      for (const auto& u : p.task[r].accesses)
        for (const auto& v : p.task[b].accesses) {
          if (u.mode != hp::access_mode::read || v.mode != hp::access_mode::write || !collide(p, u, v)) continue;
          reads_before = true;
          for (std::size_t o = 0; o < r; ++o)
            for (const auto& w : p.task[o].accesses)
              if (w.slot == u.slot && (earlier.empty() || earlier.back() != o)) earlier.push_back(o);
        }
      if (!reads_before) continue;
      for (std::size_t g = 0; g < p.task[r].signals.size(); ++g)
        for (const auto& w : p.task[b].waits)
          if (w.event == p.task[r].signals[g]) found.push_back({r, g, w.event, earlier});
    }
  if (found.empty()) return false;
  const release one = found[pick(random, found)];
  auto& signals = p.task[one.reader].signals;
  signals.erase(signals.begin() + static_cast<std::ptrdiff_t>(one.signal));
  if (!one.earlier.empty() && below(random, 2) == 0) {
    p.task[one.earlier[pick(random, one.earlier)]].signals.push_back(one.event);
    return true;
  }
  for (auto& k : p.task)
    for (std::size_t w = k.waits.size(); w-- > 0;)
      if (k.waits[w].event == one.event && --k.waits[w].threshold == 0)
        k.waits.erase(k.waits.begin() + static_cast<std::ptrdiff_t>(w));
  return true;
}

/// A slot beyond its tier, or on the addresses of another.
inline bool misplace_slot(loose_plan& p, std::mt19937& random) {
  for (int s = static_cast<int>(p.place.size()); s < p.slots; ++s) p.place.push_back(p.place_of(s));
  if (p.capacity.empty()) {
    p.capacity.assign(1, 0);
    for (const hp::slot& s : p.place) p.capacity[0] = std::max(p.capacity[0], s.offset + s.bytes);
  }
  if (p.place.empty()) return false;
  hp::slot& own = p.place[pick(random, p.place)];
  if (below(random, 4) == 0) {
    own.offset = p.capacity[static_cast<std::size_t>(own.tier)] - below(random, static_cast<int>(own.bytes));
    return true;
  }
  const hp::slot& other = p.place[pick(random, p.place)];
  if (&other == &own || other.rank != own.rank || other.tier != own.tier) return false;
  own.offset = other.offset + below(random, static_cast<int>(other.bytes));
  return true;
}

}  // namespace detail

/// False where the mutation does not apply to what chance picked. Thresholds of `p` are frozen.
inline bool mutate(loose_plan& p, mutation which, std::mt19937& random) {
  using detail::pick;
  const std::size_t t = pick(random, p.task), q = pick(random, p.queue);
  loose_task& k = p.task[t];
  switch (which) {
    case mutation::dropped_wait:
      if (k.waits.empty()) return false;
      k.waits.erase(k.waits.begin() + static_cast<std::ptrdiff_t>(pick(random, k.waits)));
      return true;
    case mutation::lowered_threshold: {
      if (k.waits.empty()) return false;
      hp::wait& w = k.waits[pick(random, k.waits)];
      if (w.threshold <= 1) return false;
      --w.threshold;
      return true;
    }
    case mutation::swapped_neighbours: {
      if (p.queue[q].size() < 2) return false;
      const auto i = static_cast<std::size_t>(below(random, static_cast<int>(p.queue[q].size()) - 1));
      std::swap(p.queue[q][i], p.queue[q][i + 1]);
      return true;
    }
    case mutation::merged_events: {  // thresholds kept
      const int a = below(random, p.events), b = below(random, p.events);
      for (auto& o : p.task) {
        for (auto& w : o.waits) w.event = w.event == b ? a : w.event;
        for (auto& e : o.signals) e = e == b ? a : e;
      }
      return a != b;
    }
    case mutation::missing_signal:
      if (k.signals.empty()) return false;
      k.signals.erase(k.signals.begin() + static_cast<std::ptrdiff_t>(pick(random, k.signals)));
      return true;
    case mutation::duplicated_task:
      p.queue[q].insert(p.queue[q].begin() + below(random, static_cast<int>(p.queue[q].size()) + 1),
                        static_cast<int>(t));
      return true;
    case mutation::raised_threshold:
      if (k.waits.empty()) return false;
      ++k.waits[pick(random, k.waits)].threshold;
      return true;
    case mutation::slot_alias: {
      if (p.slots == 0) return false;
      const int a = below(random, p.slots), b = below(random, p.slots);
      for (auto& o : p.task)
        for (auto& u : o.accesses) u.slot = u.slot == b ? a : u.slot;
      return a != b && p.place_of(a).bytes == p.place_of(b).bytes;
    }
    case mutation::removed_task:
      detail::remove_from_queues(p, t);
      return true;
    case mutation::moved_wait:
      if (k.waits.empty()) return false;
      k.waits[pick(random, k.waits)].event = below(random, p.events);
      return true;
    case mutation::moved_task:  // to another queue, or another place of its own
      detail::remove_from_queues(p, t);
      p.queue[q].insert(p.queue[q].begin() + below(random, static_cast<int>(p.queue[q].size()) + 1),
                        static_cast<int>(t));
      return true;
    case mutation::rendezvous_mismatch:
      return detail::reorder_rendezvous(p, random);
    case mutation::early_release:
      return detail::release_early(p, random);
    case mutation::capacity:
      return detail::misplace_slot(p, random);
  }
  return false;
}

}  // namespace taskflow_test
