// SPDX-License-Identifier: Apache-2.0
#pragma once
// How a decoder is trained on many devices, every degree fixed: the plan, its strategy and its graph. Whether it can be: plan_check.hpp.
//
//   hp::decoder_plan p{.tp = 8, .dp = 2, .micro_batches = 4, .batch = 16, .sequence = 4096};
//   hp::partition(hp::training_graph_of(llama3, p), hp::strategy_of(p))       the program of one stage's devices
//
// Degrees multiply to the devices: dp · cp · tp · ep · pp. Data is dealt to dp and ep; ep cuts the routed experts as well, and so do tp and cp
// where the plan says so: tp then leaves the widths of experts whole, which is Megatron's expert tensor parallelism of 1.
// tp is Megatron's tensor parallelism, with sequence parallelism between the blocks unless that is off. ZeRO shards along
// dp, ep and cp, or with copies along a part of dp. A pipeline's largest stage has ceil(layers / pp) layers of those that repeat, or groups of layers where these
// repeat; a layer that differs from both of its neighbours counts as embedding and head do, 1 / pp for each stage. Activations are bf16; parameters, gradients, moments and products
// by the plan's formats (plan_formats.hpp). AdamW has two moments of each parameter, SGD a momentum; Muon has a momentum of the matrices in layers, which are
// orthogonalised whole, so that neither ZeRO nor tp cuts their states but along experts, and leaves embedding, head and vectors to AdamW. Of a schedule with chunks the layers are dealt to pp · chunks stages, `chunks` on each rank.
//
// Sources: Megatron 1909.08053 and 2205.05198, ZeRO 1910.02054, GShard 2006.16668; what Muon updates: Megatron-LM core 0.16, optimizer/muon.py.
//
// The folder planner/: decoders planned from their sizes, what `hp plan` and `hp serve` stand on. Legal plans, their bounds,
// estimates, memory and changes, and the search among them (plan_search.hpp); pipelines simulated stage by stage; degrees,
// memory and times of serving (serving_plan.hpp, serving_estimate.hpp).

#include <hyperparallel/layers/decoder_parameters.hpp>
#include <hyperparallel/pipeline/schedule_list.hpp>
#include <hyperparallel/planner/adapted_products.hpp>
#include <hyperparallel/planner/plan_formats.hpp>
#include <hyperparallel/planner/recomputed_modules.hpp>
#include <hyperparallel/planner/selective_recomputation.hpp>
#include <hyperparallel/search/strategy_candidates.hpp>
#include <hyperparallel/step/training_step.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Invariant of a plan that can be: every number is at least 1, but `zero`, which is 0 to 3, `adapter_rank` and `host_states`; what is selective is recomputed; `modules` are of layers that are not.
struct decoder_plan {
  int tp = 1, pp = 1, dp = 1, cp = 1, ep = 1;
  int zero = 0;  ///< stage
  int copies =
      1;  ///< of what ZeRO shards, which divide dp: each of dp / copies data ranks holds one (hybrid sharding, HSDP)
  int micro_batches = 1;
  bool recomputed = false;  ///< layers are computed again in backward
  bool selective = false;   ///< where they are, but for costly results (selective_recomputation.hpp)
  unsigned modules = 0;     ///< of layers that are not: bits of what of them is (recomputed_modules.hpp)
  bool sequence_parallel = true;
  bool experts_along_tp = false, experts_along_cp = false;  ///< routed experts are dealt to these ranks, too
  int schedule = schedule_place<one_forward_one_backward>;  ///< of the pipeline: its place in `schedule_table`
  int chunks = 1;                                           ///< stages of the pipeline on each rank
  int adapter_rank = 0;  ///< LoRA: adapters of this rank are trained alone (adapters.hpp); 0: all parameters are
  adapted_products adapted = adapted_products::all;  ///< which have adapters
  optimizer_kind optimizer = optimizer_kind::adamw;
  int host_states = 0;  ///< per mille of masters and moments in the host's memory, updated there (host_states.hpp)
  plan_formats formats{};
  extent_t batch = 1;     ///< sequences in a step
  extent_t sequence = 1;  ///< tokens in a sequence
  friend constexpr bool operator==(const decoder_plan&, const decoder_plan&) = default;
};

/// The degrees of a plan by name, in the order of tables and JSON.
struct plan_degree {
  const char* name;
  int decoder_plan::* of;
};
inline constexpr plan_degree plan_degrees[] = {{"tp", &decoder_plan::tp},
                                               {"pp", &decoder_plan::pp},
                                               {"dp", &decoder_plan::dp},
                                               {"cp", &decoder_plan::cp},
                                               {"ep", &decoder_plan::ep}};
/// Degrees and sizes of a plan are at most this.
inline constexpr extent_t largest_plan_number = extent_t{1} << 20;

/// The plan's pipeline.
constexpr pipeline_shape pipeline_of(const decoder_plan& p) { return {p.pp, p.chunks, p.micro_batches}; }
constexpr const named_schedule& schedule_of(const decoder_plan& p) { return schedule_table.item[p.schedule]; }
constexpr bool is_1f1b(const decoder_plan& p) { return p.schedule == schedule_place<one_forward_one_backward>; }

/// Whether embedding and head count as a layer each in the split of the layers: where the layers do not divide by the stages of the
/// pipeline, and with two more they do, as in Megatron's --account-for-embedding-in-pipeline-split and its like for the loss.
constexpr bool ends_count_as_layers(extent_t layers, extent_t stages) {
  return stages > 2 && layers % stages != 0 && (layers + 2) % stages == 0;
}

/// The product of the degrees; the first partial product above `largest_plan_number` where it is larger.
constexpr extent_t device_count_of(const decoder_plan& p) {
  extent_t devices = 1;
  for (const plan_degree& d : plan_degrees)
    if (devices <= largest_plan_number) devices *= p.*d.of;
  return devices;
}

namespace detail {

/// Ranks that the routed experts of a layer are dealt to, and of them those that share a width.
constexpr extent_t expert_ranks_of(const decoder_plan& p) {
  return extent_t{p.ep} * (p.experts_along_tp ? p.tp : 1) * (p.experts_along_cp ? p.cp : 1);
}
constexpr int expert_widths_of(const decoder_plan& p) { return p.experts_along_tp ? 1 : p.tp; }

/// Slots of one expert in a group of tokens: a sequence, or with `joint` slots all of a micro-batch.
constexpr extent_t slots_of_an_expert(const decoder& d, const decoder_plan& p) {
  const mixture_of_experts& e = d.experts;
  const extent_t tokens = p.sequence * (e.slots == expert_slots::joint ? p.batch / p.micro_batches : 1);
  return e.slots == expert_slots::dropless ? tokens : expert_capacity(tokens, e.experts, e.top_k, e.capacity_factor);
}

/// Parts that the slots of an expert are cut into: by cp where it divides them, and by tp where experts are along it.
constexpr extent_t slots_along_cp(const decoder& d, const decoder_plan& p) {
  return slots_of_an_expert(d, p) % p.cp == 0 ? p.cp : 1;
}
constexpr extent_t slot_parts_of(const decoder& d, const decoder_plan& p) {
  return slots_along_cp(d, p) * (p.experts_along_tp ? p.tp : 1);
}

/// Data ranks of dp that share one copy of what ZeRO shards. Precondition: copies divide dp.
constexpr int sharing_ranks(const decoder_plan& p) { return p.dp / p.copies; }

/// Of one copy.
constexpr plan_frame frame_of(const decoder_plan& p) {
  plan_frame f;
  f.dp = sharing_ranks(p);
  f.ep = p.ep;
  f.cp = p.cp;
  f.tp = p.tp;
  f.pipeline = p.pp;
  f.zero = p.zero;
  return f;
}

/// Copies lie outermost, so that what is sharded is gathered among near devices; the batch is dealt to them too, and gradients are summed over
/// them.
constexpr void add_copies(strategy_value& s, int copies) {
  const char* name[max_axes] = {"copies"};
  int size[max_axes] = {copies}, count = 1;
  for (int a = 0; a < s.mesh.shape.axis_count; ++a, ++count) {
    name[count] = s.mesh.label[a].text;
    size[count] = s.mesh.shape.size[a];
  }
  const mesh_value whole = make_mesh(name, count, size, count).mesh;
  s.mesh = whole;
  s.add(shard_dim_if_present("batch", "copies"));
}

}  // namespace detail

/// The strategy of one stage: rules of data, experts and context, of tensors, and of sharded states. Precondition: the
/// plan can be.
constexpr strategy_value strategy_of(const decoder_plan& p) {
  plan_space space;
  detail::fill_space(space, {}, {}, detail::frame_of(p), true);
  strategy_value s = space.base;
  if (p.experts_along_tp || p.experts_along_cp) {
    s.rule.size = 0;
    if (p.ep > 1) add_expert_parallel(s, "ep");  // the outermost of the experts' axes
    if (p.cp > 1 && p.experts_along_cp) add_folded_expert_parallel(s, "cp");
    if (p.tp > 1 && p.experts_along_tp) add_folded_expert_parallel(s, "tp");
    for (const strategy_rule& r : space.base.rule) s.add(r);
  }
  if (p.copies > 1) detail::add_copies(s, p.copies);
  if (p.tp > 1) add_tensor_parallel(s, "tp");
  if (p.tp > 1 && p.sequence_parallel) detail::add_sequence_parallel(s, "tp");
  for (const strategy_rule& r : space.after) s.add(r);
  // Without sharded gradients those of several micro-batches are added up first, and reduced once.
  if (p.zero == 0) s.reduce_at_once = p.micro_batches == 1;
  return s;
}

namespace detail {

/// Marks the products of layers with their weights, but those of routers, adapters and states, as those of so many bits.
constexpr void narrow_products(graph& g, int bits) {
  for (graph_operator& o : g.op) {
    if (!g.value_of(o).is_product) continue;
    for (int i = 0; i < o.operand_count; ++i)
      if (const graph_tensor& t = g.tensor[o.operand[i]]; t.kind == graph_tensor_kind::parameter)
        if (name_matches("*layers*", g.text_at(t.name)) && !name_matches("*router*", g.text_at(t.name)) &&
            !name_matches("*.adapter_*", g.text_at(t.name)) && !name_matches("*.state.*", g.text_at(t.name)))
          o.product_bits = static_cast<unsigned char>(bits);
  }
}

/// Stores moments, which are an update's last operands before the clip factor and its last results, in another format.
constexpr void narrow_moments(graph& g, data_type type) {
  for (const graph_operator& o : g.op) {
    for (int moment = 1; moment <= g.value_of(o).states.moments; ++moment) {
      g.tensor[o.operand[o.operand_count - 1 - moment]].type = type;
      g.tensor[o.result[o.result_count - moment]].type = type;
    }
  }
}

/// Adds the gradients of micro-batches up in another format.
constexpr void narrow_sums(graph& g, data_type type) {
  for (const graph_operator& o : g.op) {
    if (!g.value_of(o).accumulates || o.phase != graph_phase::backward) continue;
    g.tensor[o.operand[0]].type = type;
    g.tensor[o.result[0]].type = type;
  }
}

/// Stores the weights of narrow products, also what an update makes of them, in 8 bits. Their gradients are as they were.
constexpr void narrow_weights(graph& g) {
  growing_array<bool> narrow(g.tensor.size, false);
  for (const graph_operator& o : g.op)
    for (int i = 0; i < o.operand_count && o.product_bits > 0; ++i)
      narrow[o.operand[i]] = g.tensor[o.operand[i]].kind == graph_tensor_kind::parameter;
  for (int t = 0; t < g.tensor.size; ++t) {
    const int replaced = g.tensor[t].replaces;
    narrow[t] = narrow[t] || (replaced >= 0 && narrow[replaced]);
    if (narrow[t]) g.tensor[t].type = data_type::i8;
  }
}

/// The plan's optimizer: Muon leaves the head to AdamW.
constexpr optimizer_value optimizer_of(const decoder_plan& p) {
  return {.kind = p.optimizer, .without_muon = "head.*"};
}

/// Bytes of an optimizer's states of a parameter: its master, and moments, of which `muon` has one of matrices in layers.
constexpr int state_bytes(const plan_formats& formats, optimizer_kind kind) {
  return formats.master_bytes() + (kind == optimizer_kind::adamw ? 2 : 1) * bytes_of(formats.moment);
}

graph training_graph_of_in_library(const decoder& d, const decoder_plan& p, bool unrolled);
constexpr graph training_graph_of_here(const decoder& d, const decoder_plan& p, bool unrolled) {
  step_settings settings;
  settings.build = {.activation = data_type::bf16, .parameter = p.formats.weight, .unrolled = unrolled};
  settings.micro_batches = p.micro_batches;
  if (p.recomputed) settings.recomputed.push("*layers*");
  if (p.recomputed && p.selective) settings.spared = selectively_kept(d, p.tp > 1 && p.sequence_parallel);
  model_builder m(settings.build);
  const int batch = m.dim("batch", p.batch / p.micro_batches), sequence = m.dim("seq", p.sequence);
  const int tokens = m.index_input("tokens", {batch, sequence});
  d(m, tokens, m.index_input("labels", {batch, sequence}));
  visit_module_patterns(p.modules, m.graph, [&](const char* pattern) { settings.recomputed.push(pattern); });
  if (p.adapter_rank > 0) adapt(m.graph, adapted_of(d, p.adapted), p.adapter_rank);
  if (p.formats.product_bits() > 0) detail::narrow_products(m.graph, p.formats.product_bits());
  graph g = training_graph(static_cast<graph&&>(m.graph), optimizer_of(p), settings);
  if (p.formats.moment != data_type::f32) detail::narrow_moments(g, p.formats.moment);
  if (p.formats.sum != data_type::f32) detail::narrow_sums(g, p.formats.sum);
  if (p.formats.stores_bytes()) detail::narrow_weights(g);
  return g;
}

}  // namespace detail

/// The graph of a step of training with the plan's micro-batches, its layers folded unless they are asked for one by one.
/// Precondition: micro-batches divide the batch.
constexpr graph training_graph_of(const decoder& d, const decoder_plan& p, bool unrolled = false) {
  HYPERPARALLEL_TWIN(detail::training_graph_of_in_library(d, p, unrolled));
  return detail::training_graph_of_here(d, p, unrolled);
}

}}  // namespace hyperparallel::v0_2
