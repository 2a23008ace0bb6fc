// SPDX-License-Identifier: Apache-2.0
#pragma once
// The least that any program must move to change a layout, exactly.
//
// Every device must receive the elements of its target box that are not in its source box:
//   recv(r) ≥ |T_r ∖ S_r|.
// With the digit table the maximum has a closed form: |T| if a digit moves between axes, else |T| · (1 − 1/g), where g
// is the product of the gathered digits. Derivation: docs/explanation/redistribution.md.
// Units: elements. Layouts are partial-free here; reductions have a bound of their own.

#include <hyperparallel/layout/digits.hpp>
#include <hyperparallel/layout/slice.hpp>

namespace hyperparallel {

/// |T_r ∖ S_r| of one position. Domain: both layouts accept `s`. O(dims + cuts).
constexpr extent_t least_received(const layout_value& source, const layout_value& target, const shape& s,
                                  const coordinate& c) {
  const box wanted = slice_at(target, s, c);
  return volume(wanted) - volume(intersection(wanted, slice_at(source, s, c)));
}

struct received_bound {
  extent_t maximum = 0;  ///< over positions
  extent_t sum = 0;      ///< over positions
};

/// Maximum and sum over all positions by enumeration. O(positions · (dims + cuts)): any shape, padded dims included.
constexpr received_bound enumerate_bound(const layout_value& source, const layout_value& target, const shape& s) {
  received_bound b;
  const int positions = position_count(source.mesh);
  for (int p = 0; p < positions; ++p) {
    const extent_t n = least_received(source, target, s, coordinates_of(source.mesh, p));
    b.sum += n;
    if (n > b.maximum) b.maximum = n;
  }
  return b;
}

/// The maximum over positions in closed form. Domain: `t.refinable`, `target_elements` = |T|. O(1).
constexpr extent_t closed_form_bound(const digit_table& t, extent_t target_elements) {
  return t.moved ? target_elements : target_elements - target_elements / t.gathered;
}

}  // namespace hyperparallel
