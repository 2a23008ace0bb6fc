// SPDX-License-Identifier: Apache-2.0
#pragma once
// 1F1B: a rank holds no more micro-batches than there are ranks from it to the last.
//
// Laws, for times F and B: bubble (P − 1)(F + B), peak min(m, P − r) on rank r.
// References: Narayanan et al., "PipeDream", 2019; "Megatron-LM", 2021. In the order that torch's Schedule1F1B runs.

#include <hyperparallel/pipeline/schedule.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// `warm_up` forwards, or all; then a forward and a backward in turn; then the backwards left. Backward number i is that of
/// micro-batch `order(i)`.
constexpr void write_1f1b_row(auto& out, int micro_batches, int stage, int warm_up, const auto& order) {
  const int first = micro_batches < warm_up ? micro_batches : warm_up;
  for (int k = 0; k < first; ++k) out.forward(stage, k);
  for (int k = first; k < micro_batches; ++k) {
    out.forward(stage, k);
    out.backward(stage, order(k - first));
  }
  for (int k = micro_batches - first; k < micro_batches; ++k) out.backward(stage, order(k));
}

}  // namespace detail

struct one_forward_one_backward {
  static constexpr const char* name = "1F1B";
  static constexpr stage_placement placement = stage_placement::loop;
  static constexpr pipeline_status fits(const pipeline_shape& n) { return detail::check_chunks(n, 1); }
  static constexpr pipeline_period period(const pipeline_shape& n) { return {1, n.ranks}; }
  static constexpr void row(auto& out, const pipeline_shape& n, int rank) {
    detail::write_1f1b_row(out, n.micro_batches, rank, n.ranks - 1 - rank, [](int i) { return i; });
  }
};

}}  // namespace hyperparallel::v0_2
