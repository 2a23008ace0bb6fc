// SPDX-License-Identifier: Apache-2.0
#pragma once
// The step time of a decoder's plan with several stages: its schedule replayed with times of stages that are simulated, one
// by one, as plans of their own. It holds until a pipeline runs as one plan.
//
//   const hp::simulated_pipeline s = hp::simulate_pipeline(llama3, plan, prices, reserve.most_peak(device_bytes));
//   s.ok(), s.replay.times.makespan, s.stage[0].bytes
//
// Layers go to the stages as `split_layers` deals them, all of one weight. Of each stage the decoder with its layers is lowered by
// `lower_fastest`, layers unrolled, with the plan's strategy; stage_passes.hpp reads from its clock what the passes of a micro-batch
// take. The last stage is lowered with the whole vocabulary: its head is that stage's, its embedding the first one's. The others
// are lowered with as many rows as devices, so that what is not theirs takes next to nothing, and of them the time of their
// layers counts. Stages with as many layers of each kind are simulated once, within the memory of the first of them; so
// layers of a kind stand together, whatever their order in the model, and are computed again one by one.
//
// Bytes of a stage are those by address of its program with one micro-batch, without the embedding's homes on the last stage
// unless the head is tied to it, with them on the first; and what forward keeps for backward, of layers and embedding, for each
// further micro-batch in flight (pipeline_form.hpp), packed without gaps.
// Laws: alike stages have alike passes; where it is ok no stage exceeds the memory; the makespan is that of `replay_stages`.
// Units: picoseconds, bytes. O(different stages · (partition + lower_fastest)).

#include <hyperparallel/pipeline/stage_split.hpp>
#include <hyperparallel/planner/decoder_plan.hpp>
#include <hyperparallel/price/lookahead.hpp>
#include <hyperparallel/price/plan_evaluation.hpp>
#include <hyperparallel/price/stage_replay.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// How many layers there are of each kind of attention, and of each kind of feed-forward layer.
struct layer_kinds {
  extent_t layers = 0;
  extent_t unwindowed = 0, dense = 0;  ///< of these
  friend constexpr bool operator==(const layer_kinds&, const layer_kinds&) = default;
};

constexpr layer_kinds layers_between(const decoder& d, extent_t first, extent_t end) {
  layer_kinds s{.layers = end - first};
  for (extent_t layer = first; layer < end; ++layer) {
    s.unwindowed += d.is_windowed(layer) ? 0 : 1;
    s.dense += d.is_sparse(layer) ? 0 : 1;
  }
  return s;
}

/// The decoder with these layers alone.
constexpr decoder decoder_with(decoder d, const layer_kinds& s) {
  d.layers = s.layers;
  d.first_windowed = s.unwindowed;
  d.full_every = 0;
  d.sparse = {.first = s.dense};
  return d;
}

/// One stage of a plan.
struct simulated_stage {
  layer_kinds has{};
  stage_passes passes{};
  int lookahead = 0;
  extent_t bytes = 0, least_bytes = 0;  ///< by address: of this plan, and without lookahead
};

enum class simulated_pipeline_code : unsigned char { ok, is_not_lowered, schedule_is_too_large };

struct simulated_pipeline {
  simulated_pipeline_code code = simulated_pipeline_code::is_not_lowered;
  growing_array<simulated_stage> stage{};
  extent_t hand_over = 0;  ///< of one micro-batch, from a stage to the next one
  int simulated = 0;       ///< stages that are not like another one
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

/// Simulates the stages of one plan.
class stage_simulator {
 public:
  constexpr stage_simulator(const decoder& model, const decoder_plan& p, const plan_prices& of, extent_t bytes)
      : d(model), plan(p), prices(of), memory(bytes) {}

  constexpr simulated_pipeline run() {
    const stage_split split = split_layers(static_cast<int>(d.layers), plan.pp);
    const sharded_program folded = partition(training_graph_of(d, plan), strategy_of(plan));
    const time_cost hand_over = hand_over_time(folded, prices.links());
    out.hand_over = hand_over.picoseconds;
    if (!split.ok() || !hand_over.ok()) return static_cast<simulated_pipeline&&>(out);
    const int last = plan.pp - 1;
    const auto layers_of = [&](int s) { return layers_between(d, split.first[s], split.first[s + 1]); };
    simulated_stage end;
    stage_passes embedding;
    extent_t table = 0;
    if (!simulate_last(layers_of(last), end, embedding, table)) return static_cast<simulated_pipeline&&>(out);
    growing_array<stage_kind> known;
    for (int s = 0; s < last; ++s) {
      const extent_t further = pipeline_form(folded.graph, plan.pp).in_flight(s) - 1, own = s == 0 ? table : 0;
      const layer_kinds has = layers_of(s);
      int k = 0;
      while (k < known.size && !(known[k].stage.has == has)) ++k;
      if (k == known.size) known.push(simulate_inner(has, further, own));
      if (!known[k].is_lowered) return static_cast<simulated_pipeline&&>(out);
      simulated_stage one = known[k].stage;
      one.bytes += further * known[k].kept + own;
      one.least_bytes += further * known[k].kept + own;
      if (s == 0) one.passes += embedding;
      out.stage.push(one);
    }
    out.stage.push(end);
    growing_array<stage_passes> passes;
    for (const simulated_stage& s : out.stage) passes.push(s.passes);
    out.replay = replay_stages(passes, plan.micro_batches, out.hand_over);
    out.code = out.replay.ok() ? simulated_pipeline_code::ok : simulated_pipeline_code::schedule_is_too_large;
    return static_cast<simulated_pipeline&&>(out);
  }

 private:
  /// What stages with these layers have in common.
  struct stage_kind {
    simulated_stage stage{};
    extent_t kept = 0;  ///< of one micro-batch, from forward to backward
    bool is_lowered = false;
  };

  constexpr sharded_program program_of(const decoder& model) const {
    return partition(training_graph_of(model, plan, true), strategy_of(plan));
  }
  /// Lowers within so many bytes and notes what the stage takes. No passes where it is refused.
  constexpr passes_of_parts simulate(sharded_program&& p, extent_t within, simulated_stage& s) {
    ++out.simulated;
    const clocked_plan c = lower_fastest(static_cast<sharded_program&&>(p), {.topology = prices.links()},
                                         prices.device(), larger(within, extent_t{1}));
    s.lookahead = c.lookahead;
    s.bytes = c.bytes();
    s.least_bytes = c.least_bytes;
    return passes_of_parts(c.ok() ? c.lowered : lowered_program{}, prices.device());
  }

  /// The last stage; and of its program the embedding, with the bytes that its table and states take.
  constexpr bool simulate_last(const layer_kinds& has, simulated_stage& end, stage_passes& embedding, extent_t& table) {
    sharded_program p = program_of(decoder_with(d, has));
    for (int s = 0; s < p.storage.size; ++s)
      if (p.storage[s].home && part_of_home(p, s) == decoder_part::embedding) table += p.storage[s].bytes;
    const extent_t absent = d.tied ? 0 : table;
    const passes_of_parts passes = simulate(static_cast<sharded_program&&>(p), memory + absent, end);
    end.has = has;
    end.bytes -= absent;
    end.least_bytes -= absent;
    embedding = passes.of(decoder_part::embedding);
    end.passes = passes.of(decoder_part::layers);
    end.passes += passes.of(decoder_part::head);
    if (d.tied) end.passes.update += embedding.update;
    return passes.ok();
  }

  /// A stage before the last one that holds activations of `further` micro-batches more, and `own` bytes.
  constexpr stage_kind simulate_inner(const layer_kinds& has, extent_t further, extent_t own) {
    decoder model = decoder_with(d, has);
    model.vocabulary = device_count_of(plan) / plan.pp;
    model.positions = 0;
    stage_kind l;
    l.stage.has = has;
    sharded_program p = program_of(model);
    visit_kept_memory(p, pipeline_form(p.graph, 1), [&](int storage, int first, extent_t bytes) {
      if (!p.storage[storage].home && part_of(p, p.step[first]) != decoder_part::head) l.kept += bytes;
    });
    const passes_of_parts passes =
        simulate(static_cast<sharded_program&&>(p), memory - further * l.kept - own, l.stage);
    l.stage.passes = passes.of(decoder_part::layers);
    l.is_lowered = passes.ok();
    return l;
  }

  const decoder& d;
  const decoder_plan& plan;
  const plan_prices& prices;
  const extent_t memory;
  simulated_pipeline out{};
};

}  // namespace detail

/// Within `memory` bytes of a device. Precondition: `check_plan` says ok, the plan is countable and has several stages.
constexpr simulated_pipeline simulate_pipeline(const decoder& d, const decoder_plan& plan, const plan_prices& prices,
                                               extent_t memory) {
  return detail::stage_simulator(d, plan, prices, memory).run();
}

}}  // namespace hyperparallel::v0_2
