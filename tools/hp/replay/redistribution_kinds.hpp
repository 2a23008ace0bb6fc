// SPDX-License-Identifier: Apache-2.0
#pragma once
// The kinds of redistribution.jsonl that move a tensor between two layouts: plans, partial sources, unified layouts and
// changes of mesh. Any correct plan is right; the reference's own operators bound what ours may receive.

#include "derived_check.hpp"
#include "refinement_kinds.hpp"
#include "relocation_judging.hpp"

namespace replay {

/// A refusal of the reference that says what it lacks, not what cannot be: there ours is held to the mathematics.
inline bool is_missing_feature(const json& v) {
  const std::string why = text_of(v, "why") + " " + text_of(v, "note"), err = text_of(v, "err");
  for (const char* words : {"still partial", "target partial", "partial target", "no cross-mesh", "no planner",
                            "not supported", "unsupported", "not implemented"})
    if (why.find(words) != std::string::npos) return true;
  return err == "RuntimeError" || err == "NotImplementedError";
}

/// Whether what the vector says of the reference is to be followed: not where it is known to be wrong.
inline bool binds(const json& v) { return optional_field(v, "suspect").empty() && text_of(v, "ref_status").empty(); }

/// The verdict where the reference refuses: ours does so too, or does right what the reference cannot.
inline verdict judge_refused(const json& v, const verdict& ours) {
  if (ours.outcome != outcome::passed) return is_missing_feature(v) && v.contains("from") ? ours : pass();
  if (!is_missing_feature(v)) return fail("accepted");
  verdict r = pass();
  r.note = "deviation: right where the reference refuses (" +
           (text_of(v, "why").empty() ? text_of(v, "err") : text_of(v, "why")) + ")";
  r.bytes = ours.bytes;
  return r;
}

/// The verdict of a refusal of layouts, before anything is planned.
inline verdict judge_unreadable(const json& v, const refusal& why) {
  return expects_error(v) ? pass() : fail(why.text);
}

inline stated_cost cost_of_expected(const json& operators, const hp::layout_value& from, const hp::mesh_value& m,
                                    const hp::shape& s, hp::shape& local) {
  const hp::shape_result held = hp::local_shape(from, s);
  if (!operators.is_array() || held.status.code != hp::layout_code::ok) return {};
  local = held.shape;
  return cost_of_operators(operators, m, local);
}

inline verdict replay_plan(const json& v) {
  const read_mesh m = mesh_of(v);
  if (m.why) return judge_unreadable(v, m.why);
  const hp::layout_result from = layout_from_json_map(m.mesh, member(v, "from"));
  const hp::layout_result to = layout_from_json_map(m.mesh, member(v, "to"));
  for (const hp::layout_result& side : {from, to})
    if (side.status.code != hp::layout_code::ok) return judge_unreadable(v, refused(side.status));
  const hp::shape s = shape_from(member(v, "shape"));
  move_figures ours;
  verdict r = judge_move({{{}, m, from.layout}, {{}, m, to.layout}, s, s}, ours);
  if (expects_error(v)) return judge_refused(v, r);
  if (r.outcome != outcome::passed) return r;
  hp::shape local;
  const stated_cost theirs =
      cost_of_expected(binds(v) ? optional_field(v, "expect_ops") : json(), from.layout, m.mesh, s, local);
  r.bytes = figures_of(v, ours, theirs);
  if (const std::string status = text_of(v, "ref_status"); !status.empty())
    r.note = "right where the reference's plan is " + status.substr(0, status.find(':'));
  if (!theirs.known) return r;
  if (!theirs.trouble.empty()) return fail(theirs.trouble);
  if (!(local == hp::local_shape(to.layout, s).shape)) return fail("the expected operators do not lead to the target");
  const verdict less = receives_no_more(ours.received_sum, theirs);
  return less.outcome == outcome::passed ? r : less;
}

/// Whether the reductions among `operators` are of exactly the axes that `partial` names, by its operations.
inline bool reduces_all(const json& operators, const json& partial) {
  json reduced = json::object();
  for (const json& op : operators)
    if (op.contains("red"))
      for (const json& axis : op["axes"]) reduced[axis.get<std::string>()] = op["red"];
  return reduced == partial;
}

/// A tensor that any map of `dims` dims on `m` divides: vectors of partial sources do not all say the shape.
inline hp::shape divisible_shape(const hp::mesh_shape& m, int dims) {
  hp::shape s;
  s.rank = dims;
  for (int d = 0; d < dims; ++d) s.extent[d] = hp::position_count(m);
  return s;
}

/// A partial source, or only the two partial states: then of one dim on a mesh of these axes.
inline verdict replay_partial(const json& v) {
  json stated = v;
  if (!v.contains("mesh")) {
    stated["mesh"] = json::array();
    stated["alias"] = json::array();
    for (const char* side : {"partial", "to_partial"})
      for (const auto& [axis, op] : optional_field(v, side).items())
        if (std::find(stated["alias"].begin(), stated["alias"].end(), json(axis)) == stated["alias"].end()) {
          stated["alias"].push_back(axis);
          stated["mesh"].push_back(2);
        }
  }
  const read_mesh m = mesh_of(stated);
  if (m.why) return judge_unreadable(v, m.why);
  const json whole = json::array({"None"});
  const json& from_map = v.contains("from") ? v["from"] : whole;
  const json& to_map = v.contains("to") ? v["to"] : whole;
  hp::layout_result from = layout_from_json_map(m.mesh, from_map), to = layout_from_json_map(m.mesh, to_map);
  for (const hp::layout_result& side : {from, to})
    if (side.status.code != hp::layout_code::ok) return judge_unreadable(v, refused(side.status));
  if (const refusal r = add_partial(from.layout, m.mesh, optional_field(v, "partial"))) return judge_unreadable(v, r);
  if (const refusal r = add_partial(to.layout, m.mesh, optional_field(v, "to_partial"))) return judge_unreadable(v, r);
  if (to_map.size() != from_map.size()) {
    if (expects_error(v)) return pass();
    throw malformed_vector("key 'to' has " + std::to_string(to_map.size()) + " dims, 'from' " +
                           std::to_string(from_map.size()));
  }
  const hp::shape s =
      v.contains("shape") ? shape_from(v["shape"]) : divisible_shape(m.mesh.shape, static_cast<int>(from_map.size()));
  move_figures ours;
  verdict r = judge_move({{{}, m, from.layout}, {{}, m, to.layout}, s, s}, ours);
  if (expects_error(v)) return judge_refused(v, r);
  if (r.outcome != outcome::passed) return r;
  hp::shape local;
  stated_cost theirs =
      cost_of_expected(binds(v) ? optional_field(v, "expect_ops") : json(), from.layout, m.mesh, s, local);
  if (theirs.known) {
    if (!theirs.trouble.empty()) return fail(theirs.trouble);
    const hp::layout_result mid =
        v.contains("mid") ? layout_from_json_map(m.mesh, v["mid"]) : layout_from_json_map(m.mesh, to_map);
    if (mid.status.code != hp::layout_code::ok) return fail("the layout in the middle: " + refused(mid.status).text);
    if (mid.layout.rank != s.rank)
      throw malformed_vector("key 'mid' has " + std::to_string(mid.layout.rank) + " dims, the tensor " +
                             std::to_string(s.rank));
    if (!(local == hp::local_shape(mid.layout, s).shape)) return fail("the expected operators do not lead to `mid`");
    if (!v.contains("to_partial") && !reduces_all(v["expect_ops"], member(v, "partial")))
      return fail("the expected operators do not reduce what is partial");
    hp::layout_value target = to.layout;
    for (hp::reduce_op& op : target.partial) op = hp::reduce_op::none;
    const hp::received_bound rest = hp::enumerate_bound(mid.layout, target, s);
    theirs.maximum += rest.maximum;
    theirs.total += rest.sum;
    theirs.at_least = rest.sum > 0;
  }
  r.bytes = figures_of(v, ours, theirs);
  if (!theirs.known) return r;
  if (ours.received_max > theirs.maximum) r.note = "less than theirs in all; the busiest rank receives more";
  const verdict less = receives_no_more(ours.received_sum, theirs);
  return less.outcome == outcome::passed ? r : less;
}

inline verdict replay_unify(const json& v) {
  const json& from_json = member(v, "from");
  const json& to_json = member(v, "to");
  const read_side from = side_of(from_json), to = side_of(to_json);
  if (from.why || to.why) return judge_unreadable(v, from.why ? from.why : to.why);
  const json& own = optional_field(v, "shape");
  const hp::shape from_shape = shape_from(from_json.contains("shape") ? from_json["shape"] : own);
  const hp::shape to_shape = shape_from(to_json.contains("shape") ? to_json["shape"] : own);
  move_figures ours;
  verdict moved = judge_unified(from.layout, from_shape, to.layout, to_shape, ours);
  if (expects_error(v)) return judge_refused(v, moved);
  if (moved.outcome != outcome::passed) return moved;
  moved.bytes = figures_of(v, ours, {});
  const json& expect = member(v, "expect");
  if (!expect.is_object() && text_of(v, "expect") != "unifiable")
    throw malformed_vector("unknown expectation of a unification");

  const hp::unified_layouts u = hp::unify_one_axis_per_dim(from.layout, from_shape, to.layout, to_shape);
  if (u.status.code != hp::refinement_code::ok)
    return fail("no common refinement with one axis a dim, code " + std::to_string(static_cast<int>(u.status.code)));
  if (!same_flat_sets(from.layout, from_shape, u.source, u.shape) ||
      !same_flat_sets(to.layout, to_shape, u.target, u.shape))
    return fail("a rank's flat set of elements changed in the finest refinement");
  if (!expect.is_object() || !binds(v)) return moved;
  json source = expect, target = expect;
  if (expect.contains("from_tmap")) source["tmap"] = expect["from_tmap"];
  if (expect.contains("to_tmap")) target["tmap"] = expect["to_tmap"];
  for (const verdict& r :
       {same_as_expected({{}, u.source}, u.shape, source), same_as_expected({{}, u.target}, u.shape, target)})
    if (r.outcome != outcome::passed) return r;
  return moved;
}

/// `op_list`: the lowered names are one planner's choice. Ours must be right, at the bound, and still where only a
/// local reshape is expected.
inline verdict judge_named_operators(const json& names, const verdict& ours, const move_figures& figures) {
  if (ours.outcome != outcome::passed) return ours;
  for (const json& op : names)
    if (op.get<std::string>() != "Reshape") return ours;
  return figures.received_sum == 0 ? ours : fail("something is received where a local reshape is enough");
}

inline verdict replay_op_list(const json& v) {
  const json& from_json = member(v, "from");
  const json& to_json = member(v, "to");
  stated_move m{side_of(from_json), side_of(to_json), shape_from(member(from_json, "shape")),
                shape_from(member(to_json, "shape"))};
  if (m.from.why || m.to.why) return judge_unreadable(v, m.from.why ? m.from.why : m.to.why);
  move_figures ours;
  verdict r = judge_move(m, ours);
  if (expects_error(v)) return judge_refused(v, r);
  r.bytes = figures_of(v, ours, {});
  return judge_named_operators(optional_field(v, "expect_ops"), r, ours);
}

/// A change of mesh. Where the reference has no planner, ours is held against the mathematics.
inline verdict replay_mesh_change(const json& v) {
  const json& from_json = member(v, "from");
  const json& to_json = member(v, "to");
  const json& own = optional_field(v, "shape");
  stated_move m{side_of(from_json), side_of(to_json),
                shape_from(from_json.contains("shape") ? from_json["shape"] : own),
                shape_from(to_json.contains("shape") ? to_json["shape"] : own)};
  if (m.from.why || m.to.why) return judge_unreadable(v, m.from.why ? m.from.why : m.to.why);
  move_figures ours;
  verdict r = judge_move(m, ours);
  r.bytes = figures_of(v, ours, {});
  return expects_error(v) ? judge_refused(v, r) : r;
}

}  // namespace replay
