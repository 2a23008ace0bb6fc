// SPDX-License-Identifier: Apache-2.0
#pragma once
// How the weights of a decoder's linear maps are stored: which in which format, with the scales of its blocks.
//
//   constexpr hp::weight_format fp8{.bits = 8, .block_outputs = 128, .block_inputs = 128, .block_bits = 32};
//   fp8.bits_of(7168, 2048)                      bits of a map of 2048 inputs to 7168 outputs
//   hp::visit_maps(share, layer, visit)          visit(map, outputs, inputs): the maps of a layer; of routed experts one's
//
// Norms, biases, routers, sinks and tables of positions have no format: they are never converted. Laws: the maps of a layer
// are its parameters but for these (and all routed experts but one); a map of format 0 has `kept_bits` an element.
// Units: bits. Domain: a layer's maps as `layers/decoder.hpp` builds them.

#include <hyperparallel/layers/decoder.hpp>
#include <hyperparallel/planner/counted_amounts.hpp>
#include <hyperparallel/support/growing_array.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Linear maps, first those of a layer. The latent ones go from hidden vectors into latents and out of them.
enum class weight_map : unsigned char {
  query,
  key,
  value,
  output,  // of attention; with latents output and perhaps query
  query_into_latent,
  query_from_latent,
  into_latent,
  from_latent,  // of attention with latents
  states_in,
  states_gate,
  states_strength,
  states_decay,
  states_out,  // of linear attention: queries, keys and values are one map, as checkpoints have them
  gate,
  up,
  down,  // of a layer without experts
  expert_gate,
  expert_up,
  expert_down,  // of a routed expert
  shared_gate,
  shared_up,
  shared_down,  // of all shared experts
  into_expert_latent,
  from_expert_latent,  // what routed experts read and give
  embedding,
  head
};
namespace detail {

inline constexpr int layer_map_count = 24;

}  // namespace detail

/// A number format and what blocks of a map have beside their elements.
struct weight_format {
  int bits = 16;               ///< of an element
  extent_t block_outputs = 1;  ///< that share a scale; 0: all of the map
  extent_t block_inputs = 0;   ///< that share a scale; 0: all of the map
  int block_bits = 0;          ///< of scale and zero point of a block
  int input_bits = 0;          ///< of each input of a map, as an order of groups
  int map_bits = 0;            ///< of a map, as a scale of all of it
  friend constexpr bool operator==(const weight_format&, const weight_format&) = default;

  constexpr extent_t bits_of(extent_t outputs, extent_t inputs) const {
    if (outputs == 0 || inputs == 0) return 0;
    const extent_t blocks = counted_product(block_outputs > 0 ? ceil_divide(outputs, block_outputs) : 1,
                                            block_inputs > 0 ? ceil_divide(inputs, block_inputs) : 1);
    return counted_sum(counted_product(outputs, inputs, bits), counted_product(blocks, block_bits),
                       counted_product(inputs, input_bits), map_bits);
  }
};

/// Of all maps. Empty where every parameter has as many bits as a plan says. Invariant: what is not empty has an entry for
/// each map of each layer, then of embedding and head: 0 for a map that is not converted, else the number of its format, from 1.
struct weight_storage {
  int kept_bits = 16;  ///< of what is not converted
  growing_array<weight_format> format{};
  growing_array<unsigned char> number{};
  friend constexpr bool operator==(const weight_storage&, const weight_storage&) = default;

  constexpr bool empty() const { return number.empty(); }
  static constexpr int place_of(weight_map map, extent_t layer, extent_t layers) {
    const int m = static_cast<int>(map);
    return m < detail::layer_map_count
               ? static_cast<int>(layer) * detail::layer_map_count + m
               : static_cast<int>(layers) * detail::layer_map_count + m - detail::layer_map_count;
  }
  /// The format of a map, or null where it is not converted. Precondition: not empty.
  constexpr const weight_format* format_of(weight_map map, extent_t layer, extent_t layers) const {
    const int n = number[place_of(map, layer, layers)];
    return n == 0 ? nullptr : &format[n - 1];
  }
  constexpr extent_t bits_of(weight_map map, extent_t layer, extent_t layers, extent_t outputs, extent_t inputs) const {
    const weight_format* f = format_of(map, layer, layers);
    return f == nullptr ? counted_product(outputs, inputs, kept_bits) : f->bits_of(outputs, inputs);
  }
};

/// Calls `visit(map, outputs, inputs)` for the maps of layer `layer`; of routed experts for those of one. O(1).
template <class Visit>
constexpr void visit_maps(const decoder& d, extent_t layer, const Visit& visit) {
  const extent_t hidden = d.hidden;
  if (d.is_linear(layer)) {
    const linear_attention_layer& a = d.linear;
    visit(weight_map::states_in, 2 * a.keys() + a.values(), hidden);
    visit(weight_map::states_gate, a.values(), hidden);
    if (a.is_delta()) visit(weight_map::states_strength, a.value_heads, hidden);
    visit(weight_map::states_decay, a.value_heads, hidden);
    visit(weight_map::states_out, hidden, a.values());
  } else if (d.has_attention(layer) && d.has_latents) {
    const latent_attention_layer& a = d.latent_attention;
    const extent_t query = a.heads * (a.head_dim + a.rope_dim);
    if (a.query_rank > 0) {
      visit(weight_map::query_into_latent, a.query_rank, hidden);
      visit(weight_map::query_from_latent, query, a.query_rank);
    } else {
      visit(weight_map::query, query, hidden);
    }
    visit(weight_map::into_latent, a.key_value_rank + a.rope_dim, hidden);
    visit(weight_map::from_latent, a.heads * (a.head_dim + a.value_dim), a.key_value_rank);
    visit(weight_map::output, hidden, a.heads * a.value_dim);
  } else if (d.has_attention(layer)) {
    const attention_layer& a = d.attention;
    const extent_t query = a.query_heads * a.head_dim, key = a.key_heads * a.head_dim;
    visit(weight_map::query, a.output_gate ? 2 * query : query, hidden);
    visit(weight_map::key, key, hidden);
    visit(weight_map::value, key, hidden);
    visit(weight_map::output, hidden, query);
  }
  const auto fed = [&](weight_map first, extent_t width, bool gated, extent_t row) {
    const int m = static_cast<int>(first);
    if (gated) visit(first, width, row);
    visit(static_cast<weight_map>(m + 1), width, row);
    visit(static_cast<weight_map>(m + 2), row, width);
  };
  if (d.is_dense(layer)) return fed(weight_map::gate, d.feed_forward.width, is_gated(d.form), hidden);
  if (!d.is_sparse(layer)) return;
  const mixture_of_experts& e = d.experts;
  if (e.latent > 0) {
    visit(weight_map::into_expert_latent, e.latent, hidden);
    visit(weight_map::from_expert_latent, hidden, e.latent);
  }
  fed(weight_map::expert_gate, e.width, e.gated, e.row_width(hidden));
  if (e.shared_width > 0) fed(weight_map::shared_gate, e.shared_width, e.gated, hidden);
}

}}  // namespace hyperparallel::v0_2
