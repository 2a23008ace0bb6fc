// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a matrix product takes where its shape does not fill the tiles and the cores of a device.
//
// A product is cut into tiles of its result, each one whole for one core, and cores take tiles in rounds; a tile at the edge,
// and a round that does not have a tile for each core, take as long as a full one. So the share of the peak that a product
// reaches is `gmm_cold` times what of its rounds is useful. Laws: never less than without tiles, and as much where tiles and
// rounds are full; a device without a tile reaches `gmm_cold` whatever the shape. Units: elements. O(factors).

#include <hyperparallel/hardware/device.hpp>
#include <hyperparallel/operators/local_work.hpp>
#include <hyperparallel/operators/ops/contract.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// So many products of rows x columns, one behind the other.
struct product_shape {
  extent_t count = 1, rows = 1, columns = 1;
  constexpr extent_t results() const { return count * rows * columns; }
  friend constexpr bool operator==(const product_shape&, const product_shape&) = default;
};

namespace detail {

/// Of a contraction of two operands on one device: factors of the result that both have count, those of one are rows, those
/// of the other columns.
constexpr product_shape product_shape_of(const local_work& w) {
  product_shape s;
  for (int f = 0; f < w.rule->factor_count; ++f) {
    if ((w.rule->result[0].mask >> f & 1u) == 0) continue;
    const bool in_first = (w.rule->operand[0].mask >> f & 1u) != 0,
               in_second = (w.rule->operand[1].mask >> f & 1u) != 0;
    (in_first == in_second ? s.count : in_first ? s.rows : s.columns) *= w.extent[f];
  }
  return s;
}

/// Operations that the device is busy for in a product of `flops`. Domain: a tile with rows and columns, the shape's results
/// are not 0.
constexpr checked_extent padded_flops(const device_value& d, extent_t flops, const product_shape& s) {
  const extent_t tiles = s.count * ceil_divide(s.rows, d.tile.rows) * ceil_divide(s.columns, d.tile.columns);
  const extent_t rounds = ceil_divide(tiles, extent_t{d.aic});
  const checked_extent slots = checked_multiply(rounds * d.aic, extent_t{d.tile.rows} * d.tile.columns);
  const checked_extent padded = checked_multiply(slots.value, flops / s.results());
  return {padded.value, slots.overflow || padded.overflow};
}

/// Of `flops` operations of a product at the given peak. O(1).
constexpr time_cost product_time(const device_value& d, extent_t flops, const product_shape& s, std::int64_t peak) {
  if (d.tile.rows == 0 || flops == 0) return work_time(flops, 1, 1, peak, d.gmm_cold);
  const checked_extent padded = padded_flops(d, flops, s);
  if (padded.overflow) return {cost_code::overflow, longest_time};
  return work_time(padded.value, 1, 1, peak, d.gmm_cold);
}

}  // namespace detail

}}  // namespace hyperparallel::v0_2
