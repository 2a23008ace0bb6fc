// SPDX-License-Identifier: Apache-2.0
#pragma once
// A step between two sides whose pieces are boxes of different shapes: by runs of the flat index.
//
// Where a run of the source and a run of the target (flat_runs.hpp) meet is a stretch: contiguous in the flat index and
// in both blocks. Stretches take the part that cells play in crossing.hpp, and the laws are the same: a receiver that
// holds a stretch takes it from itself; terms are reduced by contributors that want them. The others are dealt to the
// replicas of a piece, which take turns from section to section of it: eight sections for each replica, and stretches
// end with them. So the heaviest sender sends about what the heaviest receiver receives, but for pieces of few
// elements. Nothing is tabulated: a receiver is a cursor, and each transfer is figured from the place where it stands.

#include <hyperparallel/redistribution/flat_runs.hpp>
#include <hyperparallel/redistribution/move_step.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// `length` elements from `source_offset` of the block at position `sender` to `target_offset` of the receiver's.
struct flat_transfer {
  int sender = 0;
  int term = 0;  ///< 0 is stored, the others are folded onto it in their order
  extent_t source_offset = 0;
  extent_t target_offset = 0;
  extent_t length = 0;
};

/// A step of form `runs`: the step and the shapes of its sides.
struct flat_step {
  const move_step& step;
  const shape& source_shape;
  const shape& target_shape;
};

/// A receiver with the place that its transfers have reached.
struct flat_receiver {
  flat_block own{};
  coordinate at{};
  int position = 0;  ///< on the source's mesh, or -1
  int terms = 1;
  extent_t done = 0;  ///< elements of the own block that are passed
  int inner = 0;      ///< term or share of the current stretch
};

namespace detail {

/// As `crossing`, with a cell told by any element of it.
struct flat_crossing {
  const layout_value& source;
  const layout_value& target;
  const flat_step& sides;
  unsigned filled;
};

constexpr bool has(const layout_value& l, const shape& s, int position, extent_t flat) {
  return position >= 0 && place_of(runs_of(slice_at(l, s, coordinates_of(l.mesh, position)), s), flat).inside;
}

constexpr int wanting(const flat_crossing& x, const coordinate& c, extent_t flat) {
  const move_step& s = x.sides.step;
  const int p = position_in(s.target_ranks, rank_at(s.source_ranks, position_of(s.source.mesh, c)));
  return has(s.target, x.sides.target_shape, p, flat) ? p : -1;
}

constexpr int holding(const flat_crossing& x, const coordinate& c, extent_t flat) {
  const move_step& s = x.sides.step;
  const int p = position_in(s.source_ranks, rank_at(s.target_ranks, position_of(s.target.mesh, c)));
  return has(s.source, x.sides.source_shape, p, flat) ? p : -1;
}

}  // namespace detail

/// The receiver at `position` of the target's mesh; of the source's where the step is a collect. O(dims + cuts).
constexpr flat_receiver receiver_of(const flat_step& f, int position) {
  const move_step& s = f.step;
  const bool collecting = s.kind == step_kind::collect;
  const layout_value& own = collecting ? s.source : s.target;
  const shape& tensor = collecting ? f.source_shape : f.target_shape;
  flat_receiver r;
  r.at = coordinates_of(own.mesh, position);
  r.own = runs_of(slice_at(own, tensor, r.at), tensor);
  r.position = collecting ? position : position_in(s.source_ranks, rank_at(s.target_ranks, position));
  if (collecting || s.kind == step_kind::reduce)
    r.terms = group_size(s.source.mesh, detail::axes_of(s.source.mesh, s.reduced));
  return r;
}

namespace detail {

/// A stretch: where the receiver stands, seen from its own block and from the other side's.
struct flat_stretch {
  extent_t flat = 0;
  extent_t length = 0;
  flat_block there{};  ///< the block of the other side that has it
  flat_place place{};  ///< in that block
  coordinate at{};     ///< the first device of the other side that has it
};

/// The stretch at `r.done`. Domain: the receiver is not at its end. O(dims + cuts).
constexpr flat_stretch stretch_at(const flat_step& f, const flat_receiver& r) {
  const bool collecting = f.step.kind == step_kind::collect;
  const layout_value& there = collecting ? f.step.target : f.step.source;
  const shape& tensor = collecting ? f.target_shape : f.source_shape;
  flat_stretch s;
  s.flat = run_begin(r.own, r.done / r.own.length) + r.done % r.own.length;
  s.at = first_with(there, tensor, s.flat);
  s.there = runs_of(slice_at(there, tensor, s.at), tensor);
  s.place = place_of(s.there, s.flat);
  s.length = smaller(s.place.left, r.own.length - r.done % r.own.length);
  return s;
}

}  // namespace detail

/// The next transfer in flat order, those from the receiver to itself included; false at the end. None is empty.
/// O(dims + cuts), and O(holders · lookup) where terms meet in two steps.
constexpr bool next_transfer(const flat_step& f, flat_receiver& r, flat_transfer& t) {
  const move_step& s = f.step;
  const mesh_shape& m = s.source.mesh;
  const bool collecting = s.kind == step_kind::collect, spreading = s.kind == step_kind::spread;
  const detail::flat_crossing x{s.source, s.target, f, s.filled};
  while (r.done < r.own.length * r.own.runs) {
    const detail::flat_stretch here = detail::stretch_at(f, r);
    const flat_place place = here.place;
    const extent_t flat = here.flat;
    coordinate other = here.at;
    extent_t stretch = here.length, begin = 0, end = stretch;
    bool ended = false, empty = false;
    if (collecting || spreading) {
      const detail::free_digits holders = detail::digits_beside(s.source);
      const coordinate base = collecting ? r.at : other;
      const int own = collecting ? detail::index_among(r.at, holders) : -1;
      const detail::reducers all = detail::reducers_of(x, holders, base, flat, own, r.inner);
      const int share = collecting ? all.index : r.inner;
      const extent_t chunk = ceil_divide(stretch, all.count);
      begin = smaller(stretch, share * chunk);
      end = smaller(stretch, begin + chunk);
      ended = share < 0 || r.inner >= (collecting ? r.terms : all.count);
      other = collecting ? r.at : detail::member_of(base, holders, all.member < 0 ? 0 : all.member);
      empty = begin == end || (spreading && !ended && !detail::takes_from(x, r.at, other, flat));
    } else {
      const detail::free_digits replicas = detail::digits_beside(s.source, s.reduced);
      ended = r.inner == r.terms || !detail::takes(x, r.at, flat);
      if (detail::has(s.source, f.source_shape, r.position, flat)) {
        other = coordinates_of(m, r.position);
      } else if (replicas.members > 1) {
        const extent_t section = ceil_divide(here.there.length * here.there.runs, 8 * replicas.members);
        stretch = end = smaller(stretch, section - place.offset % section);
        const extent_t copy = detail::index_among(r.at, detail::digits_beside(s.target, s.filled));
        other =
            detail::member_of(other, replicas, static_cast<int>((copy + place.offset / section) % replicas.members));
      }
    }
    if (ended) {
      r.done += stretch;
      r.inner = 0;
      continue;
    }
    const int inner = r.inner++;
    if (empty) continue;
    if (r.terms > 1) detail::enter_group(other, m, s.reduced, inner);
    t = {position_of(m, other), r.terms > 1 ? inner : 0, (collecting ? r.done : place.offset) + begin, r.done + begin,
         end - begin};
    return true;
  }
  return false;
}

}}  // namespace hyperparallel::v0_2
