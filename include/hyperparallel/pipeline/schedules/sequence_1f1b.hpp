// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sequence-level 1F1B: each micro-batch goes through the pipeline in slices of its sequence, forwards first slice first,
// backwards last slice first, since a slice's attention reads the slices before it.
//
// A slice counts as a micro-batch here: slice i of micro-batch k has number k · Slices + i. Laws: peak
// min(m, P − 1 − r + Slices) slices on rank r, against (P − r) · Slices of 1F1B; with equal slices and no latency the bubble
// is (P − 1)(F + B) of a slice, a Slices-th of 1F1B's.
// References: Sun et al., "Seq1F1B", 2024; the warm-up as in the zero-bubble repository's seq1f1b.

#include <hyperparallel/pipeline/schedules/one_forward_one_backward.hpp>

namespace hyperparallel { inline namespace v0_2 {

template <int Slices>
struct sequence_1f1b {
  static_assert(Slices >= 1, "a micro-batch has at least one slice");
  static constexpr const char* name = "Seq1F1B";
  static constexpr stage_placement placement = stage_placement::loop;
  static constexpr pipeline_status fits(const pipeline_shape& n) {
    if (n.chunks != 1) return detail::check_chunks(n, 1);
    if (n.micro_batches % Slices != 0) return {.code = pipeline_code::slices_do_not_divide, .needed = Slices};
    return {};
  }
  static constexpr pipeline_period period(const pipeline_shape& n) { return {Slices, n.ranks + Slices}; }
  static constexpr void row(auto& out, const pipeline_shape& n, int rank) {
    detail::write_1f1b_row(out, n.micro_batches, rank, n.ranks - 2 - rank + Slices,
                           [](int i) { return i / Slices * Slices + Slices - 1 - i % Slices; });
  }
};

}}  // namespace hyperparallel::v0_2
