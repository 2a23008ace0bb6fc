// SPDX-License-Identifier: Apache-2.0
#pragma once
// The policy, a decoder of one block that answers a prompt of digits with the digits in reverse, and what is drawn of it.

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include <hyperparallel/graph/gradient.hpp>
#include <hyperparallel/graph/optimizer.hpp>
#include <hyperparallel/kernels/keyed_random.hpp>
#include <hyperparallel/layers.hpp>

namespace rl {

namespace hp = hyperparallel;

inline constexpr int digits = 10, prompts = 16, answers = 8, rows = prompts * answers;  ///< answers of each prompt
inline constexpr int length = 3,
                     sequence = 2 * length;  ///< the prompt, then the answer, whose last digit nothing reads

/// Logits of the next digit; in training the loss is Σ advantage · -log p(digit) / tokens.
inline hp::graph policy(bool trains, double rate) {
  hp::model_builder m({.unrolled = true});
  const int batch = m.dim("batch", rows), seq = m.dim("seq", sequence);
  const int tokens = m.index_input("tokens", {batch, seq});
  int x = hp::token_embedding{.vocabulary = digits, .hidden = 32}(m, tokens);
  x = hp::position_embedding{}(m, x);
  x = m.scope("block", [&] {
    return hp::transformer_block<hp::attention_layer, hp::swiglu_layer>{
        .attention = {.query_heads = 4, .key_heads = 4, .head_dim = 8}, .feed_forward = {.width = 64}}(m, x);
  });
  x = hp::norm_layer{"norm"}(m, x);
  const int logits = hp::linear_layer{"logits", {m.dim("vocab", digits)}}(m, x);
  if (!trains) return m.graph;
  const int labels = m.index_input("labels", {batch, seq}), advantage = m.input("advantage", {batch, seq});
  m.loss(hp::mean_cross_entropy(m, logits, labels, advantage));
  hp::differentiate(m.graph);
  hp::append_optimizer(m.graph, {.rate = rate});
  return m.graph;
}

struct answered_prompts {
  std::vector<std::int32_t> tokens = std::vector<std::int32_t>(rows * sequence);
  std::vector<std::int32_t> labels = std::vector<std::int32_t>(rows * sequence, -1);
};

/// Prompts of a firing: rows of one prompt stand together.
inline void draw_prompts(std::uint64_t seed, std::int64_t firing, answered_prompts& a) {
  a = {};
  for (int r = 0; r < rows; ++r)
    for (int i = 0; i < length; ++i)
      a.tokens[static_cast<std::size_t>(r * sequence + i)] =
          static_cast<std::int32_t>(hp::keyed_bits(seed, static_cast<std::uint64_t>(firing),
                                                   static_cast<std::uint64_t>(r / answers * length + i)) %
                                    digits);
}

/// Digit `i` of every answer, by the logits there. What is drawn depends on seed, firing, row and digit alone.
inline void draw_digit(std::uint64_t seed, std::int64_t firing, int i, std::span<const float> logits,
                       answered_prompts& a) {
  for (int r = 0; r < rows; ++r) {
    const auto at = static_cast<std::size_t>(r * sequence + length - 1 + i);
    const float* const of = logits.data() + at * digits;
    double sum = 0;
    for (int d = 0; d < digits; ++d) sum += std::exp(static_cast<double>(of[d]));
    const std::uint64_t key =
        hp::keyed_bits(~seed, static_cast<std::uint64_t>(firing), static_cast<std::uint64_t>(r * length + i));
    double left = static_cast<double>(key >> 11) * 0x1p-53 * sum;
    int drawn = 0;
    while (drawn + 1 < digits && (left -= std::exp(static_cast<double>(of[drawn]))) >= 0) ++drawn;
    a.labels[at] = drawn;
    a.tokens[at + 1] = drawn;
  }
}

struct rewarded_answers : answered_prompts {
  std::vector<float> advantage = std::vector<float>(rows * sequence);
  double mean = 0;  ///< reward; 1 is the most
};

/// The reward of an answer is the part of its digits that are right; its advantage that beside the other answers of its
/// prompt, in standard deviations (GRPO).
inline void reward(const answered_prompts& a, rewarded_answers& r) {
  static_cast<answered_prompts&>(r) = a;
  r.mean = 0;
  for (int p = 0; p < prompts; ++p) {
    double of[answers] = {}, sum = 0, squares = 0;
    for (int k = 0; k < answers; ++k) {
      const auto row = static_cast<std::size_t>((p * answers + k) * sequence);
      for (std::size_t i = 0; i < length; ++i)
        of[k] += (a.labels[row + length - 1 + i] == a.tokens[row + length - 1 - i] ? 1.0 : 0.0) / length;
      sum += of[k];
      squares += of[k] * of[k];
    }
    const double mean = sum / answers, deviation = std::sqrt(std::max(0.0, squares / answers - mean * mean));
    for (int k = 0; k < answers; ++k)
      for (int i = 0; i < length; ++i)
        r.advantage[static_cast<std::size_t>((p * answers + k) * sequence + length - 1 + i)] =
            static_cast<float>((of[k] - mean) / (deviation + 1e-6));
    r.mean += mean / prompts;
  }
}

}  // namespace rl
