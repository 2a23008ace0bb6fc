// SPDX-License-Identifier: Apache-2.0
#pragma once
// Small models, devices and topologies that strategy search is tried on.

#include <hyperparallel/graph/gradient.hpp>
#include <hyperparallel/graph/optimizer.hpp>
#include <hyperparallel/graph/recomputation.hpp>
#include <hyperparallel/hardware/presets.hpp>
#include <hyperparallel/layers.hpp>
#include <hyperparallel/strategy/partition.hpp>

#include <random>

namespace searched {

namespace hp = hyperparallel;

/// A language model of one or two stacks, dense and with experts.
struct small_model {
  hp::extent_t layers = 2, wide_layers = 0;
  hp::extent_t batch = 8, sequence = 8, hidden = 16, ffn = 32, vocabulary = 32;
  hp::extent_t key_heads = 4, group = 1, head_dim = 4, experts = 0;
  int micro_batches = 1;
  bool unrolled = false, recomputed = false;
  bool latent = false;  ///< attention with latents, of key_heads · group heads

  // Before its user: clang evaluates constants only with what it has seen.
  template <class Attention>
  constexpr int stacks(hp::model_builder& m, int x, const Attention& attention) const {
    if (layers > 0)
      x = m.repeat("layers", layers, x, hp::transformer_block<Attention, hp::swiglu_layer>{attention, {.width = ffn}});
    if (wide_layers > 0)
      x = m.repeat("wide", wide_layers, x,
                   hp::transformer_block<Attention, hp::mixture_of_experts>{
                       attention, {.experts = experts, .top_k = 2, .width = ffn}});
    return x;
  }

  constexpr hp::graph build() const {
    hp::model_builder m(hp::build_options{hp::data_type::f32, hp::data_type::f32, unrolled});
    m.graph.micro_batches = micro_batches;
    const int b = m.dim("batch", batch), s = m.dim("seq", sequence);
    const int ids = m.index_input("ids", {b, s}), labels = m.index_input("labels", {b, s});
    int x = hp::token_embedding{.vocabulary = vocabulary, .hidden = hidden}(m, ids);
    const hp::extent_t heads = key_heads * group;
    x = latent ? stacks(m, x,
                        hp::latent_attention_layer{.heads = heads,
                                                   .head_dim = head_dim,
                                                   .rope_dim = 4,
                                                   .value_dim = head_dim,
                                                   .query_rank = 8,
                                                   .key_value_rank = 8})
               : stacks(m, x, hp::attention_layer{.query_heads = heads, .key_heads = key_heads, .head_dim = head_dim});
    hp::language_head{.vocabulary = vocabulary}(m, x, labels);
    hp::differentiate(m.graph);
    if (recomputed && layers > 0) hp::recompute(m.graph, "layers.*");
    if (recomputed && wide_layers > 0) hp::recompute(m.graph, "wide.*");
    hp::append_optimizer(m.graph, {});
    return static_cast<hp::graph&&>(m.graph);
  }
};

/// One of the numbers given.
template <class Random, class... Numbers>
hp::extent_t one_of(Random& random, Numbers... numbers) {
  const hp::extent_t list[] = {numbers...};
  return list[random() % sizeof...(numbers)];
}

inline small_model random_model(std::mt19937& random, bool with_experts) {
  small_model m;
  m.layers = one_of(random, 1, 2, 3, 7);
  m.batch = one_of(random, 4, 8, 16);
  m.sequence = one_of(random, 8, 16, 32);
  m.hidden = one_of(random, 16, 32, 64);
  m.ffn = one_of(random, 32, 64, 96);
  m.vocabulary = one_of(random, 32, 64, 160);
  m.key_heads = one_of(random, 1, 2, 4, 8);
  m.group = one_of(random, 1, 2, 4);
  m.head_dim = one_of(random, 4, 8);
  m.micro_batches = static_cast<int>(one_of(random, 1, 2, 4));
  m.recomputed = random() % 3 == 0;
  m.unrolled = m.layers <= 2 && random() % 4 == 0;
  if (with_experts) {
    m.wide_layers = m.layers;
    m.layers = 0;
    m.experts = one_of(random, 4, 8);
  }
  return m;
}

/// Dense layers, then layers with experts.
inline small_model random_two_stacks(std::mt19937& random) {
  small_model m = random_model(random, false);
  m.wide_layers = one_of(random, 1, 2, 5);
  m.experts = one_of(random, 4, 8);
  m.unrolled = false;
  m.latent = random() % 2 == 0;
  return m;
}

/// A small device whose work, bytes and latencies all weigh something.
inline hp::device_value random_device(std::mt19937& random) {
  hp::device_value d = hp::generic_host::device;
  for (std::int64_t& rate : d.matrix_flops) rate = one_of(random, 1, 10, 100) * hp::gigaflops;
  d.vector_flops = one_of(random, 1, 10) * hp::gigaflops;
  d.task_overhead = one_of(random, 10, 1000) * hp::nanosecond;
  return d;
}

inline hp::topology_value random_topology(std::mt19937& random) {
  hp::topology_value t;
  t.level_count = 2;
  t.level[0] = {"near", static_cast<int>(one_of(random, 2, 4)), one_of(random, 1, 4, 16) * hp::gigabyte,
                one_of(random, 1, 10) * hp::microsecond / 10};
  t.level[1] = {"far", hp::unbounded_group, one_of(random, 1, 4) * hp::gigabyte / 4,
                one_of(random, 1, 10) * hp::microsecond};
  // Small messages reach less of the faster of them.
  if (t.level[0].bandwidth > hp::gigabyte) {
    t.level[0].by_size[0] = {128, hp::per_mille(400)};
    t.level[0].by_size[1] = {4 * hp::KiB, hp::per_mille(900)};
  }
  return t;
}

}  // namespace searched
