// SPDX-License-Identifier: Apache-2.0
#pragma once
// A feed-forward layer of experts as eager operators run it: a router with softmax, tokens copied to the slots of their experts, grouped
// products, and slots added up by token.
//
//   hp::stack_experts<Memory> experts(sizes, memory);
//   experts.forward(kept, keeps, again);
//   experts.backward(kept, weight, each);
//
// Loads are even: a rank has as many slots as its tokens choose. Where experts are cut among ranks, what is sent and what comes back are
// copies. Scores, choices, their weights and the order of slots are kept beside the inputs of all products.
//
// Laws: those of stack_block.hpp, which this is a part of. Domain: experts without bias, none shared. O(1).

#include <hyperparallel/planner/stack_tensors.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Tensors that experts keep from forward to backward; -1 where they do not.
struct experts_kept {
  int scores = -1, choices = -1, weights = -1, sums = -1, slot_weights = -1, half_weights = -1;
  int order = -1, source = -1;
  int slots = -1, gate = -1, activated = -1, width = -1, product = -1, returned = -1;
};

template <class Memory>
class stack_experts : public stack_tensors<Memory> {
  using tensors = stack_tensors<Memory>;
  using tensors::drop, tensors::s, tensors::take;

 public:
  using tensors::tensors;

  /// What the layer gives; -1 where it is computed `again`.
  constexpr int forward(experts_kept& kept, bool keeps, bool again) {
    experts_kept k;
    int logits = take(2 * s.tokens * s.experts), single = take(4 * s.tokens * s.experts);
    drop(logits);
    k.scores = take(4 * s.tokens * s.experts);
    drop(single);
    k.weights = take(4 * slots());
    k.choices = take(8 * slots());
    k.sums = take(4 * s.tokens);
    int shares = take(4 * slots());
    k.half_weights = take(2 * slots());
    drop(shares);
    int numbers = take(8 * slots());
    k.order = take(8 * slots());
    k.source = take(8 * slots());
    k.slots = exchanged(rows(s.hidden));
    k.gate = rows(s.expert_width);
    k.activated = rows(s.expert_width);
    if (!keeps) drop(k.gate);
    k.width = rows(s.expert_width);
    k.product = rows(s.expert_width);
    if (!keeps) drop(k.activated, k.width);
    if (s.compiled) drop(k.activated);
    k.returned = exchanged(rows(s.hidden));
    if (!keeps) drop(k.product);
    k.slot_weights = take(2 * slots());
    int out = -1;
    if (!again) {
      int weighed = rows(s.hidden);
      if (!keeps) drop(k.returned, k.slot_weights);
      int zeros = take(2 * s.tokens * s.hidden);
      out = take(2 * s.tokens * s.hidden);
      drop(zeros, weighed);
    }
    drop(numbers, k.half_weights);
    if (!keeps) drop(k.scores, k.weights, k.choices, k.sums, k.order, k.source, k.slots);
    kept = k;
    return out;
  }

  /// Returns the gradient of the layer's input. `weight(elements)` makes that of a weight, which goes to `each`.
  template <class Weight, class Each>
  constexpr int backward(experts_kept& k, const Weight& weight, const Each& each) {
    int weighed = rows(s.hidden);
    int returned = rows(s.hidden), of_weights = rows(s.hidden);
    drop(of_weights, weighed, k.returned, k.slot_weights);
    returned = exchanged(returned);
    const extent_t elements = s.local_experts * s.hidden * s.expert_width;
    int product = rows(s.expert_width);
    each(weight(elements));
    drop(returned, k.product);
    int activated = rows(s.expert_width), width = rows(s.expert_width);
    drop(product, k.width, k.activated);
    int sum = rows(s.hidden);
    each(weight(elements));
    drop(width);
    int gate = rows(s.expert_width);
    drop(activated, k.gate);
    int part = rows(s.hidden);
    each(weight(elements));
    drop(gate, part, k.slots);
    sum = exchanged(sum);
    const int input = take(2 * s.tokens * s.hidden);
    drop(sum, k.order, k.source);
    int of_scores = take(4 * s.tokens * s.experts), of_logits = take(4 * s.tokens * s.experts);
    drop(of_scores, k.scores, k.weights, k.choices, k.sums);
    int half = take(2 * s.tokens * s.experts);
    drop(of_logits);
    int by_router = take(2 * s.tokens * s.hidden);
    each(weight(s.experts * s.hidden));
    drop(half, by_router);
    return input;
  }

 private:
  constexpr extent_t slots() const { return s.tokens * s.top_k; }
  constexpr int rows(extent_t columns) { return take(2 * slots() * columns); }
  /// What an exchange gives, in place of what it sends.
  constexpr int exchanged(int sent) {
    if (s.local_experts == s.experts) return sent;
    const int received = rows(s.hidden);
    drop(sent);
    return received;
  }
};

}}  // namespace hyperparallel::v0_2
