// SPDX-License-Identifier: Apache-2.0
#pragma once
// What of a plan's moves a stack runs beside computing that this library's own order waits for, what it does not send, and what it passes again.
//
//   const hp::stack_overlap o = hp::overlap_of(program, form, priced, expert_routes_of(model, plan));
//   o.hidden(rounds, plan.tp), o.unsent(rounds)       picoseconds of a step
//
// Megatron-LM with overlapped communication: a move along tp is cut into as many parts as ranks, and each part goes beside the product
// that reads or makes the part before it, so that one part of it is waited for; gradients that are reduced once a step go beside the last
// backward, and parameters that are gathered once a step beside the next forward. A token crosses the links between nodes once for each node
// that has experts of it, not once for each expert, and is copied to them inside, where that is faster; experts are taken to be chosen evenly. Moves of
// experts, of context and between stages are waited for as in the library's plan. What an exchange brings is ordered by expert in a pass over memory, and
// so is what goes back, which is computing that the library's plan does not have.
// Sources: Megatron-LM's --tp-comm-overlap, --overlap-grad-reduce, --overlap-param-gather; Wang et al., "Overlap Communication with Dependent
// Computation via Decomposition", ASPLOS 2023, for the parts; DeepEP's and Hybrid-EP's dispatch (--moe-token-dispatcher-type flex) for nodes;
// sort_chunks_by_idxs of Megatron-LM's token dispatchers for the order of slots.
//
// Laws: never more than the moves, nor than the computing that they go beside; 0 where nothing is cut by tp and nothing reduced once. Units: picoseconds.
// O(steps).

#include <hyperparallel/planner/decoder_plan.hpp>
#include <hyperparallel/price/pipeline_form.hpp>
#include <hyperparallel/price/plan_prices.hpp>
#include <hyperparallel/strategy/gradient_buckets.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Of a stage: in a micro-batch, and once a step.
struct stack_overlap {
  extent_t tensor = 0;                 ///< moves along tp alone, of a micro-batch
  extent_t forward = 0, backward = 0;  ///< computing of a micro-batch
  extent_t reduced = 0, gathered = 0;  ///< of gradients before the update, of parameters behind it
  extent_t repeated = 0;               ///< what slots of experts take that are sent again to a node, of a micro-batch

  extent_t ordered = 0;  ///< passes that bring slots into the order of experts and back, of a micro-batch

  /// In so many rounds of a micro-batch.
  constexpr extent_t added(double rounds) const { return static_cast<extent_t>(static_cast<double>(ordered) * rounds); }
  constexpr extent_t unsent(double rounds) const {
    return static_cast<extent_t>(static_cast<double>(repeated) * rounds);
  }
  /// In so many rounds of a micro-batch. Domain: tp ≥ 1.
  constexpr extent_t hidden(double rounds, int tp) const {
    const double each = static_cast<double>(smaller(tensor, forward + backward)) * (tp - 1) / tp;
    return static_cast<extent_t>(each * rounds) + smaller(reduced, backward) + smaller(gathered, forward);
  }
  friend constexpr bool operator==(const stack_overlap&, const stack_overlap&) = default;
};

namespace detail {

/// How tokens find their experts: so many of each, on neighbouring devices.
struct expert_routes {
  extent_t each = 0;     ///< experts of a token; 0: there are none
  extent_t devices = 1;  ///< that its experts lie on, with those between

  /// Of the copies of a token that leave one of several groups of so many devices, the share that goes to a group the first time.
  constexpr double first_share(extent_t group) const {
    const extent_t groups = (devices + group - 1) / group;
    if (groups < 2 || each == 0) return 1;
    double missed = 1;  // the chance that a group has none of the token's experts
    for (extent_t e = 0; e < each; ++e) missed *= 1 - 1 / static_cast<double>(groups);
    return (1 - missed) * static_cast<double>(groups) / static_cast<double>(each);
  }
};

constexpr expert_routes expert_routes_of(const decoder& d, const decoder_plan& p) {
  if (!d.has_experts || expert_ranks_of(p) == 1) return {};
  return {d.experts.top_k, extent_t{p.ep} * p.cp * p.tp};
}

/// A move of slots in which each token enters a group of devices once, and goes on inside: what comes from outside passes the level below, too.
constexpr move_load sent_once(const move_load& load, const expert_routes& routes, const topology_value& t) {
  move_load once = load;
  for (int i = 0; i < once.step.size; ++i)
    for (int l = t.level_count - 1; l > 0; --l) {
      level_load &outer = once.step[i].level[l], &inner = once.step[i].level[l - 1];
      if (inner.messages > 0) {
        inner.elements += outer.elements;
        inner.sent += outer.sent;
      }
      const double share = routes.first_share(t.level[l - 1].group);
      outer.elements = static_cast<extent_t>(static_cast<double>(outer.elements) * share);
      outer.sent = static_cast<extent_t>(static_cast<double>(outer.sent) * share);
    }
  return once;
}

/// Whether a move is of slots of experts: of a tensor of several experts that is neither a parameter nor a gradient of one.
constexpr bool moves_slots(const sharded_program& p, const program_move& move, int experts) {
  const graph_tensor& t = p.graph.tensor[p.value[move.source].tensor];
  if (experts < 0 || t.kind == graph_tensor_kind::parameter || reduced_gradient_axes(p, move) != 0) return false;
  for (int d = 0; d < t.shape.rank; ++d)
    if (t.dim[d] == experts) return true;
  return false;
}

/// What a move of slots takes longer than one that sends no token twice to a group; 0 where it does not.
constexpr extent_t time_of_repeated(const sharded_program& p, const program_move& move, const move_load& load,
                                    const expert_routes& routes, const interconnect& net) {
  if (net.kind == interconnect_kind::full_mesh) return 0;
  const extent_t bytes = bytes_of(p.graph.tensor[p.value[move.source].tensor].type);
  const time_cost all = time_of(load, bytes, net), once = time_of(sent_once(load, routes, net.topology), bytes, net);
  return larger(all.picoseconds - once.picoseconds, extent_t{0});
}

stack_overlap overlap_of_in_library(const sharded_program& p, const pipeline_form& form, const priced_program& priced,
                                    const expert_routes& routes);
constexpr stack_overlap overlap_of_here(const sharded_program& p, const pipeline_form& form,
                                        const priced_program& priced, const expert_routes& routes) {
  stack_overlap o;
  const int tp = axis_index(p.mesh, "tp"), experts = routes.each > 0 ? find_dim(p.graph, "experts") : -1;
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
    else if (detail::moves_slots(p, move, experts)) {
      const auto of_stage = [&](extent_t each) {
        return form.held(s.segment).of(each, repeats_of(p.graph, s.segment));
      };
      o.repeated += of_stage(detail::time_of_repeated(p, move, priced.load_of(s.index), routes, priced.links()));
      o.ordered += of_stage(vector_time(priced.device(), 2 * local_bytes(p, move.target), 1).picoseconds);
    } else if (detail::reduced_gradient_axes(p, move) == 0 && tp >= 0 &&
               kind_of(priced.moves(), s.index).axes == 1u << tp)
      o.tensor += time;
  }
  return o;
}

/// Of a program without rotated blocks along tp. Domain: it is priced.
constexpr stack_overlap overlap_of(const sharded_program& p, const pipeline_form& form, const priced_program& priced,
                                   const expert_routes& routes = {}) {
  HYPERPARALLEL_TWIN(detail::overlap_of_in_library(p, form, priced, routes));
  return detail::overlap_of_here(p, form, priced, routes);
}

}  // namespace detail

}}  // namespace hyperparallel::v0_2
