// SPDX-License-Identifier: Apache-2.0
#pragma once
// A baseline of the published tables: swapping the activations of mixture-of-experts layers to a budget, whatever the routing turns out to be: what a layer
// keeps for its backward is known only once its tokens are routed, so the choice is made layer by layer.
//
// After layer i of L the end of the forward pass is projected as what is held so far plus a mean layer for each one to
// come; while that is over the budget the earliest layers that are held leave, as a whole, while the next attention
// runs; experts start when such copies have ended. Backward, layer l comes back while layer l + 1 runs. Times are
// picoseconds, amounts bytes; one link out, one in.
// Laws, S(i) being the bytes of layers 0 to i and m the mean: (S(L - 1) - budget)⁺ ≤ moved ≤ (max over i of
// S(i) + (L - 1 - i) m - budget)⁺ + the largest layer, which for equal layers and B = budget / m is
// (L - B)⁺ m ≤ moved ≤ (L - B + 1)⁺ m; a larger budget moves no more and its peak is no lower; what is held after the
// last layer is at most the budget; where each copy fits under its cover, waits come only with budgets below a layer.
// O(layers).

#include <hyperparallel/offload/offload_program.hpp>

namespace tables {

namespace hp = hyperparallel;

/// One layer forward: attention, then experts, after which it holds `bytes`; and backward.
struct swap_layer {
  hp::extent_t bytes = 0;
  hp::extent_t attention = 0, experts = 0, backward = 0;
  friend constexpr bool operator==(const swap_layer&, const swap_layer&) = default;
};

struct host_swap_options {
  hp::extent_t budget = 0;
  hp::extent_t mean = 0;  ///< bytes of a layer whose tokens are spread evenly
  hp::extent_t head = 0;  ///< what runs between the forward and the backward pass
  hp::offload_link out{}, in{};
};

enum class host_swap_code : unsigned char {
  ok,
  budget_is_negative,
  mean_is_negative,
  layer_is_negative,
  bad_link,
  head_is_negative
};

constexpr const char* to_text(host_swap_code c) {
  constexpr const char* texts[] = {"ok",
                                   "the budget is negative",
                                   "the mean layer's bytes are negative",
                                   "a layer has negative bytes or times",
                                   "a link's bandwidth is not positive",
                                   "the time between the passes is negative"};
  return texts[static_cast<int>(c)];
}

struct host_swap {
  host_swap_code code = host_swap_code::ok;
  int layer = -1;                        ///< at fault
  hp::growing_array<int> evicted_after;  ///< of each layer: the layer after which it leaves, -1: it stays
  hp::extent_t moved = 0;                ///< bytes out; as many come back
  hp::extent_t held = 0;                 ///< at the end of the forward pass
  hp::extent_t peak = 0;                 ///< most bytes held, those on their way out and in included
  hp::extent_t time = 0, wait = 0;       ///< of the period, and of it the longest that a layer waits for its copy
};

namespace detail {

constexpr host_swap check_swap(const hp::growing_array<swap_layer>& layer, const host_swap_options& o) {
  host_swap r;
  if (o.budget < 0) r.code = host_swap_code::budget_is_negative;
  if (o.mean < 0) r.code = host_swap_code::mean_is_negative;
  if (o.head < 0) r.code = host_swap_code::head_is_negative;
  if (o.out.bytes_per_second < 1 || o.in.bytes_per_second < 1) r.code = host_swap_code::bad_link;
  for (int l = 0; l < layer.size && r.code == host_swap_code::ok; ++l)
    if (layer[l].bytes < 0 || layer[l].attention < 0 || layer[l].experts < 0 || layer[l].backward < 0) {
      r.code = host_swap_code::layer_is_negative;
      r.layer = l;
    }
  return r;
}

/// Waits for a copy that ends at `ready`.
constexpr void wait_for(hp::extent_t ready, host_swap& r) {
  r.wait = hp::larger(r.wait, ready - r.time);
  r.time = hp::larger(r.time, ready);
}

/// Layer l is asked for when layer l + 1 starts, and the last one at once.
constexpr void swap_back(const hp::growing_array<swap_layer>& layer, const host_swap_options& o, host_swap& r) {
  hp::extent_t in_free = 0, resident = r.held;
  const auto fetch = [&](int l) {
    if (l < 0 || r.evicted_after[l] < 0) return hp::extent_t{0};
    in_free = hp::larger(in_free, r.time) + hp::link_copy_time(o.in, layer[l].bytes);
    resident += layer[l].bytes;
    r.peak = hp::larger(r.peak, resident);
    return in_free;
  };
  hp::extent_t ready = fetch(layer.size - 1);
  for (int l = layer.size - 1; l >= 0; --l) {
    wait_for(ready, r);
    ready = fetch(l - 1);
    r.time += layer[l].backward;
    resident -= layer[l].bytes;
  }
}

}  // namespace detail

/// What leaves, and what it costs, for layers of these bytes. `layer` in the order of the forward pass.
constexpr host_swap swap_to_host(const hp::growing_array<swap_layer>& layer, const host_swap_options& o) {
  host_swap r = detail::check_swap(layer, o);
  if (r.code != host_swap_code::ok) return r;
  r.evicted_after.resize(layer.size, -1);
  hp::extent_t out_free = 0;
  int next = 0;  // the earliest layer that is held
  for (int i = 0; i < layer.size; ++i) {
    r.time += layer[i].attention;
    detail::wait_for(out_free, r);
    r.time += layer[i].experts;
    r.held += layer[i].bytes;
    r.peak = hp::larger(r.peak, r.held);
    for (; next <= i && r.held + (layer.size - 1 - i) * o.mean > o.budget; ++next) {
      r.evicted_after[next] = i;
      r.held -= layer[next].bytes;
      r.moved += layer[next].bytes;
      out_free = hp::larger(out_free, r.time) + hp::link_copy_time(o.out, layer[next].bytes);
    }
  }
  r.time += o.head;
  detail::wait_for(out_free, r);
  detail::swap_back(layer, o, r);
  return r;
}

}  // namespace tables
