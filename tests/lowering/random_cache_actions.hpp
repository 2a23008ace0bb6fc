// SPDX-License-Identifier: Apache-2.0
#pragma once
// Random cache operators that keep every step of a program served: storages leave tier 0 now and then, and are back, or
// computed again, where a step reads them.

#include <hyperparallel/lowering/cache_operators.hpp>

#include <random>
#include <vector>

namespace programs {

namespace hp = hyperparallel;

struct cache_action_rates {
  unsigned leaving = 30;       ///< of 100: what has been used and may leave does
  unsigned early = 20;         ///< of 100 steps: something comes back before it has to
  unsigned remote_homes = 50;  ///< of 100
  unsigned recomputed = 30;    ///< of 100, where it is possible
  int tiers = 2;               ///< slower ones
};

struct cache_plan {
  hp::growing_array<int> home_tier;
  hp::growing_array<hp::cache_action> action;
};

inline cache_plan random_cache_plan(const hp::sharded_program& p, std::mt19937& random,
                                    const cache_action_rates& rates = {}) {
  using kind = hp::cache_action_kind;
  struct storage_state {
    int maker = -1;
    bool here = false, copied = false, home = false, shown = false;
  };
  const auto chance = [&](unsigned percent) { return random() % 100 < percent; };
  const auto some_tier = [&] { return 1 + static_cast<int>(random() % static_cast<unsigned>(rates.tiers)); };
  cache_plan plan;
  plan.home_tier.resize(p.storage.size, 0);
  std::vector<storage_state> state(static_cast<std::size_t>(p.storage.size));
  std::vector<int> held(static_cast<std::size_t>(p.storage.size), -1);
  const auto of = [&](int s) -> storage_state& { return state[static_cast<std::size_t>(s)]; };
  const auto storage_of = [&](int v) { return p.value[v].storage; };
  for (int v = 0; v < p.value.size; ++v)
    if (hp::detail::is_shown(p.graph, p.value[v].tensor)) of(storage_of(v)).shown = true;
  for (int t = 0; t < p.home.size; ++t) {
    if (p.home[t] < 0) continue;
    const int s = storage_of(p.home[t]);
    held[static_cast<std::size_t>(s)] = p.home[t];
    of(s).home = true;
    if (!of(s).shown && chance(rates.remote_homes)) plan.home_tier[s] = some_tier();
    of(s).here = plan.home_tier[s] == 0;
    of(s).copied = !of(s).here;
  }
  const auto bring = [&](int s) {
    if (of(s).here) return;
    bool again = of(s).maker >= 0 && (!of(s).copied || chance(rates.recomputed));
    const hp::program_compute* c = again ? &p.compute[of(s).maker] : nullptr;
    for (int i = 0; again && i < p.graph.op[c->op].operand_count; ++i) {
      const int from = storage_of(c->operand[i]);
      again = of(from).here && held[static_cast<std::size_t>(from)] == c->operand[i];
    }
    plan.action.push({again ? kind::recompute : kind::prefetch, s});
    of(s).here = true;
  };
  for (int i = 0; i < p.step.size; ++i) {
    hp::detail::visit_values(p, p.step[i], [&](int v, bool written) {
      if (!written) bring(storage_of(v));
    });
    plan.action.push({kind::step, i});
    hp::detail::visit_values(p, p.step[i], [&](int v, bool written) {
      if (!written) return;
      held[static_cast<std::size_t>(storage_of(v))] = v;
      of(storage_of(v)).here = true;
      of(storage_of(v)).copied = false;
      of(storage_of(v)).maker = p.step[i].is_move ? -1 : p.step[i].index;
    });
    hp::detail::visit_values(p, p.step[i], [&](int v, bool) {
      const int s = storage_of(v);
      if (!of(s).here || of(s).shown || !chance(rates.leaving)) return;
      if (!of(s).copied) plan.action.push({kind::store, s, plan.home_tier[s] > 0 ? plan.home_tier[s] : some_tier()});
      of(s).copied = true;
      if (chance(20)) return;  // the copy is there, and the storage too
      plan.action.push({kind::detach, s});
      of(s).here = false;
    });
    if (chance(rates.early))
      if (const int s = static_cast<int>(random() % static_cast<unsigned>(p.storage.size)); of(s).copied) bring(s);
  }
  for (int s = 0; s < p.storage.size; ++s)
    if (of(s).home && plan.home_tier[s] == 0) bring(s);
  for (int s = 0; s < p.storage.size; ++s)
    if (plan.home_tier[s] > 0 && !of(s).copied) plan.action.push({kind::store, s, plan.home_tier[s]});
  return plan;
}

}  // namespace programs
