// SPDX-License-Identifier: Apache-2.0
#pragma once
// A small model of equal layers, and its programs under pipelines of every published schedule.

#include <hyperparallel/lowering/pipelined_program.hpp>
#include <hyperparallel/pipeline/schedule_list.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>

#include <models/trained_models.hpp>

#include <string>
#include <vector>

namespace programs {

constexpr hp::graph piped_graph(int layers, int micro_batches, const char* recomputed = nullptr,
                                hp::data_type type = hp::data_type::f32) {
  return moe_graph({.unrolled = true, .micro_batches = micro_batches, .recomputed = recomputed, .type = type},
                   {.batch = 4,
                    .sequence = 4,
                    .vocabulary = 16,
                    .layers = layers,
                    .hidden = 8,
                    .query_heads = 4,
                    .key_heads = 4,
                    .head_dim = 2,
                    .experts = 4,
                    .expert_width = 8});
}

/// A dense model whose head reads the table of the embedding.
inline hp::graph tied_graph(int layers, int micro_batches, hp::data_type type = hp::data_type::f64) {
  hp::model_builder m({.activation = type, .parameter = type, .unrolled = true});
  const int batch = m.dim("batch", 4), sequence = m.dim("seq", 4);
  const int tokens = m.index_input("tokens", {batch, sequence}), labels = m.index_input("labels", {batch, sequence});
  const hp::transformer_block<hp::attention_layer, hp::swiglu_layer> block{
      .attention = {.query_heads = 4, .key_heads = 4, .head_dim = 2}, .feed_forward = {.width = 16}};
  int x = hp::token_embedding{.vocabulary = 16, .hidden = 8}(m, tokens);
  x = m.repeat("layers", layers, x, block);
  hp::language_head{.vocabulary = 16, .tied_to = "embedding"}(m, x, labels);
  return trained(m, {.unrolled = true, .micro_batches = micro_batches, .type = type});
}

/// Layer i multiplies by two matrices; the first one is that of all layers that `shares` names.
inline hp::graph shared_matrix_graph(const std::vector<bool>& shares, int micro_batches,
                                     hp::optimizer_kind optimizer = hp::optimizer_kind::adamw) {
  hp::model_builder m({.activation = hp::f64, .parameter = hp::f64, .unrolled = true});
  const int batch = m.dim("batch", 4), hidden = m.dim("hidden", 4), other = m.dim("other", 4);
  int x = m.input("x", {batch, hidden});
  const int shared = m.parameter("shared", {hidden, other});
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const std::string layer = "layers." + std::to_string(i);
    const int own = m.parameter((layer + ".weight").c_str(), {other, hidden});
    const int in = shares[i] ? shared : m.parameter((layer + ".in").c_str(), {hidden, other});
    const int y = m.contract((layer + ".product").c_str(), "*k,kn->*n", x, in);
    x = m.contract((layer + ".back").c_str(), "*k,kn->*n", y, own);
  }
  m.loss(m.apply<hp::ops::reduce>("loss", {x}, {.text = "*->"}));
  return trained(m, {.unrolled = true, .micro_batches = micro_batches, .optimizer = optimizer, .type = hp::f64});
}

struct piped_shape {
  const hp::named_schedule* schedule = nullptr;
  hp::pipeline_shape shape{};
};

/// Shapes of every published schedule that has stages for a graph: not those that slice sequences.
inline std::vector<piped_shape> piped_shapes(int most_ranks, int most_micro_batches) {
  std::vector<piped_shape> all;
  for (const hp::named_schedule& s : hp::schedule_table.item)
    for (int ranks = 2; ranks <= most_ranks; ++ranks)
      for (int chunks = 1; chunks <= 2; ++chunks)
        for (int m = 1; m <= most_micro_batches; ++m)
          if (const hp::pipeline_shape n{ranks, chunks, m};
              s.check(n).ok() && (s.fixed_chunks == 0 || s.fixed_chunks == chunks))
            all.push_back({&s, n});
  return all;
}

/// One device a part under "single", else the strategy's ranks.
inline hp::strategy_value strategy_of_parts(const char* name, int ranks) {
  return hp::strategy_called(name, ranks).strategy;
}

inline hp::pipelined_program piped(const piped_shape& s, const char* strategy = "single", int ranks = 1, int layers = 0,
                                   const char* recomputed = nullptr) {
  const hp::graph g = piped_graph(layers > 0 ? layers : s.shape.stages(), s.shape.micro_batches, recomputed);
  return hp::partition(
      g, strategy_of_parts(strategy, ranks),
      hp::pipeline_value{
          .schedule = s.schedule, .ranks = s.shape.ranks, .chunks = s.shape.chunks, .accumulates_in_any_order = true});
}

}  // namespace programs
