// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which function replays which kind of vector. Kinds of other schemas are known by name, so that a file of them is
// reported as skipped and not as broken.

#include <string>

#include "checkpoint_kinds.hpp"
#include "config_kinds.hpp"
#include "dtensor_kinds.hpp"
#include "layout_kinds.hpp"
#include "pipeline_kinds.hpp"
#include "planner_kinds.hpp"
#include "redistribution_kinds.hpp"
#include "refinement_kinds.hpp"
#include "shardy_kinds.hpp"
#include "truth_kinds.hpp"
#include "vector_keys.hpp"

namespace replay {

// operator_replay.cpp
verdict replay_any_operator(const json& v);
verdict replay_any_rule(const json& v);

struct kind_entry {
  const char* kind;
  verdict (*replay)(const json&);
};

/// `plan` is a kind of two schemas: of moves told by maps, and of moves told axis by axis with the steps of a pass.
inline verdict replay_any_plan(const json& v) { return v.contains("src_layout") ? replay_shardy(v) : replay_plan(v); }

inline constexpr kind_entry kinds[] = {
    {"map", replay_map},
    {"slice", replay_slice},
    {"placement", replay_placement},
    {"error", replay_error},
    {"local_shape", replay_local_shape},
    {"submesh", replay_submesh},
    {"flatten", replay_submesh},
    {"coord", replay_coord},
    {"interleaved", replay_interleaved},
    {"squeeze_ones", replay_refinement},
    {"expand_mesh", replay_refinement},
    {"expand_shape", replay_refinement},
    {"util", replay_util},
    {"plan", replay_any_plan},
    {"partial", replay_partial},
    {"unify", replay_unify},
    {"op_list", replay_op_list},
    {"all_to_all", replay_all_to_all},
    {"mesh_change", replay_mesh_change},
    {"reshard", replay_reshard},
    {"ops", replay_ops},
    {"measured", replay_measured},
    {"count", replay_dtensor_move},
    {"correctness", replay_dtensor_move},
    {"trace", replay_dtensor_move},
    {"legality", replay_legality},
    {"equivalence", replay_equivalence},
    {"state_count", replay_state_count},
    {"closed_form", replay_closed_form},
    {"torch_csv", replay_torch_csv},
    {"torch_csv_comms", replay_torch_transfers},
    {"torch_1f1b_ir_defect", replay_torch_defect},
    {"pipeline_mutant", replay_pipeline_mutant},
    {"zero_bubble_table5", replay_zero_bubble_table},
    {"sail_v_schedule", replay_v_schedule},
    {"sail_zbv_search", skip_pipeline_search},
    {"exhaustive_optimum", skip_pipeline_search},
};

/// Replays one vector; one that cannot be read is malformed, with the reason.
inline verdict replay_vector(const json& v) {
  if (!v.is_object()) return malformed("the line is no JSON object");
  const std::string kind = text_of(v, "kind");
  try {
    check_keys(v);
    if (v.contains("op") && v.contains("rule") && v.contains("inputs")) return replay_any_operator(v);
    if (is_model_config(v)) return replay_model_config(v);
    if (is_published_number(v)) return replay_published_number(v);
    if (kind.empty() && v.contains("schedule")) return replay_mindspore_lists(v);
    if (v.contains("factor_sizes") && v.contains("operands")) return replay_any_rule(v);
    for (const kind_entry& k : kinds)
      if (kind == k.kind) return k.replay(v);
    // Moves stated axis by axis are moves whatever their kind says of the planner that was observed.
    if (v.contains("src_layout") && v.contains("dst_layout")) return replay_dtensor_move(v);
  } catch (const malformed_vector& e) {
    return malformed(e.what());
  } catch (const json::exception& e) {
    return malformed("key '" + asked_key() + "' has a value of an unexpected form: " + e.what());
  } catch (const std::exception& e) {
    return fail(std::string("cannot be read: ") + e.what());
  }
  if (v.contains("ranks") && v.contains("microbatches"))
    return malformed("key 'kind': unknown kind of pipeline schedules '" + kind + "'");
  return skip(
      "outside layouts, operators, redistribution, pipeline schedules, configurations of models and published numbers");
}

}  // namespace replay
