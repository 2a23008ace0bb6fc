// SPDX-License-Identifier: Apache-2.0
#pragma once
// What of a plan's moves a stack runs beside computing that this library's own order waits for.
//
//   const hp::stack_overlap o = hp::overlap_of(program, form, priced);
//   o.hidden(rounds, plan.tp)       picoseconds of a step
//
// Megatron-LM with overlapped communication: a move along tp is cut into as many parts as ranks, and each part goes beside the product
// that reads or makes the part before it, so that one part of it is waited for; gradients that are reduced once a step go beside the last
// backward, and parameters that are gathered once a step beside the next forward. Moves of experts, of context and between stages are
// waited for as in the library's plan.
// Sources: Megatron-LM's --tp-comm-overlap, --overlap-grad-reduce, --overlap-param-gather; Wang et al., "Overlap Communication with Dependent
// Computation via Decomposition", ASPLOS 2023, for the parts.
//
// Laws: never more than the moves, nor than the computing that they go beside; 0 where nothing is cut by tp and nothing reduced once. Units: picoseconds.
// O(steps).

#include <hyperparallel/price/pipeline_form.hpp>
#include <hyperparallel/price/plan_prices.hpp>
#include <hyperparallel/strategy/gradient_buckets.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Of a stage: in a micro-batch, and once a step.
struct stack_overlap {
  extent_t tensor = 0;                 ///< moves along tp alone, of a micro-batch
  extent_t forward = 0, backward = 0;  ///< computing of a micro-batch
  extent_t reduced = 0, gathered = 0;  ///< of gradients before the update, of parameters behind it

  /// In so many rounds of a micro-batch. Domain: tp ≥ 1.
  constexpr extent_t hidden(double rounds, int tp) const {
    const double each = static_cast<double>(smaller(tensor, forward + backward)) * (tp - 1) / tp;
    return static_cast<extent_t>(each * rounds) + smaller(reduced, backward) + smaller(gathered, forward);
  }
  friend constexpr bool operator==(const stack_overlap&, const stack_overlap&) = default;
};

/// Of a program without rotated blocks along tp. Domain: it is priced.
constexpr stack_overlap overlap_of(const sharded_program& p, const pipeline_form& form, const priced_program& priced) {
  stack_overlap o;
  const int tp = axis_index(p.mesh, "tp");
  for (int i = 0; i < p.step.size; ++i) {
    const program_step& s = p.step[i];
    if (joins_numbers(p, s)) continue;  // the norm of all gradients is waited for
    const extent_t time = form.held(s.segment).of(priced.of_step(i), repeats_of(p.graph, s.segment));
    if (!s.is_move) {
      if (s.phase == graph_phase::forward) o.forward += time;
      if (s.phase == graph_phase::backward) o.backward += time;
      continue;
    }
    const program_move& move = p.move[s.index];
    if (s.phase > graph_phase::backward)
      (is_partial(p.value[move.source].layout) ? o.reduced : o.gathered) += time;
    else if (detail::reduced_gradient_axes(p, move) == 0 && tp >= 0 &&
             kind_of(priced.moves(), s.index).axes == 1u << tp)
      o.tensor += time;
  }
  return o;
}

}}  // namespace hyperparallel::v0_2
