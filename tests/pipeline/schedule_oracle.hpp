// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a schedule means, written without the library's codes and sweeps: the oracle of the replay.

#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include <hyperparallel/pipeline/costs.hpp>
#include <hyperparallel/pipeline/schedule.hpp>

namespace schedule_oracle {

namespace hp = hyperparallel;
using kind = hp::action_kind;
using rows = std::vector<std::vector<hp::pipeline_action>>;  ///< rank → its actions, without idle slots

inline rows rows_of(const hp::pipeline_schedule& s) {
  rows r(static_cast<std::size_t>(s.ranks));
  for (int rank = 0; rank < s.ranks; ++rank)
    for (int i = s.first[rank]; i < s.first[rank + 1]; ++i)
      if (s.action[i] != hp::idle_slot) r[static_cast<std::size_t>(rank)].push_back(s.coding().action(s.action[i]));
  return r;
}
/// `r` in the place of the rows of `like`.
inline hp::pipeline_schedule schedule_of(const hp::pipeline_schedule& like, const rows& r) {
  hp::pipeline_schedule s = like;
  s.action.clear();
  s.first.clear();
  for (const auto& row : r) {
    s.first.push(s.action.size);
    for (const hp::pipeline_action& a : row) s.action.push(s.coding().code(a));
  }
  s.first.push(s.action.size);
  return s;
}

/// Of a stage that is held twice the second copy has the second half of the micro-batches.
inline int rank_of(const hp::pipeline_schedule& s, int stage, int k) {
  return s.rank_of_stage[s.copies * stage + (s.copies == 2 && k >= s.micro_batches / 2 ? 1 : 0)];
}

struct outcome {
  bool safe = false;
  std::int64_t makespan = 0, span = 0;
  std::vector<std::int64_t> busy;
  std::vector<int> peak, peak_until_input;
};

/// Greedy run: any rank whose next action has all it needs runs it. Safe schedules end whatever the order of ranks.
inline outcome run(const hp::pipeline_schedule& s, const hp::pipeline_costs& c) {
  using cell = std::tuple<int, int, int>;  // 0 F, 1 gradient of the input, 2 of the weights; stage; micro-batch
  std::map<cell, std::int64_t> end;
  std::map<cell, int> count;
  const rows all = rows_of(s);
  outcome o;
  for (int r = 0; r < s.ranks; ++r)
    for (const hp::pipeline_action& a : all[static_cast<std::size_t>(r)]) {
      if (rank_of(s, a.stage, a.micro_batch) != r) return o;
      if (a.kind == kind::forward || a.kind == kind::overlapped_forward) ++count[{0, a.stage, a.micro_batch}];
      if (a.kind == kind::input_gradient || a.kind == kind::backward) ++count[{1, a.stage, a.micro_batch}];
      if (a.kind == kind::weight_gradient || a.kind == kind::backward) ++count[{2, a.stage, a.micro_batch}];
    }
  for (int what = 0; what < 3; ++what)
    for (int t = 0; t < s.stages; ++t)
      for (int k = 0; k < s.micro_batches; ++k)
        if (count[{what, t, k}] != 1) return o;

  const auto times = [&](const hp::pipeline_action& a) {
    return hp::entry_of(c.times, s.stages, s.micro_batches, a.stage, a.micro_batch);
  };
  const auto arrival = [&](const cell& from, int to_stage) -> std::int64_t {  // −1: not yet
    const auto at = end.find(from);
    if (at == end.end()) return -1;
    const auto [what, stage, k] = from;
    return at->second + (rank_of(s, stage, k) != rank_of(s, to_stage, k) ? c.latency : 0);
  };
  const auto ready = [&](const hp::pipeline_action& a) -> std::int64_t {
    const int t = a.stage, k = a.micro_batch;
    switch (a.kind) {
      case kind::forward:
      case kind::overlapped_forward:
        return t == 0 ? 0 : arrival({0, t - 1, k}, t);
      case kind::input_gradient:
      case kind::backward: {
        const std::int64_t own = arrival({0, t, k}, t), next = t + 1 == s.stages ? 0 : arrival({1, t + 1, k}, t);
        return own < 0 || next < 0 ? -1 : std::max(own, next);
      }
      case kind::weight_gradient:
        return arrival({1, t, k}, t);
      default:
        return 0;
    }
  };
  const auto time_of = [&](const hp::pipeline_action& a) -> std::int64_t {
    const hp::stage_times t = times(a);
    switch (a.kind) {
      case kind::forward:
      case kind::overlapped_forward:
        return t.forward;
      case kind::input_gradient:
        return t.input_gradient;
      case kind::weight_gradient:
        return t.weight_gradient;
      case kind::backward:
        return t.input_gradient + t.weight_gradient;
      default:
        return 0;
    }
  };
  const std::size_t ranks = all.size();
  std::vector<std::size_t> next(ranks, 0);
  std::vector<std::int64_t> clock(ranks, 0), begin(ranks, -1);
  std::vector<int> live(ranks, 0), live_input(ranks, 0);
  o.busy.assign(ranks, 0);
  o.peak.assign(ranks, 0);
  o.peak_until_input.assign(ranks, 0);
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t r = 0; r < ranks; ++r) {
      if (next[r] == all[r].size()) continue;
      std::vector<hp::pipeline_action> together = {all[r][next[r]]};
      if (together[0].kind == kind::overlapped_forward) {
        if (next[r] + 1 == all[r].size()) return o;
        together.push_back(all[r][next[r] + 1]);
        if (together[1].kind != kind::input_gradient && together[1].kind != kind::backward) return o;
      }
      std::int64_t start = clock[r], time = 0;
      bool can = true;
      for (const hp::pipeline_action& a : together) {
        const std::int64_t at = ready(a);
        can = can && at >= 0;
        start = std::max(start, at);
        time += time_of(a);
      }
      if (!can) continue;
      if (together.size() == 2 && c.overlapped_pair >= 0) time = c.overlapped_pair;
      if (begin[r] < 0) begin[r] = start;
      clock[r] = start + time;
      o.busy[r] += time;
      for (const hp::pipeline_action& a : together) {
        const int t = a.stage, k = a.micro_batch;
        if (a.kind == kind::forward || a.kind == kind::overlapped_forward) {
          end[{0, t, k}] = clock[r];
          o.peak[r] = std::max(o.peak[r], ++live[r]);
          o.peak_until_input[r] = std::max(o.peak_until_input[r], ++live_input[r]);
        }
        if (a.kind == kind::input_gradient || a.kind == kind::backward) {
          end[{1, t, k}] = clock[r];
          --live_input[r];
        }
        if (a.kind == kind::weight_gradient || a.kind == kind::backward) --live[r];
      }
      next[r] += together.size();
      moved = true;
    }
  }
  for (std::size_t r = 0; r < ranks; ++r) {
    if (next[r] != all[r].size()) return o;
    o.makespan = std::max(o.makespan, clock[r]);
    o.span = std::max(o.span, clock[r] - begin[r]);
  }
  o.safe = true;
  return o;
}

}  // namespace schedule_oracle
