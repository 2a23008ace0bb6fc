// SPDX-License-Identifier: Apache-2.0
#pragma once
// Whether a schedule's rows have just the actions of a program's stages, and what each action reads.
//
// Laws: each action's work stands once for each micro-batch, in the row of its stage's part; gradients are accumulated in the order of
// micro-batches, unless any order is allowed. O(steps + entries).

#include <hyperparallel/lowering/stage_work.hpp>
#include <hyperparallel/pipeline/schedule.hpp>

namespace hyperparallel { inline namespace v0_2 {

enum class unroll_code : unsigned char {
  ok,
  program_is_refused,
  micro_batches_differ,  ///< `given` of the schedule, `expected` of the graph
  stages_differ,         ///< `given` of the schedule, `expected` of the program
  ranks_differ,          ///< `given` of the schedule, `expected` parts
  copies_differ,         ///< `given` of each stage in the schedule, `expected` programs
  copies_are_unlike,  ///< strategies of the groups differ, which a schedule that holds each stage twice does not take
  action_is_of_another_kind,     ///< `action` moves, gathers or offloads, which the program says itself
  action_stands_elsewhere,       ///< `action` is in the row of `rank`, its stage is another's
  action_is_missing_or_doubled,  ///< `action` stands `given` times
  row_waits_for_ever,            ///< `action` of `rank` is never ready
  accumulated_out_of_order       ///< `action` comes before that of an earlier micro-batch
};

constexpr const char* to_text(unroll_code c) {
  constexpr const char* text[] = {"ok",
                                  "the program is refused",
                                  "the schedule has another number of micro-batches",
                                  "the schedule has another number of stages",
                                  "the schedule has another number of ranks",
                                  "the schedule holds each stage another number of times",
                                  "the schedule holds each stage twice, and the strategies of the groups differ",
                                  "the schedule has an action that is none of computing",
                                  "the schedule has an action in the row of another rank",
                                  "the schedule has an action not once",
                                  "the schedule stops: an action waits for ever",
                                  "the schedule accumulates gradients out of the order of micro-batches"};
  return text[static_cast<int>(c)];
}

struct unroll_status {
  unroll_code code = unroll_code::ok;
  pipeline_action action{};
  int rank = -1;
  int given = 0, expected = 0;
  constexpr bool ok() const { return code == unroll_code::ok; }
  friend constexpr bool operator==(const unroll_status&, const unroll_status&) = default;
};

struct unroll_options {
  /// Gradients may be accumulated in the order of the rows, which changes their last bits.
  bool accumulates_in_any_order = false;
  /// Each stage follows the one before it forward and the one behind it backward, whether it reads from it or not.
  bool stages_are_a_line = true;
};

namespace detail {

/// A schedule beside the programs of its stages: one, or two of copies.
class schedule_check {
 protected:
  constexpr schedule_check(const sharded_program& p, const sharded_program* mirrored, const pipeline_schedule& s,
                           const unroll_options& how)
      : p_(p), s_(s), how_(how), work_(work_of_steps(p)), of_copy_{&p, mirrored} {}

  static constexpr int works = micro_works;

  constexpr int copies() const { return of_copy_[1] == nullptr ? 1 : 2; }
  constexpr bool ok() const { return status_.ok(); }
  constexpr void fail(const unroll_status& s) {
    if (ok()) status_ = s;
  }
  static constexpr bool does(action_kind k, stage_work w) {
    if (k == action_kind::forward || k == action_kind::overlapped_forward) return w == stage_work::forward;
    if (k == action_kind::input_gradient) return w == stage_work::input_gradient;
    if (k == action_kind::weight_gradient) return w == stage_work::weight_gradient;
    return w == stage_work::input_gradient || w == stage_work::weight_gradient;
  }
  constexpr int node(int stage, stage_work w) const { return stage * works + static_cast<int>(w); }

  constexpr void check_shape() {
    for (int c = 0; c < copies(); ++c)
      if (of_copy_[c]->status.code != strategy_code::ok) return fail({unroll_code::program_is_refused});
    if (s_.micro_batches != p_.graph.micro_batches)
      return fail({unroll_code::micro_batches_differ, {}, -1, s_.micro_batches, p_.graph.micro_batches});
    for (const program_step& s : p_.step) stages_ = s.stage >= stages_ ? s.stage + 1 : stages_;
    if (s_.stages != stages_) return fail({unroll_code::stages_differ, {}, -1, s_.stages, stages_});
    if (s_.ranks != parts_of(p_)) return fail({unroll_code::ranks_differ, {}, -1, s_.ranks, parts_of(p_)});
    if (copies() == 2 && of_copy_[1]->step.size != p_.step.size) return fail({unroll_code::copies_are_unlike});
    if (s_.copies != copies()) return fail({unroll_code::copies_differ, {}, -1, s_.copies, copies()});
  }

  /// Every work of every stage and micro-batch stands once, in the row of the stage's part; weights in order.
  constexpr void check_actions() {
    growing_array<int> times(stages_ * works * s_.micro_batches, 0),
        last(stages_ * copies(), -1);  // of each work and micro-batch; of each copy of each stage: the last W
    for (int r = 0; r < s_.ranks; ++r)
      for (int e = s_.first[r]; e < s_.first[r + 1] && ok(); ++e) {
        if (s_.action[e] == idle_slot) continue;
        const pipeline_action a = s_.coding().action(s_.action[e]);
        if (!is_compute(a.kind)) return fail({unroll_code::action_is_of_another_kind, a, r});
        if (s_.rank_of(a) != r) return fail({unroll_code::action_stands_elsewhere, a, r});
        for (int w = 0; w < works; ++w)
          if (does(a.kind, static_cast<stage_work>(w)))
            ++times[node(a.stage, static_cast<stage_work>(w)) * s_.micro_batches + a.micro_batch];
        if (!does(a.kind, stage_work::weight_gradient)) continue;
        int& before = last[s_.copy_of(a.stage, a.micro_batch)];
        if (a.micro_batch < before && !how_.accumulates_in_any_order)
          return fail({unroll_code::accumulated_out_of_order, a, r});
        before = a.micro_batch;
      }
    constexpr action_kind kinds[] = {action_kind::forward, action_kind::input_gradient, action_kind::weight_gradient};
    for (int i = 0; i < times.size; ++i)
      if (times[i] != 1) {
        const int n = i / s_.micro_batches;
        const pipeline_action a{kinds[n % works], n / works, i % s_.micro_batches};
        return fail({unroll_code::action_is_missing_or_doubled, a, s_.rank_of(a), times[i], 1});
      }
  }

  /// Which works each work waits for, in the same micro-batch: those that it reads from, and those that it follows in any
  /// schedule, though a first stage has nothing to hand back, and stages that are no line follow none.
  constexpr void find_reads() {
    reads_ = reads_of_works(p_, work_, stages_);
    const auto follows = [&](int n, int stage, stage_work before) {
      if (stage >= 0 && stage < stages_ && (how_.stages_are_a_line || stage == n / works))
        reads_[n * stages_ * works + node(stage, before)] = true;
    };
    for (int t = 0; t < stages_; ++t) {
      follows(node(t, stage_work::forward), t - 1, stage_work::forward);
      follows(node(t, stage_work::input_gradient), t, stage_work::forward);
      follows(node(t, stage_work::input_gradient), t + 1, stage_work::input_gradient);
      follows(node(t, stage_work::weight_gradient), t, stage_work::input_gradient);
    }
  }

  const sharded_program& p_;
  const pipeline_schedule& s_;
  unroll_options how_;
  growing_array<stage_work> work_;  // of each step
  const sharded_program* of_copy_[2];
  growing_array<bool> reads_;
  int stages_ = 1;
  unroll_status status_{};
};

}  // namespace detail

}}  // namespace hyperparallel::v0_2
