// SPDX-License-Identifier: Apache-2.0
#pragma once
// The rows of sub-models: in which order each part works off its modules, for all micro-batches of a step.
//
// Rounds as long as all parts have work: in each a part takes the backward action that is ready and has the least
// micro-batch, of several the latest stage; else the latest stage's forward action. A stage is at most as many micro-batches
// ahead of its backward pass as the longest way of readers from it has stages. Along a line of parts that is 1F1B; two towers
// that nothing joins but a later stage work side by side. A stage without backward steps, as a frozen tower, is done with a
// micro-batch when all of its readers are forward: so it runs ahead of them by as many, and keeps no more. What an action
// reads are the program's steps, hand-overs among them, which a part has once for all of its stages.
//
// Laws: every action of every stage stands once for each micro-batch, in the order of micro-batches, forward before backward;
// no row waits for ever, since the least micro-batch that is not done always goes on. Domain: the program is of one
// micro-batch, not refused; stages read lesser ones forward and greater ones backward, as those of a graph that
// `arrange_by_stages` has had. O(steps + rounds · stages²), and rounds are at most 2 · stages · micro-batches.
// Source of 1F1B: Narayanan et al., "PipeDream", 2019.

#include <hyperparallel/lowering/stage_work.hpp>
#include <hyperparallel/pipeline/schedule.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

class submodel_row_writer {
 public:
  constexpr submodel_row_writer(const sharded_program& given, const growing_array<int>& part_of_stage)
      : p_(given), part_(part_of_stage), stages_(part_of_stage.size), parts_(parts_of(given)) {}

  constexpr pipeline_schedule run() {
    find_readers();
    growing_array<growing_array<action>> row(parts_);
    growing_array<action> now(parts_);
    for (bool any = true; any;) {
      any = false;
      for (int p = 0; p < parts_; ++p) now.item[p] = next_of(p);
      for (int p = 0; p < parts_; ++p) {
        const action a = now.item[p];
        if (a.stage < 0) continue;
        any = true;
        ++(a.is_backward ? backward_ : forward_).item[a.stage];
        row.item[p].push(a);
      }
    }
    pipeline_schedule s;
    s.ranks = parts_;
    s.stages = stages_;
    s.micro_batches = p_.graph.micro_batches;
    s.rank_of_stage = part_;
    s.first.push(0);
    row_writer out(s, false);
    for (int p = 0; p < parts_; ++p) {
      for (const action& a : row.item[p])
        a.is_backward ? out.backward(a.stage, a.micro_batch) : out.forward(a.stage, a.micro_batch);
      s.first.push(s.action.size);
    }
    return s;
  }

 private:
  struct action {
    int stage = -1, micro_batch = 0;
    bool is_backward = false;
  };

  constexpr void find_readers() {
    const growing_array<stage_work> work = work_of_steps(p_);
    const growing_array<bool> reads = reads_of_works(p_, work, stages_);
    const int works = stages_ * micro_works;
    forward_reads_.resize(stages_ * stages_, false);
    backward_reads_.resize(stages_ * stages_, false);
    learns_.resize(stages_, false);
    ahead_.resize(stages_, 1);
    forward_.resize(stages_, 0);
    backward_.resize(stages_, 0);
    for (int i = 0; i < p_.step.size; ++i)
      if (work.item[i] == stage_work::input_gradient || work.item[i] == stage_work::weight_gradient)
        learns_.item[p_.step.item[i].stage] = true;
    for (int n = 0; n < works; ++n)
      for (int m = 0; m < works; ++m) {
        if (!reads.item[n * works + m] || n / micro_works == m / micro_works) continue;
        const bool made_forward = m % micro_works == 0;
        (made_forward ? forward_reads_ : backward_reads_).item[n / micro_works * stages_ + m / micro_works] = true;
      }
    for (int t = stages_ - 1; t >= 0; --t)  // readers have larger numbers
      for (int u = t + 1; u < stages_; ++u)
        if (forward_reads_.item[u * stages_ + t] && ahead_.item[u] >= ahead_.item[t])
          ahead_.item[t] = ahead_.item[u] + 1;
  }

  constexpr bool may_go_forward(int t) const {
    const int k = forward_.item[t];
    bool ready = k < p_.graph.micro_batches && k < backward_.item[t] + ahead_.item[t];
    for (int u = 0; u < t && ready; ++u) ready = !forward_reads_.item[t * stages_ + u] || forward_.item[u] > k;
    return ready;
  }
  constexpr bool may_go_backward(int t) const {
    const int k = backward_.item[t];
    bool ready = k < forward_.item[t];
    for (int u = 0; u < stages_ && ready; ++u)
      ready = learns_.item[t] ? !backward_reads_.item[t * stages_ + u] || backward_.item[u] > k
                              : !forward_reads_.item[u * stages_ + t] || forward_.item[u] > k;
    return ready;
  }
  constexpr action next_of(int part) const {
    action next;
    for (int t = stages_ - 1; t >= 0; --t)
      if (part_.item[t] == part && may_go_backward(t) && (next.stage < 0 || backward_.item[t] < next.micro_batch))
        next = {t, backward_.item[t], true};
    for (int t = stages_ - 1; t >= 0 && next.stage < 0; --t)
      if (part_.item[t] == part && may_go_forward(t)) next = {t, forward_.item[t], false};
    return next;
  }

  const sharded_program& p_;
  const growing_array<int>& part_;
  int stages_, parts_;
  growing_array<bool> forward_reads_;      ///< of each stage: those of whose forward steps it reads
  growing_array<bool> backward_reads_;     ///< of each stage: those of whose backward steps it reads
  growing_array<bool> learns_;             ///< of each stage: it has backward steps
  growing_array<int> ahead_;               ///< of each stage: micro-batches that may be forward and not backward
  growing_array<int> forward_, backward_;  ///< of each stage: micro-batches that are
};

}  // namespace detail

/// Of a program of one micro-batch, whose stages lie on these of its parts.
constexpr pipeline_schedule rows_of_submodels(const sharded_program& p, const growing_array<int>& part_of_stage) {
  return detail::submodel_row_writer(p, part_of_stage).run();
}

}}  // namespace hyperparallel::v0_2
