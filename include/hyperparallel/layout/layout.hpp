// SPDX-License-Identifier: Apache-2.0
#pragma once
// `layout<mesh, "dp", none, axes("cp", "tp")>`: the type form.
//
// What the user spells names a canonical type `placed_layout<mesh, Partial, Dims…>` that holds only the mesh and small
// integers: per dim the axis numbers (from 1) as decimal digits, outermost first, so 23 means "second axis, then
// third". Law: equal layouts are the same type. A map that cannot be is exactly one error line (see diagnostic.hpp).

#include <hyperparallel/layout/slice.hpp>
#include <hyperparallel/layout/tensor.hpp>
#include <hyperparallel/layout/tensor_map.hpp>

namespace hyperparallel {

struct none_t {};
/// The entry of a dim that nothing shards.
inline constexpr none_t none{};

/// One entry of a tensor map as a template argument: a name, `none`, `axes(…)` or `partial(…)`.
template <int N>
struct map_entry {
  char text[N] = {};
  reduce_op reduction = reduce_op::none;  ///< not `none`: no dim, the named axis is partial

  constexpr map_entry() = default;
  constexpr map_entry(const char (&name)[N]) {
    for (int i = 0; i < N; ++i) text[i] = name[i];
  }
  constexpr map_entry(none_t) {}
};
map_entry(none_t) -> map_entry<1>;

/// Several axes on one dim, the first outermost.
template <int... N>
consteval auto axes(const char (&... names)[N]) {
  map_entry<(0 + ... + N)> joined;
  int at = 0;
  const auto append = [&](const char* name) {
    if (at > 0) joined.text[at++] = ',';
    for (; *name != '\0'; ++name) joined.text[at++] = *name;
  };
  (append(names), ...);
  return joined;
}

/// The axis is partial: every device along it holds a contribution that `op` combines.
template <int N>
consteval map_entry<N> partial(const char (&name)[N], reduce_op op = reduce_op::sum) {
  map_entry<N> entry(name);
  entry.reduction = op;
  return entry;
}

namespace detail {

inline constexpr int decimal_power[max_axes + 1] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};

/// Axis numbers of `dim` as decimal digits; 0 when nothing shards it. Domain: whole axes.
constexpr int packed_dim(const layout_value& l, int dim) {
  int packed = 0;
  for (int i = 0; i < l.cut_count; ++i)
    if (l.cut[i].dim == dim) packed = packed * 10 + l.cut[i].axis + 1;
  return packed;
}

/// Reductions per axis as decimal digits, the first axis most significant; 0 when nothing is partial.
constexpr int packed_partial(const layout_value& l) {
  int packed = 0;
  for (int a = 0; a < l.mesh.axis_count; ++a) packed = packed * 10 + static_cast<int>(l.partial[a]);
  return packed;
}

constexpr layout_value unpacked(const mesh_shape& m, int partial, const int* dims, int rank) {
  layout_value l = replicated(m, rank);
  for (int d = 0; d < rank; ++d)
    for (int power = max_axes; power >= 0; --power) {
      const int number = dims[d] / decimal_power[power] % 10;
      if (number > 0) append_cut(l, {d, number - 1, 1, m.size[number - 1]});
    }
  for (int a = m.axis_count - 1; partial > 0; --a, partial /= 10) l.partial[a] = static_cast<reduce_op>(partial % 10);
  return l;
}

}  // namespace detail

/// The canonical layout type. Users meet it in symbols and errors and spell it `layout<…>`.
template <class Mesh, int Partial, int... Dims>
struct placed_layout {
  using mesh = Mesh;
  static constexpr int rank = static_cast<int>(sizeof...(Dims));
  static constexpr layout_value evaluate() {
    const int dims[sizeof...(Dims) + 1] = {Dims...};
    return detail::unpacked(Mesh::value.shape, Partial, dims, rank);
  }
  static constexpr layout_value value = evaluate();
};

namespace rejected {
template <class Alias, class Dim, class Mesh>
struct axis_is_not_in_the_mesh;
template <class Alias, class Dim, class Mesh>
struct axis_is_used_twice;
template <class Alias, class Mesh>
struct axis_shards_and_is_partial;
template <class Entries>
struct too_many_dims;
template <class Entries, class TensorDims>
struct map_length_differs_from_tensor_rank;
template <class Dim, class Extent, class Shards, class Axes>
struct extent_is_not_divisible_by_its_shards;
template <class Elements>
struct element_count_overflows;
}  // namespace rejected

namespace detail {

/// What the entries say, as values: the layout or the status, and the texts for the error line.
template <class Mesh, map_entry... Entries>
struct resolved_map {
  static constexpr int count = static_cast<int>(sizeof...(Entries));
  static constexpr const char* text[count + 1] = {Entries.text...};
  static constexpr reduce_op reduction[count + 1] = {Entries.reduction...};

  static constexpr layout_result evaluate() {
    const char* dims[count + 1] = {};
    int rank = 0;
    for (int e = 0; e < count; ++e)
      if (reduction[e] == reduce_op::none) dims[rank++] = text[e];
    layout_result r = layout_from_map(Mesh::value, dims, rank);
    for (int e = 0; e < count && r.status.code == layout_code::ok; ++e) {
      if (reduction[e] == reduce_op::none) continue;
      const int a = axis_index(Mesh::value, text[e]);
      r.status = a < 0 ? layout_status{layout_code::axis_is_not_in_the_mesh, e, 0, 0, 0, 0}
                       : set_partial(r.layout, a, reduction[e]);
    }
    return r;
  }
  static constexpr layout_result result = evaluate();
};

/// Traits of the name that a status points at, for `spelled`.
template <class Map>
struct blamed_name {
  static constexpr const char* find() {
    const char* begin = Map::text[Map::result.status.dim];
    for (int s = 0; s < Map::result.status.slot; ++s) begin = name_end(begin) + 1;
    return begin;
  }
  static constexpr const char* text = find();
  static constexpr int length = static_cast<int>(name_end(text) - text);
};

template <class Mesh>
struct blamed_axis {
  template <int Axis>
  struct of {
    static constexpr const char* text = Mesh::value.label[Axis].text;
    static constexpr int length = text_length(text);
  };
};

template <layout_code Code, class Mesh, class Map>
struct map_verdict;
template <class Mesh, class Map>
struct map_verdict<layout_code::ok, Mesh, Map> {
  using type = accepted;
};
template <class Mesh, class Map>
struct map_verdict<layout_code::axis_is_not_in_the_mesh, Mesh, Map> {
  using type = rejected::axis_is_not_in_the_mesh<spelled<alias, blamed_name<Map>>, dim<Map::result.status.dim>, Mesh>;
};
template <class Mesh, class Map>
struct map_verdict<layout_code::axis_is_used_twice, Mesh, Map> {
  using type = rejected::axis_is_used_twice<spelled<alias, blamed_name<Map>>, dim<Map::result.status.dim>, Mesh>;
};
template <class Mesh, class Map>
struct map_verdict<layout_code::axis_shards_and_is_partial, Mesh, Map> {
  using type = rejected::axis_shards_and_is_partial<
      spelled<alias, typename blamed_axis<Mesh>::template of<Map::result.status.axis>>, Mesh>;
};
template <class Mesh, class Map>
struct map_verdict<layout_code::too_many_dims, Mesh, Map> {
  using type = rejected::too_many_dims<map_entries<Map::count>>;
};

template <class Mesh, class Map, class Indices>
struct canonical;
template <class Mesh, class Map, int... D>
struct canonical<Mesh, Map, indices<D...>> {
  using type = placed_layout<Mesh, packed_partial(Map::result.layout), packed_dim(Map::result.layout, D)...>;
};

/// Picks the canonical type. A refused map still gets one (of what was understood), so no error cascades.
template <class Mesh, map_entry... Entries>
struct layout_selector {
  using map = resolved_map<Mesh, Entries...>;
  static_assert(insist<typename map_verdict<map::result.status.code, Mesh, map>::type>::met);
  using type = typename canonical<Mesh, map, typename make_indices<map::result.layout.rank>::type>::type;
};

}  // namespace detail

/// The layout of a tensor on `Mesh`: one entry per dim.
template <mesh_type Mesh, map_entry... Entries>
using layout = typename detail::layout_selector<Mesh, Entries...>::type;

/// Whether `layout<Mesh, Entries…>` would be accepted; silent when not.
template <class Mesh, map_entry... Entries>
concept valid_layout = mesh_type<Mesh> && detail::resolved_map<Mesh, Entries...>::result.status.code == layout_code::ok;

/// Any canonical layout type.
template <class Layout>
concept layout_type = requires {
  typename Layout::mesh;
  { Layout::value.cut_count };
};

/// Box of the device at position `rank` under `Layout`; compares with a `box`. Bad shapes come back as a status.
template <layout_type Layout>
constexpr slice_result slice(const shape& s, int rank) {
  return slice_of(Layout::value, s, position_in(ranks_of<typename Layout::mesh>(), rank));
}

}  // namespace hyperparallel
