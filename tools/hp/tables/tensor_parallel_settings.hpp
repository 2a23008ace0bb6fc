// SPDX-License-Identifier: Apache-2.0
#pragma once
// Steps of training whose exposed share of tensor parallelism stands beside the published 52.9 %, and the step of a
// dense model of 72 billion parameters on 8 dies and on 16. They were chosen before any of them was priced.

#include <hyperparallel/planner/decoder_plan.hpp>

#include "public_decoders.hpp"

namespace tables {

struct tensor_parallel_setting {
  const char* model;
  hp::decoder decoder;
  hp::decoder_plan plan;
};

/// Tensor parallelism alone, with sequence parallelism, eight micro-batches of a sequence.
inline constexpr tensor_parallel_setting tensor_parallel_settings[] = {
    {"Llama-3-8B", llama3_8b, {.tp = 8, .micro_batches = 8, .batch = 8, .sequence = 8192}},
    {"Qwen1.5-72B", qwen15_72b, {.tp = 8, .micro_batches = 8, .batch = 8, .sequence = 4096}},
    {"GPT-22B", gpt_22b, {.tp = 8, .micro_batches = 8, .batch = 8, .sequence = 2048}},
};

/// The same work on 8 dies and on 16.
inline constexpr tensor_parallel_setting wider_tensor_parallel[] = {
    {"Qwen1.5-72B", qwen15_72b, {.tp = 8, .micro_batches = 8, .batch = 8, .sequence = 4096}},
    {"Qwen1.5-72B", qwen15_72b, {.tp = 16, .micro_batches = 8, .batch = 8, .sequence = 4096}},
};

}  // namespace tables
