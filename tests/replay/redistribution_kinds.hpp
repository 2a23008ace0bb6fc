// SPDX-License-Identifier: Apache-2.0
#pragma once
// The kinds of redistribution.jsonl that move partial-free tensors: plans, unified layouts, single exchanges, mesh
// changes and reads of a checkpoint. Any correct plan is right; the reference's own operators do not bind.

#include <hyperparallel/layout/unify.hpp>

#include "exchange_replay.hpp"
#include "refinement_kinds.hpp"

namespace replay {

/// Plans and replays; `report` receives the counts.
inline verdict run_plan(const hp::layout_value& source, const hp::layout_value& target, const hp::shape& s,
                        exchange_report& report) {
  const hp::redistribution_plan p = hp::plan_redistribution(source, target, s);
  if (p.status.code != hp::plan_code::ok)
    return fail("the planner refuses with code " + std::to_string(static_cast<int>(p.status.code)) +
                (p.status.layout.code != hp::layout_code::ok ? ": " + refused(p.status.layout).text : ""));
  report = replay_exchange(source, target, s, p);
  return pass_if(report.trouble.empty(), report.trouble);
}

inline verdict replay_plan(const json& v) {
  const read_mesh m = mesh_of(v);
  if (m.why) return expects_error(v) ? pass() : fail(m.why.text);
  const hp::layout_result from = layout_from_json_map(m.mesh, field(v, "from"));
  const hp::layout_result to = layout_from_json_map(m.mesh, field(v, "to"));
  for (const hp::layout_result& side : {from, to})
    if (side.status.code != hp::layout_code::ok) return expects_error(v) ? pass() : fail(refused(side.status).text);
  exchange_report report;
  const verdict r = run_plan(from.layout, to.layout, shape_from(field(v, "shape")), report);
  if (expects_error(v)) return pass_if(r.outcome == outcome::failed, "accepted");
  return r;
}

/// One side of a vector: {mesh, alias?, map | tmap, ranks?, shape?}.
struct read_side {
  refusal why{};
  read_mesh mesh{};
  hp::layout_value layout{};
};

inline read_side side_of(const json& side) {
  read_side r;
  r.mesh = mesh_of(side);
  r.why = r.mesh.why;
  if (r.why) return r;
  const read_layout l = layout_of(side, r.mesh.mesh);
  r.why = l.why;
  r.layout = l.layout;
  return r;
}

/// Whether every position holds the same flat set of elements under both layouts.
inline bool same_flat_sets(const hp::layout_value& a, const hp::shape& sa, const hp::layout_value& b,
                           const hp::shape& sb) {
  const int positions = hp::position_count(a.mesh);
  if (positions != hp::position_count(b.mesh)) return false;
  if (hp::element_count(sa).value * positions > element_limit) return true;  // too many to list
  for (int p = 0; p < positions; ++p) {
    std::vector<hp::extent_t> flat[2];
    const hp::box box[2] = {hp::slice_at(a, sa, hp::coordinates_of(a.mesh, p)),
                            hp::slice_at(b, sb, hp::coordinates_of(b.mesh, p))};
    detail::for_each_element(box[0], box[0], sa, [&](hp::extent_t i, hp::extent_t) { flat[0].push_back(i); });
    detail::for_each_element(box[1], box[1], sb, [&](hp::extent_t i, hp::extent_t) { flat[1].push_back(i); });
    if (flat[0] != flat[1]) return false;  // both row-major, so both ascending where the sets agree
  }
  return true;
}

/// A move between layouts on possibly different meshes and shapes: unified, then planned and replayed.
inline verdict run_unified(const hp::layout_value& from, const hp::shape& from_shape, const hp::layout_value& to,
                           const hp::shape& to_shape, exchange_report& report) {
  const hp::unified_layouts u = hp::unify(from, from_shape, to, to_shape);
  if (u.status.code != hp::refinement_code::ok)
    return fail("not unifiable, code " + std::to_string(static_cast<int>(u.status.code)));
  if (!same_flat_sets(from, from_shape, u.source, u.shape) || !same_flat_sets(to, to_shape, u.target, u.shape))
    return fail("a rank's flat set of elements changed in the refinement");
  return run_plan(u.source, u.target, u.shape, report);
}

inline verdict replay_unify(const json& v) {
  const json& from_json = field(v, "from");
  const json& to_json = field(v, "to");
  const read_side from = side_of(from_json), to = side_of(to_json);
  if (from.why || to.why) return expects_error(v) ? pass() : fail(from.why.text + to.why.text);
  const json& own = optional_field(v, "shape");
  const hp::shape from_shape = shape_from(from_json.contains("shape") ? from_json["shape"] : own);
  const hp::shape to_shape = shape_from(to_json.contains("shape") ? to_json["shape"] : own);
  exchange_report report;
  const verdict moved = run_unified(from.layout, from_shape, to.layout, to_shape, report);
  const json& expect = field(v, "expect");
  if (expects_error(v)) return pass_if(moved.outcome == outcome::failed, "accepted");
  if (moved.outcome != outcome::passed) return moved;
  if (!expect.is_object() && text_of(v, "expect") != "unifiable") return skip("unknown expectation of a unification");

  const hp::unified_layouts u = hp::unify_one_axis_per_dim(from.layout, from_shape, to.layout, to_shape);
  if (u.status.code != hp::refinement_code::ok)
    return fail("no common refinement with one axis a dim, code " + std::to_string(static_cast<int>(u.status.code)));
  if (!same_flat_sets(from.layout, from_shape, u.source, u.shape) ||
      !same_flat_sets(to.layout, to_shape, u.target, u.shape))
    return fail("a rank's flat set of elements changed in the finest refinement");
  if (!expect.is_object()) return pass();
  json source = expect, target = expect;
  if (expect.contains("from_tmap")) source["tmap"] = expect["from_tmap"];
  if (expect.contains("to_tmap")) target["tmap"] = expect["to_tmap"];
  const verdict first = same_as_expected({{}, u.source}, u.shape, source);
  return first.outcome == outcome::passed ? same_as_expected({{}, u.target}, u.shape, target) : first;
}

/// `op_list`: the lowered names are one planner's choice. Ours must be right, at the bound, and still where only a
/// local reshape is expected.
inline verdict replay_op_list(const json& v) {
  const json& from_json = field(v, "from");
  const json& to_json = field(v, "to");
  const read_side from = side_of(from_json), to = side_of(to_json);
  if (from.why || to.why) return fail(from.why.text + to.why.text);
  exchange_report report;
  const verdict r = run_unified(from.layout, shape_from(field(from_json, "shape")), to.layout,
                                shape_from(field(to_json, "shape")), report);
  if (r.outcome != outcome::passed) return r;
  for (const json& op : optional_field(v, "expect_ops"))
    if (op.get<std::string>() != "Reshape") return pass();
  return pass_if(report.received_sum == 0, "something is received where a local reshape is enough");
}

/// Local shapes of one all-to-all over a single axis of n ranks.
inline verdict replay_all_to_all(const json& v) {
  const int n = field(v, "n").get<int>(), split = field(v, "split_dim").get<int>(),
            concat = field(v, "concat_dim").get<int>();
  const hp::shape local = shape_from(field(v, "local_in"));
  if (split < 0 || split >= local.rank || concat < 0 || concat >= local.rank)
    return expects_error(v) ? pass() : fail("dim outside the shape");
  hp::shape global = local;
  global.extent[concat] *= n;
  const hp::mesh_shape mesh{1, {n}};
  hp::layout_value source = hp::replicated(mesh, local.rank), target = source;
  if (split != concat) hp::append_cut(source, {concat, 0, 1, n});
  if (split != concat) hp::append_cut(target, {split, 0, 1, n});
  if (split == concat) {  // blocks change places, no extent changes: the n blocks of a dim seen as a dim of their own
    if (local.extent[split] % n != 0) return expects_error(v) ? pass() : fail("the split dim does not divide");
    return pass_if(!expects_error(v) && shape_from(field(v, "local_out")) == local, "the shape changed");
  }
  const hp::redistribution_plan p = hp::plan_redistribution(source, target, global);
  if (expects_error(v)) return pass_if(p.status.code != hp::plan_code::ok, "accepted");
  if (p.status.code != hp::plan_code::ok) return fail("refused: " + refused(p.status.layout).text);
  const hp::shape_result out = hp::local_shape(target, global);
  if (out.status.code != hp::layout_code::ok || !(out.shape == shape_from(field(v, "local_out"))))
    return fail("got " + text_of(out.shape));
  if (n > 1 && p.kind != hp::plan_kind::all_to_all) return fail(std::string("classified as ") + hp::name_of(p.kind));
  exchange_report report;
  return run_plan(source, target, global, report);
}

/// A change of mesh over one rank list. Where the reference has no planner, ours is held against the mathematics.
inline verdict replay_mesh_change(const json& v) {
  const read_side from = side_of(field(v, "from")), to = side_of(field(v, "to"));
  if (from.why || to.why) return expects_error(v) ? pass() : fail(from.why.text + to.why.text);
  if (from.mesh.rank != to.mesh.rank) return expects_error(v) ? pass() : skip("moves between different rank lists");
  const hp::shape s = shape_from(field(v, "shape"));
  exchange_report report;
  const verdict r = run_unified(from.layout, s, to.layout, s, report);
  const bool no_planner_there = text_of(v, "err") == "RuntimeError";  // a missing feature, not a rule
  if (expects_error(v) && !no_planner_there) return pass_if(r.outcome == outcome::failed, "accepted");
  return r;
}

/// What one rank of the target reads from the ranks that hold a checkpoint: from each holder of a piece it needs, once.
/// Null sides are one unsharded copy, held by (and read for) any rank.
inline verdict replay_reshard(const json& v) {
  if (!v.contains("from") || !v.contains("to")) return skip("a refused read without the layouts that it refuses");
  const hp::shape s = shape_from(field(v, "shape"));
  const hp::box whole = hp::slice_at(hp::replicated({}, s.rank), s, {});
  hp::box wanted = whole;
  const int to_rank = v.value("to_rank", 0);
  if (const json& to = v["to"]; !to.is_null()) {
    const read_side side = side_of(to);
    if (side.why) return expects_error(v) ? pass() : fail(side.why.text);
    const int position = hp::position_in(side.mesh.ranks(), to_rank);
    if (position < 0) return expects_error(v) ? pass() : fail("the target rank is not in the target's rank list");
    const hp::slice_result slice = hp::slice_of(side.layout, s, position);
    if (slice.status.code != hp::layout_code::ok) return expects_error(v) ? pass() : fail(refused(slice.status).text);
    wanted = slice.box;
  }
  if (v.contains("to_slice") && !(wanted == box_from(v["to_slice"])))
    return fail("the target slice is " + text_of(wanted));
  std::vector<int> rank{0};
  std::vector<hp::box> held{whole};
  if (const json& from = v["from"]; !from.is_null()) {
    const read_side side = side_of(from);
    if (side.why) return expects_error(v) ? pass() : fail(side.why.text);
    if (const hp::layout_status status = hp::check_shape(side.layout, s); status.code != hp::layout_code::ok)
      return expects_error(v) ? pass() : fail(refused(status).text);
    held.clear();
    rank = side.mesh.rank;
    for (int p = 0; p < hp::position_count(side.layout.mesh); ++p)
      held.push_back(hp::slice_at(side.layout, s, hp::coordinates_of(side.layout.mesh, p)));
  }
  if (expects_error(v)) return fail("accepted");
  json reads = json::object();
  for (std::size_t p = 0; p < held.size(); ++p) {  // the first holder of each piece is read
    bool first = true;
    for (std::size_t q = 0; q < p; ++q) first = first && !(held[q] == held[p]);
    const hp::box area = hp::intersection(held[p], wanted);
    if (!first || hp::volume(area) == 0) continue;
    json intervals = json::array();
    for (int d = 0; d < area.rank; ++d) intervals.push_back({area.dim[d].begin, area.dim[d].end});
    reads[std::to_string(rank[p])] = intervals;
  }
  return pass_if(reads == field(v, "reads"), "reads " + reads.dump());
}

}  // namespace replay
