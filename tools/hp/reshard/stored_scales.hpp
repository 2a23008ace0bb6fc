// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tensors of scales beside weights of 8 bits: their names, what each number is of, and how they lie on ranks.
//
//   X.weight F8_E4M3 [256, 200]      X.weight_scale_inv [2, 2]              one for 128 x 128 elements, as DeepSeek-V3 has them
//                                    X.weight_scale [256], [256, 1]         one for a row, as compressed-tensors has them
//                                    X.weight_scale [], [1], [1, 1]         one for the tensor, as ModelOpt has them
//
// What is stored times its scale is the number, by either name. Laws: a grid has as many scales as its extents say; slices of a weight
// that `check_cuts` lets pass have the scales of their elements and no others. Errors: plan_error of one line that names the tensor.
// O(ranks) a weight.
// Sources: deepseek-ai/DeepSeek-V3, inference/fp8_cast_bf16.py; vllm-project/compressed-tensors; NVIDIA/Model-Optimizer.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "set_layout.hpp"
#include "set_view.hpp"

namespace hp_tool::reshard {

struct plan_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Rows and columns that one scale is of; 0: all.
struct scale_grid {
  std::int64_t rows = 0, columns = 0;
  friend bool operator==(const scale_grid&, const scale_grid&) = default;
};

/// Scales of a weight that are read with it.
struct stored_scales {
  model_tensor tensor;
  scale_grid grid;
};

bool is_eight_bits(std::string_view dtype);

/// What one scale of a weight is of, where these are extents of scales for it. `block`: of scales of blocks.
std::optional<scale_grid> grid_of(const std::vector<std::int64_t>& weight, const std::vector<std::int64_t>& scales,
                                  scale_grid block);

/// Blocks of a model: those that its configuration or --sizes say, or 128 x 128.
scale_grid block_of(const numbers& sizes);

/// Has each rank keep dims of scales whole that the cuts of their weight do not cut.
void keep_whole(set_layout& l, const std::string& scales, std::size_t rank, scale_grid g);

/// Likewise of all scales of a set, by what each file holds of them and of their weights.
void keep_whole(set_layout& l, const tensor_set& s, scale_grid block);

/// Refuses slices of a weight that part elements of one scale. Extents are whole.
void check_cuts(const set_layout& l, const std::string& weight, const std::vector<std::int64_t>& extents,
                const std::string& scales, const std::vector<std::int64_t>& of_scales, scale_grid g);

/// The scales of each weight of 8 bits that has some, by the weight's name. Throws plan_error of scales of no such weight.
std::map<std::string, stored_scales> scales_in(const std::vector<model_tensor>& all, scale_grid block);

}  // namespace hp_tool::reshard
