// SPDX-License-Identifier: Apache-2.0
#pragma once
// What is asked of a program under a budget of memory and what comes of it: options, plans of parts, the program; and the
// actions of one plan, in order, with their durations.

#include <hyperparallel/lowering/cache_operators.hpp>
#include <hyperparallel/lowering/offloading_code.hpp>
#include <hyperparallel/lowering/program_offload.hpp>
#include <hyperparallel/offload/offload_planner.hpp>
#include <hyperparallel/offload/offload_rules.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct offloading_options {
  offload_options planning{};
  bool recomputation = false;           ///< what a single operator makes may be made again
  growing_array<offload_rule> rules{};  ///< by names of tensors; later ones win
  bool separate_update = false;         ///< norm and update run by themselves, with one micro-batch too
  interconnect links{};                 ///< that moves are chosen on
};

struct offloaded_program {
  offloading_code code = offloading_code::ok;
  sharded_program program;
  program_addresses addresses;
  int part = 0;             ///< that needs more than the budget, or whose plan follows
  planned_offload planned;  ///< of the period that takes longest, or of the first that has no plan
  /// Of each part the step of training; or of each part its micro-batch, and then of each its update.
  growing_array<offload_certificate> period;
  offload_program problem;           ///< that this plan solves
  offload_timeline timeline;         ///< of this plan
  growing_array<int> step;           ///< of the given program: of each operator of the problem
  growing_array<extent_t> duration;  ///< of each step of `program`, picoseconds
  offload_rule_status ruled{};
  cache_insertion_status inserted{};
  int added_stores = 0;  ///< that the plans have not: of homes in tier 0 that leave, and that no step writes
  extent_t budget = 0;
  constexpr bool ok() const { return code == offloading_code::ok; }
};

/// A period of one part, and its plan; of a part behind one that has no plan nothing is planned.
struct planned_part {
  unsigned phases = 0;
  offload_period period{};
  planned_offload planned{};
  use_chains chains{};  ///< of the period, where it has a plan
};

/// Plans of all parts, of bytes alive.
struct planned_parts {
  offloading_code code = offloading_code::ok;
  offload_rule_status ruled{};
  /// Of each part the step of training; or of each part its micro-batch, and then of each its update.
  growing_array<planned_part> plan;
  constexpr bool ok() const { return code == offloading_code::ok; }
};

/// What to do in which order, as the timeline of a plan says; storages are those of the program. What no step writes
/// needs no store in the plan, since its copy stays from one run to the next; a home in tier 0 has none in the first
/// run, so that it is stored where it leaves first. Memory is given up where the plan's clock gives it up, not where the last user begins: else a copy that
/// starts meanwhile would be given that memory, and have to wait for that user.
constexpr growing_array<cache_action> actions_of(const offload_period& period, const use_chains& chains,
                                                 const offload_plan& plan, const offload_timeline& t) {
  const offload_program& o = period.problem;
  growing_array<cache_action> actions;
  growing_array<bool> copied(o.storage.size, false);
  for (int g = 0; g < chains.gap.size; ++g)
    if (chains.gap[g].wraps && plan.gap[g].choice == gap_choice::offload) copied[chains.gap[g].storage] = true;
  for (const offload_event& e : t.sequence) {
    if (e.kind == offload_event_kind::release) {
      actions.push({cache_action_kind::release, e.index});
      continue;
    }
    if (e.kind == offload_event_kind::compute) {
      const int q = plan.order.size > 0 ? plan.order[e.index] : e.index;
      for (int u = chains.first_use[q]; u < chains.first_use[q + 1]; ++u)
        if (const int g = chains.use[u].gap_before; g >= 0 && plan.gap[g].choice == gap_choice::recompute)
          actions.push({cache_action_kind::recompute, chains.gap[g].storage});
      actions.push({cache_action_kind::step, period.step[q]});
      continue;
    }
    const gap_decision& d = plan.gap[e.index];
    const int s = chains.gap[e.index].storage;
    if (d.choice != gap_choice::offload) {  // what is recomputed leaves without a copy
      actions.push({cache_action_kind::release, s});
      continue;
    }
    if (e.kind == offload_event_kind::detach && !copied[s]) actions.push({cache_action_kind::store, s, d.tier});
    copied[s] = true;
    actions.push({e.kind == offload_event_kind::store    ? cache_action_kind::store
                  : e.kind == offload_event_kind::detach ? cache_action_kind::detach
                                                         : cache_action_kind::prefetch,
                  s, d.tier});
  }
  return actions;
}

namespace detail {

/// Of an action, which becomes one step; `duration` is of each step of the program without it.
constexpr extent_t duration_of(const offload_program& o, const cache_action& a,
                               const growing_array<extent_t>& duration) {
  if (a.kind == cache_action_kind::step) return duration[a.index];
  if (a.kind == cache_action_kind::recompute) return o.storage[a.index].recompute;
  const bool stores = a.kind == cache_action_kind::store;
  if (!stores && a.kind != cache_action_kind::prefetch) return 0;
  return link_copy_time(o.link[stores ? o.tier[a.tier].out_link : o.tier[a.tier].in_link], o.storage[a.index].bytes);
}

}  // namespace detail

}}  // namespace hyperparallel::v0_2
