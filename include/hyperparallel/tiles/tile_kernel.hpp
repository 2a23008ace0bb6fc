// SPDX-License-Identifier: Apache-2.0
#pragma once
// The kernel of a step that may be a tile: called with the blocks of the whole step, it computes the tile's intervals alone.
//
// Law: elements of the tile get the bits of the whole step, and no other is touched (kernels/box_of_call.hpp). O(work of the
// tile).

#include <hyperparallel/kernels/box_of_call.hpp>
#include <hyperparallel/tiles/tile_box.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

struct tile_kernel {
  typed_kernel kernel{};
  step_tile tile{};
  int loop = -1;        ///< over the tile's dim; -1: all of the step
  int inner_loop = -1;  ///< over that of the inner cut; -1: none
  block_elements bytes{};

  void operator()(const operator_call& c) const {
    if (loop < 0) return kernel(c);
    loop_span box[max_factors];
    for (int l = 0; l < max_factors; ++l) box[l] = c.loop[l];
    visit_boxes(outer_of(tile), c.loop[loop], box[loop], [&] {
      if (inner_loop < 0) return run_on_box(kernel, c, box, bytes);
      visit_boxes(inner_of(tile), c.loop[inner_loop], box[inner_loop], [&] { run_on_box(kernel, c, box, bytes); });
    });
  }

 private:
  /// Sets `part` to each interval of the loop that the cut has.
  template <class Visit>
  static void visit_boxes(const step_tile& cut, const loop_span& all, loop_span& part, const Visit& visit) {
    visit_intervals(cut, all.begin, all.begin + all.extent, [&](extent_t from, extent_t to) {
      part = {from, to - from, all.whole};
      visit();
    });
  }
};

}}}  // namespace hyperparallel::v0_2::detail
