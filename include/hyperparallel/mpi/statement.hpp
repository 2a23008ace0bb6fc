// SPDX-License-Identifier: Apache-2.0
#pragma once
// A planned tensor in words, line by line: what processes compare before they move data.
//
// Law: two plans with equal statements emit the same transfers. Lines come from coarse to fine, so that the first line
// in which two processes differ is the one that tells most: shape, element, mesh, layouts, steps.

#include <string>

#include <hyperparallel/layout/tensor.hpp>
#include <hyperparallel/transfer/planned_tensor.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// Appends in place: of a word in front of a temporary string g++ 12 believes that it overlaps itself.
template <class Number>
void append_number(std::string& text, const char* before, Number number) {
  text += before;
  text += std::to_string(number);
}

/// "64x4096"; "scalar" for rank 0.
inline std::string extents_text(const extent_t* extent, int count) {
  std::string text = count == 0 ? "scalar" : "";
  for (int i = 0; i < count; ++i) append_number(text, i > 0 ? "x" : "", extent[i]);
  return text;
}

/// Per dim the axes that cut it, outermost first, by number: "[0 2, -]"; sub-axes as "0(pre 2, size 2)"; then what is
/// partial: "1 is a sum".
inline std::string layout_text(const layout_value& l) {
  std::string text = "[";
  for (int d = 0, i = 0; d < l.rank; ++d) {
    if (d > 0) text += ", ";
    if (i == l.cut_count || l.cut[i].dim != d) text += "-";
    for (bool first = true; i < l.cut_count && l.cut[i].dim == d; ++i, first = false) {
      const cut& c = l.cut[i];
      append_number(text, first ? "" : " ", c.axis);
      if (c.size == l.mesh.size[c.axis]) continue;
      append_number(text, "(pre ", c.pre);
      append_number(text, ", size ", c.size);
      text += ")";
    }
    if (is_padded(l, d)) text += " padded";
  }
  text += "]";
  for (int a = 0; a < l.mesh.axis_count; ++a)
    if (l.partial[a] != reduce_op::none) {
      append_number(text, ", axis ", a);
      text += " is partial ";
      text += name_of(l.partial[a]);
    }
  return text;
}

inline std::string mesh_text(const mesh_shape& m) {
  extent_t size[max_axes] = {};
  for (int a = 0; a < m.axis_count; ++a) size[a] = m.size[a];
  return extents_text(size, m.axis_count);
}

inline std::string ranks_text(const rank_list& list) {
  if (list.count == 0) return "";
  std::string text = " on ranks";
  for (int p = 0; p < list.count; ++p) append_number(text, " ", rank_at(list, p));
  return text;
}

/// What decides the transfers of a step beside its layouts.
inline std::string step_text(const move_step& s) {
  std::string text = name_of(s.kind);
  for (const unsigned mask : {s.reduced, s.shared, s.filled, s.replicas.split}) append_number(text, " ", mask);
  text += "; replicas";
  for (int a = 0; a < s.source.mesh.axis_count; ++a) append_number(text, " ", s.replicas.axis[a]);
  append_number(text, " in ", s.replicas.parts);
  for (int i = 0; i < s.replicas.link_count; ++i) {
    const replica_link& x = s.replicas.link[i];
    for (const int value : {x.axis, x.stride, x.size, x.from, x.from_stride}) append_number(text, " ", value);
  }
  return text;
}

/// The statement of a plan, each line ended.
inline std::string statement_of(const move_plan& p, const moved_element& element) {
  std::string text = "shape " + detail::extents_text(p.shape.extent, p.shape.rank) + "\n";
  text += element.has_type ? std::string("element ") + name_of(element.type)
                           : "element of " + std::to_string(element.bytes) + " bytes";
  text += "\n";
  for (int i = 0; i < p.step_count; ++i) {
    const move_step& s = p.step[i];
    if (i == 0)
      text += "mesh " + detail::mesh_text(s.source.mesh) + detail::ranks_text(s.source_ranks) + "\nsource " +
              detail::layout_text(s.source) + "\n";
    if (s.target_ranks.count > 0)
      text += "to mesh " + detail::mesh_text(s.target.mesh) + detail::ranks_text(s.target_ranks) + "\n";
    text += "target " + detail::layout_text(s.target) + "\nstep " + detail::step_text(s) + "\n";
  }
  return text;
}

}}}  // namespace hyperparallel::v0_2::detail
