// SPDX-License-Identifier: Apache-2.0
#pragma once
// ZB-H1: 1F1B with I and W apart; the W of rank r follow r steps later and fill the bubble, at the memory of 1F1B's first
// rank on every rank.
//
// Laws, where W ≤ F, I and m ≥ P: bubble (P − 1)(F + I − W); peak P until W, P − r until I.
// References: Qi et al., "Zero Bubble Pipeline Parallelism", 2023.

#include <hyperparallel/pipeline/schedule.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// `warm_up` forwards; then I(k), W(k − lag) and the next F; then the W left.
constexpr void write_zero_bubble_row(auto& out, int m, int stage, int warm_up, int lag) {
  int next = 0;
  for (; next < m && next < warm_up; ++next) out.forward(stage, next);
  for (int k = 0; k < m; ++k) {
    out.input_gradient(stage, k);
    if (k >= lag) out.weight_gradient(stage, k - lag);
    if (next < m) out.forward(stage, next++);
  }
  for (int k = m > lag ? m - lag : 0; k < m; ++k) out.weight_gradient(stage, k);
}

}  // namespace detail

struct zero_bubble_h1 {
  static constexpr const char* name = "ZB-H1";
  static constexpr stage_placement placement = stage_placement::loop;
  static constexpr pipeline_status fits(const pipeline_shape& n) {
    if (n.chunks != 1) return detail::check_chunks(n, 1);
    if (n.micro_batches < n.ranks) return {.code = pipeline_code::too_few_micro_batches, .needed = n.ranks};
    return {};
  }
  static constexpr pipeline_period period(const pipeline_shape& n) { return {1, n.ranks}; }
  static constexpr void row(auto& out, const pipeline_shape& n, int rank) {
    detail::write_zero_bubble_row(out, n.micro_batches, rank, n.ranks - rank, rank);
  }
};

}}  // namespace hyperparallel::v0_2
