// SPDX-License-Identifier: Apache-2.0
#pragma once
// The published numbers of HyperOffload, arXiv 2602.00748, and of the budgeted host swap of MoE layers in
// hyper-parallel's documents.

namespace tables::published {

// Host swap, Qwen3-VL-30B-A3B: layers, tokens of a rank, experts chosen per token, bytes kept of a pair of token and
// expert, the sweep's largest and smallest budget in mean layers.
inline constexpr int swap_layers = 8, swap_tokens = 8192, swap_top_k = 8, swap_pair_bytes = 8700;
inline constexpr double swap_largest_budget = 8.8, swap_smallest_budget = 1.6;

// Seconds of a training step on eight Ascend 910C, before and after.
inline constexpr double llama_before = 5.2, llama_after = 4.08, deepseek_before = 2.5, deepseek_after = 2.19;

// Inference: gigabytes at the peak, longest sequence in units of 1024 tokens, before and after.
inline constexpr double peak_before = 61.2, peak_after = 45.0;
inline constexpr int sequence_before = 71, sequence_after = 123;

// Prefetching at run time over the time without offloading; what planned offloading adds, in per cent.
inline constexpr double reactive_slowdown = 2.7, planned_exposed = 1;

}  // namespace tables::published
