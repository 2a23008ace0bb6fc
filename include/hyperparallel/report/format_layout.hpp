// SPDX-License-Identifier: Apache-2.0
#pragma once
// Layouts as text, with the names of their mesh: `named(layout, mesh)` reads
//
//   (dp, None, (cp, tp)) partial(tp: sum)         the tensor map, then partial axes, then padded dims
//
// A layout alone has no names and shows axis numbers. A sub-axis reads "tp:(2)4": after a factor of 2, a part of
// size 4. Law: on whole axes the text of a named layout, read back entry by entry, gives an equal layout.
// `named(status, mesh)` is the run-time twin of the compile errors: one line with axis, dim, extent and shards.

#include <string>

#include <hyperparallel/layout/placement.hpp>
#include <hyperparallel/layout/slice.hpp>
#include <hyperparallel/report/format_mesh.hpp>
#include <hyperparallel/report/format_shape.hpp>
#include <hyperparallel/support/refusal_words.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace report {

/// A layout or layout status together with the mesh that names its axes; both must outlive it.
template <class Value>
struct named_value {
  const Value& value;
  const mesh_value& mesh;
};

/// Text of MindSpore's `Layout.to_dict()`: numeric tensor map, names, virtual axis, ranks.
struct layout_dictionary {
  const layout_value& layout;
  const mesh_value& mesh;
  rank_list ranks;
};

}  // namespace report

inline report::named_value<layout_value> named(const layout_value& l, const mesh_value& m) { return {l, m}; }
inline report::named_value<layout_status> named(const layout_status& s, const mesh_value& m) { return {s, m}; }

/// Domain: whole axes.
inline report::layout_dictionary as_dictionary(const layout_value& l, const mesh_value& m, const rank_list& ranks) {
  return {l, m, ranks};
}
inline report::layout_dictionary as_dictionary(const layout_value& l, const mesh_value& m) {
  return {l, m, all_ranks(m.shape)};
}

namespace detail {

inline std::string axis_text(const mesh_value* names, int axis) {
  return names == nullptr || axis < 0 || axis >= names->shape.axis_count ? std::to_string(axis)
                                                                         : std::string(names->label[axis].text);
}

inline std::string cut_text(const mesh_shape& m, const cut& c, const mesh_value* names) {
  const std::string name = axis_text(names, c.axis);
  if (c.pre == 1 && c.size == m.size[c.axis]) return name;
  return name + ":(" + std::to_string(c.pre) + ")" + std::to_string(c.size);
}

/// One entry of the map: None, an axis, or a tuple of axes, as `text_of` writes each cut.
template <class TextOf>
std::string entry_text(const layout_value& l, int dim, const char* none, const TextOf& text_of) {
  std::string out;
  int count = 0;
  for (int i = 0; i < l.cut_count; ++i)
    if (l.cut[i].dim == dim) out += (count++ > 0 ? ", " : "") + text_of(l.cut[i]);
  return count == 0 ? none : count == 1 ? out : "(" + out + ")";
}

inline std::string layout_text(const layout_value& l, const mesh_value* names) {
  std::string out = report::detail::list_text(l.rank, [&](int d) {
    return entry_text(l, d, "None", [&](const cut& c) { return cut_text(l.mesh, c, names); });
  });
  std::string partial, padded;
  for (int a = 0; a < l.mesh.axis_count; ++a)
    if (l.partial[a] != reduce_op::none)
      partial += (partial.empty() ? "" : ", ") + axis_text(names, a) + ": " + name_of(l.partial[a]);
  for (int d = 0; d < l.rank; ++d)
    if (is_padded(l, d)) padded += (padded.empty() ? "" : ", ") + std::to_string(d);
  if (!partial.empty()) out += " partial(" + partial + ")";
  if (!padded.empty()) out += " padded(" + padded + ")";
  return out;
}

inline std::string layout_status_text(const layout_status& s, const mesh_value* names) {
  if (s.code == layout_code::ok) return "ok";
  const bool no_axis = s.code == layout_code::axis_is_not_in_the_mesh, counts = s.code == layout_code::too_many_dims;
  const std::string dim = std::to_string(s.dim), place = "dim " + dim + ", place " + std::to_string(s.slot);
  const std::string axis = no_axis ? std::string() : axis_text(names, s.axis);
  const std::string extent = std::to_string(s.extent), shards = std::to_string(s.shards);
  const std::string mesh = names == nullptr ? std::string("the mesh") : "the mesh " + to_text(*names);
  const slot_text slots[] = {{"dim", dim.c_str()},
                             {"alias", axis.c_str()},
                             {"place", place.c_str()},
                             {"extent", extent.c_str()},
                             {"shards", shards.c_str()},
                             {"mesh", mesh.c_str()},
                             {"map_entries", (counts ? extent : shards).c_str()},
                             {"tensor_dims", (counts ? shards : extent).c_str()}};
  return sentence_of(name_of(s.code), slots).text;
}

}  // namespace detail

inline std::string to_text(const layout_value& l) { return detail::layout_text(l, nullptr); }
inline std::string to_text(const layout_status& s) { return detail::layout_status_text(s, nullptr); }
constexpr const char* to_text(reduce_op op) { return name_of(op); }

/// PyTorch's spelling.
inline std::string to_text(const placement& p) {
  if (p.kind == placement_kind::replicate) return "Replicate()";
  if (p.kind == placement_kind::partial) return std::string("Partial(") + name_of(p.op) + ")";
  return "Shard(" + std::to_string(p.dim) + (p.order == 0 ? "" : ", order=" + std::to_string(p.order)) + ")";
}

inline std::string to_text(const slice_result& r) {
  return r.status.code == layout_code::ok ? to_text(r.box) : to_text(r.status);
}
inline std::string to_text(const shape_result& r) {
  return r.status.code == layout_code::ok ? to_text(r.shape) : to_text(r.status);
}

namespace report {

inline std::string to_text(const named_value<layout_value>& n) {
  return hyperparallel::detail::layout_text(n.value, &n.mesh);
}
inline std::string to_text(const named_value<layout_status>& n) {
  return hyperparallel::detail::layout_status_text(n.value, &n.mesh);
}

/// Python's text of the dictionary: one-element tuples keep their comma.
inline std::string to_text(const layout_dictionary& d) {
  const auto tuple = [](int count, const auto& text_of) {
    return detail::list_text(count, text_of, "(", count == 1 ? ",)" : ")");
  };
  const int axes = d.mesh.shape.axis_count;
  return "{'mesh_shape': " + tuple(axes, [&](int a) { return std::to_string(d.mesh.shape.size[a]); }) +
         ", 'tensor_map': " +
         tuple(d.layout.rank,
               [&](int dim) {
                 return hyperparallel::detail::entry_text(
                     d.layout, dim, "-1", [&](const cut& c) { return std::to_string(axes - 1 - c.axis); });
               }) +
         ", 'interleaved_parallel': " + (d.mesh.interleaved ? "True" : "False") +
         ", 'alias_name': " + tuple(axes, [&](int a) { return "'" + std::string(d.mesh.label[a].text) + "'"; }) +
         ", 'rank_list': " + hyperparallel::to_text(d.ranks) + "}";
}

}  // namespace report

}}  // namespace hyperparallel::v0_2
