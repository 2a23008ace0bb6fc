// SPDX-License-Identifier: Apache-2.0
#pragma once
// 1F1B: a rank holds no more micro-batches than there are ranks from it to the last.
//
// Laws, for times F and B: bubble (P − 1)(F + B), peak min(m, P − r) on rank r.
// References: Narayanan et al., "PipeDream", 2019; "Megatron-LM", 2021. In the order that torch's Schedule1F1B runs.

#include <hyperparallel/pipeline/schedule.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct one_forward_one_backward {
  static constexpr const char* name = "1F1B";
  static constexpr stage_placement placement = stage_placement::loop;
  static constexpr pipeline_status fits(const pipeline_shape& n) {
    return n.chunks == 1 ? pipeline_status{} : pipeline_status{.code = pipeline_code::chunks_are_fixed, .needed = 1};
  }
  static constexpr void row(auto& out, const pipeline_shape& n, int rank) {
    const int m = n.micro_batches, warm_up = m < n.ranks - 1 - rank ? m : n.ranks - 1 - rank;
    for (int k = 0; k < warm_up; ++k) out.forward(rank, k);
    for (int k = warm_up; k < m; ++k) {
      out.forward(rank, k);
      out.backward(rank, k - warm_up);
    }
    for (int k = m - warm_up; k < m; ++k) out.backward(rank, k);
  }
};

}}  // namespace hyperparallel::v0_2
