// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bytes of what stays whole on a device though the strategy asks for it to be sharded: an account's word for a plan that
// keeps more than its user thinks.
//
//   static_assert(step::account.whole_bytes == 0);
//
// Laws: zero wherever every update runs on pieces, however the number of devices factors; under an optimizer of whole
// matrices, its states. Units: bytes of one device, all repetitions of a segment. O(whole tensors · tensors).

#include <hyperparallel/strategy/sharded_program.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// What the stage of `w` keeps of its parameter: the parameter, its gradient as it waits for the update, or all states.
constexpr extent_t bytes_of_whole(const sharded_program& p, const whole_tensor& w) {
  const graph& g = p.graph;
  const extent_t repeats = repeats_of(g, g.tensor.item[w.parameter].segment);
  if (w.stage == rule_stage::parameter)
    return p.home.item[w.parameter] < 0 ? 0 : repeats * local_bytes(p, p.home.item[w.parameter]);
  extent_t bytes = 0;
  if (w.stage == rule_stage::gradient) {  // the last value of the gradient is the one that waits
    for (int v = 0; v < p.value.size; ++v)
      if (p.value.item[v].tensor == g.tensor.item[w.parameter].gradient) bytes = local_bytes(p, v);
    return repeats * bytes;
  }
  for (int t = 0; t < g.tensor.size; ++t) {
    const graph_tensor& x = g.tensor.item[t];
    if (x.kind == graph_tensor_kind::state && x.source == w.parameter && p.home.item[t] >= 0)
      bytes += local_bytes(p, p.home.item[t]);
  }
  return repeats * bytes;
}

}  // namespace detail

constexpr extent_t whole_bytes(const sharded_program& p) {
  extent_t bytes = 0;
  for (int i = 0; i < p.whole.size; ++i) bytes += detail::bytes_of_whole(p, p.whole.item[i]);
  return bytes;
}

}}  // namespace hyperparallel::v0_2
