// SPDX-License-Identifier: Apache-2.0
#pragma once
// The step time of a decoder's plan with several stages: its schedule replayed with times of stages that are simulated, one
// by one, as plans of their own. It holds until a pipeline runs as one plan.
//
//   const hp::simulated_pipeline s = hp::simulate_pipeline(llama3, plan, prices, reserve.most_peak(device_bytes));
//   s.ok(), s.replay.times.makespan, s.stage[0].bytes
//
// Layers go to the stages as `split_layers` deals them, all of one weight; where `ends_count_as_layers`, the first and the last stage have
// one layer less than the others. Of each stage the decoder with its layers is lowered by `lower_fastest`, layers unrolled, with the
// plan's strategy; stage_passes.hpp reads from its clock what the passes of a micro-batch take. The last stage is lowered with the whole vocabulary: its head is that stage's, its embedding the first one's. The others
// are lowered with as many rows as devices, so that what is not theirs takes next to nothing, and of them the time of their
// layers counts. Stages with as many layers of each kind are simulated once, within the memory of the fullest rank among theirs; so
// layers of a kind stand together, whatever their order in the model, and are computed again one by one.
//
// A tied table is updated by the first stage. The last one accumulates its gradient itself, hands it over once a step, and waits in the
// update until it has the new value; where one rank has both nothing crosses.
//
// Bytes of a rank are the most that its stages hold along its row of the schedule (row_memory.hpp), what they hold between I and W
// of a micro-batch too; and what the addresses of the program that is simulated take beyond what it has alive at once, the most of
// its stages.
// Laws: alike stages have alike passes; where it is ok no rank exceeds the memory; the makespan is that of `replay_stages`.
// Units: picoseconds, bytes. O(different stages · (partition + lower_fastest) + the replay).

#include <hyperparallel/pipeline/stage_split.hpp>
#include <hyperparallel/planner/host_states.hpp>
#include <hyperparallel/planner/plan_check.hpp>
#include <hyperparallel/price/lookahead.hpp>
#include <hyperparallel/price/plan_evaluation.hpp>
#include <hyperparallel/price/row_memory.hpp>
#include <hyperparallel/price/stage_replay.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// How many layers there are of each kind of attention, and of each kind of feed-forward layer.
struct layer_kinds {
  extent_t layers = 0;
  extent_t unwindowed = 0, dense = 0;  ///< of these
  extent_t linear = 0, branches = 0;   ///< of them where each has one branch, which then is counted once
  friend constexpr bool operator==(const layer_kinds&, const layer_kinds&) = default;
};

namespace detail {
constexpr layer_kinds layers_between(const decoder& d, extent_t first, extent_t end) {
  layer_kinds s{.layers = end - first};
  for (extent_t layer = first; layer < end; ++layer) {
    s.unwindowed += d.is_full(layer) ? 1 : 0;
    s.dense += d.is_dense(layer) ? 1 : 0;
    if (!d.has_one_branch(layer)) continue;
    s.linear += d.is_linear(layer) ? 1 : 0;
    ++s.branches;
  }
  return s;
}

/// The decoder with these layers alone.
constexpr decoder decoder_with(decoder d, const layer_kinds& s) {
  d.layers = s.layers;
  d.first_windowed = s.unwindowed;
  d.full_every = 0;
  d.sparse = {.first = s.dense};
  d.branches = {};
  const auto add = [&](layer_branch b, extent_t count) {
    for (; count > 0; --count) d.branches.push(b);
  };
  if (s.branches == 0) return d;
  add(layer_branch::linear_attention, s.linear);
  add(layer_branch::attention, s.unwindowed);
  add(layer_branch::feed_forward, s.dense);
  add(layer_branch::experts, s.branches - s.linear - s.unwindowed - s.dense);
  return d;
}
}  // namespace detail

/// One stage of a plan.
struct simulated_stage {
  layer_kinds has{};
  stage_passes passes{};
  int rank = 0;
  int lookahead = 0;
  extent_t bytes = 0, least_bytes = 0;  ///< of its rank, by address: of this plan, and without lookahead
};

enum class simulated_pipeline_code : unsigned char { ok, is_not_lowered, schedule_is_too_large };

struct simulated_pipeline {
  simulated_pipeline_code code = simulated_pipeline_code::is_not_lowered;
  growing_array<simulated_stage> stage{};  ///< pp · chunks of them
  extent_t hand_over = 0;                  ///< of one micro-batch, from a stage to the next one
  int simulated = 0;                       ///< stages that are not like another one
  stage_replay replay{};

  constexpr bool ok() const { return code == simulated_pipeline_code::ok; }
  /// The most that a device of a stage holds.
  constexpr extent_t bytes() const { return most(&simulated_stage::bytes); }
  constexpr extent_t least_bytes() const { return most(&simulated_stage::least_bytes); }

 private:
  constexpr extent_t most(extent_t simulated_stage::* of) const {
    extent_t found = 0;
    for (const simulated_stage& s : stage) found = larger(found, s.*of);
    return found;
  }
};

namespace detail {
/// Stages with as many layers of each kind, at the same end of the model.
struct stage_kind {
  layer_kinds has{};
  bool is_last = false;
  sharded_program program{};  ///< until it is lowered
  stage_holding holding{};    ///< without the embedding
  extent_t alive = 0;         ///< that its program has at once
  extent_t on_host = 0;       ///< of its states
  extent_t by_address = 0,
           least_by_address = 0;  ///< what its addresses take beyond: of this plan, and without lookahead
  stage_passes passes{}, embedding{};
  int lookahead = 0;
};

constexpr stage_split split_stages(int layers, int stages) {
  if (!ends_count_as_layers(layers, stages)) return split_layers(layers, stages);
  stage_split s;
  s.heaviest = (layers + 2) / stages;
  s.lightest = s.heaviest - 1;
  s.first.push(0);
  for (int stage = 1; stage <= stages; ++stage)
    s.first.push(static_cast<int>(s.heaviest) * stage - (stage == stages ? 2 : 1));
  return s;
}

/// Simulates the stages of one plan.
class stage_simulator {
 public:
  constexpr stage_simulator(const decoder& model, const decoder_plan& p, const plan_prices& of, extent_t bytes)
      : d(model), plan(p), shape(pipeline_of(p)), prices(of), memory(bytes) {}

  constexpr simulated_pipeline run() {
    const stage_split split = split_stages(static_cast<int>(d.layers), shape.stages());
    const sharded_program folded = planned_program(d, plan);
    const time_cost hand_over = hand_over_time(folded, prices.links());
    out.hand_over = hand_over.picoseconds;
    if (!split.ok() || !hand_over.ok()) return static_cast<simulated_pipeline&&>(out);
    for (int s = 0; s < shape.stages(); ++s) of_stage.push(kind_of(split, s));
    if (!find_peaks() || !lower_kinds()) return static_cast<simulated_pipeline&&>(out);
    fill_stages();
    growing_array<stage_passes> passes;
    for (const simulated_stage& s : out.stage) passes.push(s.passes);
    out.replay = replay_stages(passes, shape, out.hand_over, plan.schedule);
    out.code = out.replay.ok() ? simulated_pipeline_code::ok : simulated_pipeline_code::schedule_is_too_large;
    return static_cast<simulated_pipeline&&>(out);
  }

 private:
  constexpr int rank_of(int stage) const { return rank_of_stage(schedule_of(plan).placement, shape.ranks, stage); }
  constexpr const stage_kind& end() const { return kind[of_stage.last()]; }

  constexpr int kind_of(const stage_split& split, int s) {
    const bool is_last = s + 1 == shape.stages();
    const layer_kinds has = layers_between(d, split.first[s], split.first[s + 1]);
    for (int k = 0; k < kind.size; ++k)
      if (kind[k].is_last == is_last && kind[k].has == has) return k;
    return kind.push(is_last ? last_kind(has) : inner_kind(has));
  }

  constexpr sharded_program program_of(const decoder& model) const {
    graph g = training_graph_of(model, plan, true);
    accumulate_by_part(g);
    sharded_program p = partition(static_cast<graph&&>(g), strategy_of(plan));
    leave_on_device(p, plan.host_states);
    return p;
  }

  constexpr stage_kind last_kind(const layer_kinds& has) const {
    stage_kind k = kind_with(decoder_with(d, has), has, {decoder_part::layers, decoder_part::head});
    k.is_last = true;
    return k;
  }
  constexpr stage_kind inner_kind(const layer_kinds& has) const {
    decoder model = decoder_with(d, has);
    model.vocabulary = device_count_of(plan) / plan.pp;
    model.positions = 0;
    return kind_with(model, has, {decoder_part::layers, decoder_part::layers});
  }
  constexpr stage_kind kind_with(const decoder& model, const layer_kinds& has, part_range own) const {
    stage_kind k{.has = has, .program = program_of(model)};
    const program_moves moves = kinds_of_moves(k.program, prices.links());
    k.holding = holding_of(k.program, moves, own);
    k.alive = alive_maximum(k.program, moves);
    k.on_host = host_states_of(k.program, plan.host_states)[0];
    return k;
  }
  /// Of the first stage, which has the embedding.
  constexpr stage_holding first_holding() const {
    constexpr part_range own{decoder_part::embedding, decoder_part::layers};
    const layer_kinds& has = kind[of_stage[0]].has;
    if (has == end().has) return holding_of(end().program, kinds_of_moves(end().program, prices.links()), own);
    const sharded_program p = program_of(decoder_with(d, has));
    return holding_of(p, kinds_of_moves(p, prices.links()), own);
  }

  /// What the ranks hold at most. False where the schedule is too large to be replayed.
  constexpr bool find_peaks() {
    pipeline_shape played = shape;  // 1F1B of more micro-batches goes on as it does
    if (is_1f1b(plan))
      played.micro_batches = static_cast<int>(smaller(extent_t{shape.micro_batches}, 2 * extent_t{shape.ranks}));
    if (extent_t{played.stages()} * played.micro_batches > most_replayed_passes) {
      out.code = simulated_pipeline_code::schedule_is_too_large;
      return false;
    }
    growing_array<stage_holding> holdings;
    holdings.push(first_holding());
    for (int s = 1; s < shape.stages(); ++s) holdings.push(kind[of_stage[s]].holding);
    held = peaks_of_ranks(holdings, schedule_of(plan).generate(played, false));
    return true;
  }

  /// Lowers each kind within what the fullest rank of its stages has left.
  constexpr bool lower_kinds() {
    for (int i = 0; i < kind.size; ++i) {
      stage_kind& k = kind[i];
      extent_t fullest = 0;
      for (int s = 0; s < shape.stages(); ++s)
        if (of_stage[s] == i) fullest = larger(fullest, held[rank_of(s)]);
      const extent_t within = memory - fullest + k.alive + k.on_host;
      ++out.simulated;
      take_back(k.program, plan.host_states);
      const clocked_plan c = lower_fastest(static_cast<sharded_program&&>(k.program), {.topology = prices.links()},
                                           prices.device(), larger(within, extent_t{1}));
      const passes_of_parts passes(c.ok() ? c.lowered : lowered_program{}, prices.device());
      if (!passes.ok()) return false;
      k.lookahead = c.lookahead;
      k.by_address = c.bytes() - k.on_host - k.alive;
      k.least_by_address = c.least_bytes - k.on_host - k.alive;
      k.passes = passes.of(decoder_part::layers);
      if (!k.is_last) continue;
      k.embedding = passes.of(decoder_part::embedding);
      k.passes += passes.of(decoder_part::head);
      if (!d.tied || rank_of(0) == rank_of(shape.stages() - 1)) continue;
      const time_cost crosses = table_crosses(c.lowered.program);
      if (!crosses.ok()) return false;
      k.passes.update += k.embedding.update;
      k.passes.update.time += crosses.picoseconds;
    }
    return true;
  }

  /// What it takes to hand the gradient of a tied table over to the first stage, and its new value back to the last one.
  constexpr time_cost table_crosses(const sharded_program& p) const {
    const int last = rank_of(shape.stages() - 1) * position_count(p.mesh.shape);
    time_cost time;
    for (const program_step& s : p.step) {
      if (s.is_move || s.phase != graph_phase::update) continue;
      const program_compute& c = p.compute[s.index];
      if (!name_matches("*embedding.weight", p.graph.name_of_op(c.op))) continue;
      time = then(time, transfer_time(prices.links(), last, 0, local_bytes(p, c.operand[1])));
      time = then(time, transfer_time(prices.links(), 0, last, local_bytes(p, c.result[0])));
    }
    return time;
  }

  constexpr void fill_stages() {
    growing_array<extent_t> above(shape.ranks, extent_t{0}), least_above(shape.ranks, extent_t{0});
    for (int s = 0; s < shape.stages(); ++s) {
      const stage_kind& k = kind[of_stage[s]];
      above[rank_of(s)] = larger(above[rank_of(s)], k.by_address);
      least_above[rank_of(s)] = larger(least_above[rank_of(s)], k.least_by_address);
    }
    for (int s = 0; s < shape.stages(); ++s) {
      const int r = rank_of(s);
      const stage_kind& k = kind[of_stage[s]];
      out.stage.push({k.has, k.passes, r, k.lookahead, held[r] + above[r], held[r] + least_above[r]});
      if (s == 0) out.stage[0].passes += end().embedding;
    }
  }

  const decoder& d;
  const decoder_plan& plan;
  const pipeline_shape shape;
  const plan_prices& prices;
  const extent_t memory;
  growing_array<stage_kind> kind;
  growing_array<int> of_stage;   ///< the kind of each stage
  growing_array<extent_t> held;  ///< of each rank, at most
  simulated_pipeline out{};
};

simulated_pipeline simulate_pipeline_in_library(const decoder& d, const decoder_plan& plan, const plan_prices& prices,
                                                extent_t memory);
}  // namespace detail

/// Within `memory` bytes of a device. Precondition: `check_plan` says ok, the plan is countable and has several stages.
constexpr simulated_pipeline simulate_pipeline(const decoder& d, const decoder_plan& plan, const plan_prices& prices,
                                               extent_t memory) {
  HYPERPARALLEL_TWIN(detail::simulate_pipeline_in_library(d, plan, prices, memory));
  return detail::stage_simulator(d, plan, prices, memory).run();
}

}}  // namespace hyperparallel::v0_2
