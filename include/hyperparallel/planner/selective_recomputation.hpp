// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which results of a decoder's layers are kept where the rest is computed again: torchtitan's selective checkpoints by operator.
//
//   recompute(g, "*layers*", hp::selectively_kept(llama3, reduces_scattered));
//
// Each layer is a checkpoint. Kept are, beside its input, what attention gives, with its one number a head and row; of the products with
// a weight of their own every other one in the order of a layer, the first first (query, value, gate and down of Llama's blocks: key, output and up
// are computed again); and, where tensor parallelism scatters sums of its ranks along sequences, these sums. Products with a bias, grouped
// products of experts and whatever is no product are computed again. Of latents the two parts of a product are one: queries and what is
// rotated of them, the latent and the key that is rotated, keys and values from the latent.
// Source: the save list and the policy of torchtitan (parallelisms/parallelize_llama.py, later distributed/activation_checkpoint.py):
// aten.mm but every second call, scaled_dot_product_attention, reduce_scatter_tensor, the max of float8 scales.
//
// Law: every pattern is of an operator of the decoder's graph, each once. O(1).

#include <hyperparallel/graph/recomputation.hpp>
#include <hyperparallel/layers/decoder.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// Counts products of a layer, and lists every other one.
struct product_counter {
  spared_patterns& list;
  int count = 0;

  constexpr bool is_kept() { return count++ % 2 == 0; }
  /// A product in one part or two. One with a bias is not counted.
  constexpr void product(bool biased, const char* name, const char* other = nullptr) {
    if (biased || !is_kept()) return;
    list.push(short_text(name));
    if (other != nullptr) list.push(short_text(other));
  }
};

constexpr void count_linear_attention(product_counter& c, const linear_attention_layer& a, bool scattered) {
  for (const char* name :
       {"*.linear_attention.query", "*.linear_attention.key", "*.linear_attention.value", "*.linear_attention.gate"})
    c.product(false, name);
  if (a.is_delta()) c.product(false, "*.linear_attention.strength");
  if (c.is_kept() || scattered) c.list.push(short_text("*.linear_attention.output"));
}
constexpr void count_attention(product_counter& c, const decoder& d, bool scattered) {
  bool output_bias = false;
  if (d.has_latents) {
    const latent_attention_layer& a = d.latent_attention;
    output_bias = a.bias;
    if (a.query_rank > 0) c.product(a.bias, "*.attention.query_down");
    c.product(false, "*.attention.query_up", "*.attention.query_rope");
    c.product(a.bias, "*.attention.key_value_down", "*.attention.key_rope");
    c.product(false, "*.attention.key_up", "*.attention.value_up");
  } else {
    const attention_layer& a = d.attention;
    output_bias = a.output_bias;
    for (const char* name : {"*.attention.query", "*.attention.key", "*.attention.value"})
      c.product(a.query_key_value_bias, name);
    if (a.output_gate) c.product(false, "*.attention.gate");
  }
  const bool counted = !output_bias && c.is_kept();
  if (counted || scattered) c.list.push(short_text("*.attention.output"));
}

}  // namespace detail

/// `scattered`: tensor parallelism scatters sums along sequences.
constexpr spared_patterns selectively_kept(const decoder& d, bool scattered) {
  spared_patterns list;
  list.push(short_text("*.attention.attend"));
  detail::product_counter attention{list};
  detail::count_attention(attention, d, scattered);
  if (d.has_linear) {  // which of the products behind them are kept, layers of full attention say
    detail::product_counter linear{list};
    detail::count_linear_attention(linear, d.linear, scattered);
  }
  bool dense = false, sparse = false;
  for (extent_t layer = 0; layer < d.layers; ++layer) {
    dense = dense || d.is_dense(layer);
    sparse = sparse || d.is_sparse(layer);
  }
  // What the last product of a block gives, no backward operator reads: that it is kept costs nothing here.
  if (dense) {
    detail::product_counter c{list, attention.count};
    if (is_gated(d.form)) c.product(d.feed_forward.bias, "*.feed_forward.gate");
    c.product(d.feed_forward.bias, "*.feed_forward.up");
    c.product(d.feed_forward.bias, "*.feed_forward.down");
  }
  if (sparse) {
    detail::product_counter c{list, attention.count};
    c.product(d.experts.bias, "*.moe.router");
    if (d.experts.latent > 0)
      for (const char* name : {"*.moe.latent_down", "*.moe.latent_up"}) c.product(false, name);
    if (d.experts.shared_width > 0) {
      if (d.experts.gated) c.product(false, "*.moe.shared.gate");
      for (const char* name : {"*.moe.shared.up", "*.moe.shared.down"}) c.product(false, name);
    }
  }
  return list;
}

}}  // namespace hyperparallel::v0_2
