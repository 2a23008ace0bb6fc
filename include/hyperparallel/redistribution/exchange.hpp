// SPDX-License-Identifier: Apache-2.0
#pragma once
// The exchange: which box each device pulls from whom. Boxes are implicit: the k-th box of a receiver is arithmetic.
//
// A receiver's target box meets a product of source pieces, a contiguous run of them per dim. Each meeting is one box;
// its sender has the coordinates of that piece on the axes that shard the source, and on the others the receiver's own
// (the nearest replica) or, through a `replica_choice`, unread coordinates of the receiver, which spreads the load.
// Laws: the boxes of a receiver tile its target box exactly once; every box lies in its sender's source box; a receiver
// that holds a box is its own sender, so received(r) == |T_r ∖ S_r|.

#include <hyperparallel/layout/slice.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// The part [stride, size] of the sender's coordinate on `axis` is the part [from_stride, size] of the receiver's on
/// `from`.
struct replica_link {
  int axis, stride, size;
  int from, from_stride;
};

/// Which replica of a source piece a receiver pulls from.
struct replica_choice {
  /// For each axis that does not shard the source: the axis whose receiver coordinate picks the replica.
  int axis[max_axes] = {0, 1, 2, 3, 4, 5, 6, 7};
  int link_count = 0;  ///< for axes of unequal sizes, which only share factors
  replica_link link[max_axes] = {};
  /// Bit a: boxes are dealt over the coordinates of axis a, which does not shard the source (move_step.hpp). The axes
  /// and links above are then not used.
  unsigned split = 0;
  int parts = 1;  ///< that a dealt box is cut into, each from the next replica
};

/// `sender` is a position of the mesh; `global` is in the coordinates of the whole tensor.
struct exchange_box {
  int sender = 0;
  box global{};
};

/// Everything about one receiver that its boxes share.
struct receiver {
  box wanted{};                    ///< the target box
  coordinate base{};               ///< the sender's coordinates before its piece is entered
  extent_t chunk[max_dims] = {};   ///< extent of a source piece
  extent_t first[max_dims] = {};   ///< first source piece met
  extent_t pieces[max_dims] = {};  ///< source pieces met
  extent_t boxes = 1;              ///< product of `pieces`; 0 when the target box is empty
};

namespace detail {

/// Prepares a receiver that wants `wanted`; senders have the coordinates of `base` on what does not shard the source.
/// Domain: `source` accepts `s`. O(dims + cuts).
constexpr receiver receiver_of_box(const layout_value& source, const shape& s, const box& wanted,
                                   const coordinate& base) {
  receiver r;
  r.wanted = wanted;
  r.base = base;
  int i = 0;
  for (int d = 0; d < s.rank; ++d) {
    extent_t pieces = 1;
    for (; i < source.cut_count && source.cut[i].dim == d; ++i) pieces *= source.cut[i].size;
    const interval w = wanted.dim[d];
    r.chunk[d] = larger(1, ceil_divide(s.extent[d], pieces));
    r.first[d] = w.begin / r.chunk[d];
    r.pieces[d] = w.end > w.begin ? (w.end - 1) / r.chunk[d] - r.first[d] + 1 : 0;
    r.boxes *= r.pieces[d];
  }
  return r;
}

}  // namespace detail

/// Prepares the receiver at `c` of the same mesh. Domain: both layouts accept `s`. O(dims + cuts).
constexpr receiver receiver_at(const layout_value& source, const layout_value& target, const shape& s,
                               const replica_choice& replicas, const coordinate& c) {
  coordinate base = c;
  for (int a = 0; a < source.mesh.axis_count; ++a) base.at[a] = c.at[replicas.axis[a]];
  for (int i = 0; i < replicas.link_count; ++i) {
    const replica_link& x = replicas.link[i];
    const int value = c.at[x.from] / x.from_stride % x.size;
    base.at[x.axis] += (value - base.at[x.axis] / x.stride % x.size) * x.stride;
  }
  for (int i = 0; i < source.cut_count; ++i) {  // what shards the source is set by the piece
    const cut& x = source.cut[i];
    if (replicas.axis[x.axis] != x.axis) base.at[x.axis] = c.at[x.axis];
  }
  return detail::receiver_of_box(source, s, slice_at(target, s, c), base);
}

/// The k-th box, 0 ≤ k < r.boxes, in row-major order of source pieces. O(dims + cuts).
constexpr exchange_box box_at(const layout_value& source, const receiver& r, extent_t k) {
  exchange_box b;
  b.global.rank = r.wanted.rank;
  coordinate sender = r.base;
  int i = source.cut_count - 1;
  for (int d = r.wanted.rank - 1; d >= 0; --d) {
    extent_t piece = r.first[d] + k % r.pieces[d];
    k /= r.pieces[d];
    b.global.dim[d] = {larger(r.wanted.dim[d].begin, piece * r.chunk[d]),
                       smaller(r.wanted.dim[d].end, (piece + 1) * r.chunk[d])};
    for (; i >= 0 && source.cut[i].dim == d; --i) {
      const cut& x = source.cut[i];
      const int value = static_cast<int>(piece % x.size);
      piece /= x.size;
      sender.at[x.axis] += (value - digit_of(source.mesh, x, sender.at[x.axis])) * detail::stride_of(source.mesh, x);
    }
  }
  b.sender = position_of(source.mesh, sender);
  return b;
}

/// Elements that `position` pulls from others. O(boxes · (dims + cuts)).
constexpr extent_t received_by(const layout_value& source, const layout_value& target, const shape& s,
                               const replica_choice& replicas, int position) {
  const receiver r = receiver_at(source, target, s, replicas, coordinates_of(source.mesh, position));
  extent_t n = 0;
  for (extent_t k = 0; k < r.boxes; ++k) {
    const exchange_box b = box_at(source, r, k);
    if (b.sender != position) n += volume(b.global);
  }
  return n;
}

}}  // namespace hyperparallel::v0_2
