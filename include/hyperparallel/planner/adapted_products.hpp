// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which products of a decoder's layers have adapters where these alone are trained.
//
//   adapt(g, hp::adapted_of(llama3, hp::adapted_products::all), 16);
//
// `all` are the linear maps of attention, of dense feed-forward layers and of shared experts, as NeMo AutoModel's match_all_linear and PEFT's
// "all-linear" have them; `attention_inputs` queries, keys and values, as Megatron-Bridge's recipes of large Llamas have linear_qkv. Routers, routed
// experts, embedding and head have none.
//
// Law: every pattern names a product of the decoder's graph. O(layers).

#include <hyperparallel/graph/adapters.hpp>
#include <hyperparallel/layers/decoder.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Products of layers that have adapters: all linear ones but routers and routed experts, or those of queries, keys and values.
enum class adapted_products : unsigned char { all, attention_inputs };

/// Patterns of the products that have adapters.
constexpr adapted_patterns adapted_of(const decoder& d, adapted_products which) {
  adapted_patterns list;
  if (which == adapted_products::attention_inputs) {
    for (const char* name : {"*.attention.query*", "*.attention.key*", "*.attention.value*"})
      list.push(short_text(name));
    if (d.has_linear)
      for (const char* name : {"*.linear_attention.query", "*.linear_attention.key", "*.linear_attention.value"})
        list.push(short_text(name));
    return list;
  }
  bool dense = false, sparse = false;
  for (extent_t layer = 0; layer < d.layers; ++layer) {
    dense = dense || d.is_dense(layer);
    sparse = sparse || d.is_sparse(layer);
  }
  bool attends = false;
  for (extent_t layer = 0; layer < d.layers; ++layer)
    attends = attends || (d.has_attention(layer) && !d.is_linear(layer));
  if (attends) list.push(short_text("*.attention.*"));
  if (d.has_linear) {
    for (const char* name : {"*.linear_attention.query", "*.linear_attention.key", "*.linear_attention.value",
                             "*.linear_attention.gate", "*.linear_attention.decay", "*.linear_attention.output"})
      list.push(short_text(name));
    if (d.linear.is_delta()) list.push(short_text("*.linear_attention.strength"));
  }
  if (dense) list.push(short_text("*.feed_forward.*"));
  if (sparse && d.experts.shared_width > 0) list.push(short_text("*.moe.shared.*"));
  return list;
}

}}  // namespace hyperparallel::v0_2
