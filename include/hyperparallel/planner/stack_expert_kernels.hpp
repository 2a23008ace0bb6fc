// SPDX-License-Identifier: Apache-2.0
#pragma once
// The kernels of a feed-forward layer of experts: router, copies of tokens to slots, grouped products, sums by token.
//
//   kernels.forward_experts();  kernels.backward_experts();
//
// The part of stack_kernels.hpp for the layer whose tensors stack_experts.hpp has. Loads are even. What an exchange among ranks sends and
// receives is one copy; scores, choices, orders and weights of slots are small kernels. Law: that of stack_kernels.hpp. O(1).

#include <hyperparallel/hardware/operator_time.hpp>
#include <hyperparallel/planner/stack.hpp>

namespace hyperparallel { inline namespace v0_2 {

template <class Sink>
class stack_expert_kernels {
 public:
  constexpr stack_expert_kernels(const stack_sizes& sizes, Sink& to) : s(sizes), sink(to) {}

  constexpr void forward_experts() {
    sink.product(s.tokens, s.hidden, s.experts, product_pass::forward);
    sink.pass(6 * scores());  // f32
    sink.rows(8 * scores());  // softmax
    sink.small(small_kernels);
    copy_slots(4);
    exchange();
    for (int product = 0; product < 2; ++product) sink.grouped(slots(), s.hidden, s.expert_width);
    if (!s.compiled) sink.pass(4 * slots() * s.expert_width);
    sink.pass(6 * slots() * s.expert_width);
    sink.grouped(slots(), s.expert_width, s.hidden);
    exchange();
    copy_slots(4);                       // weighed
    sink.pass(2 * s.tokens * s.hidden);  // zeros
    copy_slots(8);                       // added by token
  }

  constexpr void backward_experts() {
    copy_slots(4);
    for (int operand = 0; operand < 2; ++operand) copy_slots(6);
    exchange();
    for (int pass = 0; pass < 2; ++pass) sink.grouped(slots(), s.expert_width, s.hidden);
    for (int operand = 0; operand < 3; ++operand) sink.pass(6 * slots() * s.expert_width);
    for (int pass = 0; pass < 4; ++pass) sink.grouped(slots(), s.hidden, s.expert_width);
    copy_slots(6);
    exchange();
    copy_slots(8);
    sink.product(s.tokens, s.hidden, s.experts, product_pass::of_input);
    sink.product(s.tokens, s.hidden, s.experts, product_pass::of_weight);
    sink.rows(12 * scores());
    sink.pass(6 * scores());
    sink.small(small_kernels - 2);
    sink.pass(6 * s.tokens * s.hidden);
  }

 protected:
  const stack_sizes& s;
  Sink& sink;

 private:
  /// Choices, their sums and weights, the order of slots and its offsets.
  static constexpr int small_kernels = 12;
  constexpr extent_t slots() const { return s.tokens * s.top_k; }
  constexpr extent_t scores() const { return s.tokens * s.experts; }
  /// So many bytes an element of all slots.
  constexpr void copy_slots(extent_t bytes) { sink.pass(bytes * slots() * s.hidden); }
  constexpr void exchange() {
    if (s.local_experts < s.experts) copy_slots(4);
  }
};

}}  // namespace hyperparallel::v0_2
