// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shares of an H100's data-sheet peaks that operators of PyTorch were measured to reach: products, attention, grouped products, passes
// over memory.
//
// Source: one operator at a time on one H100 SXM 80 GB, bf16, PyTorch 2.11, CUDA 13: rows `gemm`, `attention` (cuDNN), `grouped_gemm`, `add`,
// `silu_mul`, `rms_norm`, `copy`, `cross_entropy_f32` and `adamw_fused_f32` of vectors/measured_h100.jsonl. Shares are of 989 TFLOP/s and
// 3.35 TB/s, in ten-thousandths. A product of less than 22 µs is 0 and read by nothing: its time is that of its launch.
// What the shares of one shape say of another is operator_time.hpp.

#include <cstdint>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// Tokens of the shares below: of forward, and of the gradients of input and weight.
inline constexpr std::int64_t forward_tokens[] = {256, 1024, 2048, 4096, 8192, 16384};
inline constexpr std::int64_t gradient_tokens[] = {1024, 4096, 16384};

/// Of x · wᵀ, where x is tokens × inner and w is columns × inner.
struct measured_products {
  std::int64_t inner = 1, columns = 1;
  std::int64_t forward[6] = {}, of_input[3] = {}, of_weight[3] = {};
};
inline constexpr measured_products h100_products[] = {
    {4096, 4096, {0, 7465, 6774, 7209, 7098, 6922}, {7239, 7195, 6825}, {6378, 7112, 7133}},
    {4096, 1024, {0, 0, 6142, 6600, 6676, 6660}, {0, 5861, 5997}, {0, 6797, 7037}},
    {4096, 14336, {6021, 7883, 7194, 7627, 7105, 7165}, {8221, 7566, 7019}, {7397, 7314, 7227}},
    {14336, 4096, {4925, 7355, 7504, 7496, 7270, 7025}, {6419, 6438, 7149}, {6381, 6600, 7022}},
    {4096, 28672, {5958, 7465, 7701, 6624, 7247, 7143}, {7523, 6950, 7226}, {6146, 6900, 7380}},
    {8192, 8192, {6197, 7301, 7352, 7190, 6975, 7152}, {7349, 7201, 7105}, {6503, 6860, 6807}},
    {8192, 1024, {0, 5755, 6604, 6444, 6830, 7035}, {5690, 5713, 5920}, {5835, 6418, 7168}},
    {8192, 28672, {6270, 7988, 7434, 6983, 7069, 7026}, {7725, 7001, 6708}, {5853, 7197, 7329}},
    {8192, 3584, {4817, 6411, 6311, 6594, 7085, 7107}, {7136, 7053, 6856}, {6477, 7158, 7387}},
    {3584, 8192, {5224, 7185, 6269, 6988, 6933, 7012}, {6786, 6592, 7330}, {6804, 6992, 7248}},
    {1024, 8192, {0, 5601, 5409, 6126, 6104, 6187}, {5515, 7266, 7245}, {5581, 7202, 7182}},
    {2048, 2048, {0, 0, 5969, 6581, 6510, 6592}, {0, 6574, 6601}, {0, 6913, 7240}},
    {2048, 8192, {3713, 7175, 6616, 7128, 6843, 6857}, {7637, 7762, 7344}, {6118, 7382, 7370}},
    {1024, 3072, {0, 0, 5586, 5763, 6137, 5920}, {0, 6562, 6691}, {0, 6691, 6931}},
    {4096, 128256, {6301, 7746, 7862, 7406, 7287, 0}, {7956, 7285, 0}, {6303, 6963, 0}},
    {7168, 2048, {0, 6357, 7026, 6567, 6676, 7125}, {5307, 6313, 6622}, {4974, 6131, 6593}},
    {2048, 7168, {0, 5799, 7130, 6643, 6703, 6707}, {7093, 7021, 7178}, {5629, 6358, 6738}}};

/// What products reach one after the other, when power lowers the clock: the mean of the three passes of the largest one, which was also
/// measured the longest. Shorter ones are above it alone and not in a step.
inline constexpr std::int64_t sustained_product_share = 7021;

/// Causal attention, counted as half the square; its backward as 2.5 times the operations of its forward.
struct measured_attention {
  std::int64_t heads = 1;  ///< of all sequences
  std::int64_t sequence = 1, head_dim = 1, forward = 1, backward = 1;
};
inline constexpr measured_attention h100_attention[] = {
    {32, 2048, 128, 4128, 2923}, {32, 4096, 128, 5421, 4184},  {128, 4096, 128, 6160, 4712},
    {32, 8192, 128, 6291, 5153}, {32, 32768, 128, 6310, 5532}, {64, 4096, 64, 4167, 3513},
    {8, 4096, 128, 3716, 3029},  {8, 8192, 128, 5121, 4320},   {64, 2048, 128, 4834, 3286},
    {40, 4096, 128, 5520, 4403}, {4, 16384, 128, 5373, 5573}};

/// Of slots × inner by a matrix of inner × columns for each of so many groups, which have equal parts of the slots.
struct measured_group {
  std::int64_t groups = 1, slots = 1, inner = 1, columns = 1, share = 1;
};
inline constexpr measured_group h100_groups[] = {{8, 4096, 4096, 14336, 7579},  {8, 16384, 4096, 14336, 7917},
                                                 {16, 32768, 2048, 768, 5745},  {16, 8192, 2048, 768, 3712},
                                                 {128, 32768, 2048, 768, 4581}, {32, 32768, 7168, 2048, 7537},
                                                 {8, 4096, 7168, 2048, 6329},   {8, 32768, 7168, 2048, 6780}};

/// Shares of the memory's bandwidth. Two sizes of `add` and of `silu_mul` give a rate and what each kernel takes beside it; `rms_norm` reads rows.
inline constexpr std::int64_t pass_share = 9030, row_pass_share = 5570, loss_share = 6300, update_share = 7740;
/// Of a kernel, until memory is busy and when it has ended, in picoseconds.
inline constexpr std::int64_t kernel_edges = 3'600'000;
/// Bytes of the loss for a token and an entry of the vocabulary: an f32 copy, log-softmax, and both backward.
inline constexpr std::int64_t loss_forward_bytes = 14, loss_backward_bytes = 22;

}}}  // namespace hyperparallel::v0_2::detail
