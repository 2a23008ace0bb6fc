// SPDX-License-Identifier: Apache-2.0
#pragma once
// Ring attention: an attention over a sharded sequence as one operator a block of keys, blocks travelling.
//
// Forward, the device at coordinate c of the ring's axis meets its own keys and values first, then those of c - 1, c -
// 2 and so on; results are joined by their log-sum-exp. Backward, it begins with the block that has travelled one place
// and ends with its own, and the gradients of keys and values travel with their block: they start where it is first
// met and arrive at home with the last term. So keys and values make `blocks - 1` hops each way, and their gradients as
// many: 2 and 4 times (blocks - 1) / blocks of the keys and values, forward and backward.
// Law: results are those of the whole attention up to rounding. Latent attention is left
// as it is, and so is attention to another sequence.
// Source: Liu et al., "Ring Attention", 2310.01889; Brandon et al., "Striped Attention", for the order.

#include <hyperparallel/model/graph.hpp>

namespace hyperparallel::inline v0_2 {

namespace detail {

class attention_rotation {
 public:
  constexpr attention_rotation(const graph& g, int blocks) : from_(g), to_(g), blocks_(blocks) {}

  constexpr graph run() {
    to_.op.clear();
    place_.resize(from_.op.size, -1);
    for (int o = 0; o < from_.op.size; ++o) {
      if (from_.op[o].kind == model_op::attention && meets_itself(from_.op[o], 0)) {
        forward(o);
      } else if (from_.op[o].kind == model_op::attention_gradient && meets_itself(from_.op[o], 1)) {
        backward(o);
      } else {
        graph_operator op = from_.op[o];
        place_[o] = to_.op.size;
        push(moved(op));
      }
    }
    return static_cast<graph&&>(to_);
  }

 private:
  static constexpr int keys_operand = 1;

  /// Whether keys are of the sequence that queries are of; operand `queries` are these, the next one the keys.
  static constexpr bool meets_itself(const graph_operator& op, int queries) {
    const operator_loop &from = op.loop[op.operand[queries].loop[1]], &to = op.loop[op.operand[queries + 1].loop[1]];
    return from.dim == to.dim && from.extent == to.extent;
  }

  constexpr graph_operator moved(graph_operator op) const {
    if (op.forward >= 0) op.forward = place_[op.forward];
    return op;
  }
  constexpr void push(const graph_operator& op) {
    for (int r = 0; r < op.result_count; ++r) to_.tensor[op.result[r].tensor].producer = to_.op.size;
    to_.op.push(op);
  }
  /// A tensor like `model`, named after it and the block.
  constexpr int like(int model, int block) {
    graph_tensor t = to_.tensor[model];
    const char number[] = {static_cast<char>('0' + block / 10), static_cast<char>('0' + block % 10), '\0'};
    t.name = add_text(to_, to_.text_at(t.name), " of block ", number);
    t.source = -1;
    return to_.tensor.push(t);
  }

  constexpr void forward(int o) {
    const graph_operator whole = moved(from_.op[o]);
    int output = -1, statistic = -1;
    place_[o] = to_.op.size;
    for (int j = 0; j < blocks_; ++j) {
      graph_operator block = whole;
      block.kind = model_op::attention_block;
      block.rotation = j;
      if (j > 0) block.forward = place_[o];
      const int keys = block.operand[keys_operand].loop[1];
      block.loop[keys].whole = false;
      block.result[0].tensor = like(whole.result[0].tensor, j);
      block.result[1].tensor = like(whole.result[1].tensor, j);
      push(block);
      if (j == 0) {
        output = block.result[0].tensor;
        statistic = block.result[1].tensor;
        continue;
      }
      const bool last = j + 1 == blocks_;
      graph_operator merge = whole;
      merge.kind = model_op::attention_merge;
      merge.forward = -1;
      merge.operand_count = 4;
      const int joined[] = {output, statistic, block.result[0].tensor, block.result[1].tensor};
      for (int i = 0; i < 4; ++i) {
        merge.operand[i] = whole.result[i % 2];
        merge.operand[i].tensor = joined[i];
      }
      if (!last) {
        merge.result[0].tensor = like(block.result[0].tensor, j);
        merge.result[1].tensor = like(block.result[1].tensor, j);
      }
      output = merge.result[0].tensor;
      statistic = merge.result[1].tensor;
      drop_unused_loops(merge);
      push(merge);
    }
  }

  constexpr void backward(int o) {
    const graph_operator whole = moved(from_.op[o]);
    int sum[3] = {-1, -1, -1};
    place_[o] = to_.op.size;
    for (int i = 0; i < blocks_; ++i) {
      const int j = (i + 1) % blocks_;
      graph_operator block = whole;
      block.kind = model_op::attention_block_gradient;
      block.rotation = j;
      const int keys = block.operand[keys_operand + 1].loop[1];
      block.loop[keys].whole = false;
      for (int r = 0; r < 3; ++r) block.result[r].tensor = like(whole.result[r].tensor, j);
      push(block);
      for (int r = 0; r < 3; ++r) {
        const int term = block.result[r].tensor;
        sum[r] = i == 0 ? term : add(whole, r, sum[r], term, i + 1 == blocks_, r == 0 ? -1 : j);
      }
    }
  }

  /// sum + term, the last one into the tensor that the whole operator made. Sums of keys travel: `rotation` ≥ 0.
  constexpr int add(const graph_operator& whole, int result, int sum, int term, bool last, int rotation) {
    graph_operator op = whole;
    op.kind = model_op::sum;
    op.forward = -1;
    op.rotation = rotation;
    op.operand_count = 2;
    op.operand[0] = op.operand[1] = op.result[0] = whole.result[result];
    op.operand[0].tensor = sum;
    op.operand[1].tensor = term;
    op.result_count = 1;
    if (!last) op.result[0].tensor = like(term, whole.operand_count);
    drop_unused_loops(op);
    push(op);
    return op.result[0].tensor;
  }

  /// Keeps the loops that the operator's tensors follow.
  static constexpr void drop_unused_loops(graph_operator& op) {
    signed char place[max_operator_loops] = {};
    int kept = 0;
    for (int l = 0; l < op.loop_count; ++l) {
      place[l] = -1;
      if (!follows(op.result[0], l)) continue;
      op.loop[kept] = op.loop[l];
      op.loop[kept].whole = op.loop[kept].reduced = false;
      place[l] = static_cast<signed char>(kept++);
    }
    op.loop_count = kept;
    for (int i = 0; i < op.operand_count; ++i)
      for (int d = 0; d < op.operand[i].rank; ++d) op.operand[i].loop[d] = place[op.operand[i].loop[d]];
    for (int r = 0; r < op.result_count; ++r)
      for (int d = 0; d < op.result[r].rank; ++d) op.result[r].loop[d] = place[op.result[r].loop[d]];
  }

  const graph& from_;
  graph to_;
  int blocks_;
  growing_array<int> place_;  ///< of each operator, the first one that stands for it
};

}  // namespace detail

/// The graph with each attention as `blocks` operators. Domain: 1 ≤ blocks < 100 divides the keys' sequence.
constexpr graph rotate_attention(const graph& g, int blocks) {
  if (blocks == 1) return g;
  return detail::attention_rotation(g, blocks).run();
}

}  // namespace hyperparallel::inline v0_2
