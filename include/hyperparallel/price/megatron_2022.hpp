// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory of the first stage of a pipeline by the convention of Korthikanti et al., "Reducing activation recomputation in
// large transformer models", 2205.05198: closed forms of a GPT's sizes and the degrees.
//
//   constexpr hp::memory_by_part m = hp::megatron_2022({.layers = 48, .hidden = 6144, .heads = 64},
//                                                      {.micro_batch = 4, .sequence = 2048, .tp = 8});
//   static_assert(m.activations() * 4 == 237 * hp::GiB);            59.25 GiB
//
// Of a layer, with s tokens, b sequences, a heads, width h, t = tp, in bytes:
//
//   input of attention, of feed-forward layers, masks of dropout   2 sbh each      whole on each device, or over t with
//   inputs of the two norms                                        4 sbh           sequence parallelism
//   queries and keys   4 sbh / t      values, input of the projection   2 sbh / t each      inside feed-forward   16 sbh / t
//   scores of attention: softmax, its mask and what the mask leaves     5 a s^2 b / t      not kept under selective recomputation
//   under full recomputation the layer's input alone                    2 sbh
//
// The first stage of 1F1B holds p micro-batches of layers / p layers; v chunks a device hold 1 + (p - 1) / (p v) as much.
// Parameters are the 12 h^2 of a layer's matrices, 4 of attention, 8 of feed-forward: 2 bytes each, 4 of gradient, 12 of
// Adam with a master copy, over t and p. Norms, biases, embedding, head and data parallelism are not in the convention.
// Law: a part that is no whole number of bytes is rounded up. Units: bytes. O(1).

#include <cstddef>

#include <hyperparallel/lowering/memory_part.hpp>
#include <hyperparallel/support/array_bound.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// A GPT whose feed-forward layers are four times as wide as its hidden vectors. Invariant: sizes are positive.
struct megatron_model {
  extent_t layers = 1, hidden = 1, heads = 1;
};

enum class megatron_recomputation : unsigned char { off, selective, full };

/// Invariant: numbers are positive.
struct megatron_plan {
  extent_t micro_batch = 1;  ///< sequences
  extent_t sequence = 1;     ///< tokens
  extent_t tp = 1, pp = 1;
  extent_t chunks = 1;  ///< of a device, in an interleaved schedule
  bool sequence_parallel = false;
  megatron_recomputation recomputation = megatron_recomputation::off;
};

namespace detail {

/// Factors of a fraction, multiplied only once they are reduced.
template <int Above, int Below>
struct reduced_fraction {
  extent_t above[array_bound(Above)];
  extent_t below[array_bound(Below)];

  /// Rounded up; `not_counted` beyond 64 bits.
  constexpr extent_t rounded_up() {
    for (extent_t& a : above)
      for (extent_t& b : below) {
        const extent_t common = greatest_common_divisor(a, b);
        a /= common;
        b /= common;
      }
    const checked_extent numerator = product(above), denominator = product(below);
    if (numerator.overflow || denominator.overflow) return not_counted;
    return ceil_divide(numerator.value, denominator.value);
  }

 private:
  template <std::size_t N>
  static constexpr checked_extent product(const extent_t (&factors)[N]) {
    checked_extent all{1, false};
    for (const extent_t f : factors) {
      const bool overflowed = all.overflow;
      all = checked_multiply(all.value, f);
      all.overflow = all.overflow || overflowed;
    }
    return all;
  }
};

}  // namespace detail

/// By part; parts that the convention does not have are 0. A part beyond 64 bits is `not_counted`.
constexpr memory_by_part megatron_2022(const megatron_model& m, const megatron_plan& p) {
  using part = memory_part;
  memory_by_part out;
  const auto matrices = [&](part parameters, part gradients, part states, extent_t squares) {
    const auto bytes = [&](extent_t each) {
      return detail::reduced_fraction<5, 2>{{each, squares, m.layers, m.hidden, m.hidden}, {p.tp, p.pp}}.rounded_up();
    };
    out.of(parameters) = bytes(2);
    out.of(gradients) = bytes(4);
    out.of(states) = bytes(12);
  };
  matrices(part::attention_parameters, part::attention_gradients, part::attention_states, 4);
  matrices(part::feed_forward_parameters, part::feed_forward_gradients, part::feed_forward_states, 8);

  // Chunks: layers · (1 + (p - 1) / (p v)) are held.
  const bool interleaved = p.pp > 1 && p.chunks > 1;
  const extent_t held = interleaved ? p.pp * p.chunks + p.pp - 1 : 1, of = interleaved ? p.pp * p.chunks : 1;
  const auto kept = [&](extent_t each, extent_t width, bool cut) {
    return detail::reduced_fraction<6, 2>{{each, p.sequence, p.micro_batch, width, m.layers, held},
                                          {of, cut ? p.tp : 1}}
        .rounded_up();
  };
  if (p.recomputation == megatron_recomputation::full) {
    out.of(part::norm_inputs) = kept(2, m.hidden, false);
    return out;
  }
  out.of(part::norm_inputs) = kept(4, m.hidden, p.sequence_parallel);
  out.of(part::attention_input) = out.of(part::feed_forward_input) = out.of(part::dropout_masks) =
      kept(2, m.hidden, p.sequence_parallel);
  out.of(part::queries_and_keys) = kept(4, m.hidden, true);
  out.of(part::values) = out.of(part::projection_input) = kept(2, m.hidden, true);
  out.of(part::feed_forward_inner) = kept(16, m.hidden, true);
  if (p.recomputation == megatron_recomputation::off)
    out.of(part::attention_scores) = detail::reduced_fraction<7, 2>{
        {5, m.heads, p.sequence, p.sequence, p.micro_batch, m.layers, held},
        {of, p.tp}}.rounded_up();
  return out;
}

}}  // namespace hyperparallel::v0_2
