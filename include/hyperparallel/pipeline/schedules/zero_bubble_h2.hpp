// SPDX-License-Identifier: Apache-2.0
#pragma once
// ZB-H2: as ZB-H1 with twice the warm-up: no bubble of the span, for twice the memory.
//
// Laws, where m ≥ 2P − 1: bubble of the span (P − 1) max(0, F + I − 2W); peak 2P − 1 until W, 2(P − r) − 1 until I. The
// schedule exists for fewer micro-batches too, without that law.
// References: Qi et al., "Zero Bubble Pipeline Parallelism", 2023.

#include <hyperparallel/pipeline/schedules/zero_bubble_h1.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct zero_bubble_h2 {
  static constexpr const char* name = "ZB-H2";
  static constexpr stage_placement placement = stage_placement::loop;
  static constexpr pipeline_status fits(const pipeline_shape& n) { return detail::check_chunks(n, 1); }
  static constexpr pipeline_period period(const pipeline_shape& n) { return {1, 2 * n.ranks - 1}; }
  static constexpr void row(auto& out, const pipeline_shape& n, int rank) {
    detail::write_zero_bubble_row(out, n.micro_batches, rank, 2 * (n.ranks - rank) - 1, 2 * rank);
  }
};

}}  // namespace hyperparallel::v0_2
