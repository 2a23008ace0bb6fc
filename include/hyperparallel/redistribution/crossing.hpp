// SPDX-License-Identifier: Apache-2.0
#pragma once
// A step between two meshes: who gives what to whom. Devices are told apart by rank, not by position.
//
// A cell is where one source piece meets one target piece. Laws:
//   a receiver that holds a cell takes it from itself, so received(r) == |T_r ∖ S_r| by rank;
//   the others stand in a line, piece by piece, and the line is dealt in equal shares to the replicas of the piece:
//   with fewer receivers than replicas whole boxes to different ones, else each replica gives about the piece's demand
//   over its replicas, which is the least that the heaviest of them can give; at most one cut per receiver and piece;
//   terms of a cell are reduced by those contributors that want it, in equal shares, or by all where none does; then
//   collect and spread receive g + c − 1 − [holders ∩ targets ≠ ∅] for each element, which is the least;
//   of the devices along filled axes one takes a cell: the first that holds it, else the one at coordinate 0.
// Who sends most in a reduction is not chosen: shares are equal, but the bytes settle who reduces and passes values on.
// Everything is arithmetic on two layouts and two rank lists; the holders of one piece are looked through one by one.
// What only asks who holds and who wants a cell also serves cells that are no boxes (flat_move.hpp).

#include <hyperparallel/redistribution/cells.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// Both sides of a step. `reduced` are axes of the source's mesh, `filled` of the target's.
struct crossing {
  const layout_value& source;
  const rank_list& source_ranks;
  const layout_value& target;
  const rank_list& target_ranks;
  const shape& tensor;
  unsigned reduced;
  unsigned filled;
};

/// Whether two ranges of ranks have none in common; lists are not looked through, so false says nothing of them.
constexpr bool are_apart(const rank_list& a, const rank_list& b) {
  return !a.listed && !b.listed && (a.first + a.count <= b.first || b.first + b.count <= a.first);
}

constexpr bool meets(const layout_value& l, const shape& s, const coordinate& c, const box& cell) {
  return volume(intersection(slice_at(l, s, c), cell)) > 0;
}

/// Position on the target's mesh of the device at `c` of the source's, where it wants some of `cell`; else -1.
constexpr int wanting(const crossing& x, const coordinate& c, const box& cell) {
  const int p = position_in(x.target_ranks, rank_at(x.source_ranks, position_of(x.source.mesh, c)));
  return p >= 0 && meets(x.target, x.tensor, coordinates_of(x.target.mesh, p), cell) ? p : -1;
}

/// Position on the source's mesh of the device at `c` of the target's, where it holds some of `cell`; else -1.
constexpr int holding(const crossing& x, const coordinate& c, const box& cell) {
  const int p = position_in(x.source_ranks, rank_at(x.target_ranks, position_of(x.target.mesh, c)));
  return p >= 0 && meets(x.source, x.tensor, coordinates_of(x.source.mesh, p), cell) ? p : -1;
}

/// Whether, of the devices along filled axes, the one at `at` takes `cell`. O(devices along filled axes · lookup).
template <class Crossing, class Cell>
constexpr bool takes(const Crossing& x, const coordinate& at, const Cell& cell) {
  if (x.filled == 0) return true;
  const int along = group_size(x.target.mesh, axes_of(x.target.mesh, x.filled));
  for (int i = 0; i < along; ++i) {
    coordinate c = at;
    enter_group(c, x.target.mesh, x.filled, i);
    if (holding(x, c, cell) >= 0) return c == at;
  }
  return all_zero(at, x.filled);
}

/// The same for the share of a cell that the device at `reducer` of the source's mesh has reduced. O(lookup).
template <class Crossing, class Cell>
constexpr bool takes_from(const Crossing& x, const coordinate& at, const coordinate& reducer, const Cell& cell) {
  if (x.filled == 0) return true;
  const int p = wanting(x, reducer, cell);
  const coordinate own = coordinates_of(x.target.mesh, p < 0 ? 0 : p);
  return p >= 0 && agree(own, at, ~x.filled & ((1u << x.target.mesh.axis_count) - 1u)) ? own == at
                                                                                       : all_zero(at, x.filled);
}

/// A place in the line of receivers of one piece, in receivers and in elements; or the length of the line.
struct line_place {
  extent_t receivers = 0;
  extent_t elements = 0;
};

/// Where the device at `at` of the target's mesh stands: copy by copy of the target, its pieces in row-major order.
constexpr line_place place_in_line(const crossing& x, const box& piece, const free_digits& copies,
                                   const coordinate& at) {
  const box cell = intersection(slice_at(x.target, x.tensor, at), piece);
  line_place place;
  extent_t pieces = 1, lead = 1, tail = volume(piece);
  for (int d = 0; d < piece.rank; ++d) {
    const extent_t chunk = ceil_divide(x.tensor.extent[d], shards_of(x.target, d)), first = piece.dim[d].begin / chunk;
    const extent_t met = (piece.dim[d].end - 1) / chunk - first + 1;
    pieces *= met;
    tail /= piece.dim[d].end - piece.dim[d].begin;
    place.receivers = place.receivers * met + cell.dim[d].begin / chunk - first;
    place.elements += lead * (cell.dim[d].begin - piece.dim[d].begin) * tail;
    lead *= cell.dim[d].end - cell.dim[d].begin;
  }
  const int copy = index_among(at, copies);
  place.receivers += copy * pieces;
  place.elements += copy * volume(piece);
  return place;
}

/// What a receiver is given: the holder's coordinates and the part of the cell.
struct offer {
  coordinate holder{};
  box part{};
};

inline constexpr box no_box{interval{0, 0}};

/// The `part`-th of the `parts` (1 or 2) offers of `cell` to the device at `at`, at `position` on the source's mesh or
/// -1. `base` is any holder of the piece. O(holders · (dims + cuts + lookup)).
constexpr offer replica_for(const crossing& x, const box& cell, const coordinate& base, const coordinate& at,
                            int position, int part, int parts) {
  if (position >= 0) {
    const coordinate own = coordinates_of(x.source.mesh, position);
    if (meets(x.source, x.tensor, own, cell)) return {own, part == 0 ? cell : no_box};
  }
  const free_digits replicas = digits_beside(x.source, x.reduced);
  if (replicas.members == 1) return {base, part == 0 ? cell : no_box};
  const box piece = slice_at(x.source, x.tensor, base);
  const free_digits holders = digits_beside(x.source), copies = digits_beside(x.target, x.filled);
  const line_place among_all = place_in_line(x, piece, copies, at);
  line_place own = among_all;
  line_place end{0, copies.members * volume(piece)};
  extent_t longest = 1;
  end.receivers = copies.members;
  for (int d = 0; d < piece.rank; ++d) {
    const interval span = piece.dim[d];
    const extent_t chunk = ceil_divide(x.tensor.extent[d], shards_of(x.target, d));
    end.receivers *= (span.end - 1) / chunk - span.begin / chunk + 1;
    longest *= smaller(chunk, span.end - span.begin);
  }
  const int sharers = are_apart(x.source_ranks, x.target_ranks) ? 0 : holders.members;
  for (int i = 0; i < sharers; ++i) {  // those who serve themselves leave the line
    const int p = wanting(x, member_of(base, holders, i), piece);
    if (p < 0) continue;
    const coordinate c = coordinates_of(x.target.mesh, p);
    const box served = intersection(slice_at(x.target, x.tensor, c), piece);
    if (!takes(x, c, served)) continue;
    const line_place place = place_in_line(x, piece, copies, c);
    --end.receivers;
    end.elements -= volume(served);
    if (place.receivers > among_all.receivers) continue;
    --own.receivers;
    own.elements -= volume(served);
  }
  if (end.receivers <= replicas.members)
    return {member_of(base, replicas, static_cast<int>(own.receivers)), part == 0 ? cell : no_box};
  const extent_t share = larger(longest, ceil_divide(end.elements, replicas.members)), first = own.elements / share;
  const coordinate holder = member_of(base, replicas, static_cast<int>(first) + part);
  if (parts == 1) return {holder, cell};
  const extent_t boundary = (first + 1) * share - own.elements, all = volume(cell);
  if (boundary >= all) return {holder, part == 0 ? cell : no_box};
  return {holder, part == 0 ? slab_of(cell, 0, boundary) : slab_of(cell, boundary, all)};
}

/// Who reduces a cell: how many, which of them member `member` is (-1: none), and which member the `nth` is (-1: none).
struct reducers {
  int count = 0;
  int index = -1;
  int member = -1;
};

/// The holders that want the cell, or all holders where none does. O(holders · (dims + cuts + lookup)).
template <class Crossing, class Cell>
constexpr reducers reducers_of(const Crossing& x, const free_digits& holders, const coordinate& base, const Cell& cell,
                               int member, int nth) {
  reducers r;
  for (int i = 0; i < holders.members; ++i) {
    if (wanting(x, member_of(base, holders, i), cell) < 0) continue;
    if (i == member) r.index = r.count;
    if (r.count++ == nth) r.member = i;
  }
  return r.count > 0 ? r : reducers{holders.members, member, nth < holders.members ? nth : -1};
}

}}}  // namespace hyperparallel::v0_2::detail
