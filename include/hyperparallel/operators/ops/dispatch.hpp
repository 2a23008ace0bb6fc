// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rows of tokens to the slots of their experts, and back: the two ends of a mixture of experts. A slot is taken in
// the order of tokens, then choices; what exceeds the capacity is dropped. Experts and their slots may both be cut: a device fills its own
// slots from all tokens of a group, and what it takes back from them is a part of a sum.
// FLOPs are those of chosen rows: the capacity is not computed on, and each device has the share of its experts and slots.
// Source: Lepikhin et al., GShard, 2020.

#include <hyperparallel/operators/operator_value.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace ops {

/// Rows that a device takes to or from expert slots, a tensor (…, experts, capacity, hidden).
constexpr extent_t flops_of_slots(const local_work& w, const tensor_factors& slots) {
  const int experts = slots.term[slots.rank - 3], capacity = slots.term[slots.rank - 2];
  const extent_t pieces = w.whole[experts] / w.extent[experts] * (w.whole[capacity] / w.extent[capacity]);
  return w.per_point() / (w.extent[experts] * w.extent[capacity]) / pieces;
}

/// d slots, index -> dx: the transpose of dispatch.
struct undispatch {
  static constexpr const char *name = "undispatch", *text = "bech,bSK->bSh";
  static constexpr partial_words partials = linear_in_each(0b01u);
  static constexpr unsigned indices = 0b10;
  static constexpr char index_below = 'e';
  static constexpr extent_t flops(const local_work& w) { return flops_of_slots(w, w.rule->operand[0]); }
};

/// x, index -> rows in the experts' slots.
struct dispatch {
  static constexpr const char *name = "dispatch", *text = "bSh,bSK->bech";
  static constexpr int flops_per_point = 0;
  static constexpr partial_words partials = linear_in_each(0b01u);
  static constexpr unsigned indices = 0b10;
  static constexpr char index_below = 'e';
  template <class Builder>
  static constexpr void gradient(Builder& b) {
    b.template backward<undispatch>("g0,x1>0");
  }
};

/// dy, index, weight -> d slots: the transpose of combine in the slots.
struct dispatch_weighted {
  static constexpr const char *name = "dispatch_weighted", *text = "bSh,bSK,bSK->bech";
  static constexpr partial_words partials = linear_in_each(0b01u);
  static constexpr unsigned indices = 0b10;
  static constexpr char index_below = 'e';
  static constexpr extent_t flops(const local_work& w) { return flops_of_slots(w, w.rule->result[0]); }
};

/// dy, slots, index -> d weight.
struct combine_weight_gradient {
  static constexpr const char *name = "combine_weight_gradient", *text = "bSh,bech,bSK->bSK";
  static constexpr int flops_per_point = 2;
  static constexpr partial_words partials = linear_in_each(0b10u);
  static constexpr unsigned indices = 0b100;
  static constexpr char index_below = 'e';
  static constexpr extent_t flops(const local_work& w) { return flops_of_slots(w, w.rule->operand[1]); }
};

/// Slots, index, weight -> the weighted rows of each token.
struct combine {
  static constexpr const char *name = "combine", *text = "bech,bSK,bSK->bSh";
  static constexpr int flops_per_point = 2;
  static constexpr partial_words partials = linear_in_each(0b01u);
  static constexpr unsigned indices = 0b10;
  static constexpr char index_below = 'e';
  static constexpr extent_t flops(const local_work& w) { return flops_of_slots(w, w.rule->operand[0]); }
  template <class Builder>
  static constexpr void gradient(Builder& b) {
    b.template backward<dispatch_weighted>("g0,x1,x2>0");
    b.template backward<combine_weight_gradient>("g0,x0,x1>2");
  }
};

}}}  // namespace hyperparallel::v0_2::ops
