// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sub-meshes and flattened axes.
//
// A sub-mesh keeps some axes in their original order and fixes the coordinates of the rest at those of one device; it
// contains that device. `flatten` merges consecutive axes into one named axis without moving any device.
// Law: group_member over the kept axes, in order, lists exactly the positions of the sub-mesh.

#include <hyperparallel/mesh/axis_group.hpp>

namespace hyperparallel { inline namespace v0_2 {

enum class sub_mesh_code : unsigned char {
  ok,
  no_axis_is_named,
  axis_is_unknown,
  axes_are_not_in_mesh_order,
  position_is_outside_the_mesh,
  flattened_name_is_taken,
  axes_are_not_consecutive,
  flattened_name_is_not_valid,  ///< see `is_axis_name`; nor is that of the virtual axis
};

struct sub_mesh_status {
  sub_mesh_code code = sub_mesh_code::ok;
  int name = 0;  ///< index of the name to blame
};

struct sub_mesh_result {
  sub_mesh_status status{};
  mesh_value mesh{};
  axis_list kept{};  ///< the parent's axes, in order; member i of the group over them is position i of `mesh`
};

/// The sub-mesh over the axes called `names`.
/// Fails on an empty list, an unknown name, or names out of the mesh's order (a repeated one included). O(names ·
/// axes).
constexpr sub_mesh_result sub_mesh(const mesh_value& parent, const char* const* names, int count) {
  sub_mesh_result r;
  if (count < 1) return {{sub_mesh_code::no_axis_is_named, 0}, {}, {}};
  int previous = -1;
  for (int i = 0; i < count; ++i) {
    const int a = axis_index(parent, names[i]);
    if (a < 0) return {{sub_mesh_code::axis_is_unknown, i}, {}, {}};
    if (a <= previous) return {{sub_mesh_code::axes_are_not_in_mesh_order, i}, {}, {}};
    previous = a;
    r.kept.axis[r.kept.count++] = a;
    r.mesh.shape.size[i] = parent.shape.size[a];
    r.mesh.label[i] = parent.label[a];
    r.mesh.shape.axis_count = i + 1;
    if (parent.interleaved && a + 1 == parent.shape.axis_count) r.mesh.interleaved = true;
  }
  return r;
}

/// Merges the axes [first, first + count) into one called `name`; positions stay what they are.
/// Fails when the range leaves the mesh, the name is none or belongs to an axis that remains. O(axes).
constexpr sub_mesh_result flatten_axes(const mesh_value& parent, int first, int count, const char* name) {
  if (count < 1) return {{sub_mesh_code::no_axis_is_named, 0}, {}, {}};
  if (first < 0 || first > parent.shape.axis_count || count > parent.shape.axis_count - first)
    return {{sub_mesh_code::axes_are_not_consecutive, 0}, {}, {}};
  if (!is_axis_name(name) || detail::same_text(name, detail::interleaved_axis))
    return {{sub_mesh_code::flattened_name_is_not_valid, 0}, {}, {}};
  sub_mesh_result r;
  for (int a = 0; a < parent.shape.axis_count; ++a) {
    const bool merged = a >= first && a < first + count;
    if (!merged && detail::same_text(parent.label[a].text, name))
      return {{sub_mesh_code::flattened_name_is_taken, a}, {}, {}};
    if (merged && a > first) {
      r.mesh.shape.size[r.mesh.shape.axis_count - 1] *= parent.shape.size[a];
      continue;
    }
    const int to = r.mesh.shape.axis_count++;
    r.mesh.shape.size[to] = parent.shape.size[a];
    r.mesh.label[to] = merged ? short_text(name) : parent.label[a];
    r.kept.axis[r.kept.count++] = a;
  }
  r.mesh.interleaved = parent.interleaved && first + count < parent.shape.axis_count;
  return r;
}

}}  // namespace hyperparallel::v0_2
