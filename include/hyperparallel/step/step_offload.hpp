// SPDX-License-Identifier: Apache-2.0
#pragma once
// A step of training under a budget of fast memory: what of a folded program leaves for slower tiers, and what it
// costs.
//
// The period of the plan is the whole step with one micro-batch (folded_period.hpp). Where a step has several, those
// before the last one are a period of their own, in which homes lie between two micro-batches where the first plan has
// them between two steps. The result is a value that may be kept from a constant evaluation, asserted on and printed.
//
// Laws: tier 0 holds at most the budget; step_time ≥ that of the step without a budget; a budget that is too small
// names the least one that could do, and what is then alive. A budget is of bytes alive: addresses are planned for the
// program that runs (offloaded_program.hpp). O(a plan, or two).

#include <hyperparallel/lowering/offloading_code.hpp>
#include <hyperparallel/offload/offload_planner.hpp>
#include <hyperparallel/offload/offload_rules.hpp>
#include <hyperparallel/price/folded_period.hpp>
#include <hyperparallel/price/period_part.hpp>
#include <hyperparallel/step/refusal_text.hpp>
#include <hyperparallel/support/static_vector.hpp>

namespace hyperparallel { inline namespace v0_2 {

inline constexpr int most_offload_patterns = 16;

/// A rule that owns its pattern.
struct offload_pattern {
  short_text pattern{};
  offload_control control = offload_control::automatic;
  int tier = -1;
};

struct step_offload_settings {
  extent_t budget = 0;         ///< bytes of tier 0; 0: none
  bool recomputation = false;  ///< what forward leaves for backward may be made again
  int most_operators = 48;
  /// In a constant evaluation a thousand take a fifth of a second. On the models of bench/compile less than 4 000 find
  /// nothing that shortens a step by more than 0.02 %.
  offload_options planning{.effort = 500};
  static_vector<offload_pattern, most_offload_patterns> rule{};
};

/// Bytes of a class that are not in use all the time, by what becomes of them over the step; what does both is
/// offloaded.
struct offload_shares {
  extent_t kept = 0, offloaded = 0, recomputed = 0;
  friend constexpr bool operator==(const offload_shares&, const offload_shares&) = default;
};

/// Storages that are used alike, named by their largest; a name without characters is of temporaries.
struct alive_group {
  refusal_text name{};
  memory_class kind = memory_class::buffers;
  extent_t bytes = 0;
  friend constexpr bool operator==(const alive_group&, const alive_group&) = default;
};

struct step_offload {
  offloading_code code = offloading_code::ok;
  offload_status status{};      ///< where the code is not_planned
  offload_rule_status ruled{};  ///< where the code is rules_are_refused
  refusal_text pattern{};       ///< of the refused rule
  extent_t budget = 0;          ///< 0: there was none, and nothing below is counted
  extent_t least_budget = 0;
  extent_t peak[most_tiers] = {};
  extent_t step_time = 0, step_time_bound = 0;  ///< picoseconds
  extent_t exposed = 0;                         ///< of step_time: waiting for copies
  extent_t bytes_in = 0, bytes_out = 0;         ///< of a step, to and from tier 0
  offload_shares share[memory_class_count] = {};
  int operators = 0, storages = 0, gaps = 0;  ///< of the period
  int part = 0;                               ///< of a pipeline: whose bytes and shares these are (parts_offload.hpp)
  static constexpr int most_alive = 4;
  int alive_count = 0;  ///< where the budget is too small: the largest that are then alive
  alive_group alive[most_alive] = {};
  friend constexpr bool operator==(const step_offload&, const step_offload&) = default;
  constexpr bool ok() const { return code == offloading_code::ok; }

  /// Where there is no plan, what it would take is `not_counted`.
  constexpr void refuse(offloading_code why) {
    code = why;
    for (extent_t& bytes : peak) bytes = not_counted;
    step_time = exposed = bytes_in = bytes_out = not_counted;
  }
};

namespace detail {

class step_offloading {
 public:
  constexpr step_offloading(const sharded_program& given, const program_moves& sorted, const storage_uses& used,
                            const growing_array<extent_t>& block_duration, const device_value& device,
                            const step_offload_settings& how)
      : p(given),
        moves(sorted),
        duration(block_duration),
        settings(how),
        uses(used),
        tiers(tiers_of(device, how.budget)),
        options{
            .most_operators = how.most_operators, .recomputation = how.recomputation, .negligible = how.budget / 4096} {
    r.budget = how.budget;
  }

  /// Chunks become smaller where a budget asks for it.
  constexpr step_offload run() {
    if (!rule()) return r;
    for (;; options.most_operators *= 2) {
      plan();
      const bool tight = r.code == offloading_code::budget_is_too_small || r.code == offloading_code::no_plan_was_found;
      if (!tight || period.chunk == 1) return r;
    }
  }

 private:
  constexpr void plan() {
    period = folded_period_of(p, uses, moves, duration, tiers, options);
    r.operators = period.problem.op.size;
    r.storages = period.problem.storage.size;
    if (!plan_whole() || p.graph.micro_batches == 1 || plan_other_micro_batches()) return;
    // Homes that are never in tier 0 between two micro-batches leave the most room.
    for (offload_storage& s : period.problem.storage)
      if (s.persistent && s.control == offload_control::automatic) s.control = offload_control::offload;
    if (plan_whole() && !plan_other_micro_batches()) r.refuse(offloading_code::no_plan_was_found);
  }

  /// Whether storage s can do what a rule says.
  constexpr bool can_follow(int s, offload_control control) const {
    const storage_use& u = uses.use[s];
    if (control == offload_control::offload)
      return tiers.tier.size > 1 && u.first >= 0 &&
             (uses.resident[s] ? p.storage[s].home && uses.class_of(s) != memory_class::inputs
                               : uses.block_of[u.first] != uses.block_of[u.last] || u.next_last >= 0);
    if (control != offload_control::recompute) return true;
    return !uses.resident[s] && u.segment >= 0 && u.next_last < 0 && u.last_outside < 0 && u.own_first >= 0 &&
           p.step[u.own_first].phase == graph_phase::forward && p.step[u.own_last].phase == graph_phase::backward;
  }

  constexpr bool rule() {
    growing_array<offload_rule> rules;
    for (const offload_pattern& one : settings.rule) rules.push({one.pattern.text, one.control, one.tier});
    if (rules.size == 0) return true;
    growing_array<int> decided_by;
    r.ruled = decide_rules(
        p.storage.size, tiers.tier.size, rules.item, rules.size,
        [&](int s) { return p.graph.name_of_tensor(p.storage[s].tensor); },
        [&](int s, offload_control control) { return can_follow(s, control); }, decided_by);
    if (r.ruled.code != offload_rule_code::ok) {
      r.refuse(offloading_code::rules_are_refused);
      r.pattern = refusal_text(rules[r.ruled.rule].pattern);
      return false;
    }
    options.pin.resize(p.storage.size);
    for (int s = 0; s < p.storage.size; ++s) {
      if (decided_by[s] < 0) continue;
      options.pin[s] = {rules[decided_by[s]].control, rules[decided_by[s]].tier};
      options.recomputation = options.recomputation || rules[decided_by[s]].control == offload_control::recompute;
    }
    return true;
  }

  constexpr bool plan_whole() {
    const planned_offload planned = plan_offload(period.problem, settings.planning);
    const offload_certificate& c = planned.certificate;
    r.least_budget = c.least_budget == not_counted ? not_counted : c.least_budget + period.kept;
    r.code = offloading_code::ok;
    if (!c.feasible) {
      r.status = planned.status;
      r.refuse(planned.status.code != offload_code::ok            ? offloading_code::not_planned
               : c.least_budget > period.problem.tier[0].capacity ? offloading_code::budget_is_too_small
                                                                  : offloading_code::no_plan_was_found);
      name_alive(planned.alive);
      return false;
    }
    for (int t = 0; t < most_tiers; ++t) r.peak[t] = c.peak[t] + (t == 0 ? period.kept : 0);
    r.step_time = c.time;
    r.step_time_bound = c.time_bound;
    r.exposed = c.exposed;
    r.bytes_in = c.bytes_in;
    r.bytes_out = c.bytes_out;
    share_out(planned.plan);
    return true;
  }

  /// What becomes of each class; homes stay where they lie between steps.
  constexpr void share_out(const offload_plan& plan) {
    const use_chains chains = chains_of(period.problem);
    r.gaps = chains.gap.size;
    home_.clear();
    home_.resize(period.problem.storage.size, 0);
    for (offload_shares& one : r.share) one = {};
    for (int s = 0; s < period.problem.storage.size; ++s) {
      if (chains.first_gap[s] == chains.first_gap[s + 1]) continue;
      gap_choice what = gap_choice::keep;
      for (int g = chains.first_gap[s]; g < chains.first_gap[s + 1]; ++g) {
        const gap_decision& d = plan.gap[g];
        if (d.choice == gap_choice::offload && chains.gap[g].wraps) home_[s] = d.tier;
        if (d.choice == gap_choice::offload || what == gap_choice::keep) what = d.choice;
      }
      offload_shares& shares = r.share[static_cast<int>(period.group[s].kind)];
      const extent_t bytes = period.problem.storage[s].bytes;
      (what == gap_choice::keep      ? shares.kept
       : what == gap_choice::offload ? shares.offloaded
                                     : shares.recomputed) += bytes;
    }
  }

  /// All micro-batches but the last one. Domain: the whole is planned.
  constexpr bool plan_other_micro_batches() {
    folded_period others = period;
    for (int s = 0; s < others.problem.storage.size; ++s) {
      offload_storage& one = others.problem.storage[s];
      if (!one.persistent) continue;
      one.control = home_[s] > 0 ? offload_control::offload : offload_control::keep;
      one.tier = home_[s] > 0 ? home_[s] : -1;
    }
    const offload_program part = part_of(p, uses, others, micro_phases);
    const planned_offload planned = plan_offload(part, settings.planning);
    const offload_certificate& c = planned.certificate;
    if (!c.feasible) return false;
    const extent_t count = p.graph.micro_batches - 1;
    for (int t = 0; t < part.tier.size; ++t)
      r.peak[t] = larger(r.peak[t], c.peak[t] + (t == 0 ? tiers.tier[0].capacity - part.tier[0].capacity : 0));
    r.step_time += c.time * count;
    r.step_time_bound += c.time_bound * count;
    r.exposed += c.exposed * count;
    r.bytes_in += c.bytes_in * count;
    r.bytes_out += c.bytes_out * count;
    return true;
  }

  /// The largest first.
  constexpr void name_alive(const growing_array<int>& alive) {
    growing_array<int> left = alive;
    r.alive_count = 0;
    while (r.alive_count < step_offload::most_alive && left.size > 0) {
      int largest = 0;
      for (int i = 1; i < left.size; ++i)
        if (period.problem.storage[left[i]].bytes > period.problem.storage[left[largest]].bytes) largest = i;
      const storage_group& g = period.group[left[largest]];
      alive_group& named = r.alive[r.alive_count++];
      if (g.storage >= 0) named.name = refusal_text(p.graph.name_of_tensor(p.storage[g.storage].tensor));
      named.kind = g.kind;
      named.bytes = period.problem.storage[left[largest]].bytes;
      left[largest] = left.last();
      left.resize(left.size - 1);
    }
  }

  const sharded_program& p;
  const program_moves& moves;
  const growing_array<extent_t>& duration;
  const step_offload_settings& settings;
  const storage_uses& uses;
  tier_hardware tiers;
  folded_period_options options;
  folded_period period;
  growing_array<int> home_;  ///< of each storage: its tier between two steps
  step_offload r;
};

}  // namespace detail

/// `p` on `device` within settings.budget > 0. `block_duration` is of each block of steps in one micro-batch, see
/// estimate_step; empty where the account refused the hardware, and then nothing is planned.
constexpr step_offload offload_step(const sharded_program& p, const program_moves& moves, const storage_uses& uses,
                                    const growing_array<extent_t>& block_duration, const device_value& device,
                                    const step_offload_settings& settings) {
  if (block_duration.size == 0 && p.step.size > 0) {
    step_offload refused;
    refused.refuse(offloading_code::hardware_is_refused);
    refused.budget = settings.budget;
    return refused;
  }
  return detail::step_offloading(p, moves, uses, block_duration, device, settings).run();
}

}}  // namespace hyperparallel::v0_2
