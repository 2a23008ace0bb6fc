// SPDX-License-Identifier: Apache-2.0
#pragma once
// The published numbers, arXiv 2605.23764, and the layer they belong to.

namespace tables::published {

// Tokens of a rank, experts chosen per token, sizes; eight local experts at each degree of expert parallelism.
inline constexpr int tokens = 4096, top_k = 8, hidden = 7168, intermediate = 2048, local_experts = 8;

/// Latencies of the MoE module in ms, and the speed-up of a whole training step.
struct module_row {
  int ep;
  double serialized_forward, serialized_backward, fused_forward, fused_backward;
  double step_speed_up;
  constexpr double serialized() const { return serialized_forward + serialized_backward; }
  constexpr double fused() const { return fused_forward + fused_backward; }
};
inline constexpr module_row module_table[] = {
    {4, 16.3, 27.9, 10.2, 19.4, 1.08}, {8, 17.3, 29.8, 10.3, 19.6, 1.09}, {16, 18.4, 30.5, 11.2, 19.9, 1.09}};

/// The row of `ep`. Domain: 4, 8 or 16.
constexpr const module_row& module_at(int ep) { return module_table[ep == 4 ? 0 : ep == 8 ? 1 : 2]; }

// SwiGLU and Add over 32K rows: latency in µs, share of accesses that hit L2 in per cent; at 8K rows the interleaved
// order is slightly slower.
inline constexpr double serial_latency = 723.29, interleaved_latency = 588.38;
inline constexpr double serial_hits = 5.20, interleaved_hits = 25.44;
inline constexpr double latency_at_2k_rows = 54.00;  ///< interleaved, static dispatch

// All-to-all behind computation, and what is left of it, in per cent of a step: before and after.
inline constexpr double masked_before = 61, masked_after = 90, exposed_before = 6.6, exposed_after = 1.7;

}  // namespace tables::published
