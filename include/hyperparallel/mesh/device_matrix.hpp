// SPDX-License-Identifier: Apache-2.0
#pragma once
// A device matrix: an ordered list of named axes over which the devices of a cluster are laid out.
//
// Position in the matrix is row-major (last axis fastest); a rank list, where one is given, maps positions to ranks.
// Axes of size 1 are legal no-ops. An axis named `interleaved_parallel` is virtual and comes last: it says into how
// many copies one device's slice is cut so that one copy's computation hides the other's communication, and it
// multiplies no device count (MindSpore's micro-interleaving).
//
// A name is made of letters, digits, `_`, `-`, `.`, `/` and characters beyond ASCII, and is not `None`: maps write
// several names with commas between them, a padded dim with `~` before them, and `None` for no axis.
//
// Value: `mesh_value` (run time and compile time alike). Type: a struct that derives from `device_matrix<axis{…}…>`.

#include <hyperparallel/support/diagnostic.hpp>
#include <hyperparallel/support/fixed_string.hpp>
#include <hyperparallel/support/integer.hpp>

namespace hyperparallel { inline namespace v0_2 {

inline constexpr int max_axes = 8;
namespace detail {

inline constexpr const char* interleaved_axis = "interleaved_parallel";

}  // namespace detail

/// One named axis: `axis{"dp", 2}`.
struct axis {
  short_text label;
  int size = 1;
  constexpr axis() = default;
  /// A name that would be cut becomes the empty one, which every mesh refuses.
  constexpr axis(const char* name, int extent) : label(fits(name) ? name : ""), size(extent) {}
  /// Its members in braces, as EDG spells a template argument.
  constexpr axis(const short_text& name, int extent) : label(name), size(extent) {}
  friend constexpr bool operator==(const axis&, const axis&) = default;
};

/// The sizes of a device matrix without its names: what arithmetic needs and what layouts carry.
struct mesh_shape {
  int axis_count = 0;
  int size[max_axes] = {};
  friend constexpr bool operator==(const mesh_shape& a, const mesh_shape& b) {
    if (a.axis_count != b.axis_count) return false;
    for (int i = 0; i < a.axis_count; ++i)
      if (a.size[i] != b.size[i]) return false;
    return true;
  }
};

struct mesh_value {
  mesh_shape shape{};
  short_text label[max_axes] = {};
  bool interleaved = false;  ///< the last axis is virtual
  friend constexpr bool operator==(const mesh_value&, const mesh_value&) = default;
};

enum class mesh_code : unsigned char {
  ok,
  too_many_axes,
  axis_size_is_not_positive,
  axis_name_is_empty_or_too_long,
  axis_name_is_used_twice,
  axis_count_differs_from_name_count,
  interleaved_axis_is_not_last,
  device_count_overflows,
  axis_name_is_reserved,  ///< for the text of maps: see `is_axis_name`
};

struct mesh_status {
  mesh_code code = mesh_code::ok;
  int axis = 0;  ///< the axis to blame
  friend constexpr bool operator==(const mesh_status&, const mesh_status&) = default;
};

struct mesh_result {
  mesh_status status{};
  mesh_value mesh{};
};

/// Index of the axis called `name`, or -1. O(axes · name length).
constexpr int axis_index(const mesh_value& m, const char* name) {
  for (int a = 0; a < m.shape.axis_count; ++a)
    if (detail::same_text(m.label[a].text, name)) return a;
  return -1;
}

namespace detail {

inline constexpr extent_t max_devices = extent_t{1} << 30;

/// Whether the matrix has at most `max_axes` axes, of at least one place each, and at most `max_devices` devices.
constexpr bool is_valid(const mesh_shape& m) {
  if (m.axis_count < 0 || m.axis_count > max_axes) return false;
  extent_t devices = 1;
  for (int a = 0; a < m.axis_count; ++a) {
    if (m.size[a] < 1) return false;
    devices *= m.size[a];
    if (devices > max_devices) return false;
  }
  return true;
}

}  // namespace detail

/// Number of positions of the matrix: the product of all axes, virtual ones included. Domain: a valid mesh.
constexpr int position_count(const mesh_shape& m) {
  int n = 1;
  for (int a = 0; a < m.axis_count; ++a) n *= m.size[a];
  return n;
}

/// Copies of each slice that one device works on in turn: 1 without an interleaved axis.
constexpr int copies_per_device(const mesh_value& m) {
  return m.interleaved ? m.shape.size[m.shape.axis_count - 1] : 1;
}

/// Number of devices: the product of the axes that are not virtual.
constexpr int device_count(const mesh_value& m) { return position_count(m.shape) / copies_per_device(m); }

/// Whether `name` can name an axis, so that it reads back from every text that it is written to. O(name length).
constexpr bool is_axis_name(const char* name) {
  if (name[0] == '\0' || !fits(name) || detail::same_text(name, "None")) return false;
  for (; *name != '\0'; ++name) {
    const char c = *name;
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    const bool sign = c == '_' || c == '-' || c == '.' || c == '/';
    if (!letter && !sign && static_cast<unsigned char>(c) < 0x80) return false;
  }
  return true;
}

/// Builds a mesh from names and sizes, each list with its own count as files and tools have them.
/// Fails with the first reason of `mesh_code`, naming the axis.
constexpr mesh_result make_mesh(const char* const* names, int name_count, const int* sizes, int size_count) {
  mesh_result r;
  if (name_count != size_count) return {{mesh_code::axis_count_differs_from_name_count, size_count}, {}};
  if (size_count < 0) return {{mesh_code::axis_count_differs_from_name_count, size_count}, {}};
  if (size_count > max_axes) return {{mesh_code::too_many_axes, size_count}, {}};
  extent_t devices = 1;
  for (int a = 0; a < size_count; ++a) {
    if (sizes[a] < 1) return {{mesh_code::axis_size_is_not_positive, a}, {}};
    if (names[a][0] == '\0' || !fits(names[a])) return {{mesh_code::axis_name_is_empty_or_too_long, a}, {}};
    if (!is_axis_name(names[a])) return {{mesh_code::axis_name_is_reserved, a}, {}};
    if (axis_index(r.mesh, names[a]) >= 0) return {{mesh_code::axis_name_is_used_twice, a}, {}};
    if (detail::same_text(names[a], detail::interleaved_axis)) {
      if (a + 1 != size_count) return {{mesh_code::interleaved_axis_is_not_last, a}, {}};
      r.mesh.interleaved = true;
    }
    devices *= sizes[a];
    if (devices > detail::max_devices) return {{mesh_code::device_count_overflows, a}, {}};
    r.mesh.shape.size[a] = sizes[a];
    r.mesh.label[a] = short_text(names[a]);
    r.mesh.shape.axis_count = a + 1;
  }
  return r;
}

namespace diag {
template <mesh_code, class Dim, class Alias, class Extent>
struct device_matrix_is_not_valid;
}  // namespace diag

namespace detail {

template <class Given>
struct mesh_verdict {
  static constexpr mesh_status status = Given::result.status;
  /// The axis to blame; none where the status counts axes.
  struct blamed {
    static constexpr const char* text = Given::at(status.axis).label.text;
    static constexpr int length = text_length(text);
  };
  template <bool Ok, class = void>
  struct choose {
    using type = accepted;
  };
  template <class Unused>
  struct choose<false, Unused> {
    using type = diag::device_matrix_is_not_valid<status.code, dim<status.axis>, spelled<alias, blamed>,
                                                  extent<Given::at(status.axis).size>>;
  };
  using type = typename choose<status.code == mesh_code::ok>::type;
};

template <axis... Axes>
struct mesh_from_axes {
  static constexpr axis list[sizeof...(Axes) + 1] = {Axes...};
  static constexpr const axis& at(int a) { return list[a < static_cast<int>(sizeof...(Axes)) ? a : sizeof...(Axes)]; }
  static constexpr mesh_result evaluate() {
    const char* names[sizeof...(Axes) + 1] = {};
    int sizes[sizeof...(Axes) + 1] = {};
    for (int a = 0; a < static_cast<int>(sizeof...(Axes)); ++a) {
      names[a] = list[a].label.text;
      sizes[a] = list[a].size;
    }
    return make_mesh(names, sizeof...(Axes), sizes, sizeof...(Axes));
  }
  static constexpr mesh_result result = evaluate();
};

}  // namespace detail

/// The type form. Declare it as a named struct, so that symbols and errors say its name:
/// `struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};`
template <axis... Axes>
struct device_matrix {
  static_assert(insist<typename detail::mesh_verdict<detail::mesh_from_axes<Axes...>>::type>::met);
  static constexpr mesh_value value = detail::mesh_from_axes<Axes...>::result.mesh;
  static constexpr mesh_status status = detail::mesh_from_axes<Axes...>::result.status;
};

/// Whether `device_matrix<Axes…>` would be accepted; silent when not.
template <axis... Axes>
concept valid_device_matrix = detail::mesh_from_axes<Axes...>::result.status.code == mesh_code::ok;

/// Any type with a `mesh_value` called `value`.
template <class Mesh>
concept mesh_type = requires {
  { Mesh::value.shape.axis_count };
  { Mesh::value.interleaved };
};

namespace detail {
/// The mesh of a type; an empty one where the type has none, so that what is refused is refused once.
template <class Mesh>
inline constexpr const mesh_value& mesh_or_none = Mesh::value;
template <class Mesh>
  requires(!mesh_type<Mesh>)
inline constexpr mesh_value mesh_or_none<Mesh>{};
}  // namespace detail

}}  // namespace hyperparallel::v0_2
