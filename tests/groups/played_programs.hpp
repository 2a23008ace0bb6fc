// SPDX-License-Identifier: Apache-2.0
#pragma once
// Random graphs of programs, and every order in which their firings may begin and end, played without max-plus or paths.

#include <hyperparallel/groups/check_programs.hpp>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "support/tries.hpp"

namespace played {

namespace hp = hyperparallel;
using tested::tries;

struct setting {
  hp::program_graph graph;
  hp::group_table table;
};

class dice {
 public:
  explicit dice(unsigned seed) : engine_(seed) {}
  /// One of 0 to n - 1.
  int operator()(int n) { return static_cast<int>(engine_() % static_cast<unsigned>(n)); }

 private:
  std::mt19937 engine_;
};

/// Programs on groups of a small world, with rows of one order; it may be refused.
inline setting any_setting(dice& roll, int most_programs, int most_edges, bool newest = true) {
  setting s;
  s.table.world = 4;
  const int groups = 1 + roll(3), programs = 2 + roll(most_programs - 1);
  for (int g = 0; g < groups; ++g) {
    const int first = roll(4);
    hp::add_group(s.table, ("g" + std::to_string(g)).c_str(), hp::rank_range{first, first + roll(4 - first)});
  }
  for (int p = 0; p < programs; ++p)
    hp::add_program(s.graph, ("p" + std::to_string(p)).c_str(), ("g" + std::to_string(roll(groups))).c_str(), roll(12));
  for (int e = 1 + roll(most_edges); e > 0; --e) {
    const int ready = roll(3);
    hp::connect(s.graph, {.name = ("e" + std::to_string(e)).c_str(),
                          .from = roll(programs),
                          .to = roll(programs),
                          .ready = ready,
                          .room = std::max(1, ready + roll(3)),
                          .move = roll(3) == 0 ? 1 + roll(5) : 0,
                          .reads = newest && roll(3) == 0 ? hp::edge_reads::newest : hp::edge_reads::every});
  }
  hp::growing_array<int> order;
  for (int p = 0; p < programs; ++p) order.push(p);
  for (int p = programs - 1; p > 0; --p) std::swap(order[p], order[roll(p + 1)]);
  s.graph.row = hp::rows_of(s.graph, s.table, order);
  return s;
}
/// One that is accepted.
inline setting safe_setting(dice& roll, int most_programs, int most_edges, bool newest = true) {
  for (;;) {
    setting s = any_setting(roll, most_programs, most_edges, newest);
    if (hp::check_programs(s.graph, s.table).ok()) return s;
  }
}

/// What some order of play does.
struct seen {
  bool complete = true;  ///< every order was played
  bool stuck = false, waits_broken = false, device_twice = false, read_too_early = false, held_too_many = false;
  int behind = -1;  ///< the most that edge `weights` is behind where its writer fires
};

/// Plays `firings` of each program under these waits alone; what breaks is judged by graph and groups. With an edge
/// `weights`, follows what is made with its versions.
class player {
 public:
  player(const setting& s, const hp::growing_array<hp::program_wait>& waits, int firings, int weights = -1)
      : g_(s.graph), waits_(waits), asked_(hp::waits_of(s.graph)), firings_(firings), weights_(weights) {
    const int programs = g_.program.size;
    for (int a = 0; a < programs; ++a)
      for (int b = 0; b < programs; ++b) {
        const int ga = hp::find_group(s.table, g_.program[a].group.text),
                  gb = hp::find_group(s.table, g_.program[b].group.text);
        bool meet = false;
        for (int r = 0; r < s.table.world; ++r)
          meet = meet || (hp::position_in(s.table.group[ga], r) >= 0 && hp::position_in(s.table.group[gb], r) >= 0);
        meet_.push_back(meet);
      }
  }

  seen play(int most_states = 40'000) {
    state first;
    const auto programs = static_cast<std::size_t>(g_.program.size), edges = static_cast<std::size_t>(g_.edge.size);
    first.started = first.ended = std::vector<int>(programs, 0);
    first.arrived = std::vector<int>(edges, 0);
    first.fired.resize(weights_ >= 0 ? programs : 0);
    std::vector<state> open{first};
    known_.insert(first);
    while (!open.empty()) {
      if (known_.size() > static_cast<std::size_t>(most_states)) {
        seen_.complete = false;
        return seen_;
      }
      const state at = open.back();
      open.pop_back();
      bool moved = false;
      const auto go = [&](const state& next) {
        moved = true;
        if (known_.insert(next).second) open.push_back(next);
      };
      for (std::size_t p = 0; p < programs; ++p) {
        if (at.started[p] < firings_ && may_start(at, static_cast<int>(p))) go(start(at, static_cast<int>(p)));
        if (at.started[p] > at.ended[p]) {
          state next = at;
          ++next.ended[p];
          go(next);
        }
      }
      for (std::size_t e = 0; e < edges; ++e)
        if (at.arrived[e] < at.ended[static_cast<std::size_t>(g_.edge[static_cast<int>(e)].from)]) {
          state next = at;
          ++next.arrived[e];
          go(next);
        }
      if (!moved)
        for (const int ended : at.ended) seen_.stuck = seen_.stuck || ended < firings_;
    }
    return seen_;
  }

 private:
  struct state {
    std::vector<int> started, ended, arrived;
    std::vector<std::vector<int>> fired;  ///< of each program: the oldest version that each firing was made with
    auto operator<=>(const state&) const = default;
  };
  static constexpr int none = 1000;

  /// Firings of the writer whose versions are there.
  int there(const state& s, int e) const {
    const auto edge = static_cast<std::size_t>(e);
    return g_.edge[e].move > 0 ? s.arrived[edge] : s.ended[static_cast<std::size_t>(g_.edge[e].from)];
  }
  bool met(const state& s, const hp::program_wait& w) const {
    const int k = s.started[static_cast<std::size_t>(w.to)] - w.back;
    return k < 0 || (w.kind == hp::wait_kind::delivery && w.delay > 0 ? there(s, w.number)
                                                                      : s.ended[static_cast<std::size_t>(w.from)]) > k;
  }
  bool may_start(const state& s, int p) const {
    for (const hp::program_wait& w : waits_)
      if (w.to == p && !met(s, w)) return false;
    return true;
  }
  state start(state s, int p) {
    const int k = s.started[static_cast<std::size_t>(p)];
    for (const hp::program_wait& w : asked_) seen_.waits_broken = seen_.waits_broken || (w.to == p && !met(s, w));
    for (int q = 0; q < g_.program.size; ++q)
      if (meet_[static_cast<std::size_t>(p * g_.program.size + q)] &&
          s.started[static_cast<std::size_t>(q)] > s.ended[static_cast<std::size_t>(q)])
        seen_.device_twice = true;
    int oldest = none;
    for (int e = 0; e < g_.edge.size; ++e) {
      const hp::program_edge& edge = g_.edge[e];
      if (edge.from == p && edge.reads == hp::edge_reads::every)
        seen_.held_too_many =
            seen_.held_too_many || edge.ready + k + 1 - s.ended[static_cast<std::size_t>(edge.to)] > edge.room;
      if (edge.to != p) continue;
      const int written = there(s, e);
      seen_.read_too_early = seen_.read_too_early || k >= edge.ready + written;
      if (weights_ < 0) continue;
      const int by = edge.reads == hp::edge_reads::every ? k - edge.ready : written - 1;  // the firing that wrote it
      if (e == weights_)
        oldest = std::min(oldest, std::max(0, by + 1));
      else if (edge.from != g_.edge[weights_].from && by >= 0 &&
               by < static_cast<int>(s.fired[static_cast<std::size_t>(edge.from)].size()))
        oldest = std::min(oldest, s.fired[static_cast<std::size_t>(edge.from)][static_cast<std::size_t>(by)]);
    }
    if (weights_ >= 0) {
      if (p == g_.edge[weights_].from && oldest != none) seen_.behind = std::max(seen_.behind, k - oldest);
      s.fired[static_cast<std::size_t>(p)].push_back(oldest);
    }
    ++s.started[static_cast<std::size_t>(p)];
    return s;
  }

  hp::program_graph g_;
  hp::growing_array<hp::program_wait> waits_, asked_;
  int firings_, weights_;
  std::vector<bool> meet_;
  std::set<state> known_;
  seen seen_;
};

/// Under the graph's own waits.
inline seen play(const setting& s, int firings, int weights = -1) {
  return player(s, hp::waits_of(s.graph), firings, weights).play();
}

/// Firings after which nothing new begins: beyond the farthest wait.
inline int enough_firings(const hp::growing_array<hp::program_wait>& waits) {
  int most = 0;
  for (const hp::program_wait& w : waits) most = std::max(most, w.back);
  return most + 2;
}

}  // namespace played
