// SPDX-License-Identifier: Apache-2.0
#pragma once
// The kinds of hyperparallel_planner.jsonl: pairs on which the reference's own planner was measured, with bounds
// derived independently of it, and operator lists of moves that also reshape or change the mesh.

#include <string>
#include <vector>

#include "redistribution_kinds.hpp"

namespace replay {

/// A layout as a list per dim of axes, major to minor; an axis is a name or a sub-axis [name, pre, size].
inline read_layout layout_from_axes(const json& dims, const hp::mesh_value& m) {
  read_layout l{{}, hp::replicated(m.shape, static_cast<int>(dims.size()))};
  const auto refuse = [&l](hp::layout_code code, int dim, int axis) {
    if (!l.why) l.why = refused(hp::layout_status{code, dim, 0, axis, 0, 0});
  };
  if (dims.size() > static_cast<std::size_t>(hp::max_dims)) {
    refuse(hp::layout_code::too_many_dims, 0, 0);
    return l;
  }
  std::vector<hp::cut> seen;
  for (int d = 0; d < l.layout.rank; ++d)
    for (const json& entry : dims[static_cast<std::size_t>(d)]) {
      const std::string name = entry.is_array() ? entry.at(0).get<std::string>() : entry.get<std::string>();
      if (name == "None") continue;
      const int a = hp::axis_index(m, name.c_str());
      if (a < 0) {
        refuse(hp::layout_code::axis_is_not_in_the_mesh, d, a);
        return l;
      }
      const hp::cut c = entry.is_array() ? hp::cut{d, a, entry.at(1).get<int>(), entry.at(2).get<int>()}
                                         : hp::cut{d, a, 1, m.shape.size[a]};
      if (c.pre < 1 || c.size < 1 || m.shape.size[a] % (c.pre * c.size) != 0)
        refuse(hp::layout_code::sub_axis_does_not_fit_its_axis, d, a);
      for (const hp::cut& other : seen)
        if (other.axis == a && other.pre < c.pre * c.size && c.pre < other.pre * other.size)
          refuse(hp::layout_code::axis_is_used_twice, d, a);
      if (l.why || l.layout.cut_count == hp::max_cuts) return l;
      seen.push_back(c);
      hp::append_cut(l.layout, c);
    }
  return l;
}

/// Dims that do not divide are cut into flat ceil chunks, as the derived figures of these vectors count them.
inline void pad_uneven_dims(hp::layout_value& l, const hp::shape& s) {
  for (int d = 0; d < s.rank && d < l.rank; ++d)
    if (s.extent[d] % hp::shards_of(l, d) != 0) l.padded |= 1u << d;
}

inline verdict replay_measured(const json& v) {
  for (const char* side : {"src_partial", "dst_partial"})
    if (const json& partial = optional_field(v, side); !partial.is_null() && !partial.empty())
      return skip("reductions are planned with operators");
  const json& mesh_json = field(v, "mesh");
  const read_mesh m =
      mesh_from(field(mesh_json, "shape"), optional_field(mesh_json, "axes"), optional_field(mesh_json, "device_ids"));
  if (m.why) return fail(m.why.text);
  read_mesh to_mesh = m;
  if (const json& other = optional_field(v, "dst_mesh"); other.is_object())
    to_mesh = mesh_from(field(other, "shape"), optional_field(other, "axes"), optional_field(other, "device_ids"));
  if (to_mesh.why) return fail(to_mesh.why.text);
  if (to_mesh.rank != m.rank) return skip("moves between different rank lists");

  read_layout from = layout_from_axes(field(v, "src_layout"), m.mesh);
  read_layout to = layout_from_axes(field(v, "dst_layout"), to_mesh.mesh);
  if (from.why || to.why) return fail(from.why.text + to.why.text);
  const hp::shape s = shape_from(field(v, "shape"));
  pad_uneven_dims(from.layout, s);
  pad_uneven_dims(to.layout, s);
  exchange_report report;
  const verdict r = m.mesh.shape == to_mesh.mesh.shape ? run_plan(from.layout, to.layout, s, report)
                                                       : run_unified(from.layout, s, to.layout, s, report);
  if (r.outcome != outcome::passed) return r;
  const json& derived = optional_field(v, "derived");
  const auto holds = [&derived](const char* name, hp::extent_t ours) {
    const json& stated = optional_field(derived, name);
    return !stated.is_number() || stated.get<hp::extent_t>() == ours;
  };
  const hp::extent_t from_local = hp::element_count(hp::local_shape(from.layout, s).shape).value;
  const hp::extent_t to_local = hp::element_count(hp::local_shape(to.layout, s).shape).value;
  if (!holds("src_local_max", from_local))
    return fail("source elements on the largest device: " + std::to_string(from_local));
  if (!holds("dst_local_max", to_local))
    return fail("target elements on the largest device: " + std::to_string(to_local));
  if (!holds("lb_recv_max", report.received_max))
    return fail("the heaviest receiver gets " + std::to_string(report.received_max));
  if (!holds("lb_recv_sum", report.received_sum))
    return fail("all receivers together get " + std::to_string(report.received_sum));
  return pass();
}

inline verdict replay_ops(const json& v) {
  const json& from_mesh = field(v, "src_device_matrix");
  const json& to_mesh = v.contains("dst_device_matrix") ? v["dst_device_matrix"] : from_mesh;
  const read_mesh meshes[2] = {mesh_from(from_mesh, {}, optional_field(v, "src_device_list")),
                               mesh_from(to_mesh, {}, optional_field(v, "dst_device_list"))};
  for (const read_mesh& m : meshes)
    if (m.why) return fail(m.why.text);
  if (meshes[0].rank != meshes[1].rank) return skip("moves between different rank lists");
  const hp::layout_result from = layout_from_tmap(meshes[0].mesh.shape, field(v, "src_tensor_map"));
  const hp::layout_result to = layout_from_tmap(meshes[1].mesh.shape, field(v, "dst_tensor_map"));
  for (const hp::layout_result& side : {from, to})
    if (side.status.code != hp::layout_code::ok) return fail(refused(side.status).text);
  const hp::shape from_shape = shape_from(field(v, "shape"));
  const hp::shape to_shape =
      v.contains("dst_shape") && !v["dst_shape"].is_null() ? shape_from(v["dst_shape"]) : from_shape;
  exchange_report report;
  const verdict r = run_unified(from.layout, from_shape, to.layout, to_shape, report);
  if (r.outcome != outcome::passed) return r;
  for (const json& op : optional_field(optional_field(v, "expect"), "op_sequence"))
    if (op.get<std::string>() != "Reshape") return pass();
  return pass_if(report.received_sum == 0, "something is received where a local reshape is enough");
}

}  // namespace replay
