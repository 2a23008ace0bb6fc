// SPDX-License-Identifier: Apache-2.0
#pragma once
// A mixture-of-experts feed-forward layer as DeepSeek-V3 has it, described once for one device.
//
//   y[t] = Σ over the top_k experts x of token t, in rising order of x, of weight[t, x] · W2[x] · swiglu(W1[x] · h[t])
//
// Law (order): the sum runs in rising expert number whatever the strategy, so expert parallelism changes no reduction
// order. Expert x is `x / expert_parallel` in the memory of device `x % expert_parallel`: the expert dim is the two
// factors (local, device), and the device factor is the one that is sharded.

#include <hyperparallel/support/integer.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Global sizes. A structural aggregate, so it can be a template argument.
struct moe_layer {
  int hidden = 0;        ///< model width H
  int intermediate = 0;  ///< width I of one expert
  int experts = 0;       ///< E, routed
  int top_k = 0;         ///< experts of one token
  int tokens = 0;        ///< tokens of one step, over all devices
  friend constexpr bool operator==(const moe_layer&, const moe_layer&) = default;
};

enum class moe_code : unsigned char {
  ok,
  size_is_not_positive,
  top_k_exceeds_experts,
  experts_do_not_divide_over_devices,
  tokens_do_not_divide_over_devices,
  rows_do_not_divide_over_experts,
};

struct moe_status {
  moe_code code = moe_code::ok;
  int extent = 0;
  int devices = 0;
  friend constexpr bool operator==(const moe_status&, const moe_status&) = default;
};

constexpr const char* to_text(moe_code c) {
  switch (c) {
    case moe_code::ok:
      return "ok";
    case moe_code::size_is_not_positive:
      return "a size of the layer is not positive";
    case moe_code::top_k_exceeds_experts:
      return "a token chooses more experts than there are";
    case moe_code::experts_do_not_divide_over_devices:
      return "the experts do not divide over the devices";
    case moe_code::tokens_do_not_divide_over_devices:
      return "the tokens do not divide over the devices";
    case moe_code::rows_do_not_divide_over_experts:
      return "tokens x top_k do not divide over the experts";
  }
  return "unknown";
}

/// Whether the layer can be spread over `devices` by expert parallelism. O(1).
constexpr moe_status check(const moe_layer& l, int devices) {
  if (l.hidden < 1 || l.intermediate < 1 || l.experts < 1 || l.top_k < 1 || l.tokens < 1 || devices < 1)
    return {moe_code::size_is_not_positive, 0, devices};
  if (l.top_k > l.experts) return {moe_code::top_k_exceeds_experts, l.top_k, devices};
  if (l.experts % devices != 0) return {moe_code::experts_do_not_divide_over_devices, l.experts, devices};
  if (l.tokens % devices != 0) return {moe_code::tokens_do_not_divide_over_devices, l.tokens, devices};
  if (extent_t{l.tokens} * l.top_k % l.experts != 0)
    return {moe_code::rows_do_not_divide_over_experts, l.tokens, devices};
  return {};
}

/// Rows that all experts together compute in one step: one for each (token, chosen expert).
constexpr extent_t routed_rows(const moe_layer& l) { return extent_t{l.tokens} * l.top_k; }

/// Floating-point operations of the experts' two products in one forward step, over all devices: 6 · rows · H · I.
constexpr extent_t forward_flops(const moe_layer& l) { return 6 * routed_rows(l) * l.hidden * l.intermediate; }

/// Elements of one expert's packed gate|up weight, H × 2I, and of its down weight, I × H.
constexpr extent_t gate_up_elements(const moe_layer& l) { return extent_t{2} * l.hidden * l.intermediate; }
constexpr extent_t down_elements(const moe_layer& l) { return extent_t{1} * l.hidden * l.intermediate; }

}}  // namespace hyperparallel::v0_2
