// SPDX-License-Identifier: Apache-2.0
#pragma once
// The sides of a move, in either way that vectors state them: {mesh, alias?, map | tmap | placements, partial?,
// ranks?}, or a mesh {axes, shape, device_ids} with a list of axes per dim, where an axis may be a sub-axis [name, pre,
// size].
//
// A sub-axis that is partial is no axis of the core. Its mesh is then stated with finer axes, so that it is one.

#include <algorithm>
#include <string>
#include <vector>

#include "reading.hpp"

namespace replay {

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

/// Part [pre, size] of the axis `name`; size 0: all of it.
struct stated_axis {
  std::string name{};
  int pre = 1, size = 0;
};

inline stated_axis axis_from(const json& entry) {
  if (!entry.is_array()) return {entry.get<std::string>()};
  return {entry.at(0).get<std::string>(), int_of(entry.at(1)), int_of(entry.at(2))};
}

/// One entry of `src_partial` or `dst_partial`: an axis (a sum is implied), or {axis, op}.
struct stated_partial {
  stated_axis axis{};
  std::string op = "sum";
};

inline stated_partial partial_from(const json& entry) {
  if (!entry.is_object()) return {axis_from(entry)};
  std::string op = entry.contains("op") ? entry["op"].get<std::string>() : "sum";
  if (op == "product") op = "prod";
  if (op == "mean" || op == "average") op = "avg";
  return {axis_from(member(entry, "axis")), op};
}

/// The axes of a stated mesh as parts: axis a is cut at the products `bound[a]` and its parts are axes first[a], … of
/// the mesh that is read.
struct axis_parts {
  std::vector<std::string> name{};
  std::vector<std::vector<int>> bound{};
  std::vector<int> first{};
  std::vector<int> part_size{};
  std::vector<std::string> part_name{};

  int index(const std::string& axis) const {
    const auto at = std::find(name.begin(), name.end(), axis);
    return at == name.end() ? -1 : static_cast<int>(at - name.begin());
  }
};

inline axis_parts parts_of(const json& mesh, const json& dims, const json& partial) {
  axis_parts p;
  const auto sizes = ints_of(member(mesh, "shape"));
  p.name = member(mesh, "axes").get<std::vector<std::string>>();
  if (p.name.size() != sizes.size()) throw malformed_vector("the mesh has more names than sizes, or fewer");
  for (const int n : sizes) p.bound.push_back(n > 1 ? std::vector<int>{1, n} : std::vector<int>{1});
  bool splits = false;
  for (const json& entry : partial) splits = splits || partial_from(entry).axis.size > 0;
  const auto add = [&p](const stated_axis& x) {
    const int a = p.index(x.name);
    if (a < 0 || x.size == 0) return;
    if (x.pre < 1 || x.size < 1 || x.pre > most_ranks || x.size > most_ranks)
      throw malformed_vector("the sub-axis [" + std::to_string(x.pre) + ", " + std::to_string(x.size) + "] of " +
                             x.name);
    for (const int at : {x.pre, x.pre * x.size}) p.bound[static_cast<std::size_t>(a)].push_back(at);
  };
  if (splits) {
    for (const json& dim : dims)
      for (const json& entry : dim) add(axis_from(entry));
    for (const json& entry : partial) add(partial_from(entry).axis);
  }
  for (std::size_t a = 0; a < sizes.size(); ++a) {
    std::vector<int>& b = p.bound[a];
    std::sort(b.begin(), b.end());
    b.erase(std::unique(b.begin(), b.end()), b.end());
    p.first.push_back(static_cast<int>(p.part_size.size()));
    if (b.size() == 1) b.push_back(sizes[a]);
    for (std::size_t i = 1; i < b.size(); ++i) {
      if (b[i - 1] < 1 || b[i] % b[i - 1] != 0) throw malformed_vector("the sub-axes of " + p.name[a] + " do not nest");
      p.part_size.push_back(b[i] / b[i - 1]);
      p.part_name.push_back(b.size() == 2 ? p.name[a] : p.name[a] + "/" + std::to_string(i));
    }
  }
  return p;
}

/// Gives the axes of `dims` and `partial` their roles; what the core would refuse comes back as a refusal.
inline refusal place_axes(hp::layout_value& l, const axis_parts& p, const json& dims, const json& partial) {
  const auto refuse = [](hp::layout_code code, int dim, int axis) {
    return refused(hp::layout_status{code, dim, 0, axis, 0, 0});
  };
  std::vector<hp::cut> seen;  // in axes as they are stated
  for (int d = 0; d < static_cast<int>(dims.size()); ++d)
    for (const json& entry : dims[static_cast<std::size_t>(d)]) {
      const stated_axis x = axis_from(entry);
      if (x.name == "None") continue;
      const int a = p.index(x.name);
      if (a < 0) return refuse(hp::layout_code::axis_is_not_in_the_mesh, d, a);
      const std::vector<int>& bound = p.bound[static_cast<std::size_t>(a)];
      const int n = bound.back(), size = x.size > 0 ? x.size : n, first = p.first[static_cast<std::size_t>(a)];
      if (x.pre < 1 || size < 1 || x.pre > most_ranks || size > most_ranks || n % (x.pre * size) != 0)
        return refuse(hp::layout_code::sub_axis_does_not_fit_its_axis, d, a);
      for (const hp::cut& other : seen)
        if (other.axis == a && other.pre < x.pre * size && x.pre < other.pre * other.size)
          return refuse(hp::layout_code::axis_is_used_twice, d, a);
      seen.push_back({d, a, x.pre, size});
      for (std::size_t i = 1; i < bound.size(); ++i) {
        if (l.cut_count == hp::max_cuts) throw malformed_vector("the layout has more cuts than the core holds");
        const int part = first + static_cast<int>(i) - 1;
        if (bound.size() == 2)
          hp::append_cut(l, {d, part, x.pre, size});
        else if (bound[i - 1] >= x.pre && bound[i] <= x.pre * size)
          hp::append_cut(l, {d, part, 1, bound[i] / bound[i - 1]});
      }
    }
  for (const json& entry : partial) {
    const stated_partial x = partial_from(entry);
    const int a = p.index(x.axis.name);
    if (a < 0) return refuse(hp::layout_code::axis_is_not_in_the_mesh, 0, a);
    const std::vector<int>& bound = p.bound[static_cast<std::size_t>(a)];
    const int size = x.axis.size > 0 ? x.axis.size : bound.back();
    for (std::size_t i = 1; i < bound.size(); ++i) {
      if (bound[i - 1] < x.axis.pre || bound[i] > x.axis.pre * size) continue;
      const int part = p.first[static_cast<std::size_t>(a)] + static_cast<int>(i) - 1;
      if (const refusal r = refused(hp::set_partial(l, part, hp::reduction_called(x.op.c_str())))) return r;
    }
  }
  return {};
}

/// A side of a tensor of `rank` dims. A layout without any dim is that of a whole tensor.
inline read_side side_of_axes(const json& mesh, const json& dims, const json& partial, int rank) {
  read_side r;
  const axis_parts p = parts_of(mesh, dims, partial);
  r.mesh = mesh_from(json(p.part_size), json(p.part_name), optional_field(mesh, "device_ids"));
  r.why = r.mesh.why;
  if (r.why) return r;
  r.layout = hp::replicated(r.mesh.mesh.shape, rank);
  if (!dims.empty() && static_cast<int>(dims.size()) != rank)
    r.why = refused(hp::layout_status{hp::layout_code::map_length_differs_from_tensor_rank, 0, 0, 0, rank,
                                      static_cast<hp::extent_t>(dims.size())});
  else
    r.why = place_axes(r.layout, p, dims, partial);
  return r;
}

/// Dims that do not divide are cut into flat ceil chunks, as the derived figures of these vectors count them.
inline void pad_uneven_dims(hp::layout_value& l, const hp::shape& s) {
  for (int d = 0; d < s.rank && d < l.rank; ++d)
    if (s.extent[d] % hp::shards_of(l, d) != 0) l.padded |= 1u << d;
}

/// A move of one tensor. The shapes differ where it also reshapes.
struct stated_move {
  read_side from{}, to{};
  hp::shape from_shape{}, to_shape{};
};

/// A mesh without axes and devices: its tensors are whole on any devices.
inline bool is_anywhere(const json& mesh) {
  return member(mesh, "axes").empty() && optional_field(mesh, "device_ids").is_null();
}

/// The move that `mesh`, `dst_mesh`, `src_layout`, `dst_layout` and the partial axes of both state.
inline stated_move move_of(const json& v) {
  stated_move m;
  const json& from = member(v, "mesh");
  const json& other = optional_field(v, "dst_mesh");
  const json& to = other.is_object() ? other : from;
  m.from_shape = m.to_shape = shape_from(member(v, "shape"));
  const int rank = m.from_shape.rank;
  m.from = side_of_axes(from, member(v, "src_layout"), optional_field(v, "src_partial"), rank);
  m.to = side_of_axes(to, member(v, "dst_layout"), optional_field(v, "dst_partial"), rank);
  if (is_anywhere(from) != is_anywhere(to)) {
    read_side& free = is_anywhere(from) ? m.from : m.to;
    free.mesh = is_anywhere(from) ? m.to.mesh : m.from.mesh;
    if (!free.why) free.layout = hp::replicated(free.mesh.mesh.shape, rank);
  }
  pad_uneven_dims(m.from.layout, m.from_shape);
  pad_uneven_dims(m.to.layout, m.to_shape);
  return m;
}

}  // namespace replay
