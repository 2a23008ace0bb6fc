// SPDX-License-Identifier: Apache-2.0
#pragma once
// How torchtitan deals layers to the stages of a pipeline, and what of that a plan can say.
//
//   launch::torchtitan_split{.layers = 126, .stages = 16}.of_stages() == {7, 8, …, 8, 7}       embedding and head count as a layer each
//
// Layers and what the ends count as are dealt evenly, the first stages one more where they do not divide; the ends have so many
// layers fewer. A plan of a decoder does the same, with ends that count as one layer or none (`ends_count_as_layers`).
// Source: torchtitan 0.2, distributed/pipeline_parallel.py.

#include <string>
#include <vector>

#include <hyperparallel/planner/decoder_plan.hpp>

namespace hp_tool::launch {

struct torchtitan_split {
  extent_t layers = 1, stages = 1;
  extent_t first_less = 1, last_less = 1;  ///< layers that embedding and head count as
  friend constexpr bool operator==(const torchtitan_split&, const torchtitan_split&) = default;

  constexpr extent_t all() const { return layers + first_less + last_less; }
  /// Whether torchtitan takes it: an end counts as no more than a stage has.
  constexpr bool can_be() const {
    const extent_t each = all() / stages;
    return stages == 1 || (each > 0 && first_less <= each && last_less <= each);
  }
  /// Precondition: can_be(). O(stages).
  std::vector<extent_t> of_stages() const {
    if (stages == 1) return {layers};
    std::vector<extent_t> out(static_cast<std::size_t>(stages), all() / stages);
    for (extent_t s = 0; s < all() % stages; ++s) ++out[static_cast<std::size_t>(s)];
    out.front() -= first_less;
    out.back() -= last_less;
    return out;
  }
};

/// As a plan of a decoder deals its layers.
constexpr torchtitan_split split_of_plan(extent_t layers, extent_t stages) {
  const extent_t end = ends_count_as_layers(layers, stages) ? 1 : 0;
  return {layers, stages, end, end};
}

}  // namespace hp_tool::launch
