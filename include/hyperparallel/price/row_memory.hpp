// SPDX-License-Identifier: Apache-2.0
#pragma once
// The most memory that each rank of a pipeline holds along the row of its schedule, from what the actions of its stages take.
//
//   const hp::growing_array<hp::extent_t> most = hp::peaks_of_ranks(holdings, schedule);
//
// Rows are walked in rounds, as unrolled_rows.hpp walks them. In an action a rank has what the other micro-batches hold, the most that
// the action takes itself, what the next one is handed, which is there an action before, and what the one before has handed over,
// which is there an action longer. What each stage accumulates is at home there, where its graph went through
// `accumulate_by_part`; the gradient of a tied table that the last stage has accumulated the first one takes in for its norm, which
// needs no buffer where one rank has both.
//
// Law: of the program of all stages unrolled every rank has no less than 97 % of its memory account and no more than 3 % beyond its
// addresses, whose gaps are not counted. Bytes of tier 0 of a device. O(rounds · ranks + actions).

#include <hyperparallel/pipeline/schedule.hpp>
#include <hyperparallel/price/action_memory.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// Walks all rows. Only the last micro-batch of a stage leaves something to norm and update.
class row_memory {
 public:
  constexpr row_memory(const growing_array<stage_holding>& of_stage, const pipeline_schedule& schedule)
      : stage(of_stage), s(schedule) {
    rank_.resize(s.ranks, rank_state{});
    forward_done_.resize(s.stages * s.micro_batches, false);
    gradient_done_.resize((s.stages + 1) * s.micro_batches, false);
    for (int k = 0; k < s.micro_batches; ++k) gradient_done_[s.stages * s.micro_batches + k] = true;
  }

  constexpr growing_array<extent_t> run() {
    for (int r = 0; r < s.ranks; ++r) rank_[r].at = next(s.first[r], r);
    growing_array<int> now;  // ranks that work in the round
    do {
      now.clear();
      for (int r = 0; r < s.ranks; ++r)
        if (rank_[r].at < s.first[r + 1] && is_ready(action(rank_[r].at))) now.push(r);
      for (const int r : now) work_off(r);
      for (const int r : now) finish(r);
    } while (!now.empty());
    growing_array<extent_t> most;
    for (int r = 0; r < s.ranks; ++r) {
      pass(r, &stage_holding::norm, &stage_holding::weight_gradient);
      pass(r, &stage_holding::update, &stage_holding::norm);
      extent_t home = 0;
      for (int t = 0; t < s.stages; ++t)
        if (s.lies_on(t, r)) home += stage[t].home - (t > 0 && s.lies_on(0, r) ? stage[t].shared_home : 0);
      most.push(home + rank_[r].most);
    }
    return most;
  }

 private:
  struct rank_state {
    int at = 0;
    pipeline_action worked{};  ///< in this round
    extent_t held = 0, handed = 0, most = 0;
  };

  constexpr pipeline_action action(int at) const { return s.coding().action(s.action[at]); }
  constexpr int place(int t, int k) const { return t * s.micro_batches + k; }
  /// The entry from `at` on that computes; the end of the row where there is none.
  constexpr int next(int at, int r) const {
    while (at < s.first[r + 1] && (s.action[at] == idle_slot || !is_compute(action(at).kind))) ++at;
    return at;
  }
  static constexpr bool is_forward(action_kind k) {
    return k == action_kind::forward || k == action_kind::overlapped_forward;
  }
  static constexpr bool ends_micro_batch(action_kind k) {
    return k == action_kind::weight_gradient || k == action_kind::backward;
  }
  constexpr bool is_ready(const pipeline_action& a) const {
    if (is_forward(a.kind)) return a.stage == 0 || forward_done_[place(a.stage - 1, a.micro_batch)];
    if (a.kind == action_kind::weight_gradient) return gradient_done_[place(a.stage, a.micro_batch)];
    return forward_done_[place(a.stage, a.micro_batch)] && gradient_done_[place(a.stage + 1, a.micro_batch)];
  }
  constexpr void note(rank_state& r, extent_t bytes) { r.most = larger(r.most, bytes); }

  constexpr void work_off(int rank) {
    rank_state& r = rank_[rank];
    const pipeline_action a = r.worked = action(r.at);
    const action_memory& m = stage[a.stage].of(a.kind);
    r.at = next(r.at + 1, rank);
    r.held -= stage[a.stage].level(a.kind);
    const bool ends = r.at == s.first[rank + 1];
    const extent_t taken_in = ends ? 0 : stage[action(r.at).stage].of(action(r.at).kind).taken_in;
    note(r, r.held + m.peak + r.handed + taken_in);
    r.held += ends_micro_batch(a.kind) && a.micro_batch + 1 < s.micro_batches ? 0 : m.after;
    r.handed = m.handed_on;
  }
  constexpr void finish(int rank) {
    const pipeline_action a = rank_[rank].worked;
    if (is_forward(a.kind)) forward_done_[place(a.stage, a.micro_batch)] = true;
    if (a.kind == action_kind::input_gradient || a.kind == action_kind::backward)
      gradient_done_[place(a.stage, a.micro_batch)] = true;
  }
  /// What a rank does with all of its stages when the micro-batches are over. What the last one hands to the first is there.
  constexpr void pass(int rank, action_memory stage_holding::* what, action_memory stage_holding::* before) {
    rank_state& r = rank_[rank];
    for (int t = 0; t < s.stages; ++t) {
      if (!s.lies_on(t, rank)) continue;
      const action_memory& m = stage[t].*what;
      const extent_t there = t == 0 && s.lies_on(s.stages - 1, rank) ? m.taken_in : 0;
      r.held -= (stage[t].*before).after;
      note(r, r.held + larger(m.peak - there, m.after));
      r.held += m.after;
    }
  }

  const growing_array<stage_holding>& stage;
  const pipeline_schedule& s;
  growing_array<rank_state> rank_;
  growing_array<bool> forward_done_, gradient_done_;  // by stage and micro-batch; of gradients, a row for the loss, too
};

}  // namespace detail

/// The most that a device of each rank holds. Precondition: a holding for each stage of the schedule, which holds each once.
constexpr growing_array<extent_t> peaks_of_ranks(const growing_array<stage_holding>& stages,
                                                 const pipeline_schedule& s) {
  return detail::row_memory(stages, s).run();
}

}}  // namespace hyperparallel::v0_2
