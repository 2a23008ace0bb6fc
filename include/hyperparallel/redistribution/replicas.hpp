// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which replica of a piece each receiver reads, so that no sender is busier than the receivers.
//
// A receiver that takes digit (u → a), i.e. reads coordinate u of its own to know the value of axis a, leaves its
// coordinate a unread. Following such moves from a source-free axis u to the end of the chain finds an unread
// coordinate; letting it pick the replica along u makes receiver → sender one-to-one along the chain. A receiver that
// holds the data has equal coordinates along the chain, so it still picks itself and the bound is untouched.
// Axes of unequal sizes only share factors, so there the chain runs over the prime factors of the digits.
// Law: where the factors of all moved digits line up, the heaviest sender sends no more than the heaviest receiver
// receives.
// Where they do not, sender_balance.hpp counts, and has boxes dealt: receivers are numbered so that those of one source
// piece follow each other, the parts of their boxes stand in line in that order, and the n-th part in line goes to
// replica (n + ⌊n / replicas⌋) mod replicas. Each round starts one replica further, so that unequal parts spread too.

#include <hyperparallel/redistribution/bound.hpp>
#include <hyperparallel/redistribution/exchange.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// Where every moved digit is a whole axis on both sides. `heads` are the axes that are moved into and source-free.
constexpr void choose_replicas(unsigned heads, const digit_figures& f, replica_choice& replicas) {
  for (int a = 0; heads >> a != 0; ++a) {
    if ((heads >> a & 1u) == 0) continue;
    int end = a;
    for (int hop = 0; (f.movers >> end & 1u) != 0 && hop < max_axes; ++hop) end = f.moved_from[end];
    replicas.axis[a] = end;
  }
}

/// How much of a part of an axis shards the source.
enum class sharding_share : unsigned char { none, some, all };

constexpr sharding_share share_of_source(const layout_value& source, const axis_part& part) {
  for (int i = 0; i < source.cut_count; ++i) {
    if (source.cut[i].axis != part.axis) continue;
    const axis_part cut = axis_part_of(source.mesh, source.cut[i]);
    if (!overlap(part, cut)) continue;
    return cut.stride <= part.stride && end_of(part) <= end_of(cut) ? sharding_share::all : sharding_share::some;
  }
  return sharding_share::none;
}

/// Links each source-free factor that something moves into to the end of its chain; factors that continue each other on
/// both sides are one link. Whether every chain follows whole digits to a coordinate that tells nothing else.
constexpr bool link_chains(const layout_value& source, unsigned heads, const digit* list, int count,
                           replica_choice& replicas) {
  replicas.link_count = 0;
  for (int i = 0; i < count; ++i) {
    const digit head = list[i];
    if (head.target_axis < 0 || (heads >> head.target_axis & 1u) == 0 || !is_moved(head)) continue;
    const sharding_share share = share_of_source(source, target_part(head));
    if (share == sharding_share::all) continue;
    if (share == sharding_share::some) return false;
    const int size = head.size;
    axis_part end = source_part(head);
    for (int j = 0; j < count; ++j) {
      const digit x = list[j];
      if (x.target_axis != end.axis || !is_moved(x) || !overlap(target_part(x), end)) continue;
      if (!(target_part(x) == end)) return false;
      end = source_part(x);
      j = -1;  // on from there
    }
    const int axis = end.axis, stride = end.stride;
    if (replicas.link_count > 0) {
      replica_link& last = replicas.link[replicas.link_count - 1];
      if (last.axis == head.target_axis && last.from == axis && last.stride == head.target_stride * size &&
          last.from_stride == stride * size) {
        last = {last.axis, head.target_stride, last.size * size, axis, stride};
        continue;
      }
    }
    if (replicas.link_count == max_axes) return false;
    replicas.link[replicas.link_count++] = {head.target_axis, head.target_stride, size, axis, stride};
  }
  return true;
}

/// The same for any axes; `heads` has the bits of those that are moved into and not wholly sharding the source. Along
/// whole digits, else along their prime factors. False, with every replica the nearest, where those do not line up
/// either, as axes that are cut into the same factors in another order (6 into 2·3 and 3·2), or do not nest.
constexpr bool link_replicas(const layout_value& source, unsigned heads, const digit_table& t,
                             replica_choice& replicas) {
  if (!digits_nest(t.digit, t.count)) return false;
  if (link_chains(source, heads, t.digit, t.count, replicas)) return true;
  digit factor[64] = {};
  int count = 0;
  for (int i = 0; i < t.count; ++i) {
    const digit& x = t.digit[i];
    if (!is_moved(x)) continue;
    for (int prime = 2, rest = x.size; rest > 1; ++prime)
      while (rest % prime == 0 && count < 64) {
        rest /= prime;
        factor[count++] = {
            x.dim, prime, x.inner, x.source_axis, x.source_stride * rest, x.target_axis, x.target_stride * rest};
      }
  }
  if (digits_nest(factor, count) && link_chains(source, heads, factor, count, replicas)) return true;
  replicas.link_count = 0;
  return false;
}

/// In a reduction in two steps only those devices of a source piece reduce whose target piece meets it; what they pass
/// on they alone can send. So the terms of others come from the next value of a factor that something moves into: from
/// replicas that reduce nothing, or, where cuts do not refine, less. `idle` axes shard the target only and have no
/// terms.
constexpr void turn_to_idle_replicas(const layout_value& source, const layout_value& target, const digit_table& t,
                                     unsigned idle, replica_choice& replicas) {
  for (int i = 0; i < t.count; ++i) {
    const digit& x = t.digit[i];
    if (!is_moved(x) || (idle >> x.target_axis & 1u) == 0) continue;
    replicas.link_count = 1;
    replicas.link[0] = {x.target_axis, x.target_stride, x.size, x.target_axis, x.target_stride};
    return;
  }
  const unsigned changed = t.refinable ? 0 : changed_axes(source, target) & idle;
  for (int a = 0; changed >> a != 0; ++a)
    if ((changed >> a & 1u) != 0) {
      replicas.link_count = 1;
      replicas.link[0] = {a, 1, source.mesh.size[a], a, 1};
      return;
    }
}

/// Enters the next value of each linked factor.
constexpr void turn_links(const replica_choice& replicas, coordinate& c) {
  for (int i = 0; i < replicas.link_count; ++i) {
    const replica_link& x = replicas.link[i];
    const int value = c.at[x.axis] / x.stride % x.size;
    c.at[x.axis] += ((value + 1) % x.size - value) * x.stride;
  }
}

/// The number of the receiver at `c` among those that boxes are dealt to: by its target piece, dims that both sides cut
/// alike left out, then along the axes on which the target has copies where the source has none. O(dims + cuts).
constexpr int turn_of(const layout_value& source, const layout_value& target, unsigned reduced, unsigned filled,
                      const coordinate& c) {
  const unsigned changed = changed_axes(source, target);
  unsigned single = reduced, sliced = filled;
  int turn = 0;
  for (int i = 0; i < source.cut_count; ++i) single |= 1u << source.cut[i].axis;
  for (int i = 0; i < target.cut_count; ++i) {
    const cut& x = target.cut[i];
    sliced |= 1u << x.axis;
    if ((changed >> x.axis & 1u) != 0) turn = turn * x.size + digit_of(target.mesh, x, c.at[x.axis]);
  }
  for (int a = 0; a < target.mesh.axis_count; ++a)
    if ((single & ~sliced) >> a & 1u) turn = turn * target.mesh.size[a] + c.at[a];
  return turn;
}

/// The replica, of `dealers`, that deals the given one of the `parts` of a box of receiver number `turn`.
constexpr int dealer_of(int turn, int parts, int part, int dealers) {
  const extent_t n = extent_t{turn} * parts + part;
  return static_cast<int>((n + n / dealers) % dealers);
}

}}}  // namespace hyperparallel::v0_2::detail
