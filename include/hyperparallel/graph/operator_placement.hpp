// SPDX-License-Identifier: Apache-2.0
#pragma once
// A placement of an operator: which of its loops each mesh axis shards; the layouts of its tensors follow.
// Loops are the factors of its rule.
//
// Laws: axes on one loop cut it in the placement's order of axes, the first outermost; a tensor dim is cut as its loop
// is, and padded where it is; a tensor that lacks a sharded loop is replicated along the axis as an operand and partial by the rule's reduction
// of that loop as a result. Ring operators work on a block of keys that has travelled along their axis: that axis shards
// `loop` for the queries and `turned` for the keys, whose block is the one of the device `rotation` places before.

#include <hyperparallel/graph/graph.hpp>
#include <hyperparallel/mesh/coordinates.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct operator_placement {
  int count = 0;                                                  ///< axes that shard something
  signed char axis[max_axes] = {};                                ///< these, outer before inner
  signed char loop[max_axes] = {-1, -1, -1, -1, -1, -1, -1, -1};  ///< that axis a shards; -1: every device does it all
  signed char turned[max_axes] = {-1, -1, -1, -1, -1, -1, -1, -1};  ///< second loop of axis a, in a ring
  unsigned padded = 0;  ///< bit l: loop l is cut into flat ceil chunks and need not divide
  friend constexpr bool operator==(const operator_placement&, const operator_placement&) = default;

  /// Axis `a` shards loop `l`, inside the axes that were added before.
  constexpr void add(int a, int l) {
    axis[count++] = static_cast<signed char>(a);
    loop[a] = static_cast<signed char>(l);
  }
  constexpr bool shards(int a, int l) const { return loop[a] == l || turned[a] == l; }
};

namespace detail {

/// Pieces that loop `l` is cut into.
constexpr extent_t pieces_of_loop(const operator_placement& p, const mesh_shape& m, int l) {
  extent_t n = 1;
  for (int i = 0; i < p.count; ++i)
    if (p.shards(p.axis[i], l)) n *= m.size[p.axis[i]];
  return n;
}

}  // namespace detail

/// The layout of an operand under the placement. O(dims · axes).
constexpr layout_value layout_of(const tensor_factors& t, const operator_placement& p, const mesh_shape& m) {
  layout_value l;
  l.mesh = m;
  l.rank = t.rank;
  for (int d = 0; d < t.rank; ++d)
    for (int i = 0; i < p.count; ++i)
      if (p.shards(p.axis[i], t.term[d])) append_cut(l, {d, p.axis[i], 1, m.size[p.axis[i]]});
  for (int d = 0; p.padded != 0 && d < t.rank; ++d)
    if ((p.padded >> t.term[d] & 1u) != 0) l.padded |= 1u << d;
  return l;
}

namespace detail {

/// The layout of a result: partial along the axes of the loops that it lacks and the operands have.
constexpr layout_value layout_of_result(const factor_rule& rule, int result, const operator_placement& p,
                                        const mesh_shape& m) {
  const tensor_factors& t = rule.result[result];
  layout_value l = layout_of(t, p, m);
  for (int i = 0; i < p.count; ++i)
    if (const int a = p.axis[i]; p.turned[a] < 0 && !has_factor(t, p.loop[a])) l.partial[a] = rule.factor[p.loop[a]].op;
  return l;
}

/// The placement under which the first operand's dims lie as `l`. Domain: whole axes cut them.
constexpr operator_placement placement_in(const factor_rule& rule, const layout_value& l) {
  operator_placement p;
  for (int i = 0; i < l.cut_count; ++i) {
    const int loop = rule.operand[0].term[l.cut[i].dim];
    p.add(l.cut[i].axis, loop);
    if (is_padded(l, l.cut[i].dim)) p.padded |= 1u << loop;
  }
  return p;
}

/// Part of loop `l` that the device at `at` works on; shorter or empty behind the last whole chunk of a padded loop.
/// `rotation` is the operator's own.
constexpr interval loop_interval(const graph_operator& o, const operator_placement& p, const mesh_shape& m,
                                 const coordinate& at, int l) {
  extent_t piece = 0, pieces = 1;
  for (int i = 0; i < p.count; ++i) {
    const int a = p.axis[i];
    if (!p.shards(a, l)) continue;
    int digit = at.at[a];
    if (p.turned[a] == l && o.rotation > 0) digit = (digit + m.size[a] - o.rotation % m.size[a]) % m.size[a];
    piece = piece * m.size[a] + digit;
    pieces *= m.size[a];
  }
  const extent_t n = o.loop[l].extent, chunk = ceil_divide(n, pieces);
  return {smaller(n, piece * chunk), smaller(n, (piece + 1) * chunk)};
}

}  // namespace detail

}}  // namespace hyperparallel::v0_2
