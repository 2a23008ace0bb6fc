// SPDX-License-Identifier: Apache-2.0
#pragma once
// Ground truth by exhaustion: everything that can happen when a plan's queues run freely, task by task, begin by begin
// and end by end. Written without the library's algorithms; conflicts come from addresses, not from slots.

#include <bit>
#include <stdexcept>
#include <unordered_map>
#include <utility>
#include <vector>

#include "flows.hpp"

namespace taskflow_test {

/// A set of states, by open addressing.
class state_set {
 public:
  /// False if `state` has been inserted before.
  bool insert(std::uint64_t state) {
    if (2 * (count_ + 1) > places_.size()) grow();
    const bool fresh = put(places_, state + 1);
    count_ += fresh;
    return fresh;
  }
  std::size_t size() const { return count_; }

 private:
  static bool put(std::vector<std::uint64_t>& places, std::uint64_t key) {
    const std::size_t mask = places.size() - 1;
    std::size_t i = (key * 0x9e3779b97f4a7c15U >> 20) & mask;
    for (; places[i] != 0; i = (i + 1) & mask)
      if (places[i] == key) return false;
    places[i] = key;
    return true;
  }
  void grow() {
    std::vector<std::uint64_t> wider(places_.size() * 4);
    for (const std::uint64_t key : places_)
      if (key != 0) put(wider, key);
    places_.swap(wider);
  }
  std::vector<std::uint64_t> places_ = std::vector<std::uint64_t>(1024);
  std::size_t count_ = 0;
};

/// The bytes that an access uses.
struct byte_range {
  int rank, tier;
  std::int64_t begin, end;
};

inline byte_range bytes_of(const loose_plan& p, const hp::access& a) {
  const hp::slot at = p.place_of(a.slot);
  return {at.rank, at.tier, at.offset + a.begin, at.offset + std::min<std::int64_t>(a.end, at.bytes)};
}

/// Whether two accesses meet in a byte that one of them writes.
inline bool collide(const loose_plan& p, const hp::access& a, const hp::access& b) {
  const byte_range u = bytes_of(p, a), v = bytes_of(p, b);
  return u.rank == v.rank && u.tier == v.tier && std::max(u.begin, v.begin) < std::min(u.end, v.end) &&
         (a.mode == hp::access_mode::write || b.mode == hp::access_mode::write);
}

/// Every byte that is used lies inside its tier, and a read finds there what was last written through its own slot:
/// in the reference order, which a plan whose conflicts are ordered is equal to.
inline bool memory_is_sound(const loose_plan& p) {
  const std::vector<std::int64_t> capacity = p.capacities();
  std::vector<std::vector<std::unordered_map<std::int64_t, int>>> owner(
      static_cast<std::size_t>(p.machine.ranks), std::vector<std::unordered_map<std::int64_t, int>>(capacity.size()));
  for (const loose_task& k : p.task) {
    for (const hp::access& a : k.accesses) {
      const byte_range u = bytes_of(p, a);
      const auto rank = static_cast<std::size_t>(u.rank), tier = static_cast<std::size_t>(u.tier);
      if (u.begin < 0 || u.end > capacity[tier]) return false;
      if (a.mode == hp::access_mode::write) continue;
      for (std::int64_t byte = u.begin; byte < u.end; ++byte) {
        const auto found = owner[rank][tier].find(byte);
        if (found != owner[rank][tier].end() && found->second != a.slot) return false;
      }
    }
    for (const hp::access& a : k.accesses) {
      if (a.mode == hp::access_mode::read) continue;
      const byte_range u = bytes_of(p, a);
      for (std::int64_t byte = u.begin; byte < u.end; ++byte)
        owner[static_cast<std::size_t>(u.rank)][static_cast<std::size_t>(u.tier)][byte] = a.slot;
    }
  }
  return true;
}

/// All interleavings of a plan. A state is, per queue, 2 * ended + running, packed into one word.
class interleavings {
 public:
  explicit interleavings(const loose_plan& p) : plan_(p), queues_(p.queue.size()) {
    once_ = place_tasks();
    if (!once_) return;
    find_predecessors();
    count_signals();
    int used = 0;
    for (const auto& q : p.queue) {
      shift_.push_back(used);
      width_.push_back(static_cast<int>(std::bit_width(2 * q.size())));
      used += width_.back();
    }
    if (used > 63) throw std::length_error("a state of this plan does not fit a word");
  }

  /// (1) every task runs exactly once on a queue of its class and rank, and all complete; (2) no task begins while an
  /// earlier one that it conflicts with has not ended.
  bool safe() {
    if (!once_) return false;
    std::vector<std::uint64_t> open{0};
    seen_.insert(0);
    std::vector<std::size_t> at(queues_);
    while (!open.empty()) {
      const std::uint64_t state = open.back();
      open.pop_back();
      bool all_ended = true, moved = false;
      for (std::size_t q = 0; q < queues_; ++q) {
        at[q] = (state >> shift_[q]) & ((std::uint64_t{1} << width_[q]) - 1);
        all_ended = all_ended && at[q] == 2 * plan_.queue[q].size();
      }
      for (std::size_t q = 0; q < queues_; ++q) {
        if (at[q] == 2 * plan_.queue[q].size()) continue;
        const auto t = static_cast<std::size_t>(plan_.queue[q][at[q] / 2]);
        if (at[q] % 2 == 0) {
          if (held(t, at)) continue;
          for (const auto& [queue, place] : must_end_[t])
            if (at[queue] / 2 <= place) return false;
        }
        moved = true;
        const std::uint64_t next = state + (std::uint64_t{1} << shift_[q]);
        if (seen_.insert(next)) open.push_back(next);
      }
      if (!moved && !all_ended) return false;
    }
    return true;
  }
  std::size_t states() const { return seen_.size(); }

 private:
  bool place_tasks() {
    queue_of_.assign(plan_.task.size(), queues_);
    place_.assign(plan_.task.size(), 0);
    for (std::size_t q = 0; q < queues_; ++q)
      for (std::size_t i = 0; i < plan_.queue[q].size(); ++i) {
        const auto t = static_cast<std::size_t>(plan_.queue[q][i]);
        if (queue_of_[t] != queues_) return false;
        queue_of_[t] = q;
        place_[t] = i;
        const loose_task& k = plan_.task[t];
        const int first = hp::detail::first_queue(plan_.machine, k.rank, k.kind), own = static_cast<int>(q);
        if (own < first || own >= first + plan_.machine.queues[static_cast<int>(k.kind)]) return false;
      }
    return std::find(queue_of_.begin(), queue_of_.end(), queues_) == queue_of_.end();
  }
  /// For each task, how far each queue must have come before it may begin.
  void find_predecessors() {
    must_end_.resize(plan_.task.size());
    for (std::size_t b = 0; b < plan_.task.size(); ++b)
      for (std::size_t a = 0; a < b; ++a) {
        bool meets = false;
        for (const auto& u : plan_.task[a].accesses)
          for (const auto& v : plan_.task[b].accesses) meets = meets || collide(plan_, u, v);
        if (meets) must_end_[b].push_back({queue_of_[a], place_[a]});
      }
  }
  /// sent_[q][ended][event]: signals of the first `ended` tasks of queue q.
  void count_signals() {
    const auto events = static_cast<std::size_t>(plan_.events);
    std::vector<int> total(events);
    for (const auto& q : plan_.queue) {
      std::vector<std::vector<int>> sent{std::vector<int>(events)};
      for (const int t : q) {
        sent.push_back(sent.back());
        for (const int e : plan_.task[static_cast<std::size_t>(t)].signals) {
          ++sent.back()[static_cast<std::size_t>(e)];
          ++total[static_cast<std::size_t>(e)];
        }
      }
      sent_.push_back(std::move(sent));
    }
    for (const auto& k : plan_.task) {
      waits_.push_back(k.waits);
      for (auto& w : waits_.back())
        if (w.threshold == hp::all_signals) w.threshold = total[static_cast<std::size_t>(w.event)];
    }
  }
  bool held(std::size_t t, const std::vector<std::size_t>& at) const {
    for (const auto& w : waits_[t]) {
      int count = 0;
      for (std::size_t q = 0; q < queues_; ++q) count += sent_[q][at[q] / 2][static_cast<std::size_t>(w.event)];
      if (count < w.threshold) return true;
    }
    return false;
  }

  const loose_plan& plan_;
  std::size_t queues_;
  bool once_ = false;
  std::vector<std::size_t> queue_of_, place_;
  std::vector<std::vector<std::pair<std::size_t, std::size_t>>> must_end_;
  std::vector<std::vector<std::vector<int>>> sent_;
  std::vector<std::vector<hp::wait>> waits_;
  std::vector<int> shift_, width_;
  state_set seen_;
};

inline bool safe_in_every_interleaving(const loose_plan& p) { return memory_is_sound(p) && interleavings(p).safe(); }

}  // namespace taskflow_test
