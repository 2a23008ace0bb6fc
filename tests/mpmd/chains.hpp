// SPDX-License-Identifier: Apache-2.0
#pragma once
// Chains that the tests of the lowering share: random ones, and a flow with everything that judges it.

#include <cstdint>
#include <random>
#include <vector>

#include <hyperparallel/mpmd/chain_check.hpp>
#include <hyperparallel/mpmd/lower_chain.hpp>
#include <hyperparallel/mpmd/moe_expert_events.hpp>
#include <hyperparallel/taskflow.hpp>

#include "taskflow/flows.hpp"

namespace chain_test {

namespace hp = hyperparallel;
using taskflow_test::below;
using taskflow_test::exhaustive;

inline bool chance(std::mt19937& random, int percent) { return below(random, 100) < percent; }
inline hp::grain any_grain(std::mt19937& random) { return static_cast<hp::grain>(1 + below(random, 3)); }

constexpr hp::machine_shape machine(int ranks) { return {ranks, {2, 2, 1, 1, 0}}; }

/// Any chain at all: most have something that `check` refuses, the others everything that a chain can have.
inline hp::tile_chain random_chain(std::mt19937& random) {
  hp::tile_chain c;
  c.devices = 1 + below(random, 4);
  c.ranks = chance(random, 60) ? c.devices : 1;
  c.rotation = static_cast<hp::rotation_kind>(below(random, hp::rotation_kind_count));
  c.own_first = chance(random, 50);
  for (int i = 0, spaces = 1 + below(random, 2); i < spaces; ++i) {
    const int per_group = 1 + below(random, 3);
    hp::add_space(c, per_group * (1 + below(random, 3)), per_group);
  }
  const auto tensor = [&](int space, bool windowed) {
    const int t = hp::add_tensor(c, space, windowed ? hp::grain::group : any_grain(random), 4096, below(random, 2));
    c.tensor[t].windowed = windowed;
    return t;
  };
  for (int i = 0, inputs = 1 + below(random, 2); i < inputs; ++i) tensor(below(random, c.spaces), false);
  const auto work = [&] {
    const hp::resource kinds[] = {hp::resource::aic, hp::resource::aiv, hp::resource::link, hp::resource::copy_in};
    return hp::tile_work{kinds[below(random, 4)], 1 + below(random, 3), below(random, 50)};
  };
  if (chance(random, 40)) {
    const int space = below(random, c.spaces), groups = hp::groups_of(c.space[space]);
    c.window.buffers = 1 + below(random, 3);
    for (int g = 0; g < groups; ++g) {
      c.window.buffer[g] = g % c.window.buffers;
      c.window.previous[g] = g < c.window.buffers ? -1 : g - c.window.buffers;
    }
    for (int i = 0, windows = 1 + below(random, 2); i < windows; ++i) {
      const int from = tensor(space, false), to = tensor(space, true);
      hp::tile_stage& fill = hp::add_stage(c, c.stages, space, hp::grain::group, work());
      hp::add_read(fill, from, hp::grain::group);
      hp::add_write(fill, to);
    }
  }
  const bool sectioned = chance(random, 60);
  int lag = 0;
  for (int i = 0, stages = 2 + below(random, 5); i < stages; ++i) {
    const int space = chance(random, 75) ? 0 : below(random, c.spaces);
    const hp::grain per = chance(random, 60) ? hp::grain::item : any_grain(random);
    if (chance(random, 50)) lag += below(random, 4);
    hp::tile_stage& s =
        hp::add_stage(c, c.stages, space, per, work(), sectioned && chance(random, 85) ? lag : hp::at_once);
    for (int r = 0, reads = 1 + below(random, 3); r < reads; ++r) {
      const int t = chance(random, 60) ? c.tensors - 1 : below(random, c.tensors);
      bool known = false;
      for (int other = 0; other < s.reads; ++other) known = known || s.read[other].tensor == t;
      if (known) continue;
      hp::add_read(s, t, chance(random, 60) ? per : any_grain(random));
      if (chance(random, 10)) s.read[s.reads - 1].waits = hp::grain::whole;
    }
    for (int w = 0, writes = 1 + below(random, 4) / 3; w < writes; ++w) {
      if (chance(random, 15)) {
        hp::add_write(s, hp::add_update(c, s.read[0].tensor));
      } else {
        const int t = hp::add_tensor(c, chance(random, 85) ? space : below(random, c.spaces), any_grain(random), 4096);
        if (c.tensor[t].held < per) c.tensor[t].held = per;
        hp::add_write(s, t);
      }
    }
    if (c.tensor[s.write[0]].held > per && chance(random, 50)) {
      s.folds = true;
      hp::add_read(s, s.write[0], hp::grain::tile);
    } else if (per == hp::grain::item && chance(random, 35)) {
      s.route = chance(random, 50) ? hp::stage_route::to_receiver : hp::stage_route::to_source;
      if (chance(random, 60)) s.stay = {hp::resource::aiv, 1 + below(random, 3), 5};
    }
  }
  return c;
}

/// A chain that `check` accepts, of at most `tasks` tasks.
inline hp::tile_chain accepted_chain(std::mt19937& random, int tasks = 400) {
  for (;;) {
    const hp::tile_chain c = random_chain(random);
    if (hp::check(c).code == hp::chain_code::ok && hp::measure(hp::chain_builder{c}).tasks <= tasks) return c;
  }
}

/// The flow of a chain, its queues, and what judges them.
struct lowered {
  explicit lowered(const hp::tile_chain& chain, hp::priority policy = hp::priority::upward_rank)
      : size(hp::measure(hp::chain_builder{chain})),
        shape(machine(chain.ranks)),
        flow(size),
        schedule(size.tasks, hp::queue_count(shape)) {
    places = hp::lower_chain(chain, flow);
    hp::seal(flow);
    freeze(policy);
  }
  void freeze(hp::priority policy) {
    hp::owned_schedule_scratch x(size, hp::queue_count(shape));
    placed = hp::list_schedule(flow, shape, {policy, 1}, schedule, x);
  }
  hp::flow_status structure() {
    hp::owned_flow_scratch x(size);
    const std::int64_t memory[] = {std::int64_t{1} << 40, std::int64_t{1} << 40};
    return hp::check_flow(flow, shape.ranks, memory, 2, x);
  }
  hp::verify_status proof() {
    hp::owned_verify_scratch x(size, hp::queue_count(shape));
    return hp::verify(flow, schedule, x);
  }
  hp::exact_status exact() {
    hp::owned_exact_scratch x(size, hp::queue_count(shape));
    return hp::check_exactly(flow, schedule, x);
  }

  hp::taskflow_size size;
  hp::machine_shape shape;
  hp::owned_taskflow flow;
  hp::owned_schedule schedule;
  hp::chain_places places{};
  hp::schedule_status placed{};
};

/// Which part of its chain a task is; operations of random chains are the numbers of their stages.
struct chain_task {
  int stage, unit, tile, rank;
};
inline chain_task part_of(const hp::tile_chain& c, const hp::task& k) {
  const int stride = hp::stride_of(c.stage[k.operation]);
  return {k.operation, k.item / stride, k.item % stride, k.rank};
}

/// Which tasks have ended before which begin, by waits alone: as if every task had a queue of its own. Not the
/// checkers' algorithm: sets of ancestors in reference order.
struct ancestors {
  std::vector<std::vector<bool>> of;
  /// Leaves out wait `without` of the flow.
  ancestors(const hp::dynamic_taskflow& f, int without = -1) {
    const auto at = [](int i) { return static_cast<std::size_t>(i); };
    std::vector<std::vector<int>> signallers(at(f.size.events));
    of.assign(at(f.size.tasks), std::vector<bool>(at(f.size.tasks)));
    for (int t = 0; t < f.size.tasks; ++t) {
      for (int w = f.task[t].wait_begin; w < f.task[t].wait_end; ++w) {
        if (w == without) continue;
        for (const int a : signallers[at(f.wait[w].event)]) {
          of[at(t)][at(a)] = true;
          for (int b = 0; b < a; ++b)
            if (of[at(a)][at(b)]) of[at(t)][at(b)] = true;
        }
      }
      for (int g = f.task[t].signal_begin; g < f.task[t].signal_end; ++g) signallers[at(f.signal[g])].push_back(t);
    }
  }
  bool before(int a, int b) const { return of[static_cast<std::size_t>(b)][static_cast<std::size_t>(a)]; }
};

inline bool conflicting(const hp::dynamic_taskflow& f, int a, int b) {
  for (int i = f.task[a].access_begin; i < f.task[a].access_end; ++i)
    for (int j = f.task[b].access_begin; j < f.task[b].access_end; ++j)
      if (f.access[i].slot == f.access[j].slot && hp::detail::conflict(f.task[a], f.access[i], f.task[b], f.access[j]))
        return true;
  return false;
}

/// The first task that can meet an earlier one on a slot, or -1.
inline int first_unordered(const hp::dynamic_taskflow& f, const ancestors& known) {
  for (int b = 0; b < f.size.tasks; ++b)
    for (int a = 0; a < b; ++a)
      if (!known.before(a, b) && conflicting(f, a, b)) return b;
  return -1;
}

}  // namespace chain_test
