// SPDX-License-Identifier: Apache-2.0
#pragma once
// Steps of training under ZeRO over numbers of devices that divide nothing of the model.

#include <hyperparallel/strategy/named_strategies.hpp>

#include "models/trained_models.hpp"

namespace padded_steps {

using namespace hyperparallel;

/// Hidden 16, widths of 8, 4 experts, 32 words: nothing that 3, 5, 6, 7 or 12 divides but the batch.
constexpr models::small_moe_config sizes_of(int batch) {
  return {.batch = batch,
          .sequence = 4,
          .vocabulary = 32,
          .layers = 2,
          .hidden = 16,
          .query_heads = 8,
          .key_heads = 4,
          .head_dim = 2,
          .experts = 4,
          .top_k = 2,
          .expert_width = 8};
}

inline graph step_of(int batch, optimizer_kind optimizer, int micro_batches = 1) {
  return programs::moe_graph(
      {.unrolled = true, .micro_batches = micro_batches, .optimizer = optimizer, .type = data_type::f64},
      sizes_of(batch));
}

enum class beside { nothing, tensor, experts };

/// ZeRO on `dp`, with an axis of two devices beside it.
constexpr strategy_value zero(int dp, int stage, beside other) {
  const char* const axes[] = {"dp", other == beside::experts ? "ep" : "tp"};
  const int degrees[] = {dp, 2};
  const int count = other == beside::nothing ? 1 : 2;
  strategy_value s;
  s.mesh = make_mesh(axes, count, degrees, count).mesh;
  add_zero(s, "dp", stage);
  if (other == beside::experts) {
    add_expert_parallel(s, "ep");
    add_data_parallel(s, "ep");
  }
  if (other == beside::tensor) add_tensor_parallel(s, "tp");
  return s;
}

}  // namespace padded_steps
