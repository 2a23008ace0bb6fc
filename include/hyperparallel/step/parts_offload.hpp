// SPDX-License-Identifier: Apache-2.0
#pragma once
// A step of training of several parts under a budget of fast memory: what of each part leaves for slower tiers.
//
// Each part of the unrolled program is planned as a world of the step plans it (offloaded_program.hpp), by its steps as the
// clock prices them and by how long it waits for the others: so these are the plans that run, where addresses take no more
// than what is alive. Of the step are the highest peaks and the highest least budget of any part, the times of the part whose plan
// takes longest, and all else of the part that copies most; where there is no plan, of the part that needs most.
// Laws: tier 0 of every part holds at most the budget; a budget that is too small names the least one that no part
// exceeds, and what is then alive. O(a plan of each part, or three where the update runs by itself).

#include <hyperparallel/lowering/offloaded_program.hpp>
#include <hyperparallel/price/clock.hpp>
#include <hyperparallel/step/step_offload.hpp>
#include <hyperparallel/strategy/narrow_gradients.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// Whether what a single operator makes may be made again: a rule may say so, too.
constexpr bool makes_again(const step_offload_settings& settings) {
  bool again = settings.recomputation;
  for (const offload_pattern& one : settings.rule) again = again || one.control == offload_control::recompute;
  return again;
}

/// What the plans of a program's parts are together.
class parts_summary {
 public:
  constexpr parts_summary(const sharded_program& given, const storage_uses& used, const planned_parts& of_parts)
      : p(given), uses(used), plans(of_parts) {}

  constexpr void plan(step_offload& r) const {
    extent_t most = -1, longest = -1;
    for (int part = 0; part < parts_of(p); ++part) {
      step_offload own = of_part(part);
      for (int t = 0; t < most_tiers; ++t) r.peak[t] = larger(r.peak[t], own.peak[t]);
      r.least_budget = larger(r.least_budget, own.least_budget);
      if (own.step_time > longest) {
        longest = r.step_time = own.step_time;
        r.step_time_bound = own.step_time_bound;
        r.exposed = own.exposed;
      }
      if (own.bytes_in + own.bytes_out <= most) continue;
      most = own.bytes_in + own.bytes_out;
      r.part = part;
      r.bytes_in = own.bytes_in;
      r.bytes_out = own.bytes_out;
      r.operators = own.operators;
      r.storages = own.storages;
      r.gaps = own.gaps;
      for (int c = 0; c < memory_class_count; ++c) r.share[c] = own.share[c];
    }
  }

  /// Domain: a part has no plan.
  constexpr void refusal(step_offload& r) const {
    r.refuse(plans.code);
    r.least_budget = 0;
    for (int i = 0; i < plans.plan.size; ++i) {
      const planned_part& one = plans.plan[i];
      if (one.planned.status.code != offload_code::ok && r.status.code == offload_code::ok)
        r.status = one.planned.status;
      if (plans.code == offloading_code::not_planned) continue;
      smallest_budget least = least_budget(one.period.problem, chains_of(one.period.problem));
      if (least.bytes + one.period.kept_unused <= r.least_budget) continue;
      r.part = i % parts_of(p);
      r.least_budget = least.bytes + one.period.kept_unused;
      name_alive(one.period.problem, least.alive, r);
    }
  }

 private:
  constexpr step_offload of_part(int part) const {
    step_offload r;
    growing_array<bool> idle;  // of each storage: whether it is not in use all the time
    growing_array<gap_choice> becomes;
    idle.resize(p.storage.size, false);
    becomes.resize(p.storage.size, gap_choice::keep);
    for (int i = part; i < plans.plan.size; i += parts_of(p)) {
      const offload_program& o = plans.plan[i].period.problem;
      const offload_certificate& c = plans.plan[i].planned.certificate;
      if (o.op.empty()) continue;
      for (int t = 0; t < most_tiers; ++t)
        r.peak[t] = larger(r.peak[t], c.peak[t] + (t == 0 ? plans.plan[i].period.kept_unused : 0));
      r.least_budget = larger(r.least_budget, c.least_budget);
      r.step_time += c.time;
      r.step_time_bound += c.time_bound;
      r.exposed += c.exposed;
      r.bytes_in += c.bytes_in;
      r.bytes_out += c.bytes_out;
      r.operators += o.op.size;
      for (const offload_storage& s : o.storage) r.storages += s.access_count > 0 ? 1 : 0;
      const use_chains& chains = plans.plan[i].chains;
      r.gaps += chains.gap.size;
      for (int g = 0; g < chains.gap.size; ++g) {
        const int s = chains.gap[g].storage;
        if (s >= p.storage.size) continue;
        idle[s] = true;
        const gap_choice choice = plans.plan[i].planned.plan.gap[g].choice;
        if (choice == gap_choice::offload || becomes[s] == gap_choice::keep) becomes[s] = choice;
      }
    }
    for (int s = 0; s < p.storage.size; ++s) {
      if (!idle[s]) continue;
      offload_shares& shares = r.share[static_cast<int>(uses.class_of(s))];
      (becomes[s] == gap_choice::keep      ? shares.kept
       : becomes[s] == gap_choice::offload ? shares.offloaded
                                           : shares.recomputed) += aligned(p.storage[s].bytes);
    }
    return r;
  }

  /// The largest first.
  constexpr void name_alive(const offload_program& o, growing_array<int>& left, step_offload& r) const {
    r.alive_count = 0;
    while (r.alive_count < step_offload::most_alive && left.size > 0) {
      int largest = 0;
      for (int i = 1; i < left.size; ++i)
        if (o.storage[left[i]].bytes > o.storage[left[largest]].bytes) largest = i;
      const int s = left[largest];
      alive_group& named = r.alive[r.alive_count++];
      named = {{}, memory_class::buffers, o.storage[s].bytes};
      if (s < p.storage.size) {
        named.name = refusal_text(p.graph.name_of_tensor(p.storage[s].tensor));
        named.kind = uses.class_of(s);
      }
      left[largest] = left.last();
      left.resize(left.size - 1);
    }
  }

  const sharded_program& p;
  const storage_uses& uses;
  const planned_parts& plans;
};

}  // namespace detail

/// `p`, unrolled and of any number of parts, on `device` within settings.budget > 0. Domain: its moves are on the links
/// that `moves` names; settings of chunks say nothing here, since steps are operators.
constexpr step_offload offload_parts(const sharded_program& p, const program_moves& moves, const storage_uses& uses,
                                     const device_value& device, const step_offload_settings& settings) {
  step_offload r;
  r.budget = settings.budget;
  const row_prices prices = prices_of_steps(p, moves, device);
  if (prices.code != cost_code::ok) {
    r.refuse(offloading_code::hardware_is_refused);
    return r;
  }
  offloading_options how{.planning = settings.planning,
                         .recomputation = detail::makes_again(settings),
                         .separate_update = !detail::gradients_that_may_overflow(p).empty(),
                         .links = moves.links};
  for (const offload_pattern& one : settings.rule) how.rules.push({one.pattern.text, one.control, one.tier});
  const planned_parts plans = plan_parts(p, moves, prices.duration, tiers_of(device, settings.budget), how);
  if (plans.code == offloading_code::rules_are_refused) {
    r.refuse(plans.code);
    r.ruled = plans.ruled;
    r.pattern = refusal_text(how.rules[plans.ruled.rule].pattern);
    return r;
  }
  const detail::parts_summary of_parts(p, uses, plans);
  plans.ok() ? of_parts.plan(r) : of_parts.refusal(r);
  return r;
}

}}  // namespace hyperparallel::v0_2
