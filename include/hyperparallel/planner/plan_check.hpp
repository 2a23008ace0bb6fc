// SPDX-License-Identifier: Apache-2.0
#pragma once
// Whether a decoder's plan can be on so many devices, by sizes alone; else the degree, the dim and the sizes that forbid it.
//
//   hp::decoder_plan p{.tp = 8, .dp = 2, .micro_batches = 4, .batch = 16, .sequence = 4096};
//   hp::check_plan(llama3, p, 16).code == hp::decoder_plan_code::ok
//
// Law: where `check_plan` says ok, the partitioner takes the strategy on the graph; where it says that a dim does not
// divide, the partitioner refuses.

#include <hyperparallel/planner/decoder_plan.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 {

enum class decoder_plan_code : unsigned char {
  ok,
  number_is_out_of_range,        ///< `extent` of `degree`; `pieces` is the most it may be
  degrees_are_not_the_devices,   ///< their product is `extent`, there are `pieces` devices
  model_has_no_experts,          ///< for `degree` ep
  fewer_layers_than_stages,      ///< `extent` layers, `pieces` stages
  schedule_is_refused,           ///< for what `schedule` says, with the number that it needs in `extent`
  schedule_holds_stages_twice,   ///< the program of a rank has each of its stages once
  dim_does_not_divide,           ///< `extent` of `dim` by `pieces`, which `degree` asks for
  copies_of_nothing,             ///< `pieces` copies, where ZeRO shards nothing
  model_has_no_module,           ///< `dim`, which is to be computed again
  modules_of_recomputed_layers,  ///< are computed again with them
  muon_on_the_host,              ///< `extent` per mille of states whose matrices a host is not to orthogonalise
};

/// Why a plan cannot be: the degree, the dim and the sizes.
struct decoder_plan_status {
  decoder_plan_code code = decoder_plan_code::ok;
  const char* degree = "";  ///< as "tp", or as "cp · tp" where several cut one dim
  const char* dim = "";
  extent_t extent = 0, pieces = 0;
  pipeline_code schedule = pipeline_code::ok;
  pipeline_shape shape{};  ///< that the schedule does not have
  constexpr bool ok() const { return code == decoder_plan_code::ok; }
};

namespace detail {

/// Notes the first of the demands that is not met.
struct plan_demands {
  decoder_plan_status found{};
  constexpr void note(const decoder_plan_status& s) {
    if (found.ok()) found = s;
  }
  constexpr void divides(const char* degree, const char* dim, extent_t extent, extent_t pieces) {
    if (extent % pieces != 0) note({decoder_plan_code::dim_does_not_divide, degree, dim, extent, pieces});
  }
  constexpr void within(const char* name, extent_t given, extent_t least, extent_t most) {
    if (given < least || given > most) note({decoder_plan_code::number_is_out_of_range, name, "", given, most});
  }
};

/// Widths and vocabulary by tp.
constexpr void demand_widths(plan_demands& demand, const decoder& d, extent_t tp, bool of_experts) {
  bool dense = false, sparse = false;
  for (extent_t layer = 0; layer < d.layers; ++layer) {
    dense = dense || d.is_dense(layer);
    sparse = sparse || d.is_sparse(layer);
  }
  if (dense) demand.divides("tp", "feed-forward width", d.feed_forward.width, tp);
  if (sparse && of_experts) demand.divides("tp", "width of an expert", d.experts.width, tp);
  if (sparse) demand.divides("tp", "width of shared experts", d.experts.shared_width, tp);
  demand.divides("tp", "vocabulary", d.vocabulary, tp);
}

/// Heads and widths by tp: keys and values are replicated where key heads do not divide and groups of queries do.
constexpr void demand_tensor(plan_demands& demand, const decoder& d, extent_t tp, bool of_experts = true) {
  if (d.has_latents)
    demand.divides("tp", "attention heads", d.latent_attention.heads, tp);
  else if (d.attention.query_heads % tp != 0)
    demand.divides("tp", "attention heads", d.attention.query_heads, tp);
  else if (d.attention.query_heads / d.attention.key_heads % tp != 0)
    demand.divides("tp", "key and value heads", d.attention.key_heads, tp);
  demand_widths(demand, d, tp, of_experts);
}

/// Heads of linear attention, whose sequences are whole, by tp and then by cp: those of keys, or in each those of values.
constexpr void demand_states(plan_demands& demand, const decoder& d, extent_t tp, extent_t cp) {
  extent_t keys = d.linear.key_heads, group = d.linear.value_heads / d.linear.key_heads;
  const auto deal = [&](const char* degree, extent_t ranks) {
    if (keys % ranks == 0)
      keys /= ranks;
    else if (group % ranks == 0)
      group /= ranks;
    else
      demand.divides(degree, "heads of linear attention", keys, ranks);
  };
  deal("tp", tp);
  deal("cp", cp);
}

/// Experts by all their ranks; their slots by tp where they lie along it, and by cp.
constexpr void demand_experts(plan_demands& demand, const decoder& d, const decoder_plan& p) {
  if (!d.has_experts) {
    if (p.experts_along_tp || p.experts_along_cp)
      demand.note({decoder_plan_code::model_has_no_experts, "experts_along", "", 0, 1});
    return;
  }
  const char* const degrees = p.experts_along_tp   ? (p.experts_along_cp ? "ep x cp x tp" : "ep x tp")
                              : p.experts_along_cp ? "ep x cp"
                                                   : "ep";
  demand.divides(degrees, "experts", d.experts.experts, expert_ranks_of(p));
  const extent_t slots = slots_of_an_expert(d, p);
  if (p.experts_along_cp) demand.divides("cp", "slots of an expert", slots, p.cp);
  if (p.experts_along_tp) demand.divides(p.cp > 1 ? "cp x tp" : "tp", "slots of an expert", slots, slot_parts_of(d, p));
}

/// Whether the pipeline's schedule exists in the plan's shape.
constexpr void demand_schedule(plan_demands& demand, const decoder_plan& p) {
  if (p.pp == 1) demand.within("chunks", p.chunks, 1, 1);
  if (is_1f1b(p) && p.chunks == 1) return;
  if (copies_of_stages(schedule_of(p).placement) > 1)
    demand.note({decoder_plan_code::schedule_holds_stages_twice, schedule_of(p).name});
  const pipeline_status s = schedule_of(p).check(pipeline_of(p));
  if (!s.ok())
    demand.note({decoder_plan_code::schedule_is_refused, schedule_of(p).name, "", s.needed, 0, s.code, pipeline_of(p)});
}

/// Layers that have a neighbour of the same kind, and groups of layers that repeat; only these are dealt to the stages of a
/// pipeline. O(layers).
constexpr extent_t repeated_layers(const decoder& d) {
  extent_t n = 0;
  d.visit_runs([&](const decoder::layer_run& run) { n += run.repeats > 1 ? run.repeats : 0; });
  return n;
}

decoder_plan_status check_plan_in_library(const decoder& d, const decoder_plan& p, extent_t devices);
constexpr decoder_plan_status check_plan_here(const decoder& d, const decoder_plan& p, extent_t devices) {
  detail::plan_demands demand;
  for (const plan_degree& degree : plan_degrees) demand.within(degree.name, p.*degree.of, 1, largest_plan_number);
  demand.within("micro_batches", p.micro_batches, 1, largest_plan_number);
  demand.within("zero", p.zero, 0, 3);
  demand.within("copies", p.copies, 1, largest_plan_number);
  demand.within("lora", p.adapter_rank, 0, 65536);
  demand.within("host_states", p.host_states, 0, 1000);
  demand.within("modules", p.modules, 0, all_modules);
  demand.within("chunks", p.chunks, 1, largest_plan_number);
  demand.within("batch", p.batch, 1, largest_plan_number);
  demand.within("sequence", p.sequence, 1, d.positions > 0 ? d.positions : largest_plan_number);
  if (!demand.found.ok()) return demand.found;
  if (device_count_of(p) != devices)
    demand.note({decoder_plan_code::degrees_are_not_the_devices, "", "", device_count_of(p), devices});
  if (p.ep > 1 && !d.has_experts) demand.note({decoder_plan_code::model_has_no_experts, "ep", "", 0, p.ep});
  detail::demand_experts(demand, d, p);
  if (p.tp > 1) detail::demand_tensor(demand, d, p.tp, !p.experts_along_tp);
  if (d.has_linear) detail::demand_states(demand, d, p.tp, p.cp);
  if (const extent_t layers = p.pp > 1 ? repeated_layers(d) : d.layers; p.pp > 1 && p.pp > layers)
    demand.note({decoder_plan_code::fewer_layers_than_stages, "pp", layers == d.layers ? "layers" : "repeated layers",
                 layers, p.pp});
  if (const extent_t stages = extent_t{p.pp} * p.chunks;
      p.chunks > 1 && stages > d.layers && !ends_count_as_layers(d.layers, stages))
    demand.note(
        {decoder_plan_code::fewer_layers_than_stages, "pp x chunks", "layers", d.layers, extent_t{p.pp} * p.chunks});
  detail::demand_schedule(demand, p);
  if (p.copies > 1 && p.zero == 0) demand.note({decoder_plan_code::copies_of_nothing, "copies", "", 0, p.copies});
  if (p.host_states > 0 && p.optimizer == optimizer_kind::muon)
    demand.note({decoder_plan_code::muon_on_the_host, "host_states", "", p.host_states, 0});
  if (p.modules != 0 && p.recomputed) demand.note({decoder_plan_code::modules_of_recomputed_layers, "recompute"});
  visit_modules(p.modules, [&](const recomputed_module& m) {
    if (!stands_in(m, d)) demand.note({decoder_plan_code::model_has_no_module, "recompute", m.name});
  });
  demand.divides("copies", "data ranks, dp", p.dp, p.copies);
  demand.divides("micro_batches", "sequences of a step", p.batch, p.micro_batches);
  demand.divides(p.ep > 1 ? "dp x ep" : "dp", "sequences of a micro-batch", p.batch / p.micro_batches,
                 extent_t{p.dp} * p.ep);
  const bool cut_twice = p.sequence_parallel && p.tp > 1;
  demand.divides(cut_twice ? (p.cp > 1 ? "cp x tp" : "tp") : "cp", "tokens of a sequence", p.sequence,
                 extent_t{p.cp} * (cut_twice ? p.tp : 1));
  return demand.found;
}

}  // namespace detail

/// Whether the plan can be on so many devices, by sizes alone. O(layers).
constexpr decoder_plan_status check_plan(const decoder& d, const decoder_plan& p, extent_t devices) {
  HYPERPARALLEL_TWIN(detail::check_plan_in_library(d, p, devices));
  return detail::check_plan_here(d, p, devices);
}

}}  // namespace hyperparallel::v0_2
