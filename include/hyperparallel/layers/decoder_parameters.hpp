// SPDX-License-Identifier: Apache-2.0
#pragma once
// Parameters, active parameters and cached elements of a decoder, from its sizes alone.
//
//   static_assert(hp::parameters_of(llama3).total() == 8'030'261'248);
//
// Counted is what a checkpoint stores: a tied head once, biases of routers, which balance the load, with the router.
// A module of multi-token prediction is a block more, a projection of two hidden vectors to one, three norms, and, where the
// family stores them, copies of embedding and head. Sources: Llama, 2023; Qwen2 and Qwen3 technical reports; DeepSeek-V3, 2024, section 2.2; the totals
// that tests hold are those of the published checkpoints.

#include <hyperparallel/layers/decoder.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Elements of the parameters of a decoder, by part. `Number` is `double` where a total may leave 64 bits.
template <class Number = extent_t>
struct decoder_parameters {
  Number embedding = 0;
  Number positions = 0;       ///< learned ones
  Number attention = 0;       ///< projections and their biases, sinks
  Number feed_forward = 0;    ///< of layers without experts
  Number experts = 0;         ///< routed ones
  Number shared_experts = 0;  ///< with their gates, and with products into latents of routed ones and out of them
  Number router = 0;
  Number indexers = 0;    ///< of sparse attention, with their norms
  Number norms = 0;       ///< of blocks, queries, keys, latents and head
  Number head = 0;        ///< 0 where it is tied
  Number prediction = 0;  ///< modules of multi-token prediction, all of each

  /// Without multi-token prediction.
  constexpr Number total() const {
    return embedding + positions + attention + feed_forward + experts + shared_experts + router + indexers + norms +
           head;
  }
  constexpr Number total_with_prediction() const { return total() + prediction; }
  friend constexpr bool operator==(const decoder_parameters&, const decoder_parameters&) = default;
};

namespace detail {

/// Counts the parts of layers in elements of type `Number`.
template <class Number>
struct decoder_counter {
  const decoder& d;
  extent_t counted_experts;  ///< of the routed ones of a layer
  decoder_parameters<Number> sum{};

  static constexpr Number as(extent_t n) { return static_cast<Number>(n); }

  constexpr void count_grouped() {
    const attention_layer& a = d.attention;
    const Number query = as(a.query_heads) * as(a.head_dim), key = as(a.key_heads) * as(a.head_dim),
                 hidden = as(d.hidden);
    sum.attention += 2 * hidden * query + 2 * hidden * key;
    if (a.query_key_value_bias) sum.attention += query + 2 * key;
    if (a.output_bias) sum.attention += hidden;
    if (a.sinks) sum.attention += as(a.query_heads);
    if (a.output_gate) sum.attention += hidden * query;
    if (a.query_key_norm) sum.norms += a.norms_all_heads ? query + key : 2 * as(a.head_dim);
  }
  constexpr void count_latent() {
    const latent_attention_layer& a = d.latent_attention;
    const Number hidden = as(d.hidden), heads = as(a.heads), rank = as(a.query_rank), latent = as(a.key_value_rank);
    const Number query = heads * as(a.head_dim + a.rope_dim), cached = as(a.key_value_rank + a.rope_dim);
    sum.attention += (a.query_rank > 0 ? hidden * rank + rank * query : hidden * query) + hidden * cached +
                     latent * heads * as(a.head_dim + a.value_dim) + heads * as(a.value_dim) * hidden;
    if (a.bias) sum.attention += rank + cached + hidden;
    sum.norms += rank + latent;
  }
  /// Projections, taps, a decay and its bias of each head, a norm; of Mamba-2 biases of the convolutions and skips, too.
  constexpr void count_linear() {
    const linear_attention_layer& a = d.linear;
    const Number hidden = as(d.hidden), keys = 2 * as(a.key_heads) * as(a.key_dim), heads = as(a.value_heads),
                 values = heads * as(a.value_dim);
    sum.attention +=
        hidden * (keys + 3 * values + (a.is_delta() ? 2 : 1) * heads) + (keys + values) * as(a.taps) + 2 * heads;
    if (!a.is_delta()) sum.attention += keys + values + heads;
    sum.norms += a.is_delta() ? as(a.value_dim) : values;
  }
  /// Queries of the latent, one key with a layer norm, a weight of each head.
  constexpr void count_indexer() {
    const attention_indexer& i = d.indexer;
    const Number hidden = as(d.hidden),
                 source = d.latent_attention.query_rank > 0 ? as(d.latent_attention.query_rank) : hidden;
    sum.indexers +=
        source * as(i.heads) * as(i.head_dim) + hidden * as(i.head_dim) + 2 * as(i.head_dim) + hidden * as(i.heads);
  }
  constexpr void count_feed_forward(extent_t layer) {
    const Number hidden = as(d.hidden);
    if (d.is_dense(layer)) {
      const Number width = as(d.feed_forward.width), inputs = is_gated(d.form) ? 2 : 1;
      sum.feed_forward += (inputs + 1) * hidden * width + (d.feed_forward.bias ? inputs * width + hidden : Number{0});
      return;
    }
    if (!d.is_sparse(layer)) return;
    const mixture_of_experts& e = d.experts;
    const Number products = e.gated ? 3 : 2;
    const Number biases = e.bias ? 2 * as(e.width) + hidden : Number{0};
    sum.experts += as(counted_experts) * (products * as(e.row_width(d.hidden)) * as(e.width) + biases);
    sum.shared_experts += products * hidden * as(e.shared_width) + 2 * hidden * as(e.latent) +
                          (e.shared_gate && e.shared_width > 0 ? hidden : Number{0});
    const bool biased = e.bias || (e.scores == expert_scores::sigmoid && e.balanced_by_bias);
    sum.router += hidden * as(e.experts) + (biased ? as(e.experts) : Number{0});
  }
  /// A block with its norms.
  constexpr void count_layer(extent_t layer) {
    if (d.is_linear(layer))
      count_linear();
    else if (d.has_attention(layer) && d.has_latents)
      count_latent();
    else if (d.has_attention(layer))
      count_grouped();
    if (d.indexer.is_own(layer)) count_indexer();
    count_feed_forward(layer);
    sum.norms += (d.branch_norms ? 2 : 1) * (d.has_one_branch(layer) ? 1 : 2) * as(parameters_of(d.norm, d.hidden));
  }
};

template <class Number>
constexpr decoder_parameters<Number> count_decoder(const decoder& d, extent_t counted_experts) {
  decoder_counter<Number> c{d, counted_experts};
  const Number hidden = static_cast<Number>(d.hidden), table = static_cast<Number>(d.vocabulary) * hidden;
  for (extent_t layer = 0; layer < d.layers; ++layer) c.count_layer(layer);
  c.sum.embedding = table;
  c.sum.head = d.tied ? Number{0} : table;
  c.sum.positions = static_cast<Number>(d.positions) * hidden;
  c.sum.norms += static_cast<Number>(parameters_of(d.norm, d.hidden));
  for (extent_t module = 0; module < d.prediction_modules; ++module) {
    decoder_counter<Number> block{d, counted_experts};
    block.count_layer(d.layers + module);
    if (d.indexer.heads > 0 && !d.indexer.is_own(d.layers + module)) block.count_indexer();
    c.sum.prediction += block.sum.total() + 2 * hidden * hidden + 3 * hidden;
    if (d.prediction_has_tables) c.sum.prediction += c.sum.embedding + c.sum.head;
  }
  return c.sum;
}

}  // namespace detail

/// Whether all counts of a decoder of these sizes stay below 2^62. Domain: each size at most 2^24. O(layers).
constexpr bool parameters_fit(const decoder& d) {
  constexpr double most = 4611686018427387904.0;
  return detail::count_decoder<double>(d, d.experts.experts).total_with_prediction() < most;
}

/// All parameters, by part. Precondition: they fit. O(layers + modules of multi-token prediction).
constexpr decoder_parameters<> parameters_of(const decoder& d) {
  return detail::count_decoder<extent_t>(d, d.experts.experts);
}

/// Those that work for a token: of the routed experts `top_k`; embedding and head are counted whole. Precondition: they
/// fit.
constexpr decoder_parameters<> active_parameters_of(const decoder& d) {
  return detail::count_decoder<extent_t>(d, d.experts.top_k);
}

/// Elements that a token leaves in the cache of keys and values for those behind it, over all layers and without regard
/// to windows: of each layer a key and a value of each key head, or a latent and a rotary key, with the key of an indexer.
/// Linear attention leaves none. O(layers).
constexpr extent_t cached_elements_per_token(const decoder& d) {
  const extent_t each = d.has_latents ? d.latent_attention.key_value_rank + d.latent_attention.rope_dim
                                      : 2 * d.attention.key_heads * d.attention.head_dim;
  extent_t all = 0;
  for (extent_t layer = 0; layer < d.layers; ++layer)
    all += (d.is_full(layer) || d.is_windowed(layer) ? each : 0) + (d.indexer.is_own(layer) ? d.indexer.head_dim : 0);
  return all;
}

/// Elements that linear attention keeps of a sequence, however long it is: of each layer the states of its heads, and the tokens that the
/// taps of its convolutions still reach. O(layers).
constexpr extent_t state_elements_per_sequence(const decoder& d) {
  const linear_attention_layer& a = d.linear;
  extent_t all = 0;
  for (extent_t layer = 0; layer < d.layers; ++layer)
    if (d.is_linear(layer)) all += a.values() * a.key_dim + (2 * a.keys() + a.values()) * (a.taps - 1);
  return all;
}

}}  // namespace hyperparallel::v0_2
