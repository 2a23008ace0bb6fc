// SPDX-License-Identifier: Apache-2.0
#pragma once
// What checkpoints call the linear maps of a decoder's layers (planner/weight_storage.hpp).
//
//   hp::detail::names_of_maps        {map, name}, as {query, "self_attn.q_proj"}: behind "model.layers.N."
//
// A map that some families store as part of a larger one has that one's name, too: q, k and v as one matrix, gate and up as one.
// Of routed experts the name is that of expert 0. Law: each map of a layer has a name at least. Source: modelling files of each
// family in huggingface/transformers.

#include <hyperparallel/planner/weight_storage.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// What the maps of a layer are called behind "model.layers.N.", by the families that name them so.
struct map_names {
  weight_map map;
  const char* name;
};
inline constexpr map_names names_of_maps[] = {
    {weight_map::query, "self_attn.q_proj"},
    {weight_map::query, "self_attn.qkv_proj"},
    {weight_map::query, "attn.c_attn"},
    {weight_map::query, "attention.query_key_value"},
    {weight_map::key, "self_attn.k_proj"},
    {weight_map::key, "self_attn.qkv_proj"},
    {weight_map::key, "attn.c_attn"},
    {weight_map::key, "attention.query_key_value"},
    {weight_map::value, "self_attn.v_proj"},
    {weight_map::value, "self_attn.qkv_proj"},
    {weight_map::value, "attn.c_attn"},
    {weight_map::value, "attention.query_key_value"},
    {weight_map::output, "self_attn.o_proj"},
    {weight_map::output, "attn.c_proj"},
    {weight_map::output, "attention.dense"},
    {weight_map::query_into_latent, "self_attn.q_a_proj"},
    {weight_map::query_from_latent, "self_attn.q_b_proj"},
    {weight_map::into_latent, "self_attn.kv_a_proj_with_mqa"},
    {weight_map::from_latent, "self_attn.kv_b_proj"},
    {weight_map::states_in, "linear_attn.in_proj_qkv"},
    {weight_map::states_in, "linear_attn.in_proj_qkvz"},
    {weight_map::states_gate, "linear_attn.in_proj_z"},
    {weight_map::states_gate, "linear_attn.in_proj_qkvz"},
    {weight_map::states_strength, "linear_attn.in_proj_b"},
    {weight_map::states_strength, "linear_attn.in_proj_ba"},
    {weight_map::states_decay, "linear_attn.in_proj_a"},
    {weight_map::states_decay, "linear_attn.in_proj_ba"},
    {weight_map::states_out, "linear_attn.out_proj"},
    {weight_map::states_in, "mixer.in_proj"},
    {weight_map::states_gate, "mixer.in_proj"},
    {weight_map::states_decay, "mixer.in_proj"},
    {weight_map::states_out, "mixer.out_proj"},
    {weight_map::query, "mixer.q_proj"},
    {weight_map::key, "mixer.k_proj"},
    {weight_map::value, "mixer.v_proj"},
    {weight_map::output, "mixer.o_proj"},
    {weight_map::up, "mixer.up_proj"},
    {weight_map::down, "mixer.down_proj"},
    {weight_map::expert_up, "mixer.experts.0.up_proj"},
    {weight_map::expert_down, "mixer.experts.0.down_proj"},
    {weight_map::shared_up, "mixer.shared_experts.up_proj"},
    {weight_map::shared_down, "mixer.shared_experts.down_proj"},
    {weight_map::into_expert_latent, "mixer.fc1_latent_proj"},
    {weight_map::from_expert_latent, "mixer.fc2_latent_proj"},
    {weight_map::gate, "mlp.gate_proj"},
    {weight_map::gate, "mlp.gate_up_proj"},
    {weight_map::up, "mlp.up_proj"},
    {weight_map::up, "mlp.gate_up_proj"},
    {weight_map::up, "mlp.c_fc"},
    {weight_map::up, "mlp.dense_h_to_4h"},
    {weight_map::down, "mlp.down_proj"},
    {weight_map::down, "mlp.c_proj"},
    {weight_map::down, "mlp.dense_4h_to_h"},
    {weight_map::expert_gate, "mlp.experts.0.gate_proj"},
    {weight_map::expert_gate, "mlp.experts.gate_up_proj"},
    {weight_map::expert_gate, "block_sparse_moe.experts.0.w1"},
    {weight_map::expert_up, "mlp.experts.0.up_proj"},
    {weight_map::expert_up, "mlp.experts.gate_up_proj"},
    {weight_map::expert_up, "block_sparse_moe.experts.0.w3"},
    {weight_map::expert_down, "mlp.experts.0.down_proj"},
    {weight_map::expert_down, "mlp.experts.down_proj"},
    {weight_map::expert_down, "block_sparse_moe.experts.0.w2"},
    {weight_map::shared_gate, "mlp.shared_experts.gate_proj"},
    {weight_map::shared_gate, "mlp.shared_expert.gate_proj"},
    {weight_map::shared_up, "mlp.shared_experts.up_proj"},
    {weight_map::shared_up, "mlp.shared_expert.up_proj"},
    {weight_map::shared_down, "mlp.shared_experts.down_proj"},
    {weight_map::shared_down, "mlp.shared_expert.down_proj"},
};

constexpr bool is_expert_map(weight_map m) { return m >= weight_map::expert_gate && m <= weight_map::expert_down; }

}}}  // namespace hyperparallel::v0_2::detail
