// SPDX-License-Identifier: Apache-2.0
#pragma once
// A small decoder of random weights: RMSNorm, grouped-query attention with RoPE over a kv_cache, SwiGLU.
//
// Attention takes the blocks of the cache one by one, in order of positions, and merges their results in that order; so
// logits depend on weights, tokens and the size of blocks and chunks alone, to the last bit.

#include <cstdint>
#include <span>
#include <vector>

#include <hyperparallel/tiers/offload_session.hpp>

#include "kv_cache.hpp"

namespace long_context {

class decoder {
 public:
  /// Weights and activations are tensors of the session that stay in HBM. Domain: the cache is empty.
  decoder(hp::offload_session& session, kv_cache& cache, int layers, std::uint64_t seed);

  /// Appends tokens to the sequence. Domain: at most `chunk`, and all of them belong to one block.
  void append(std::span<const int> tokens);

  /// What may follow the last token.
  std::vector<float> logits();

 private:
  struct buffers;  ///< pieces of the activations

  hp::session_tensor random_weights(const char* name, int number, std::int64_t size);
  void attend(int layer, std::int64_t rows, const buffers& b);
  void feed_forward(const float* weights, std::int64_t rows, const buffers& b);

  hp::offload_session& session_;
  kv_cache& cache_;
  std::uint64_t seed_;
  hp::session_tensor embedding_, head_, activations_;
  std::vector<hp::session_tensor> layer_;
  std::int64_t last_row_ = 0;
};

}  // namespace long_context
