// SPDX-License-Identifier: Apache-2.0
#pragma once
// Device matrices as text: the names and sizes of a mesh, "(dp=2, cp=2, tp=4)", and its complaints as sentences.
//
// Law: the text of a mesh_value names every axis once, outermost first, so it can be read back.

#include <string>

#include <hyperparallel/mesh/sub_mesh.hpp>
#include <hyperparallel/report/text_formatter.hpp>
#include <hyperparallel/support/enum_text.hpp>

namespace hyperparallel { inline namespace v0_2 {

inline std::string to_text(const axis& a) { return std::string(a.label.text) + "=" + std::to_string(a.size); }

/// "2x2x4"
inline std::string to_text(const mesh_shape& m) {
  std::string out;
  for (int a = 0; a < m.axis_count; ++a) out += (a > 0 ? "x" : "") + std::to_string(m.size[a]);
  return out;
}

inline std::string to_text(const mesh_value& m) {
  return report::detail::list_text(
      m.shape.axis_count, [&](int a) { return std::string(m.label[a].text) + "=" + std::to_string(m.shape.size[a]); });
}

/// "[0, 1, 2]"
inline std::string to_text(const rank_list& list) {
  return report::detail::list_text(list.count, [&](int p) { return std::to_string(rank_at(list, p)); }, "[", "]");
}

constexpr const char* to_text(mesh_code c) {
  constexpr const char* texts[] = {"ok",
                                   "the mesh has more axes than the library takes",
                                   "an axis size is not positive",
                                   "an axis name is empty or longer than 31 characters",
                                   "an axis name is used twice",
                                   "the numbers of axis names and axis sizes differ",
                                   "the axis interleaved_parallel is not the last one",
                                   "the mesh has more than 2^30 positions",
                                   "an axis name is None or holds a character other than letters, digits, _ - . /"};
  return detail::enum_text<mesh_code::axis_name_is_reserved>(texts, c);
}

inline std::string to_text(const mesh_status& s) {
  if (s.code == mesh_code::ok) return "ok";
  const bool counts = s.code == mesh_code::too_many_axes || s.code == mesh_code::axis_count_differs_from_name_count;
  return std::string(to_text(s.code)) + (counts ? " (axes: " : " (axis number ") + std::to_string(s.axis) + ")";
}

constexpr const char* to_text(rank_list_code c) {
  constexpr const char* texts[] = {"ok",
                                   "the rank list's length is not the mesh's position count",
                                   "a rank is negative",
                                   "a rank is listed twice",
                                   "a rank is above 2147483646",
                                   "the mesh has an axis below 1, too many axes or more than 2^30 devices"};
  return detail::enum_text<rank_list_code::mesh_is_not_valid>(texts, c);
}

inline std::string to_text(const rank_list_status& s) {
  if (s.code == rank_list_code::ok) return "ok";
  const bool counts = s.code == rank_list_code::length_differs_from_device_count;
  return std::string(to_text(s.code)) + (counts ? " (length " : " (position ") + std::to_string(s.position) + ")";
}

constexpr const char* to_text(sub_mesh_code c) {
  constexpr const char* texts[] = {"ok",
                                   "no axis is named",
                                   "an axis is not in the mesh",
                                   "the axes are not in the mesh's order",
                                   "a position is outside the mesh",
                                   "the flattened axis has the name of another axis",
                                   "the axes to flatten do not follow each other in the mesh",
                                   "the flattened axis has a name that no axis may have"};
  return detail::enum_text<sub_mesh_code::flattened_name_is_not_valid>(texts, c);
}

inline std::string to_text(const sub_mesh_status& s) {
  if (s.code == sub_mesh_code::ok || s.code == sub_mesh_code::no_axis_is_named) return to_text(s.code);
  return std::string(to_text(s.code)) + " (name number " + std::to_string(s.name) + ")";
}

}}  // namespace hyperparallel::v0_2
