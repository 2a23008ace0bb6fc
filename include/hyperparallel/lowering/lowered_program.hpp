// SPDX-License-Identifier: Apache-2.0
#pragma once
// A sharded program as it runs: its moves, addresses, plans and the verdict of their proofs as one value, which worlds
// on threads and over MPI run.
//
//   const hp::lowered_program l = hp::lower(hp::partition(graph, strategy), {.topology = links}, phases…);
//   l.status.ok(), l.addresses.high_water[0], l.run[0].plan
//
// `lower` chooses the moves, places everything in memory, and makes of each set of phases that runs by itself the plan of
// the class of ranks, which it proves. The same function works in a constant expression and at the start of a world.
// Laws: where the status is ok, each run is proved by `prove_class` on these addresses and stays within their memory; a
// status that is not ok names the first thing that is wrong, and what was made before it. Complexity: that of
// `plan_addresses`, and for each run that of `lower_class` and `prove_class`.
//
// The folder lowering/: how a sharded program becomes pulls, places, addresses and tasks, of the class of ranks or of all
// ranks; images of that as constants, and messages between processes; programs with cache operators under a budget; and the
// proofs of all these. What they cost is in price/, what runs them in world/ and mpi/.

#include <hyperparallel/lowering/lower_program.hpp>
#include <hyperparallel/lowering/program_proof.hpp>
#include <hyperparallel/lowering/run_times.hpp>
#include <hyperparallel/offload/offload_plan.hpp>
#include <hyperparallel/redistribution/interconnect.hpp>
#include <hyperparallel/strategy/narrow_gradients.hpp>
#include <hyperparallel/support/compiled.hpp>
#include <hyperparallel/tiles/tile_program.hpp>

namespace hyperparallel { inline namespace v0_2 {

enum class lowering_code : unsigned char {
  ok,
  program_is_refused,
  segment_is_folded,
  kept_tensor_is_unknown,
  tiles_match_nothing,  ///< a pattern names no operator
  tiles_have_no_moves,  ///< what the patterns name stands beside no move whose tiles it can follow
  tiles_meet_a_budget,  ///< the program has copies between tiers already
  budget_is_exceeded,
  move_is_refused,
  run_is_not_lowered,
  run_is_not_proved,
  memory_is_exceeded,
  plan_is_too_large,          ///< for a constant: not of `lower`, as the following
  budget_is_planned_at_start  ///< of a world
};

/// Where it is not ok: `at` is a segment, the place of a name in `keep` or `tiles`, a move or a tier, as the code says.
struct lowering_status {
  lowering_code code = lowering_code::ok;
  int at = -1;
  program_flow_status flow{};  ///< of the run that is not lowered
  program_proof proof{};       ///< of the run that is not proved, or takes more memory than is planned

  constexpr bool ok() const { return code == lowering_code::ok; }
};

struct lowering_options {
  interconnect topology{};    ///< that moves are chosen on
  bool vector_queue = false;  ///< vector operators on a queue of their own
  int lookahead = 0;    ///< steps by which moves may run ahead; takes memory beyond the least; of tiles at least 1
  extent_t budget = 0;  ///< most bytes of tier 0 by address; 0: no budget
  growing_array<const char*> keep{};  ///< tensors whose values live to the end, beside loss and monitors
  /// Patterns of the names of operators that are tiled with the moves beside them (tiles/tile_program.hpp), and how many
  /// tiles at most.
  growing_array<const char*> tiles{};
  int most_tiles = tile_options{}.most;
  growing_array<extent_t> step_duration{};  ///< by which tiles are ordered; if not of each step, all are alike
  extent_t synchronisation = 0;             ///< likewise, from a step's end to a wait of another queue
};

/// Phases that run by themselves: the plan of one rank, which stands for its class, proved.
struct lowered_run {
  unsigned phases = 0;
  program_plan plan;
  growing_array<int> reads;  ///< values that have to be there before
};

struct lowered_program {
  lowering_status status{};
  sharded_program program;  ///< what is kept is among its monitors
  program_pulls pulls;
  program_addresses addresses;
  growing_array<lowered_run> run;
  growing_array<extent_t> duration;  ///< of each step, picoseconds, where its order rests on them; else none
  run_times times{.code = cost_code::program_is_refused};  ///< of a step on a device, once it is `clocked`
  offload_certificate offloading{};                        ///< of the plan that brought in the cache operators, if any
  int monitors = 0;                                        ///< of the graph, without what is kept
  bool vector_queue = false;
  bool watches_gradients = false;  ///< they are looked at before the update, which runs by itself

  /// The run of exactly these phases, or none.
  constexpr const lowered_run* find_run(unsigned phases) const {
    for (const lowered_run& r : run)
      if (r.phases == phases) return &r;
    return nullptr;
  }
};

namespace detail {

/// A step of training runs as a whole: where its steps are those of all micro-batches, and no gradient is looked at before
/// the update.
constexpr bool runs_as_a_whole(const sharded_program& p, bool watches_gradients) {
  return (p.graph.micro_batches == 1 || p.unrolled) && !watches_gradients;
}

constexpr void fail(lowered_program& l, lowering_code code, int at) {
  if (!l.status.ok()) return;
  l.status.code = code;
  l.status.at = at;
}

/// Values that the phases read before they write them, each storage once.
constexpr growing_array<int> values_read_first(const sharded_program& p, unsigned phases) {
  growing_array<int> reads;
  growing_array<bool> known(p.storage.size, false);
  for (const program_step& s : p.step) {
    if (!is_in(s.phase, phases)) continue;
    visit_values(p, s, [&](int v, bool written) {
      bool& seen = known.item[p.value.item[v].storage];
      if (!written && !seen) reads.push(v);
      seen = true;
    });
  }
  return reads;
}

bool lower_run_in_library(lowered_program& l, unsigned phases);
constexpr bool lower_run_here(lowered_program& l, unsigned phases) {
  program_flow_options how;
  how.phases = phases;
  how.vector_queue = l.vector_queue;
  how.step_duration = l.duration.empty() ? nullptr : l.duration.item;
  lowered_run r;
  r.phases = phases;
  r.plan = lower_class(l.program, l.pulls, l.addresses, how);
  if (r.plan.status.code != program_flow_code::ok) {
    l.status.flow = r.plan.status;
    detail::fail(l, lowering_code::run_is_not_lowered, -1);
    return false;
  }
  grown_execution_table table = table_of(r.plan);
  list_readers_of_class(table, class_words(l.program, queues_per_rank(r.plan.machine)));
  const program_proof proof = prove_class(l.program, l.pulls, l.addresses, phases, r.plan.machine, table);
  if (proof.code != program_proof_code::ok) detail::fail(l, lowering_code::run_is_not_proved, -1);
  for (int tier = 0; tier < max_memory_tiers; ++tier)
    if (proof.bytes[tier] > l.addresses.high_water[tier]) detail::fail(l, lowering_code::memory_is_exceeded, tier);
  l.status.proof = proof;
  if (!l.status.ok()) return false;
  r.reads = detail::values_read_first(l.program, phases);
  l.run.push({});
  l.run.last() = static_cast<lowered_run&&>(r);
  return true;
}

/// Adds the run of these phases, proved. False, with the status, where there is none. Domain: the status is ok.
constexpr bool lower_run(lowered_program& l, unsigned phases) {
  HYPERPARALLEL_TWIN(detail::lower_run_in_library(l, phases));
  return detail::lower_run_here(l, phases);
}

/// The program in tiles becomes that of `l`. False, with the status, where it cannot.
constexpr bool take_tiles(lowered_program& l, const program_moves& moves, const lowering_options& options) {
  if (!l.addresses.storage.empty() || !l.duration.empty() || tiers_of(l.program) > 1) {
    fail(l, lowering_code::tiles_meet_a_budget, -1);
    return false;
  }
  tiled_program t = tile_program(
      l.program, moves,
      {options.tiles, options.most_tiles, options.step_duration, options.vector_queue, options.synchronisation});
  if (t.unmatched >= 0)
    fail(l, lowering_code::tiles_match_nothing, t.unmatched);
  else if (t.sections == 0)
    fail(l, lowering_code::tiles_have_no_moves, 0);
  l.program = static_cast<sharded_program&&>(t.program);
  return l.status.ok();
}

lowered_program lower_memory_in_library(lowered_program&& l, const lowering_options& options);
constexpr lowered_program lower_memory_here(lowered_program&& l, const lowering_options& options) {
  const sharded_program& p = l.program;
  l.vector_queue = options.vector_queue;
  if (p.status.code != strategy_code::ok) detail::fail(l, lowering_code::program_is_refused, -1);
  for (int s = 0; s < p.graph.segment.size; ++s)
    if (p.graph.segment[s].repeats > 1) detail::fail(l, lowering_code::segment_is_folded, s);
  if (!l.status.ok()) return static_cast<lowered_program&&>(l);
  const program_moves moves = kinds_of_moves(p, options.topology);
  if (!options.tiles.empty() && !detail::take_tiles(l, moves, options)) return static_cast<lowered_program&&>(l);
  const int lookahead = options.lookahead == 0 && !options.tiles.empty() ? 1 : options.lookahead;
  if (l.addresses.storage.empty() || lookahead > 0)
    l.addresses = plan_addresses(p, moves, {.budget = options.budget, .lookahead = lookahead});
  if (options.budget != 0 && l.addresses.high_water[0] > options.budget)
    detail::fail(l, lowering_code::budget_is_exceeded, -1);
  l.pulls = pulls_of(p, moves);
  if (l.pulls.status.code != move_pulls_code::ok) detail::fail(l, lowering_code::move_is_refused, l.pulls.status.move);
  return static_cast<lowered_program&&>(l);
}

/// Moves and addresses of `p`, without a run so far. Where `l` has the addresses of `p` already, they are taken.
constexpr lowered_program lower_memory(lowered_program&& l, const lowering_options& options) {
  HYPERPARALLEL_TWIN(detail::lower_memory_in_library(static_cast<lowered_program&&>(l), options));
  return detail::lower_memory_here(static_cast<lowered_program&&>(l), options);
}

/// The same program with these tensors among its monitors.
constexpr lowered_program keeping_tensors(sharded_program&& p, const growing_array<const char*>& names) {
  lowered_program l;
  l.program = static_cast<sharded_program&&>(p);
  l.monitors = l.program.graph.monitor.size;
  for (int i = 0; i < names.size; ++i) {
    const int t = find_tensor(l.program.graph, names.item[i]);
    if (t < 0)
      detail::fail(l, lowering_code::kept_tensor_is_unknown, i);
    else
      l.program.graph.monitor.push(t);
  }
  return l;
}

}  // namespace detail

/// The program lowered, with a run of each of these sets of phases.
template <class... Phases>
constexpr lowered_program lower(sharded_program p, const lowering_options& options, Phases... phases) {
  lowered_program l =
      detail::lower_memory(detail::keeping_tensors(static_cast<sharded_program&&>(p), options.keep), options);
  static_cast<void>((l.status.ok() && ... && detail::lower_run(l, phases)));
  return l;
}

namespace detail {

/// Adds the runs of steps of training: one of all phases, or one of a micro-batch and one of the update. Domain: the status
/// is ok, and there is no run.
constexpr void lower_steps(lowered_program& l) {
  if (runs_as_a_whole(l.program, l.watches_gradients))
    lower_run(l, micro_phases | update_phases);
  else if (lower_run(l, micro_phases))
    lower_run(l, update_phases);
}

}  // namespace detail

/// The program with the runs of its steps of training.
constexpr lowered_program lower_training(sharded_program p, const lowering_options& options = {}) {
  const bool watches = !detail::gradients_that_may_overflow(p).empty();
  lowered_program l = lower(static_cast<sharded_program&&>(p), options);
  l.watches_gradients = watches;
  if (l.status.ok()) detail::lower_steps(l);
  return l;
}

}}  // namespace hyperparallel::v0_2
