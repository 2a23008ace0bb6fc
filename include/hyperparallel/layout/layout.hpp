// SPDX-License-Identifier: Apache-2.0
#pragma once
// `layout<mesh, "dp", none, axes("cp", "tp")>`: the type form.
//
// What the user spells names a canonical type `placed_layout<mesh, Digits>` that holds only the mesh and one integer,
// see `read_map`. Law: equal layouts are the same type. A map that cannot be is exactly one error line
// (diagnostic.hpp).

#include <cstddef>

#include <hyperparallel/layout/slice.hpp>
#include <hyperparallel/layout/tensor.hpp>
#include <hyperparallel/layout/tensor_map.hpp>
#include <hyperparallel/mesh/axis_names.hpp>
#include <hyperparallel/support/array_bound.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// One entry of a tensor map as a template argument: a name, `none`, `axes(…)`, `padded(…)` or `partial(…)`. Not a
/// template, since deducing one per entry would cost more than reading it, and with few constructors, since every
/// template that passes an entry on chooses among them.
struct map_entry {
  static constexpr int capacity = 63;
  char text[capacity + 1] = {};           ///< names separated by commas
  reduce_op reduction = reduce_op::none;  ///< not `none`: no dim, the named axis is partial

  constexpr map_entry() = default;
  template <std::size_t N>
    requires(N <= detail::array_bound(capacity + 1))
  constexpr map_entry(const char (&name)[N]) {
    for (std::size_t i = 0; i + 1 < N; ++i) text[i] = name[i];
  }
  /// Its members in braces, as EDG (nvcc, nvc++) spells a template argument.
  constexpr map_entry(const char (&characters)[capacity + 1], reduce_op op) : reduction(op) {
    for (int i = 0; i <= capacity; ++i) text[i] = characters[i];
  }
  constexpr map_entry(const map_entry&) = default;
};

/// The entry of a dim that nothing shards.
inline constexpr map_entry none{};

/// Several axes on one dim, the first outermost. Domain: the names and commas fit `map_entry::capacity`.
template <std::size_t... N>
consteval map_entry axes(const char (&... names)[N]) {
  const char* const list[] = {names...};
  map_entry joined;
  int at = 0;
  for (int n = 0; n < static_cast<int>(sizeof...(N)); ++n) {
    if (n > 0) joined.text[at++] = ',';
    for (int i = 0; list[n][i] != '\0'; ++i) joined.text[at++] = list[n][i];
  }
  return joined;
}

/// The axis is partial: every device along it holds a contribution that `op` combines.
template <std::size_t N>
consteval map_entry partial(const char (&name)[N], reduce_op op = reduce_op::sum) {
  map_entry entry(name);
  entry.reduction = op;
  return entry;
}

/// The dim need not divide: it is cut into flat chunks of ceil(extent / shards), the last ones shorter or empty.
/// Domain: one character less than `map_entry::capacity`.
consteval map_entry padded(const map_entry& entry) {
  map_entry marked;
  marked.text[0] = detail::padding_mark;
  for (int i = 0; entry.text[i] != '\0'; ++i) marked.text[i + 1] = entry.text[i];
  return marked;
}

/// The canonical layout type. Users meet it in symbols and errors and spell it `layout<…>`.
template <class Mesh, extent_t Digits>
struct placed_layout {
  using mesh = Mesh;
  static constexpr layout_value value = detail::layout_of_digits(detail::mesh_or_none<Mesh>.shape, Digits);
  static constexpr int rank = value.rank;
  static constexpr shard_counts shards = detail::count_shards(value);
};

namespace diag {
template <class Alias, class Dim, class Mesh, class Nearest, class There>
struct axis_is_not_in_the_mesh;
template <class Alias, class Dim, class Mesh>
struct axis_is_used_twice;
template <class Alias, class Mesh>
struct axis_shards_and_is_partial;
template <class Type>
struct type_is_no_device_matrix;
template <class Entries, class TensorDims>
struct map_length_differs_from_tensor_rank;
template <class Dim, class Extent, class Shards, class Axes>
struct extent_is_not_divisible_by_its_shards;
}  // namespace diag

namespace detail {

/// What `Entry` says on `Mesh`: read once, however many layouts have it.
template <class Mesh, map_entry Entry>
inline constexpr entry_reading reading_of = read_entry(mesh_or_none<Mesh>, Entry.text, Entry.reduction);

/// The digits of a map, as `read_map` gives them.
template <class... Readings>
constexpr extent_t join_entries(const Readings&... entries) {
  const int rank = (0 + ... + (entries.scale > 1 ? 1 : 0));
  if (rank > max_dims) return -replicated_digits(0);
  map_reading map{rank, rank + 1};
  const extent_t digits = (append_entry(map, entries) && ...) ? digits_of_map(map) : 0;
  return digits > 0 ? digits : -replicated_digits(rank);
}

/// What refused entries say, and the texts for the error line.
template <class Mesh, map_entry... Entries>
struct refused_map {
  static constexpr int count = static_cast<int>(sizeof...(Entries));
  static constexpr const char* text[array_bound(count + 1)] = {Entries.text...};
  static constexpr reduce_op reductions[array_bound(count + 1)] = {Entries.reduction...};
  static constexpr layout_status evaluate() {
    layout_status s;
    read_map(Mesh::value, text, reductions, count, &s);
    return s;
  }
  static constexpr layout_status status = evaluate();
};

/// Traits of the name that a status points at, for `spelled`.
template <class Map>
struct blamed_name {
  static constexpr const char* find() {
    const char* begin = Map::text[Map::status.dim];
    if (*begin == padding_mark) ++begin;
    for (int s = 0; s < Map::status.slot; ++s) begin = name_end(begin) + 1;
    return begin;
  }
  static constexpr const char* text = find();
  static constexpr int length = static_cast<int>(name_end(text) - text);
};

template <layout_code Code, class Mesh, class Map>
struct map_verdict;
template <class Mesh, class Map>
struct map_verdict<layout_code::axis_is_not_in_the_mesh, Mesh, Map> {
  using name = blamed_name<Map>;
  using axes = axis_names_of<Mesh, typename make_indices<Mesh::value.shape.axis_count>::type>;
  using type = diag::axis_is_not_in_the_mesh<spelled<alias, name>, dim<Map::status.dim>, Mesh,
                                             spelled<nearest_name, typename axes::template nearest_to<name>>,
                                             typename axes::there>;
};
template <class Mesh, class Map>
struct map_verdict<layout_code::axis_is_used_twice, Mesh, Map> {
  using type = diag::axis_is_used_twice<spelled<alias, blamed_name<Map>>, dim<Map::status.dim>, Mesh>;
};
template <class Mesh, class Map>
struct map_verdict<layout_code::axis_shards_and_is_partial, Mesh, Map> {
  using type =
      diag::axis_shards_and_is_partial<spelled<alias, typename blamed_axis<Mesh>::template of<Map::status.axis>>, Mesh>;
};
template <class Mesh, class Map>
struct map_verdict<layout_code::too_many_dims, Mesh, Map> {
  using type = diag::too_many_dims<map_entries<Map::count>, tensor_dims<max_dims>>;
};

/// The error line of a refused map.
template <class Mesh, map_entry... Entries>
struct refused_layout {
  using map = refused_map<Mesh, Entries...>;
  static_assert(insist<typename map_verdict<map::status.code, Mesh, map>::type>::met);
  static constexpr bool met = true;
};
template <class Mesh, map_entry... Entries>
  requires(!mesh_type<Mesh>)
struct refused_layout<Mesh, Entries...> {
  static_assert(insist<diag::type_is_no_device_matrix<Mesh>>::met);
  static constexpr bool met = true;
};

}  // namespace detail

/// The layout of a tensor on `Mesh`: one entry per dim. The constraint is there for its second half: a disjunction is
/// the one place where a template looks at a name only if it has to, and each look at the entries has its price.
template <class Mesh, map_entry... Entries>
  requires((mesh_type<Mesh> && detail::join_entries(detail::reading_of<Mesh, Entries>...) > 0) ||
           detail::refused_layout<Mesh, Entries...>::met)
using layout = placed_layout<Mesh, detail::join_entries(detail::reading_of<Mesh, Entries>...)>;

/// Whether `layout<Mesh, Entries…>` would be accepted; silent when not.
template <class Mesh, map_entry... Entries>
concept valid_layout = mesh_type<Mesh> && (detail::join_entries(detail::reading_of<Mesh, Entries>...) > 0);

/// Any canonical layout type.
template <class Layout>
concept layout_type = requires {
  typename Layout::mesh;
  Layout::shards;
};

/// Box of the device of `rank` under `Layout`; compares with a `box`. Bad shapes and ranks come back as a status.
template <layout_type Layout>
constexpr slice_result slice(const shape& s, int rank) {
  constexpr rank_list ranks = ranks_of<typename Layout::mesh>();
  const slice_result r = slice_of(Layout::value, s, position_in(ranks, rank));
  if (r.status.code != layout_code::position_is_outside_the_mesh) return r;
  return {{layout_code::rank_is_outside_the_mesh, 0, 0, 0, rank, ranks.count}, {}};
}

}}  // namespace hyperparallel::v0_2
