// SPDX-License-Identifier: Apache-2.0
#pragma once
// The kernels of a block of a decoder as a stack launches them: forward, backward, and what is computed again for it.
//
//   hp::stack_kernels<Sink> kernels(sizes, sink);
//   kernels.forward(false);  kernels.backward();
//
// The sink is called for each operator with its sizes on one rank: product(tokens, inner, columns, pass), grouped(slots, inner, columns),
// attention(backward), pass(bytes), rows(bytes) and small(count), kernels of one number a token. Bytes are those that its kernel reads
// and writes. Eager operators make one pass each: a rotation five (by halves of rows), an activation and its product two, a sum of
// gradients one for each further reader of a tensor. Blocks that are compiled fuse what stands between products: norm with the sum
// before it, a rotation, activation with product, sums of gradients with the norm's. Norms of `transformers` are composed of
// elementwise operators in f32 (stack_norm.hpp); under autocast weights and what products read are cast again for each. Where a tensor is cut
// by tp, it is gathered before and scattered after each pair of products: one pass each.
//
// Laws: backward multiplies twice what forward does; what is computed again is forward but its last product, which a compiled block has
// too, and of selective checkpoints what they do not keep. Sources: those of stack.hpp and torch/_inductor of PyTorch 2.11. O(1).

#include <hyperparallel/hardware/operator_time.hpp>
#include <hyperparallel/planner/stack_expert_kernels.hpp>

namespace hyperparallel { inline namespace v0_2 {

template <class Sink>
class stack_kernels : stack_expert_kernels<Sink> {
  using experts = stack_expert_kernels<Sink>;
  using experts::s, experts::sink;

 public:
  constexpr stack_kernels(const stack_sizes& sizes, Sink& to) : experts(sizes, to) {}

  constexpr void forward(bool again) {
    norm(stream());
    gather();
    const bool finds = again && s.selective;  // costly results of the first pass
    if (!finds || !s.spares_query()) multiply(s.hidden, s.query);
    for (int product = finds && s.spares_query() ? 1 : 0; product < 2; ++product) multiply(s.hidden, s.key);
    if (s.head_normed)
      for (const extent_t columns : {s.query, s.key}) norm(s.tokens * columns, true);
    if (s.rotated)
      for (const extent_t columns : {s.query, s.key}) rotate(s.tokens * columns);
    if (!finds) sink.attention(false);
    if (!finds || !(s.spares_output() || (s.compiled && s.spares_sums()))) multiply(s.query, s.hidden, false);
    if (!finds || !s.spares_sums()) scatter();
    if (s.compiled) sink.pass(4 * stream());  // the norm reads the sum as it is made
    if (!s.compiled) sum();
    norm(stream());
    gather();
    if (s.experts > 0) {
      experts::forward_experts();
    } else {
      const bool finds_one = finds && (s.gated || !s.biased);
      for (int product = finds_one ? 1 : 0; product < (s.gated ? 2 : 1); ++product) multiply(s.hidden, s.width);
      if (!s.compiled || !s.gated) sink.pass(4 * s.tokens * s.width);
      if (s.gated) sink.pass(6 * s.tokens * s.width);
      if (again && (!s.compiled || s.spares_query())) return;
      multiply(s.width, s.hidden, false);
    }
    if (again && !s.compiled) return;
    scatter();
    sum();
  }

  constexpr void backward() {
    enter_branch();
    if (s.experts > 0) {
      experts::backward_experts();
    } else {
      multiply_back(s.width, s.hidden, false);
      activation_back(s.tokens * s.width);
      for (int product = 0; product < (s.gated ? 2 : 1); ++product) multiply_back(s.hidden, s.width);
      add_gradients(s.gated ? 1 : 0);
    }
    leave_branch();
    enter_branch();
    multiply_back(s.query, s.hidden, false);
    sink.attention(true);
    if (s.rotated)
      for (const extent_t columns : {s.query, s.key}) rotate_back(s.tokens * columns);
    if (s.head_normed)
      for (const extent_t columns : {s.query, s.key}) norm_back(s.tokens * columns, true);
    multiply_back(s.hidden, s.query);
    for (int product = 0; product < 2; ++product) multiply_back(s.hidden, s.key);
    if (s.biased)
      for (const extent_t columns : {s.query, s.key, s.key}) sink.pass(2 * s.tokens * columns);
    add_gradients(2);
    leave_branch();
  }

  /// A norm of elements of the residual stream, or `of_heads`, which are bf16 in every stack.
  constexpr void norm(extent_t elements, bool of_heads = false) {
    if (!s.composed) return sink.rows(4 * elements);
    const bool copies = !s.autocast || of_heads;
    if (copies) sink.pass(6 * elements);
    for (const extent_t bytes : {8, 4, 8}) sink.pass(bytes * elements);  // square, mean, scaled
    if (copies) sink.pass(6 * elements);
    sink.pass((copies ? 6 : 8) * elements);  // weighed
    sink.small(2);
  }
  constexpr void norm_back(extent_t elements, bool of_heads = false) {
    if (!s.composed) {
      sink.rows(6 * elements);
      sink.rows(4 * elements);  // of the weight
      return;
    }
    const bool copies = !s.autocast || of_heads;
    if (copies) {
      for (const extent_t bytes : {4, 6, 2, 6}) sink.pass(bytes * elements);
    } else {
      for (const extent_t bytes : {8, 12, 4}) sink.pass(bytes * elements);
    }
    for (const extent_t bytes : {8, 12, 4, 4, 8, 8, 12, 12}) sink.pass(bytes * elements);
    if (copies) sink.pass(6 * elements);
    sink.small(4);
  }

 private:
  constexpr extent_t stream() const { return s.shard_tokens * s.hidden; }
  constexpr extent_t whole() const { return s.tokens * s.hidden; }
  constexpr void gather() {
    if (s.is_cut) sink.pass(4 * whole());
  }
  constexpr void scatter() {
    if (s.is_cut) sink.pass(4 * stream());
  }
  /// A branch added to the residual stream.
  constexpr void sum() { sink.pass((s.autocast ? 10 : 6) * stream()); }
  constexpr void cast(extent_t elements) {
    if (s.autocast) sink.pass(6 * elements);
  }

  /// A product that reads a norm's output, or not.
  constexpr void multiply(extent_t inner, extent_t columns, bool reads_norm = true) {
    if (reads_norm) cast(s.tokens * inner);
    cast(inner * columns);
    sink.product(s.tokens, inner, columns, product_pass::forward);
  }
  constexpr void multiply_back(extent_t inner, extent_t columns, bool reads_norm = true) {
    sink.product(s.tokens, inner, columns, product_pass::of_input);
    sink.product(s.tokens, inner, columns, product_pass::of_weight);
    cast(inner * columns);
    if (reads_norm) cast(s.tokens * inner);
  }

  constexpr void rotate(extent_t elements) {
    if (s.compiled) return sink.pass(4 * elements);
    if (s.autocast)
      for (const extent_t bytes : {6, 2, 4, 6, 12, 6}) sink.rows(bytes * elements);
    else
      for (const extent_t bytes : {4, 2, 4, 4, 6}) sink.rows(bytes * elements);
  }
  constexpr void rotate_back(extent_t elements) {
    if (s.compiled) return sink.pass(4 * elements);
    if (s.autocast)
      for (const extent_t bytes : {6, 12, 12, 2, 4, 12, 6}) sink.rows(bytes * elements);
    else
      for (const extent_t bytes : {4, 2, 4, 4, 6}) sink.rows(bytes * elements);
  }
  constexpr void activation_back(extent_t elements) {
    if (!s.gated) return sink.pass(6 * elements);
    if (s.compiled) return sink.pass(12 * elements);  // the product is made again in the same pass
    for (int operand = 0; operand < 3; ++operand) sink.pass(6 * elements);
  }
  /// The gradients of further products that read the same, added one by one.
  constexpr void add_gradients(int further) {
    for (int each = 0; each < further && !s.compiled; ++each) sink.pass((s.autocast ? 12 : 6) * whole());
    if (s.compiled) sink.pass(2 * (further + 2) * whole());
  }
  constexpr void enter_branch() {
    if (s.is_cut) sink.pass(4 * whole());
    cast(whole());
  }
  constexpr void leave_branch() {
    if (s.is_cut) sink.pass(4 * stream());
    norm_back(stream());
    if (!s.compiled) sink.pass((s.autocast ? 12 : 6) * stream());
  }
};

}}  // namespace hyperparallel::v0_2
