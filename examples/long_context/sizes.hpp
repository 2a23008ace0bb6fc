// SPDX-License-Identifier: Apache-2.0
#pragma once
// The decoder's dims, what it takes of memory, and how a budget is divided: all that follows from sizes alone.

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>

#include <hyperparallel/hardware/units.hpp>

namespace long_context {

namespace hp = hyperparallel;

inline constexpr std::int64_t hidden = 128, heads = 4, key_heads = 2, dim = 32, ffn = 256, vocabulary = 512;
inline constexpr std::int64_t query_width = heads * dim, key_width = key_heads * dim;
inline constexpr std::int64_t block_positions = 256;
inline constexpr std::int64_t chunk = 64;  ///< most tokens of the prompt at a time

/// Floats of a tensor. A block holds the keys of each head, then their values.
inline constexpr std::int64_t table_size = vocabulary * hidden;
inline constexpr std::int64_t layer_size =
    hidden * (query_width + 2 * key_width) + query_width * hidden + hidden * 2 * ffn + ffn * hidden;
inline constexpr std::int64_t activations_size =
    chunk * (2 * hidden + 4 * query_width + 2 * key_width + 2 * heads + 3 * ffn) + vocabulary;
inline constexpr std::int64_t block_bytes = 2 * key_width * block_positions * std::int64_t{sizeof(float)};
static_assert(block_positions % chunk == 0 && heads % key_heads == 0);
static_assert(table_size % 16 == 0 && layer_size % 16 == 0 && activations_size % 16 == 0, "tiers round up to 64 bytes");

/// Weights and activations, which stay in HBM.
constexpr std::int64_t weight_bytes(int layers) {
  return (2 * table_size + layers * layer_size) * std::int64_t{sizeof(float)};
}
constexpr std::int64_t fixed_bytes(int layers) {
  return weight_bytes(layers) + activations_size * std::int64_t{sizeof(float)};
}
/// Blocks of each layer for so many positions.
constexpr std::int64_t blocks_for(std::int64_t positions) {
  return (positions + block_positions - 1) / block_positions;
}

/// How the blocks that fit a budget are used: one a layer is being written; `window` take turns, one of them in use and
/// the others under way; the rest is kept from the beginning of the sequence on and never moves.
struct budget_plan {
  std::int64_t blocks = 0, window = 0, kept = 0;
  std::int64_t longest_alone = 0;      ///< positions, in whole blocks, when all of them have to fit
  std::int64_t longest_offloaded = 0;  ///< positions, in whole blocks, when full ones leave for the slower tier
};

/// Throws std::invalid_argument where the budget is too small to overlap copies with work.
inline budget_plan plan_for(int layers, std::int64_t budget, std::int64_t slower_capacity) {
  constexpr std::int64_t least_window = 2, most_window = 4;
  const std::int64_t least = fixed_bytes(layers) + (layers + least_window) * block_bytes;
  if (budget < least)
    throw std::invalid_argument("--budget of " + std::to_string(budget) + " bytes is too small, " +
                                std::to_string(layers) + " layers need at least " + std::to_string(least));
  budget_plan p;
  p.blocks = (budget - fixed_bytes(layers)) / block_bytes;
  p.window = std::min(most_window, p.blocks - layers);
  p.kept = p.blocks - layers - p.window;
  p.longest_alone = p.blocks / layers * block_positions;
  p.longest_offloaded = (p.kept + slower_capacity / block_bytes) / layers * block_positions;
  return p;
}

}  // namespace long_context
