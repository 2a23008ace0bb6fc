// SPDX-License-Identifier: Apache-2.0
#pragma once
// The kinds of hyperparallel_planner.jsonl: pairs on which the reference's own planner was measured, with bounds
// derived independently of it, and operator lists of moves that also reshape or change the mesh.

#include <string>

#include "redistribution_kinds.hpp"

namespace replay {

/// `measured`: where the reference's planner moves the wrong data, its own figures say nothing.
inline verdict replay_measured(const json& v) {
  const stated_move m = move_of(v);
  if (m.from.why || m.to.why) return judge_unreadable(v, m.from.why ? m.from.why : m.to.why);
  move_figures ours;
  verdict r = judge_move(m, ours);
  if (r.outcome != outcome::passed) return r;
  json derived = optional_field(v, "derived");
  const std::string outcome_there = text_of(optional_field(v, "measured"), "outcome");
  const bool wrong_there = !outcome_there.empty() && outcome_there != "ok";
  if (wrong_there && derived.is_object())
    for (const char* name : {"plan_recv_max", "plan_recv_sum", "plan_peak_local"}) derived.erase(name);
  r = held_to_derived(derived, m, ours, {});
  if (r.outcome != outcome::passed) return r;
  if (wrong_there && r.note.empty()) r.note = "right where the reference's plan is " + outcome_there;
  json counted = v;
  counted["derived"] = derived;
  r.bytes = figures_of(counted, ours, {});
  return r;
}

inline verdict replay_ops(const json& v) {
  const auto side = [&v](const std::string& which, const json& matrix) {
    read_side r;
    r.mesh = mesh_from(matrix, {}, optional_field(v, (which + "_device_list").c_str()));
    r.why = r.mesh.why;
    if (r.why) return r;
    const hp::layout_result l = layout_from_tmap(r.mesh.mesh.shape, member(v, (which + "_tensor_map").c_str()));
    r.why = refused(l.status);
    r.layout = l.layout;
    return r;
  };
  const json& matrix = member(v, "src_device_matrix");
  const json& other = optional_field(v, "dst_device_matrix");
  const json& reshaped = optional_field(v, "dst_shape");
  stated_move m{side("src", matrix), side("dst", other.is_null() ? matrix : other), shape_from(member(v, "shape")),
                shape_from(reshaped.is_null() ? member(v, "shape") : reshaped)};
  if (m.from.why || m.to.why) return judge_unreadable(v, m.from.why ? m.from.why : m.to.why);
  move_figures ours;
  verdict r = judge_move(m, ours);
  r.bytes = figures_of(v, ours, {});
  return judge_named_operators(optional_field(optional_field(v, "expect"), "op_sequence"), r, ours);
}

}  // namespace replay
