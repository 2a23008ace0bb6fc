// SPDX-License-Identifier: Apache-2.0
#pragma once
// Slice arithmetic: which box of the tensor a position of the mesh holds. The one source of truth for slicing,
// redistribution, random offsets and checkpoints.
//
// With axes (a0, a1, …) on a dim of extent n, the piece number is row-major over their coordinates (a0 outermost), the
// chunk is ⌈n / pieces⌉ and the interval [min(n, id · chunk), min(n, (id + 1) · chunk)). Where n divides, all are
// equal. Laws: over the positions that differ on sharding axes the boxes tile the tensor exactly once; positions that
// differ on other axes hold equal boxes.

#include <hyperparallel/layout/layout_value.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace diag {
// No constant expression calls these: the compiler's error line names them, with the numbers.
inline void rank_is_outside_the_mesh(int /*rank*/, int /*ranks*/) {}
inline void layout_refuses_the_shape(layout_status) {}
}  // namespace diag

/// A box, or why there is none. Compares with a box: equal iff accepted and the same; a constant expression that compares
/// a refused one is an error.
struct slice_result {
  layout_status status{};
  hyperparallel::box box{};
  friend constexpr bool operator==(const slice_result& r, const hyperparallel::box& b) {
    if (r.status.code == layout_code::ok) return r.box == b;
    if (__builtin_is_constant_evaluated()) {
      if (r.status.code != layout_code::rank_is_outside_the_mesh) diag::layout_refuses_the_shape(r.status);
      diag::rank_is_outside_the_mesh(static_cast<int>(r.status.extent), static_cast<int>(r.status.shards));
    }
    return false;
  }
};

/// The box of the device at `c`. Domain: `check_shape(l, s)` is ok. O(dims + cuts).
constexpr box slice_at(const layout_value& l, const shape& s, const coordinate& c) {
  box b;
  b.rank = s.rank;
  int i = 0;
  for (int d = 0; d < s.rank; ++d) {
    extent_t piece = 0, pieces = 1;
    for (; i < l.cut_count && l.cut[i].dim == d; ++i) {
      piece = piece * l.cut[i].size + digit_of(l.mesh, l.cut[i], c.at[l.cut[i].axis]);
      pieces *= l.cut[i].size;
    }
    const extent_t n = s.extent[d], chunk = ceil_divide(n, pieces);
    b.dim[d] = {smaller(n, piece * chunk), smaller(n, (piece + 1) * chunk)};
  }
  return b;
}

/// The box of a position, checked. O(dims · cuts). Fails where the layout refuses the shape and outside the mesh.
constexpr slice_result slice_of(const layout_value& l, const shape& s, int position) {
  const layout_status status = check_shape(l, s);
  if (status.code != layout_code::ok) return {status, {}};
  if (const int positions = position_count(l.mesh); position < 0 || position >= positions)
    return {{layout_code::position_is_outside_the_mesh, 0, 0, 0, position, positions}, {}};
  return {status, slice_at(l, s, coordinates_of(l.mesh, position))};
}

}}  // namespace hyperparallel::v0_2
