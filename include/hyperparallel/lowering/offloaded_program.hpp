// SPDX-License-Identifier: Apache-2.0
#pragma once
// A program under a budget of memory: planned, with the plan's cache operators in it, and addresses that keep it.
//
// The plan's sequence of starts, copies and departures becomes the order of steps, so what lives at one time in the
// plan lives in one step of the program. Addresses may need more than what is alive, so the planner is given less until
// they fit. Each part of a program of several has memory of its own, and a plan of its own: its copies hide behind what
// it waits for the others too, as long as those wait for none.
// Laws: where `ok()`, the addresses of tier 0 of each part end within the budget, and every step reads what it read
// without one; a budget that is too small names the first such part, the least one that could do for it, and who is
// then alive. O(a few plans + addresses).

#include <hyperparallel/lowering/planned_parts.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// Plans the periods of a program one after the other, in each the parts by themselves.
class offloading {
 public:
  constexpr offloading(const sharded_program& p, const program_moves& moves, const growing_array<extent_t>& duration,
                       const tier_hardware& hardware, const offloading_options& options)
      : p_(p),
        moves_(moves),
        duration_(duration),
        waiting_(waits_for_others(p, duration)),
        hardware_(hardware),
        options_(options) {
    for (int i = 0; i < p.step.size; ++i) waiting_[i] += duration[i];
    known_.resize(parts_of(p));
  }

  /// With so many bytes of tier 0 of each part for what is alive.
  constexpr offloaded_program run(const growing_array<extent_t>& capacity) {
    offloaded_program r;
    plan(capacity, r);
    if (most_ >= 0) {
      r.part = most_ % parts_of(p_);
      r.planned = made_[most_].planned;
      r.problem = made_[most_].period.problem;
      r.step = made_[most_].period.step;
    }
    if (!r.ok()) return r;
    action_.clear();
    step_duration_.clear();
    for (int first = 0; first < made_.size; first += parts_of(p_)) interleave(first, r);
    r.program = insert_cache_operators(p_, home_tier_, action_, r.inserted);
    r.duration = step_duration_;
    if (r.inserted.code != cache_insertion_code::ok) r.code = offloading_code::not_inserted;
    return r;
  }

  /// The plans alone: of `r` the certificates, or why there is none.
  constexpr void plan(const growing_array<extent_t>& capacity, offloaded_program& r) {
    capacity_ = capacity;
    forget_plans();
    home_tier_.clear();
    home_tier_.resize(p_.storage.size, 0);
    // A step of several micro-batches, or with a separate update, runs in two runs, the first of them again and again:
    // each is a period of its own, and homes lie where they lie between both.
    if ((p_.graph.micro_batches == 1 || p_.unrolled) && !options_.separate_update)
      plan_phases(micro_phases | update_phases, {}, r);
    else
      plan_two_runs(r);
  }
  /// Of the last `plan`, which are taken away.
  constexpr growing_array<planned_part> take_plans() { return static_cast<growing_array<planned_part>&&>(made_); }

 private:
  struct timed_action {
    cache_action action{};
    extent_t duration = 0;
  };
  /// The last plan of a part for the whole step, and what it was made for.
  struct known_plan {
    extent_t capacity = -1;
    planned_offload planned;
  };

  constexpr void forget_plans() {
    made_.clear();
    most_ = -1;
  }

  constexpr void plan_two_runs(offloaded_program& r) {
    growing_array<offload_control> homes(p_.storage.size, offload_control::automatic);
    plan_phases(micro_phases | update_phases, homes, r);
    if (r.code == offloading_code::rules_are_refused) return;
    for (int s = 0; s < p_.storage.size; ++s)
      homes[s] = r.ok() && home_tier_[s] == 0 ? offload_control::keep : offload_control::offload;
    for (bool all = !r.ok();; all = true) {
      r = {};
      forget_plans();
      plan_phases(micro_phases, homes, r);
      if (r.ok()) plan_phases(update_phases, homes, r);
      if (r.ok() || all) return;
      for (offload_control& c : homes) c = offload_control::offload;
    }
  }

  constexpr void plan_phases(unsigned phases, const growing_array<offload_control>& homes, offloaded_program& r) {
    const bool whole = phases == (micro_phases | update_phases);
    const int first = made_.size;
    bool empty = true;
    for (int part = 0; part < parts_of(p_); ++part) {
      hardware_.tier[0].capacity = capacity_[part];
      const offload_view_options view{phases, options_.recomputation, part, homes};
      made_.push({.phases = phases, .period = offload_period_of(p_, moves_, waiting_, hardware_, view)});
      empty = empty && made_.last().period.step.empty();
    }
    if (empty) return made_.resize(first);
    rule(whole, homes, first, r);
    for (int part = 0; part < parts_of(p_) && r.ok(); ++part)
      if (made_[first + part].period.step.empty())
        r.period.push({.feasible = true, .time = 0, .exposed = 0, .bytes_in = 0, .bytes_out = 0, .least_budget = 0});
      else
        plan_part(part, whole, first + part, r);
  }

  constexpr void plan_part(int part, bool whole, int at, offloaded_program& r) {
    const offload_period& period = made_[at].period;
    planned_offload& planned = made_[at].planned;
    if (!whole || known_[part].capacity != capacity_[part])
      known_[part] = {whole ? capacity_[part] : -1, plan_offload(period.problem, options_.planning)};
    planned = known_[part].planned;
    const bool feasible = planned.certificate.feasible;
    if (!feasible)
      r.code = planned.status.code != offload_code::ok ? offloading_code::not_planned
               : planned.certificate.least_budget > period.problem.tier[0].capacity
                   ? offloading_code::budget_is_too_small
                   : offloading_code::no_plan_was_found;
    if (planned.status.code == offload_code::ok) planned.certificate.least_budget += period.kept_unused;
    if (!feasible || most_ < 0 || planned.certificate.time >= made_[most_].planned.certificate.time) most_ = at;
    r.period.push(planned.certificate);
    if (!feasible) return;
    const use_chains& chains = made_[at].chains = chains_of(period.problem);
    for (int s = 0; s < p_.storage.size; ++s)
      if (p_.storage[s].home && period.problem.storage[s].control == offload_control::offload && home_tier_[s] == 0)
        home_tier_[s] = 1;
    for (int g = 0; g < chains.gap.size; ++g)
      if (chains.gap[g].wraps && planned.plan.gap[g].choice == gap_choice::offload)
        home_tier_[chains.gap[g].storage] = planned.plan.gap[g].tier;
  }

  /// What a part does in a period. Domain: it has steps.
  constexpr growing_array<timed_action> timed_actions_of(int at, offloaded_program& r) const {
    const offload_period& period = made_[at].period;
    const offload_plan& plan = made_[at].planned.plan;
    const offload_timeline t = timeline_of(period.problem, plan);
    if (at == most_) r.timeline = t;
    int first = 0;  // that the part works on
    while (first + 1 < period.step.size && part_of_step(p_, p_.step[period.step[first]]) != at % parts_of(p_)) ++first;
    growing_array<timed_action> actions;
    actions.push({{cache_action_kind::enter, period.step[first]}, 0});
    for (const offload_event& e : t.sequence) r.added_stores -= e.kind == offload_event_kind::store ? 1 : 0;
    for (const cache_action& a : actions_of(period, made_[at].chains, plan, t)) {
      r.added_stores += a.kind == cache_action_kind::store ? 1 : 0;
      actions.push({a, duration_of(period.problem, a, duration_)});
    }
    return actions;
  }

  /// Actions of all parts in the order of the program's steps: each part does what it has to do before a step that it
  /// has a hand in, so a hand-over comes when both of its parts have come to it. `begin`: the period of the first part.
  constexpr void interleave(int begin, offloaded_program& r) {
    growing_array<growing_array<timed_action>> of_part(parts_of(p_));
    for (int part = 0; part < parts_of(p_); ++part)
      if (!made_[begin + part].period.step.empty()) of_part[part] = timed_actions_of(begin + part, r);
    growing_array<int> next(of_part.size, 0);
    const auto put = [&](const timed_action& a) {
      action_.push(a.action);
      if (makes_step(a.action.kind)) step_duration_.push(a.duration);
    };
    const auto come_to = [&](int part, int step) {
      for (const growing_array<timed_action>& own = of_part[part]; next[part] < own.size; ++next[part]) {
        if (own[next[part]].action == cache_action{cache_action_kind::step, step}) return;
        put(own[next[part]]);
      }
    };
    for (int i = 0; i < p_.step.size; ++i) {
      const program_step& s = p_.step[i];
      if (!is_in(s.phase, made_[begin].phases)) continue;
      const int part = part_of_step(p_, s);
      come_to(part, i);
      if (s.is_move && is_hand_over(p_, p_.move[s.index])) {
        const int sender = part_of_value(p_, p_.move[s.index].source);
        come_to(sender, i);
        ++next[sender];
      }
      put(of_part[part][next[part]++]);
    }
    for (int part = 0; part < of_part.size; ++part) come_to(part, p_.step.size);
  }

  /// A run of the program need not have what a rule speaks of, and homes lie where they do in the whole.
  constexpr void rule(bool whole, const growing_array<offload_control>& homes, int first, offloaded_program& r) {
    if (options_.rules.size == 0) return;
    growing_array<use_chains> chains;  // of each part
    for (int i = first; i < made_.size; ++i) {
      if (check(made_[i].period.problem).code != offload_code::ok) return;
      chains.push(chains_of(made_[i].period.problem));
    }
    growing_array<int> decided_by;
    r.ruled = decide_rules(
        made_[first].period.problem.storage.size, hardware_.tier.size, options_.rules.item, options_.rules.size,
        [&](int s) { return s < p_.storage.size ? p_.graph.name_of_tensor(p_.storage[s].tensor) : ""; },
        [&](int s, offload_control control) {
          const int part = part_of_block(p_, s);
          return can_follow(made_[first + part].period.problem, chains[part], s, control);
        },
        decided_by);
    if (whole && r.ruled.code != offload_rule_code::ok) r.code = offloading_code::rules_are_refused;
    for (int s = 0; r.ruled.code == offload_rule_code::ok && s < decided_by.size; ++s) {
      if (decided_by[s] < 0) continue;
      offload_storage& one = made_[first + part_of_block(p_, s)].period.problem.storage[s];
      one.control = options_.rules[decided_by[s]].control;
      one.tier = options_.rules[decided_by[s]].tier;
    }
    for (int s = 0; !whole && s < p_.storage.size; ++s) {
      if (!p_.storage[s].home) continue;
      offload_storage& one = made_[first + p_.storage[s].part].period.problem.storage[s];
      one.control = homes[s];
      one.tier = -1;
    }
  }

  const sharded_program& p_;
  const program_moves& moves_;
  const growing_array<extent_t>& duration_;
  growing_array<extent_t> waiting_;  // the same, and before it for other parts
  tier_hardware hardware_;
  const offloading_options& options_;
  growing_array<extent_t> capacity_;  // of each part
  growing_array<known_plan> known_;
  growing_array<planned_part> made_;  // of each period, each part
  int most_ = -1;                     // of these, that takes longest, or has no plan
  growing_array<cache_action> action_;
  growing_array<extent_t> step_duration_;
  growing_array<int> home_tier_;
};

}  // namespace detail

/// `p` under the budget hardware.tier[0].capacity. `duration` is of each step. Domain: `p` has no folded segments and
/// no tiers.
constexpr offloaded_program offload(const sharded_program& p, const growing_array<extent_t>& duration,
                                    const tier_hardware& hardware, const offloading_options& options = {}) {
  constexpr int most_rounds = 12;
  const extent_t budget = hardware.tier[0].capacity;
  const program_moves moves = kinds_of_moves(p, options.links);
  detail::offloading planner(p, moves, duration, hardware, options);
  growing_array<extent_t> capacity(parts_of(p), budget);  // of each part
  for (int round = 0;; ++round) {
    offloaded_program r = planner.run(capacity);
    r.budget = budget;
    if (!r.ok()) {
      if (round > 0) r.code = offloading_code::addresses_do_not_fit;
      return r;
    }
    r.addresses = plan_addresses(r.program, kinds_of_moves(r.program, options.links), {.budget = budget});
    if (r.addresses.high_water[0] <= budget) return r;
    // At least a hundredth less: the same plan again would need the same.
    bool again = round + 1 < most_rounds;
    for (int part = 0; part < capacity.size; ++part) {
      const extent_t over = r.addresses.high_water_of(part) - budget;
      if (over <= 0) continue;
      capacity[part] -= larger(over, budget / 100 + 1);
      again = again && capacity[part] > 0;
    }
    if (again) continue;
    r.code = offloading_code::addresses_do_not_fit;
    for (int part = 0; part < capacity.size; ++part)
      if (r.addresses.high_water_of(part) == r.addresses.high_water[0] && r.part != part) {
        r.part = part;
        r.planned = {};
        r.planned.certificate = r.period[part];
      }
    return r;
  }
}

/// Its plans alone, as they are where addresses take no more than what is alive. `moves` are those on options.links.
constexpr planned_parts plan_parts(const sharded_program& p, const program_moves& moves,
                                   const growing_array<extent_t>& duration, const tier_hardware& hardware,
                                   const offloading_options& options = {}) {
  detail::offloading planner(p, moves, duration, hardware, options);
  growing_array<extent_t> capacity;
  capacity.resize(parts_of(p), hardware.tier[0].capacity);
  offloaded_program r;
  planner.plan(capacity, r);
  return {r.code, r.ruled, planner.take_plans()};
}

}}  // namespace hyperparallel::v0_2
