// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which keys the vectors of each schema have, and which numbers may stand at them.
//
//   check_keys(v);   throws malformed_vector: "key 'exepct' is not known of 'slice'", "key 'expect' is missing"
//
// Laws: a key that no reader knows is refused, so that a misspelt expectation is not one that is not there; a number that a
// reader takes as an int is a whole number of an int's range, any other whole number at most 2^50, wherever it stands.
// Names that a vector chooses (axes, ranks, factors, collectives) and rows of publications are free. O(size · keys).

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "reading.hpp"

namespace replay {

namespace keys {

/// Whether the words of `list`, one space between two, have `word`.
inline bool has(std::string_view list, std::string_view word) {
  for (std::size_t at = 0; at < list.size();) {
    const std::size_t end = std::min(list.find(' ', at), list.size());
    if (list.substr(at, end - at) == word) return true;
    at = end + 1;
  }
  return false;
}

/// Words that say where a vector comes from, which any may have.
inline constexpr const char* remarks = "id kind src source note test why err suspect ref_status comment";

struct schema {
  std::string_view form;
  std::string_view needed, known;  ///< beside the remarks
};

inline constexpr schema schemas[] = {
    {"operator", "op rule inputs expect", "attrs alias extra mesh n_out ranks shapes test_outcome"},
    {"rule", "factor_sizes operands results blocked_propagation need_replication permutation reduction",
     "custom func_arg_types op_guess"},
    {"lists", "schedule stages virtual micro order buffered_sim rendezvous_cycle", "data_order"},
    {"map", "mesh tmap", "map alias ranks interleaved partial placements ndim"},
    {"slice", "mesh shape rank slice", "map tmap placements ndim partial alias ranks"},
    {"placement", "mesh placements ndim tmap", "alias ranks partial"},
    {"error", "", "mesh alias ranks map tmap placements ndim partial shape sub axes flatten name rank expect"},
    {"local_shape", "mesh shape expect", "map tmap placements ndim partial alias ranks"},
    {"submesh", "mesh expect", "alias ranks rank sub axes flatten name"},
    {"flatten", "mesh expect", "alias ranks rank sub axes flatten name"},
    {"coord", "mesh rank expect", "alias ranks"},
    {"interleaved", "mesh expect", "alias ranks inputs map op shapes partial"},
    {"squeeze_ones", "mesh expect", "map tmap shape alias ranks partial placements ndim"},
    {"expand_mesh", "mesh to_mesh expect", "map tmap shape alias ranks partial placements ndim"},
    {"expand_shape", "mesh to_shape expect", "map tmap shape alias ranks partial placements ndim"},
    {"util", "fn a expect", "b"},
    {"plan", "mesh from to shape", "alias ranks expect expect_ops ref_ops_wrong derived dtype_bytes"},
    {"plan of axes", "mesh shape src_layout dst_layout", "dst_mesh src_partial dst_partial expect derived dtype_bytes"},
    {"partial", "partial",
     "alias ranks expect expect_ops ref_ops_wrong from mesh mid shape then to to_partial derived dtype_bytes"},
    {"unify", "from to expect", "property shape derived dtype_bytes"},
    {"op_list", "from to", "expect_ops expect derived dtype_bytes"},
    {"all_to_all", "n split_dim concat_dim local_in", "local_out semantics expect derived dtype_bytes"},
    {"mesh_change", "from to", "shape expect derived dtype_bytes"},
    {"reshard", "", "shape from to to_rank to_slice reads expect"},
    {"ops", "src_device_matrix src_tensor_map dst_tensor_map shape expect",
     "dst_device_matrix dst_shape src_device_list dst_device_list derived dtype_bytes"},
    {"measured", "mesh shape src_layout dst_layout measured derived", "dst_mesh src_partial dst_partial dtype_bytes"},
    {"move", "mesh shape src_layout dst_layout expect",
     "dst_mesh src_partial dst_partial dtype_bytes derived src_placements dst_placements"},
    {"state_count", "mesh tensor_rank expect", ""},
    {"closed_form", "schedule ranks virtual microbatches cost makespan peak_activations_until_W",
     "bubble_makespan bubble_span closed_form closed_matches closed_value comm ideal longest_rank_span max_idle "
     "min_idle "
     "overlap_FB peak_activations_until_I unit"},
    {"torch_csv", "schedule ranks virtual microbatches placement compute_only", ""},
    {"torch_csv_comms", "schedule ranks virtual microbatches placement compute_comms", ""},
    {"torch_1f1b_ir_defect", "ranks microbatches ir", ""},
    {"pipeline_mutant", "transport verdict class table placement micro_batches", "schedule"},
    {"zero_bubble_table5", "ranks microbatches T_F T_B_input T_W T_comm paper", "definition model reproduced_here"},
    {"sail_v_schedule", "ranks virtual microbatches mode cost csv longest_rank_span peak_activations_until_W",
     "bubble_rate closed_form_peak_microbatches peak_activations_until_I peak_matches_closed_form placement"},
    {"sail_zbv_search", "ranks microbatches mem memory_limit_in_pMB longest_rank_span cost",
     "bubble_rate peak_activations_until_I"},
    {"exhaustive_optimum", "ranks microbatches cost_F_I_W_per_rank comm memory_cap_in_microbatches_until_W", "method"},
    {"model config", "config expected_parameters",
     "config_source config_status exactness expected_active_parameters expected_parameters_with_mtp "
     "expected_parameters_with_position_table kv_cache_elements_per_token parts published_matches published_parameters "
     "published_source published_status verified"},
    {"published number", "family nature quantity value",
     "config derived flop_convention hardware model notes split unit verified where"},
    {"published number.model", "",
     "attention dense_ffn dense_layers dims_note expert_ffn experts ffn head_dim heads hidden kv_heads layers moe_ffn "
     "name "
     "params shared_experts top_k topk vocab"},
    {"published number.config", "",
     "algorithm async_tp avg_generation_len backend checkpoint_engine compile cp cpu_offload distributed_optimizer dp "
     "engine ep "
     "etp framework fsdp ga gbs generation_tp_pp gpus grad_accum kernels layers_per_virtual_stage lbs local_batch "
     "max_response "
     "max_seq mbs mc2 microbatches mode n nodes optimizer_sharding overlap partial policy pp ppo_mini_batch precision "
     "recompute "
     "require_batches rollout rollout_gbs schedule section seq sequence_parallel staleness sync_steps system task tp "
     "tp_impl "
     "train_batch train_engine train_gbs trainer training_tp_cp_ep_pp_vpp vp vpp"},
    {"published number.hardware", "",
     "bf16_tflops cluster fp16_tflops fp8_tflops gpu hbm_gb hbm_gbps net_gbps_per_gpu nodes nvlink_gbps_per_dir peaks "
     "section"},
    // Objects inside, by their key; of `expect` by the form too.
    {".mesh", "axes shape", "name device_ids"},
    {".dst_mesh", "axes shape", "name device_ids"},
    {".src_partial", "axis", "op"},
    {".dst_partial", "axis", "op"},
    {".derived", "",
     "src_local_max dst_local_max lb_recv_max lb_recv_sum plan_recv_max plan_recv_sum plan_peak_local even"},
    {".measured", "", "outcome ops"},
    {".from", "mesh", "alias ranks map tmap placements ndim partial shape"},
    {".to", "mesh", "alias ranks map tmap placements ndim partial shape"},
    {".inputs", "", "mesh alias ranks map tmap placements ndim partial"},
    {".expect_ops", "op", "dim axes n split_dim concat_dim red"},
    {".ref_ops_wrong", "op", "dim axes n split_dim concat_dim red"},
    {".cost", "F I W", "B"},
    {".mem", "F I W", ""},
    {".steps", "op", "out out_mesh axes moves"},
    {"operator.expect", "", "map tmap placements ndim partial"},
    {"local_shape.expect", "local", ""},
    {"submesh.expect", "", "ranks shape mesh alias names"},
    {"flatten.expect", "", "ranks shape mesh alias names"},
    {"interleaved.expect", "", "devices copies_per_device"},
    {"squeeze_ones.expect", "", "mesh shape tmap"},
    {"expand_mesh.expect", "", "mesh shape tmap"},
    {"expand_shape.expect", "", "mesh shape tmap"},
    {"unify.expect", "", "mesh shape tmap from_tmap to_tmap"},
    {"plan of axes.expect", "", "steps counts"},
    {"ops.expect", "op_sequence", ""},
    {"move.expect", "",
     "total counts transforms cpu_fallback_counts backward_total backward_counts local_sizes_src local_sizes_dst "
     "value_factor "
     "local_value_factor unpack_is_view public_api_allowed correct flattened_groups trace_layouts trace_len planner"},
    {"legality.expect", "allowed", ""},
    {"state_count.expect", "fully_sharded_ordered_layouts", ""},
    {"equivalence.expect", "", "same_local_data"},
};

/// Where numbers are taken as ints; where they may have a fraction; all others are whole.
inline constexpr const char* ints =
    "mesh ranks rank tmap from_tmap to_tmap src_tensor_map dst_tensor_map src_device_matrix "
    "dst_device_matrix src_device_list dst_device_list device_ids ndim to_rank n split_dim concat_dim dim to_mesh "
    "tensor_rank "
    "microbatches micro_batches virtual stages micro axes src_layout dst_layout out trace_layouts axis n_out total "
    "backward_total transforms trace_len";
inline constexpr const char* fractions =
    "value_factor local_value_factor bubble_rate T_F T_B_input T_W T_comm paper reproduced_here mem "
    "memory_limit_in_pMB attrs "
    "closed_value definition model unit";

inline const schema* schema_of(std::string_view form) {
  for (const schema& s : schemas)
    if (s.form == form) return &s;
  return nullptr;
}

inline void check_number(const json& v, std::string_view key) {
  const auto refuse = [&](const std::string& expected) {
    throw malformed_vector("key '" + std::string(key) + "' has " + v.dump() + "; expected " + expected);
  };
  if (has(fractions, key)) return;
  constexpr std::int64_t most = std::int64_t{1} << 50;
  const bool whole = v.is_number_integer() && !(v.is_number_unsigned() && v.get<std::uint64_t>() > most);
  if (!whole || v.get<std::int64_t>() > most || v.get<std::int64_t>() < -most) refuse("a whole number of at most 2^50");
  constexpr std::int64_t low = std::numeric_limits<int>::min(), high = std::numeric_limits<int>::max();
  if (has(ints, key) && (v.get<std::int64_t>() < low || v.get<std::int64_t>() > high))
    refuse("a whole number from " + std::to_string(low) + " to " + std::to_string(high));
}

/// Numbers in `v`, which stands at `key`; names that the vector chooses do not count as keys.
inline void check_numbers(const json& v, const std::string& key) {
  if (v.is_number()) return check_number(v, key);
  if (v.is_array())
    for (const json& each : v) check_numbers(each, key);
  if (v.is_object())
    for (const auto& [name, each] : v.items())
      check_numbers(each, has(ints, name) || !(has(ints, key) || has(fractions, key)) ? name : key);
}

inline void check_object(const json& v, const schema& s, const std::string& where) {
  for (const auto& [name, value] : v.items())
    if (!has(remarks, name) && !has(s.needed, name) && !has(s.known, name))
      throw malformed_vector("key '" + name + "' is not known of " + where);
  for (std::size_t at = 0; at < s.needed.size();) {
    const std::size_t end = std::min(s.needed.find(' ', at), s.needed.size());
    const std::string name(s.needed.substr(at, end - at));
    if (!v.contains(name)) throw malformed_vector("key '" + name + "' is missing of " + where);
    at = end + 1;
  }
}

}  // namespace keys

/// The schema of a vector; the kind itself where hp replay has none: then the vector is skipped.
inline std::string form_of(const json& v) {
  if (v.contains("op") && v.contains("rule") && v.contains("inputs")) return "operator";
  const std::string kind = text_of(v, "kind");
  for (const char* name : {"expected_parameters", "config_source", "config_status", "published_parameters"})
    if (v.contains("config") && v.contains(name)) return "model config";
  if (v.contains("family") || (v.contains("nature") && v.contains("quantity"))) return "published number";
  if (kind.empty() && v.contains("schedule")) return "lists";
  if (v.contains("factor_sizes") && v.contains("operands")) return "rule";
  if (kind == "plan" && v.contains("src_layout")) return "plan of axes";
  const bool is_move = keys::has("count correctness trace legality equivalence", kind);
  return is_move || (keys::schema_of(kind) == nullptr && v.contains("src_layout") && v.contains("dst_layout")) ? "move"
                                                                                                               : kind;
}

/// Throws malformed_vector.
inline void check_keys(const json& v) {
  const std::string form = form_of(v);
  if (form.empty()) throw malformed_vector("key 'kind' is missing");
  const keys::schema* const s = keys::schema_of(form);
  if (s == nullptr || form.find('.') != std::string::npos) return;
  keys::check_object(v, *s, "'" + form + "'");
  const auto check_inside = [](const json& of, const std::string& at, const std::string& named) {
    const keys::schema* const inner = keys::schema_of(named);
    if (inner == nullptr) return;
    for (const json& each : of.is_array() ? of : json::array({of}))
      if (each.is_object()) keys::check_object(each, *inner, "'" + at + "'");
  };
  const std::string kind = text_of(v, "kind");
  const bool is_published = form == "model config" || form == "published number";
  for (const auto& [name, value] : v.items()) {
    const std::string own = form + "." + name, of_kind = kind + "." + name;
    check_inside(value, name,
                 !kind.empty() && keys::schema_of(of_kind) != nullptr ? of_kind
                 : keys::schema_of(own) != nullptr                    ? own
                 : is_published                                       ? ""
                                                                      : "." + name);
    if (is_published) continue;  // their readers say what a number may be
    if (form == "move" && name == "expect" && !value.is_object()) throw malformed_vector("key 'expect' has no object");
    if (value.is_object()) check_inside(optional_field(value, "steps"), "steps", ".steps");
    keys::check_numbers(value, name);
  }
}

}  // namespace replay
