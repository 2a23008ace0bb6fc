// SPDX-License-Identifier: Apache-2.0
#pragma once
// Time that a rank computes for a token of every sequence, and for prompts, with the kernels of a stack.
//
//   const hp::stack_serving_time t = hp::stack_decode_time(decoder, tp, sequences, context, hp::h100::device);
//   t.device, t.eager, t.kernels
//   hp::stack_prefill_time(decoder, tp, sequences, tokens, hp::h100::device)
//
// Decoding reads weights and cache once, and each of its kernels has its edges: queries, keys and values are one product, gate and width another;
// a layer has two norms, two rotations of five passes, what is written to the cache, attention, two sums and an activation of two passes.
// `device` is the time where one graph launches all kernels; `eager` where the host launches them one by one (stack_host). A prompt
// runs the eager forward pass of stack_kernels.hpp; only its last token goes through the head. Waiting for links is not in it.
//
// Laws: never below weights and cache by the data sheet's bandwidth; more layers, sequences or tokens take no less. O(1).

#include <hyperparallel/planner/stack_time.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct stack_serving_time {
  cost_code code = cost_code::ok;
  bool measured = false;
  extent_t device = 0, eager = 0, kernels = 0;
  constexpr bool ok() const { return code == cost_code::ok; }
  friend constexpr bool operator==(const stack_serving_time&, const stack_serving_time&) = default;
};

/// Whether decoders of this kind are served by these kernels: those that a stack walks on one device, without experts.
constexpr bool has_serving_kernels(const decoder& d, int tp) {
  decoder_plan one{.batch = 1, .sequence = 1};
  return !d.has_experts && check_stack(d, one, *find_stack("transformers")) == stack_code::ok && tp > 0 &&
         d.attention.query_heads % tp == 0 && (d.attention.key_heads % tp == 0 || tp % d.attention.key_heads == 0) &&
         d.feed_forward.width % tp == 0;
}

namespace detail {

constexpr stack_sizes serving_sizes(const decoder& d, int tp, extent_t sequences, extent_t tokens) {
  stack_sizes s(d, {.batch = sequences, .sequence = tokens}, *find_stack("fsdp2"));
  s.query /= tp;
  s.heads /= tp;
  s.key_heads = larger(s.key_heads / tp, extent_t{1});
  s.key = s.key_heads * s.head_dim;
  s.width /= tp;
  s.vocabulary = ceil_divide(s.vocabulary, extent_t{tp});
  return s;
}

/// A step of `layers` lists like `layer`, and the head.
constexpr stack_serving_time serving_time(const stack_sizes& s, const stack_time_sums& layer,
                                          const stack_time_sums& head, bool measured) {
  stack_time_sums all = head;
  all.add(layer, s.layers);
  const time_cost busy = all.busy(), launched = latencies(all.kernels, measured_host.kernel_of_inference);
  if (!busy.ok() || !launched.ok()) return {busy.ok() ? launched.code : busy.code};
  return {cost_code::ok, measured, busy.picoseconds, slower(busy, launched).picoseconds, all.kernels};
}

}  // namespace detail

/// A token for each of so many sequences of `context` tokens. Precondition: has_serving_kernels; sizes are at least 1.
constexpr stack_serving_time stack_decode_time(const decoder& d, int tp, extent_t sequences, extent_t context,
                                               const device_value& device) {
  const stack_sizes s = detail::serving_sizes(d, tp, sequences, 1);
  const operator_rates rates = detail::rates_of(device);
  stack_time_parts layer(rates, s), head(rates, s);
  const extent_t stream = s.tokens * s.hidden;
  for (int branch = 0; branch < 2; ++branch) {
    layer.pass(4 * stream);  // norm; rows of a few tokens lie in L2
    layer.pass(6 * stream);  // sum
  }
  layer.product(s.tokens, s.hidden, s.query + 2 * s.key, product_pass::forward);
  for (const extent_t columns : {s.query, s.key})
    for (const extent_t bytes : {4, 2, 4, 4, 6}) layer.pass(bytes * s.tokens * columns);
  for (int of = 0; of < 2; ++of) layer.pass(4 * s.tokens * s.key);  // to the cache
  layer.note(stack_part::attention, slower(streamed_time(rates, 4 * s.tokens * context * s.key),
                                           work_time(4 * s.tokens * context, s.query, 1, rates.matrix)));
  layer.product(s.tokens, s.query, s.hidden, product_pass::forward);
  layer.product(s.tokens, s.hidden, 2 * s.width, product_pass::forward);
  layer.pass(4 * s.tokens * s.width);
  layer.pass(6 * s.tokens * s.width);
  layer.product(s.tokens, s.width, s.hidden, product_pass::forward);
  head.product(s.tokens, s.hidden, s.vocabulary, product_pass::forward);
  head.pass(2 * s.tokens * s.vocabulary);  // the largest
  return detail::serving_time(s, layer, head, rates.measured);
}

/// Prompts of so many tokens each, together. Precondition: has_serving_kernels; sizes are at least 1.
constexpr stack_serving_time stack_prefill_time(const decoder& d, int tp, extent_t sequences, extent_t tokens,
                                                const device_value& device) {
  const stack_sizes s = detail::serving_sizes(d, tp, sequences, tokens);
  const operator_rates rates = detail::rates_of(device);
  stack_time_parts layer(rates, s), head(rates, s);
  stack_kernels<stack_time_parts>(s, layer).forward(false);
  head.pass(4 * s.tokens * s.hidden);  // embedding
  stack_kernels<stack_time_parts>(s, head).norm(sequences * s.hidden);
  head.product(sequences, s.hidden, s.vocabulary, product_pass::forward);
  return detail::serving_time(s, layer, head, rates.measured);
}

}}  // namespace hyperparallel::v0_2
