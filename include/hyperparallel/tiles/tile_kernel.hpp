// SPDX-License-Identifier: Apache-2.0
#pragma once
// The kernel of a step that may be a tile: called with the blocks of the whole step, it computes the tile's intervals alone.
//
// Law: elements of the tile get the bits of the whole step, and no other is touched (kernels/box_of_call.hpp). O(work of the
// tile).

#include <hyperparallel/kernels/box_of_call.hpp>
#include <hyperparallel/tiles/tile_box.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct tile_kernel {
  typed_kernel kernel{};
  step_tile tile{};
  int loop = -1;  ///< over the tile's dim; -1: all of the step
  block_elements bytes{};

  void operator()(const operator_call& c) const {
    if (loop < 0) return kernel(c);
    loop_span box[max_factors];
    for (int l = 0; l < max_factors; ++l) box[l] = c.loop[l];
    const loop_span& all = c.loop[loop];
    visit_intervals(tile, all.begin, all.begin + all.extent, [&](extent_t from, extent_t to) {
      box[loop] = {from, to - from, all.whole};
      run_on_box(kernel, c, box, bytes);
    });
  }
};

}}  // namespace hyperparallel::v0_2
