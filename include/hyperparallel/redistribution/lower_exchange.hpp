// SPDX-License-Identifier: Apache-2.0
#pragma once
// A redistribution as a taskflow: one task per receiver on its rank's link, which pulls that receiver's boxes.
//
// Slot p is the source block of position p, slot positions + p its target block; they lie side by side in one tier.
// Law: the accesses name every sender whose block a receiver reads, so the verifier sees each one-sided read.

#include <hyperparallel/redistribution/plan.hpp>
#include <hyperparallel/taskflow/builder.hpp>

namespace hyperparallel {

/// A planned move with everything that its tasks and kernels need. Domain: `plan.status` is ok.
struct exchange_flow {
  layout_value source{}, target{};
  hyperparallel::shape shape{};
  redistribution_plan plan{};
  int element_bytes = 4;
  std::int64_t picoseconds_per_byte = 0;  ///< of a link, for schedules and simulation

  /// Bytes from one block to the next, multiples of a cache line.
  constexpr std::int64_t source_pitch() const { return ceil_divide(plan.source_elements * element_bytes, 64) * 64; }
  constexpr std::int64_t target_pitch() const { return ceil_divide(plan.target_elements * element_bytes, 64) * 64; }

  /// Writes the flow. O(positions · boxes of a receiver · (dims + cuts)).
  template <class Flow>
  constexpr void operator()(Flow& f) const {
    const int positions = position_count(source.mesh);
    for (int p = 0; p < positions; ++p) add_slot(f, p, 0, 0, source_pitch());
    for (int p = 0; p < positions; ++p) add_slot(f, p, 0, source_pitch(), target_pitch());
    for (int p = 0; p < positions; ++p) {
      const receiver r = receiver_at(source, target, shape, plan.replicas, coordinates_of(source.mesh, p));
      extent_t pulled = 0;
      for (extent_t k = 0; k < r.boxes; ++k) {
        const exchange_box b = box_at(source, r, k);
        if (b.sender != p) pulled += volume(b.global);
      }
      add_task(f, resource::link, p, pulled * element_bytes * picoseconds_per_byte, 0, p);
      int last = -1;
      for (extent_t k = 0; k < r.boxes; ++k) {
        const exchange_box b = box_at(source, r, k);
        if (b.sender != last) add_access(f, b.sender, 0, 1, access_mode::read);
        last = b.sender;
      }
      add_access(f, positions + p, 0, 1, access_mode::write);
    }
  }
};

}  // namespace hyperparallel
