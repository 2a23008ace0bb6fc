// SPDX-License-Identifier: Apache-2.0
#pragma once
// DualPipeV: two chunks a rank, there and back; the forward of one runs together with the backward of the other.
//
// Laws, where m ≥ 2P: peak 2P + 1 chunks on every rank; where F = I, the most idle rank idles
// (P − 1)(F‖B + B − 3W), F‖B the time of a pair.
// References: DeepSeek-AI, DualPipe; torch's ScheduleDualPipeV.

#include <hyperparallel/pipeline/schedule.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// The row of a rank with two chunks, the forward of one together with the backward of the other: chunk 0 is stage `near`,
/// chunk 1 stage 2 · half − 1 − near, where ranks 0 … half − 1 come before the turn or the middle. Micro-batches of chunk c
/// are first[c] … first[c] + micro_batches − 1. Precondition: micro_batches ≥ 2 · half.
constexpr void write_dual_pipe_row(auto& out, int half, int near, int micro_batches, const int (&first)[2]) {
  const int behind = half - 1 - near, stage[2] = {near, 2 * half - 1 - near};
  int forwards[2] = {first[0], first[1]}, gradients[2] = {first[0], first[1]};
  growing_array<int> waiting;  // chunk and micro-batch of each W that is put off, as 2k + chunk
  int weights = 0;
  const auto forward = [&](int chunk) { out.forward(stage[chunk], forwards[chunk]++); };
  const auto backward = [&](int chunk) { out.backward(stage[chunk], gradients[chunk]++); };
  const auto input = [&](int chunk) {
    waiting.push(2 * gradients[chunk] + chunk);
    out.input_gradient(stage[chunk], gradients[chunk]++);
  };
  const auto weight = [&] {
    const int one = waiting[weights++];
    out.weight_gradient(stage[one % 2], one / 2);
  };
  const auto overlapped = [&](int chunk) {
    out.overlapped(stage[chunk], forwards[chunk]++, stage[1 - chunk], gradients[1 - chunk]++);
  };
  for (int i = 0; i < 2 * behind; ++i) forward(0);
  for (int i = 0; i <= near; ++i) {
    forward(0);
    forward(1);
  }
  for (int i = 0; i < behind; ++i) {
    input(1);
    weight();
    forward(1);
  }
  for (int i = 0; i < micro_batches - 2 * half + near + 1; ++i) {
    if (i == 0 && behind == 0) {  // apart, which makes the bubble smaller
      forward(0);
      backward(1);
    } else {
      overlapped(0);
    }
    overlapped(1);
  }
  for (int i = 0; i < behind; ++i) {
    backward(1);
    overlapped(1);
  }
  bool apart = false;
  const auto last_gradient = [&](int chunk) { apart ? input(chunk) : backward(chunk); };
  for (int i = 0; i <= near; ++i) {  // I and W are apart from the middle on
    const bool middle = i == (near + 1) / 2;
    apart = apart || (middle && near % 2 == 1);
    last_gradient(1);
    apart = apart || (middle && near % 2 == 0);
    last_gradient(0);
  }
  for (int i = 0; i < behind; ++i) {
    weight();
    input(0);
  }
  for (int i = 0; i <= near; ++i) weight();
}

}  // namespace detail

struct dual_pipe_v {
  static constexpr const char* name = "DualPipeV";
  static constexpr stage_placement placement = stage_placement::v;
  static constexpr pipeline_status fits(const pipeline_shape& n) {
    if (n.chunks != 2) return detail::check_chunks(n, 2);
    if (n.micro_batches < 2 * n.ranks) return {.code = pipeline_code::too_few_micro_batches, .needed = 2 * n.ranks};
    return {};
  }
  static constexpr pipeline_period period(const pipeline_shape& n) { return {1, 2 * n.ranks}; }
  static constexpr void row(auto& out, const pipeline_shape& n, int rank) {
    detail::write_dual_pipe_row(out, n.ranks, rank, n.micro_batches, {0, 0});
  }
};

}}  // namespace hyperparallel::v0_2
