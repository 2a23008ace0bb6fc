// SPDX-License-Identifier: Apache-2.0
#pragma once
// Placements: the same layout told per mesh axis instead of per tensor dim (PyTorch's vocabulary).
//
// Axis a of the mesh is Replicate, Partial(op), or Shard(dim, order): order tells which of the axes on one dim is
// outermost, 0 first, so that a tuple of axes survives the trip. Without orders, axes shard a dim in mesh order.
// Law: layout_from_placements(placements_of(l)) == l for every canonical layout of whole axes.

#include <hyperparallel/layout/tensor_map.hpp>

namespace hyperparallel { inline namespace v0_2 {

enum class placement_kind : unsigned char { replicate, shard, partial };

struct placement {
  placement_kind kind = placement_kind::replicate;
  int dim = 0;    ///< of a shard; negative counts from the end
  int order = 0;  ///< of a shard: rank among the axes on that dim, ties in mesh order
  reduce_op op = reduce_op::none;
  friend constexpr bool operator==(const placement&, const placement&) = default;
};

constexpr placement replicate() { return {}; }
constexpr placement shard(int dim, int order = 0) { return {placement_kind::shard, dim, order, reduce_op::none}; }
constexpr placement partial_of(reduce_op op) { return {placement_kind::partial, 0, 0, op}; }

/// One placement per mesh axis, outer to inner; a shorter list leaves the rest replicated.
/// Fails on a dim outside [-rank, rank), a negative rank, more placements than axes, and a partial without operation.
/// O(axes²).
constexpr layout_result layout_from_placements(const mesh_shape& m, const placement* list, int count, int rank) {
  if (rank < 0 || rank > max_dims) return {{layout_code::too_many_dims, 0, 0, 0, rank, max_dims}, {}};
  if (!detail::is_valid(m)) return {{layout_code::mesh_is_not_valid, 0, 0, 0, 0, 0}, {}};
  if (count < 0 || count > m.axis_count)
    return {{layout_code::placement_count_exceeds_axes, 0, 0, 0, count, m.axis_count}, {}};
  layout_result r{{}, replicated(m, rank)};
  int dim_of[max_axes] = {};
  for (int a = 0; a < count; ++a) {
    dim_of[a] = list[a].dim < 0 ? list[a].dim + rank : list[a].dim;
    if (list[a].kind == placement_kind::shard && (dim_of[a] < 0 || dim_of[a] >= rank))
      return {{layout_code::dim_is_out_of_range, list[a].dim, 0, a, rank, 0}, r.layout};
    if (list[a].kind == placement_kind::partial) {
      r.status = set_partial(r.layout, a, list[a].op);
      if (r.status.code != layout_code::ok) return r;
    }
  }
  for (int d = 0; d < rank; ++d) {
    bool taken[max_axes] = {};
    for (;;) {  // the remaining axis of this dim with the least order
      int next = -1;
      for (int a = 0; a < count; ++a)
        if (list[a].kind == placement_kind::shard && dim_of[a] == d && !taken[a] &&
            (next < 0 || list[a].order < list[next].order))
          next = a;
      if (next < 0) break;
      taken[next] = true;
      append_cut(r.layout, {d, next, 1, m.size[next]});
    }
  }
  return r;
}

struct placement_list {
  placement at[max_axes] = {};
};

/// The placements of a canonical layout of whole axes, one per mesh axis.
constexpr placement_list placements_of(const layout_value& l) {
  placement_list p;
  int order = 0;
  for (int i = 0; i < l.cut_count; ++i) {
    order = i > 0 && l.cut[i - 1].dim == l.cut[i].dim ? order + 1 : 0;
    p.at[l.cut[i].axis] = shard(l.cut[i].dim, order);
  }
  for (int a = 0; a < l.mesh.axis_count; ++a)
    if (l.partial[a] != reduce_op::none) p.at[a] = partial_of(l.partial[a]);
  return p;
}

}}  // namespace hyperparallel::v0_2
