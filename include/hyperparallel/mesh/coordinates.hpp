// SPDX-License-Identifier: Apache-2.0
#pragma once
// Positions and coordinates of a device matrix, and the rank list between positions and ranks.
//
// Laws: position_of(m, coordinates_of(m, p)) == p for every position p; rank_at(list, position_in(list, r)) == r for
// every rank r of the list. Coordinates are those of the *position* of a rank in its list, not of the rank number.

#include <hyperparallel/mesh/device_matrix.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// One index per axis, outer to inner.
struct coordinate {
  int at[max_axes] = {};
  friend constexpr bool operator==(const coordinate&, const coordinate&) = default;
};

/// Row-major digits of `position`: the last axis runs fastest. Domain: 0 ≤ position < position_count(m). O(axes).
constexpr coordinate coordinates_of(const mesh_shape& m, int position) {
  coordinate c;
  for (int a = m.axis_count - 1; a >= 0; --a) {
    c.at[a] = position % m.size[a];
    position /= m.size[a];
  }
  return c;
}

/// Inverse of `coordinates_of`. O(axes).
constexpr int position_of(const mesh_shape& m, const coordinate& c) {
  int p = 0;
  for (int a = 0; a < m.axis_count; ++a) p = p * m.size[a] + c.at[a];
  return p;
}

/// Ranks in the order of their positions: first, first + 1, …, or the numbers of a list that the caller owns. Which of
/// the two is a mark of its own, because comparing the address of a static array with null is no constant expression
/// under every sanitizer.
struct rank_list {
  int count = 0;
  int first = 0;
  const int* rank = nullptr;
  bool listed = false;

  constexpr rank_list() = default;
  constexpr rank_list(int ranks, int first_rank) : count(ranks), first(first_rank) {}
  constexpr rank_list(int ranks, const int* numbers) : count(ranks), rank(numbers), listed(true) {}
};

/// 0, 1, …, position_count(m) - 1.
constexpr rank_list all_ranks(const mesh_shape& m) { return {position_count(m), 0}; }

constexpr int rank_at(const rank_list& list, int position) {
  return list.listed ? list.rank[position] : list.first + position;
}

/// Position of `rank` in the list, or -1 when it is not a member. O(count) for an explicit list.
constexpr int position_in(const rank_list& list, int rank) {
  if (!list.listed) {
    const extent_t position = extent_t{rank} - list.first;
    return position >= 0 && position < list.count ? static_cast<int>(position) : -1;
  }
  for (int p = 0; p < list.count; ++p)
    if (list.rank[p] == rank) return p;
  return -1;
}

enum class rank_list_code : unsigned char {
  ok,
  length_differs_from_device_count,
  rank_is_negative,
  rank_is_listed_twice,
  rank_is_too_large,  ///< one more than the rank has to be an `int`
  mesh_is_not_valid,
};

struct rank_list_status {
  rank_list_code code = rank_list_code::ok;
  int position = 0;
};

namespace detail {

inline constexpr int largest_rank = 0x7ffffffe;

}  // namespace detail

/// Whether `list` names each of the mesh's positions once. O(count²) for an explicit list, else O(1).
constexpr rank_list_status check_rank_list(const mesh_shape& m, const rank_list& list) {
  if (!detail::is_valid(m)) return {rank_list_code::mesh_is_not_valid, 0};
  if (list.count != position_count(m)) return {rank_list_code::length_differs_from_device_count, list.count};
  if (!list.listed) {
    if (list.first < 0) return {rank_list_code::rank_is_negative, 0};
    const extent_t fitting = extent_t{detail::largest_rank} - list.first + 1;
    if (list.count > fitting) return {rank_list_code::rank_is_too_large, static_cast<int>(fitting)};
    return {};
  }
  for (int p = 0; p < list.count; ++p) {
    const int r = rank_at(list, p);
    if (r < 0) return {rank_list_code::rank_is_negative, p};
    if (r > detail::largest_rank) return {rank_list_code::rank_is_too_large, p};
    if (position_in(list, r) != p) return {rank_list_code::rank_is_listed_twice, p};
  }
  return {};
}

namespace diag {
template <rank_list_code, int Position>
struct rank_list_does_not_name_each_position_once;
}  // namespace diag

namespace detail {
template <rank_list_code Code, int Position>
struct rank_list_verdict {
  using type = diag::rank_list_does_not_name_each_position_once<Code, Position>;
};
template <int Position>
struct rank_list_verdict<rank_list_code::ok, Position> {
  using type = accepted;
};
}  // namespace detail

/// The type form of a mesh over chosen ranks: `struct mesh : hp::on_ranks<hp::device_matrix<…>, 3, 1, 0, 2> {};`
template <class Mesh, int... Ranks>
struct on_ranks : Mesh {
  static constexpr int listed[] = {Ranks...};
  static constexpr rank_list ranks{static_cast<int>(sizeof...(Ranks)), listed};
  static constexpr rank_list_status status = check_rank_list(Mesh::value.shape, ranks);
  static_assert(insist<typename detail::rank_list_verdict<status.code, status.position>::type>::met);
};

/// The rank list of a mesh type: its own, or 0, 1, ….
template <mesh_type Mesh>
constexpr rank_list ranks_of() {
  if constexpr (requires { Mesh::ranks.count; })
    return Mesh::ranks;
  else
    return all_ranks(Mesh::value.shape);
}

}}  // namespace hyperparallel::v0_2
