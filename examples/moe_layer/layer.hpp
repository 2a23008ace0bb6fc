// SPDX-License-Identifier: Apache-2.0
#pragma once
// The layer of this example, written once: a DeepSeek-V3-style mixture-of-experts feed-forward layer. Mesh, layouts and
// hardware are types; the planner (planned.cpp) and the run (run.cpp) use the same descriptions at two sizes.

#include <hyperparallel/lowering/moe_program.hpp>

namespace moe_layer {

namespace hp = hyperparallel;

/// Expert parallelism over 8 dies: tokens and experts are spread over one axis.
struct mesh : hp::device_matrix<hp::axis{"ep", 8}> {};

/// One 4096-token step of each die through 64 experts of DeepSeek-V3's size.
inline constexpr hp::moe_layer full_size{
    .hidden = 7168, .intermediate = 2048, .experts = 64, .top_k = 8, .tokens = 8 * 4096};

/// Everything about it, derived by the compiler: layouts, moves, taskflow, proof, timeline.
using program = hp::moe_program<full_size, mesh, hp::matrix384>;

/// The same layer at a size that simulated ranks compute in a moment; a step takes 64 tokens of each rank.
inline constexpr hp::moe_layer reduced{.hidden = 256, .intermediate = 128, .experts = 64, .top_k = 8, .tokens = 8 * 64};

/// Two AICs, two AIVs, a link and a copy engine a rank; weights come from DRAM through two buffers of each kind.
inline constexpr hp::moe_options run_options{.tiling = {.row_block = 32,
                                                        .gate_up_columns = 128,
                                                        .down_columns = 128,
                                                        .vector_rows = 32,
                                                        .copy_rows = 16,
                                                        .route_rows = 32,
                                                        .merge_pieces = 4,
                                                        .lag = 16},
                                             .matrix_queues = 2,
                                             .vector_queues = 2,
                                             .weight_buffers = 2};

}  // namespace moe_layer
