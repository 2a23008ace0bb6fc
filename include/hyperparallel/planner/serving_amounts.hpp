// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a device of one stage holds and does when a decoder is served: parameters, cache of keys and values, operations.
//
//   const hp::serving_amounts a = hp::serving_amounts_of(llama3, plan, 0);
//   hp::serving_memory_of(a, plan, 32768).peak()
//
// A token leaves in the cache of each layer a key and a value of each key head that the device has, or a latent and a
// rotary key; a layer of linear attention keeps the f32 state of each head that the device has and the last tokens of its convolutions, in
// 16 bits, for each sequence; a layer with a window keeps the window's tokens. Layers whose cache lies in DRAM have two buffers in HBM:
// one is read, the next layer's comes in. Activations are those of one pass in 16 bits, as an estimate: the residual
// stream twice, and the widest of what attention and feed-forward layers pass on; and f32 logits of a token of each
// sequence.
//
// Laws: on one device the parameters are `parameters_of`, over all stages, and their bits as many times `weight_bits` or what
// `weights` has of them (weight_storage.hpp); memory does not fall with the context, nor
// does HBM rise with the layers that are offloaded. What leaves 64 bits is `not_counted`. Units: elements, bytes,
// operations.

#include <hyperparallel/planner/counted_amounts.hpp>
#include <hyperparallel/planner/serving_plan.hpp>
#include <hyperparallel/support/growing_array.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Of one device of a stage. Elements but where it says otherwise.
struct serving_amounts {
  extent_t layers = 0, full_layers = 0, windowed_layers = 0, linear_layers = 0,
           sparse_layers = 0;      ///< full: of attention to all
  extent_t window = 0;             ///< tokens
  extent_t blocks = 0;             ///< parameters of the layers without routed experts, and of the last norm
  extent_t expert_parameters = 0;  ///< of one routed expert of each layer that has them
  extent_t experts = 0;            ///< that the device has of each such layer
  extent_t top_k = 0;
  extent_t expert_row = 0;  ///< width of what a routed expert reads and gives
  extent_t tables = 0;      ///< of embedding, positions and head
  extent_t head = 0;        ///< of a head: what multiplies hidden vectors
  /// Bits of `blocks`, of `expert_parameters`, of `tables` and of `head` as they are stored, with scales.
  extent_t block_bits = 0, expert_bits = 0, table_bits = 0, head_bits = 0;
  extent_t cached = 0;              ///< of a token in a layer
  extent_t prefill_operations = 0;  ///< of attention, for a token, a cached one and a layer
  extent_t decode_operations = 0;   ///< the same; latents are attended to as they lie in the cache
  extent_t state_bytes = 0;         ///< of a sequence in a layer of linear attention
  extent_t state_operations = 0;    ///< of a token in one
  extent_t hidden = 0, vocabulary = 0;
  extent_t widest = 0;         ///< elements of a token inside a layer
  bool one_reduction = false;  ///< of a layer over tp: its branches are side by side

  constexpr extent_t parameters() const {
    return counted_sum(counted_product(experts, expert_parameters), blocks, tables);
  }
  constexpr extent_t weight_bits() const {
    return counted_sum(counted_product(experts, expert_bits), block_bits, table_bits);
  }
  /// That have keys and values in a cache.
  constexpr extent_t cached_layers() const { return full_layers + windowed_layers; }
  /// Tokens that a layer with a window has in its cache.
  constexpr extent_t windowed(extent_t tokens) const { return smaller(tokens, window); }
};

namespace detail {

/// Bits of the parameters that are counted, all of `bits`, and those of `first` to `end` as `p.weights` has their maps.
constexpr void count_bits(serving_amounts& a, const decoder& d, const decoder& share, const serving_plan& p,
                          const stage_layers& range, bool first, bool last) {
  const weight_storage& w = p.weights;
  const int bits = w.empty() ? p.weight_bits : w.kept_bits;
  extent_t converted = 0, converted_of_expert = 0, more = 0, more_of_expert = 0;
  if (!w.empty())
    for (extent_t layer = range.first; layer < range.end; ++layer)
      visit_maps(share, layer, [&](weight_map map, extent_t outputs, extent_t inputs) {
        const weight_format* f = w.format_of(map, layer, d.layers);
        if (f == nullptr) return;
        const bool routed = map >= weight_map::expert_gate && map <= weight_map::expert_down;
        (routed ? converted_of_expert : converted) += outputs * inputs;
        extent_t& sum = routed ? more_of_expert : more;
        sum = counted_sum(sum, f->bits_of(outputs, inputs));
      });
  a.block_bits = counted_sum(counted_product(a.blocks - converted, bits), more);
  a.expert_bits = counted_sum(counted_product(a.expert_parameters - converted_of_expert, bits), more_of_expert);
  const auto table = [&](weight_map map) {
    if (w.empty()) return counted_product(share.vocabulary * d.hidden, bits);
    return w.bits_of(map, 0, d.layers, share.vocabulary, d.hidden);
  };
  a.head_bits = last ? table(d.tied ? weight_map::embedding : weight_map::head) : 0;
  if (first) a.table_bits = counted_sum(table(weight_map::embedding), counted_product(d.positions * d.hidden, bits));
  if (last && !(d.tied && first)) a.table_bits = counted_sum(a.table_bits, a.head_bits);
}

}  // namespace detail

/// Precondition: the plan can be; parameters fit; `p.weights` is empty or of this decoder. O(layers).
constexpr serving_amounts serving_amounts_of(const decoder& d, const serving_plan& p, int stage) {
  const decoder share = share_of(d, p);
  const stage_layers range = detail::layers_of_stage(d, p, stage);
  detail::decoder_counter<extent_t> counter{share, 1};
  serving_amounts a;
  bool dense = false;
  for (extent_t layer = range.first; layer < range.end; ++layer) {
    counter.count_layer(layer);
    ++a.layers;
    a.full_layers += d.is_full(layer) ? 1 : 0;
    a.windowed_layers += d.is_windowed(layer) ? 1 : 0;
    dense = dense || d.is_dense(layer);
    a.linear_layers += d.is_linear(layer) ? 1 : 0;
    a.sparse_layers += d.is_sparse(layer) ? 1 : 0;
  }
  const bool first = stage == 0, last = stage + 1 == p.pp;
  const extent_t table = share.vocabulary * d.hidden;
  a.window = d.attention.window;
  a.expert_parameters = counter.sum.experts;
  a.blocks = counter.sum.total() - counter.sum.experts + (last ? parameters_of(d.norm, d.hidden) : 0);
  a.experts = d.has_experts ? d.experts.experts / p.ep : 0;
  a.top_k = d.has_experts ? d.experts.top_k : 0;
  a.expert_row = d.experts.row_width(d.hidden);
  a.head = last ? table : 0;
  a.tables = (first ? table + d.positions * d.hidden : 0) + (last && !(d.tied && first) ? table : 0);
  detail::count_bits(a, d, share, p, range, first, last);
  a.hidden = d.hidden;
  a.vocabulary = share.vocabulary;
  a.one_reduction = d.side_by_side || d.branch_count() == d.layers;
  const latent_attention_layer& l = share.latent_attention;
  const extent_t query = share.attention.query_heads * d.attention.head_dim,
                 key = share.attention.key_heads * d.attention.head_dim;
  a.cached = d.has_latents ? l.key_value_rank + l.rope_dim : 2 * key;
  a.prefill_operations = d.has_latents ? 2 * l.heads * (l.head_dim + l.rope_dim + l.value_dim) : 4 * query;
  a.decode_operations = d.has_latents ? 2 * l.heads * (2 * l.key_value_rank + l.rope_dim) : 4 * query;
  a.widest = d.has_latents ? 2 * l.heads * (l.head_dim + l.rope_dim + l.value_dim) : 2 * query + 2 * key;
  if (a.linear_layers > 0) {
    const linear_attention_layer& s = share.linear;
    a.state_bytes = 4 * s.values() * s.key_dim + 2 * (2 * s.keys() + s.values()) * (s.taps - 1);
    a.state_operations = (s.is_delta() ? 6 : 4) * s.values() * s.key_dim;
    a.widest = larger(a.widest, 4 * (s.keys() + s.values()));
  }
  if (dense) a.widest = larger(a.widest, (is_gated(d.form) ? 3 : 2) * share.feed_forward.width);
  if (a.sparse_layers > 0)
    a.widest = larger(
        a.widest, d.experts.top_k * (d.experts.row_width(d.hidden) + (d.experts.gated ? 3 : 2) * share.experts.width) +
                      (d.experts.gated ? 3 : 2) * share.experts.shared_width);
  return a;
}

namespace detail {

/// Of the stages, in order: one device of each. What a plan says beside its degrees and weights does not bear on them. O(layers).
constexpr growing_array<serving_amounts> amounts_of_stages(const decoder& d, const serving_plan& p) {
  growing_array<serving_amounts> stages;
  stages.reserve(p.pp);
  for (int stage = 0; stage < p.pp; ++stage) stages.push(serving_amounts_of(d, p, stage));
  return stages;
}

}  // namespace detail

/// Layers of a stage whose cache lies in DRAM.
struct offloaded_layers {
  extent_t full = 0, windowed = 0;
  constexpr extent_t count() const { return full + windowed; }
};
namespace detail {

constexpr offloaded_layers offloaded_of(const serving_amounts& a, const serving_plan& p) {
  const extent_t full = smaller(p.offloaded_layers, a.full_layers);
  return {full, smaller(p.offloaded_layers - full, a.windowed_layers)};
}

}  // namespace detail

/// Bytes of a device.
struct serving_memory {
  extent_t weights = 0;
  extent_t cache = 0;        ///< in HBM
  extent_t buffers = 0;      ///< of cache that comes from DRAM
  extent_t activations = 0;  ///< of one pass
  extent_t offloaded = 0;    ///< cache in DRAM
  /// In HBM.
  constexpr extent_t peak() const { return counted_sum(weights, cache, buffers, activations); }
  friend constexpr bool operator==(const serving_memory&, const serving_memory&) = default;
};

/// Where every sequence has `context` tokens. O(1).
constexpr serving_memory serving_memory_of(const serving_amounts& a, const serving_plan& p, extent_t context) {
  const extent_t token = bytes_of_bits(a.cached, p.cache_bits), sequences = p.sequences();
  const extent_t of_full = counted_product(token, context), of_windowed = counted_product(token, a.windowed(context));
  const offloaded_layers off = detail::offloaded_of(a, p);
  const auto cache_of = [&](extent_t full, extent_t windowed, extent_t many) {
    return counted_product(counted_sum(counted_product(full, of_full), counted_product(windowed, of_windowed)), many);
  };
  serving_memory m;
  m.weights = bytes_of_bits(a.weight_bits(), 1);
  m.cache = counted_sum(cache_of(a.full_layers - off.full, a.windowed_layers - off.windowed, sequences),
                        counted_product(a.linear_layers, a.state_bytes, sequences));
  m.offloaded = cache_of(off.full, off.windowed, sequences);
  const extent_t buffers = smaller(off.count(), 2), full_buffers = smaller(off.full, buffers);
  m.buffers = cache_of(full_buffers, buffers - full_buffers, p.sequences_at_once());
  const extent_t tokens = larger(smaller(p.chunk, context), p.sequences_at_once());
  m.activations = counted_product(2, tokens, counted_sum(2 * a.hidden, a.widest));
  if (a.head > 0) m.activations = counted_sum(m.activations, counted_product(4, p.sequences_at_once(), a.vocabulary));
  return m;
}

}}  // namespace hyperparallel::v0_2
