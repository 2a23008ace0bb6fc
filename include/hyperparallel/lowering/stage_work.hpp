// SPDX-License-Identifier: Apache-2.0
#pragma once
// F, I and W of a program of stages: which steps the gradient of a stage's input depends on, and which ones can wait.
//
// Nothing in an operator says it. A backward step is of I if a stage before it reads, backward, what it leads to; any other
// one is of W, as are sums over micro-batches. So recomputation that both need is done in I, and what only a weight's
// gradient needs in W. The first stage hands nothing back: all of its backward steps are W. Laws: I reads nothing that W
// makes; work without a hand-back is W. O(steps). Source: Qi et al., "Zero Bubble Pipeline Parallelism", 2024, where B is I.

#include <hyperparallel/strategy/lifetimes.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// What a step of one micro-batch belongs to.
enum class stage_work : unsigned char { forward, input_gradient, weight_gradient, update };

/// Of each step of a program whose step i is of stage `stage_of(i)`. What a stage hands back is what another one reads
/// backward. O(steps).
template <class StageOf>
constexpr growing_array<stage_work> work_of_steps(const sharded_program& p, const StageOf& stage_of) {
  growing_array<stage_work> work;
  growing_array<bool> handed;  // of each value: a gradient of another stage depends on it
  growing_array<int> stage;    // of each value: where it is written in the backward phase, or -1
  work.resize(p.step.size, stage_work::update);
  handed.resize(p.value.size, false);
  stage.resize(p.value.size, -1);
  for (int i = 0; i < p.step.size; ++i) {
    const program_step& s = p.step.item[i];
    if (s.phase != graph_phase::backward) continue;
    const int own = stage_of(i);
    detail::visit_values(p, s, [&](int v, bool written) {
      if (written) stage[v] = own;
      if (!written && stage[v] >= 0 && stage[v] != own) handed[v] = true;
    });
  }
  for (int i = p.step.size - 1; i >= 0; --i) {
    const program_step& s = p.step.item[i];
    if (is_in(s.phase, update_phases)) continue;
    work[i] = s.phase == graph_phase::forward ? stage_work::forward : stage_work::weight_gradient;
    if (s.phase != graph_phase::backward) continue;
    detail::visit_values(p, s, [&](int v, bool written) {
      if (written && handed[v]) work[i] = stage_work::input_gradient;
    });
    if (work[i] != stage_work::input_gradient) continue;
    detail::visit_values(p, s, [&](int v, bool written) {
      if (!written && stage[v] >= 0) handed[v] = true;
    });
  }
  return work;
}

/// Of each step of a program of stages. O(steps).
constexpr growing_array<stage_work> work_of_steps(const sharded_program& p) {
  return work_of_steps(p, [&](int i) { return p.step.item[i].stage; });
}

namespace detail {

/// Of works of one micro-batch, each stage · micro_works + what it is: whether work n reads what work m makes, at
/// n · works + m. O(steps + works²).
inline constexpr int micro_works = 3;
constexpr growing_array<bool> reads_of_works(const sharded_program& p, const growing_array<stage_work>& work,
                                             int stages) {
  const int works = stages * micro_works;
  growing_array<int> writer(p.value.size, -1);  // of each value: the work that makes it, or -1
  growing_array<bool> reads(works * works, false);
  for (int i = 0; i < p.step.size; ++i) {
    if (work[i] == stage_work::update) continue;
    const int n = p.step.item[i].stage * micro_works + static_cast<int>(work[i]);
    visit_values(p, p.step.item[i], [&](int v, bool written) {
      if (written)
        writer[v] = n;
      else if (writer[v] >= 0 && writer[v] != n)
        reads[n * works + writer[v]] = true;
    });
  }
  return reads;
}

}  // namespace detail

}}  // namespace hyperparallel::v0_2
