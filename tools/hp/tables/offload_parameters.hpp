// SPDX-License-Identifier: Apache-2.0
#pragma once
// The parameters behind the anchors of memory tiers, marked as parameters.hpp marks its own. Times in picoseconds.

#include <hyperparallel/offload/offload_program.hpp>

#include "parameters.hpp"

namespace tables {

struct offload_parameters {
  marked<std::int64_t> bandwidth{hp::matrix384::contended_dram_highest, origin::published,
                                 "hyper-parallel host swap document: best of a die while 16 of a host copy"};
  marked<std::int64_t> latency{hp::matrix384::device.tier[1].latency, origin::published, "CloudMatrix384 notes"};

  marked<std::int64_t> swap_attention{16 * hp::millisecond, origin::fitted,
                                      "A9: in whole ms, the shortest that hides a copy; experts as long, backward 4 x"};

  marked<int> llama_layers{32, origin::published, "Llama-3-8B, whose sizes stand for LLaMA-8B"};
  marked<std::int64_t> llama_hidden{4096, origin::published, "Llama-3-8B"};
  marked<std::int64_t> llama_intermediate{14336, origin::published, "Llama-3-8B"};
  marked<std::int64_t> llama_key_value{1024, origin::published, "Llama-3-8B: width of its keys, and of its values"};
  marked<std::int64_t> llama_forward{1300 * hp::millisecond, origin::fitted,
                                     "A10: 5.2 s are forward twice and backward, four times it"};
  marked<std::int64_t> llama_tokens{13'600, origin::fitted, "A10: 4.08 s; tokens of a die in a step"};
  marked<int> llama_room{4, origin::assumed, "layers' activations that fit beside checkpoints"};
  marked<std::int64_t> deepseek_forward{730 * hp::millisecond, origin::fitted,
                                        "A10: 2.19 s are three times it, nothing exposed"};
  marked<int> deepseek_layers{12, origin::assumed, "layers of a die; a layer's bytes as LLaMA-8B's"};
  marked<int> deepseek_recomputed{5, origin::fitted, "A10: 2.5 s, 42 % of the forward pass"};

  marked<int> cache_layers{32, origin::assumed, "a 7B model with 32 heads of 128: 0.5 MiB of keys and values a token"};
  marked<std::int64_t> cache_width{4096, origin::assumed, "the same model"};
  marked<int> cache_blocks{4, origin::assumed, "blocks of a layer's cache that leave one by one"};
  marked<std::int64_t> cache_chunk{3200, origin::fitted,
                                   "A11: tokens prefilled at once; they set how much copying hides"};

  marked<std::int64_t> short_tokens{4096, origin::assumed, "A12: a short sequence, prefilled at once"};
  marked<int> short_budget{75, origin::assumed, "A12: per cent of what the trace needs without offloading"};

  std::vector<parameter_row> rows() const {
    std::vector<parameter_row> out;
    const auto add = [&out](const char* name, const auto& p, const std::string& value) {
      out.push_back({name, value, to_text(p.from), p.source});
    };
    const auto time = [](std::int64_t picoseconds) { return to_text(hp::report::duration{picoseconds}); };
    add("host link of a die, each direction", bandwidth, to_text(hp::report::rate{bandwidth.value}));
    add("latency of the host link", latency, time(latency.value));
    add("attention of a swapped MoE layer", swap_attention, time(swap_attention.value));
    add("LLaMA-8B: layers", llama_layers, std::to_string(llama_layers.value));
    add("LLaMA-8B: hidden", llama_hidden, std::to_string(llama_hidden.value));
    add("LLaMA-8B: intermediate", llama_intermediate, std::to_string(llama_intermediate.value));
    add("LLaMA-8B: keys", llama_key_value, std::to_string(llama_key_value.value));
    add("LLaMA-8B: forward pass", llama_forward, time(llama_forward.value));
    add("LLaMA-8B: tokens", llama_tokens, std::to_string(llama_tokens.value));
    add("LLaMA-8B: layers that fit", llama_room, std::to_string(llama_room.value));
    add("DeepSeek-V3: forward pass", deepseek_forward, time(deepseek_forward.value));
    add("DeepSeek-V3: layers", deepseek_layers, std::to_string(deepseek_layers.value));
    add("DeepSeek-V3: layers recomputed before", deepseek_recomputed, std::to_string(deepseek_recomputed.value));
    add("long sequence: layers", cache_layers, std::to_string(cache_layers.value));
    add("long sequence: width of keys", cache_width, std::to_string(cache_width.value));
    add("long sequence: blocks of a layer", cache_blocks, std::to_string(cache_blocks.value));
    add("long sequence: chunk", cache_chunk, std::to_string(cache_chunk.value));
    add("short sequence: tokens", short_tokens, std::to_string(short_tokens.value));
    add("short sequence: budget", short_budget, fmt::format("{} %", short_budget.value));
    return out;
  }

  constexpr hp::offload_link link() const { return {bandwidth.value, latency.value}; }
  /// What a layer keeps of a token for its backward pass, without the scores of attention: in bfloat16 both norms and
  /// their inputs, queries, keys, values, what attention gives, and gate, up and their product.
  constexpr std::int64_t activation_bytes() const {
    return 2 * (6 * llama_hidden.value + 2 * llama_key_value.value + 3 * llama_intermediate.value);
  }
};

}  // namespace tables
