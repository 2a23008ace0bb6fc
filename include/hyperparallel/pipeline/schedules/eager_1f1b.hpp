// SPDX-License-Identifier: Apache-2.0
#pragma once
// Eager 1F1B: 1F1B with about twice its warm-up, so that a message has a step of compute to arrive behind.
//
// Laws: peak min(m, 2(P − r) − 1) on rank r; with F = B and a latency up to F the makespan is 1F1B's without latency and
// 2(P − 1) latencies, those of the pipeline's fill and drain, whatever m; 1F1B pays them with each micro-batch.
// References: Zhuang et al., "On Optimizing the Communication of Model Parallelism", 2023.

#include <hyperparallel/pipeline/schedules/one_forward_one_backward.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct eager_1f1b {
  static constexpr const char* name = "Eager1F1B";
  static constexpr stage_placement placement = stage_placement::loop;
  static constexpr pipeline_status fits(const pipeline_shape& n) { return detail::check_chunks(n, 1); }
  static constexpr pipeline_period period(const pipeline_shape& n) { return {1, 2 * n.ranks - 1}; }
  static constexpr void row(auto& out, const pipeline_shape& n, int rank) {
    detail::write_1f1b_row(out, n.micro_batches, rank, 2 * (n.ranks - 1 - rank), [](int i) { return i; });
  }
};

}}  // namespace hyperparallel::v0_2
