// SPDX-License-Identifier: Apache-2.0
#pragma once
// shardy_reshard.jsonl: a reshard and the collectives that one pass makes of it, or that it leaves alone. Ours must
// receive the least; their steps are counted here from the layouts that they go through.

#include <string>

#include "redistribution_kinds.hpp"

namespace replay {

inline bool is_left_alone(const json& steps) {
  for (const json& step : steps)
    if (text_of(step, "op") == "reshard") return true;
  return false;
}

/// The cost of the stated steps; unknown where a reshard is left, or a step's mesh is not one of the vector's.
inline stated_cost cost_of_steps(const json& v, const stated_move& m, const json& steps) {
  if (is_left_alone(steps)) return {};
  std::vector<read_side> states{m.from};
  for (const json& step : steps) {
    const std::string name = text_of(step, "out_mesh");
    const json& other = optional_field(v, "dst_mesh");
    const bool at_target = other.is_object() && (name.empty() || text_of(other, "name") == name);
    const json& mesh = at_target ? other : member(v, "mesh");
    if (!at_target && !name.empty() && text_of(mesh, "name") != name) return {};
    read_side state = side_of_axes(mesh, member(step, "out"), {}, m.from_shape.rank);
    if (state.why) throw malformed_vector("a step ends in no layout: " + state.why.text);
    pad_uneven_dims(state.layout, m.from_shape);
    states.push_back(state);
  }
  stated_cost c = cost_of_states(states, m.from_shape);
  if (!same_boxes(states.back(), m.to, m.from_shape)) c.trouble = "the stated steps do not end at the target";
  return c;
}

/// Whether `counts` is the number of steps of each operator.
inline bool counts_agree(const json& counts, const json& steps) {
  json counted = json::object();
  for (const json& step : steps) counted[text_of(step, "op")] = counted.value(text_of(step, "op"), 0) + 1;
  return !counts.is_object() || counts == counted;
}

inline verdict replay_shardy(const json& v) {
  const stated_move m = move_of(v);
  if (m.from.why || m.to.why) return judge_unreadable(v, m.from.why ? m.from.why : m.to.why);
  const json& expect = optional_field(v, "expect");
  const json& steps = optional_field(expect, "steps");
  if (!counts_agree(optional_field(expect, "counts"), steps)) return fail("`counts` does not summarise `steps`");
  move_figures ours;
  verdict r = judge_move(m, ours);
  if (r.outcome != outcome::passed) return r;
  const stated_cost theirs = cost_of_steps(v, m, steps);
  if (!theirs.trouble.empty()) return fail(theirs.trouble);
  r = held_to_derived(optional_field(v, "derived"), m, ours, theirs);
  if (r.outcome != outcome::passed) return r;
  r.bytes = figures_of(v, ours, theirs);
  if (is_left_alone(steps)) {
    r.note = "a reshard that is left alone there, planned by ours";
    return r;
  }
  if (!theirs.known) return r;
  if (ours.collectives > theirs.steps)
    return fail("ours takes " + std::to_string(ours.collectives) + " steps, theirs " + std::to_string(theirs.steps));
  const verdict less = receives_no_more(ours.received_sum, theirs);
  return less.outcome == outcome::passed ? r : less;
}

}  // namespace replay
