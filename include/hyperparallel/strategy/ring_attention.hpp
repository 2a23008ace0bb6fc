// SPDX-License-Identifier: Apache-2.0
#pragma once
// Ring attention: an attention over a sharded sequence as one operator a block of keys, blocks travelling.
//
// Forward, the device at coordinate c of the ring's axis meets its own keys and values first, then those of c - 1, c -
// 2 and so on; results are joined by their log-sum-exp. Backward, it begins with the block that has travelled one place
// and ends with its own, and the gradients of keys and values travel with their block: they start where it is first
// met and arrive at home with the last term. So keys and values make `blocks - 1` hops each way, and their gradients as
// many: 2 and 4 times (blocks - 1) / blocks of the keys and values, forward and backward.
// Law: results are those of the whole attention up to rounding. Left as it is: attention that names no operators of a
// ring (`operator_value::ring`), as latent attention, or none that the graph lists, and attention to another sequence.
// Source: Liu et al., "Ring Attention", 2310.01889; Brandon et al., "Striped Attention", for the order.

#include <hyperparallel/graph/gradient_rules.hpp>
#include <hyperparallel/graph/operator_loops.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

class attention_rotation {
 public:
  constexpr attention_rotation(const graph& g, int blocks) : from_(g), to_(g), blocks_(blocks) {}

  constexpr graph run() {
    to_.op.clear();
    place_.resize(from_.op.size, -1);
    for (int o = 0; o < from_.op.size; ++o) {
      const operator_value& value = from_.value_of(from_.op[o]);
      if (can_travel(value) && meets_itself(o, value.attends)) {
        if (value.attends.backward)
          backward(o);
        else
          forward(o);
      } else {
        graph_operator op = from_.op[o];
        place_[o] = to_.op.size;
        push(moved(op));
      }
    }
    return static_cast<graph&&>(to_);
  }

 private:
  /// Whether it has operators of a ring, and the graph lists them.
  constexpr bool can_travel(const operator_value& o) const {
    return o.ring.exist() && from_.operators.has(from_.operators.id_of_key(o.ring.block)) &&
           (o.attends.backward || from_.operators.has(from_.operators.id_of_key(o.ring.merge)));
  }
  /// Whether keys are of the sequence that queries are of.
  constexpr bool meets_itself(int o, const attention_operands& attends) const {
    const factor_rule& rule = from_.rule_of(from_.op[o]);
    const operator_loop* const loop = from_.op[o].loop;
    return loop[rule.operand[attends.queries].term[1]] == loop[rule.operand[attends.keys].term[1]];
  }

  constexpr graph_operator moved(graph_operator op) const {
    if (op.forward >= 0) op.forward = place_[op.forward];
    return op;
  }
  constexpr void push(const graph_operator& op) {
    for (int r = 0; r < op.result_count; ++r) to_.tensor[op.result[r]].producer = to_.op.size;
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

  /// An operator like `whole` in place of it, of another kind and on these operands. Their shapes are those of `whole`,
  /// so that it binds.
  constexpr graph_operator bound(const graph_operator& whole, operator_id kind, const int* operands, int count) {
    graph_operator op = whole;
    op.kind = kind;
    op.forward = -1;
    bind_loops(to_, op, to_.operators[kind].text, operands, count, nullptr, 0);
    return op;
  }

  constexpr void forward(int o) {
    const graph_operator whole = moved(from_.op[o]);
    const ring_operators& ring = from_.value_of(whole).ring;
    const operator_id of_block = to_.operators.id_of_key(ring.block), of_merge = to_.operators.id_of_key(ring.merge);
    int output = -1, statistic = -1;
    place_[o] = to_.op.size;
    for (int j = 0; j < blocks_; ++j) {
      graph_operator block = bound(whole, of_block, whole.operand, whole.operand_count);
      block.rotation = j;
      if (j > 0) block.forward = place_[o];
      for (int r = 0; r < 2; ++r) block.result[r] = like(whole.result[r], j);
      push(block);
      if (j == 0) {
        output = block.result[0];
        statistic = block.result[1];
        continue;
      }
      const int joined[] = {output, statistic, block.result[0], block.result[1]};
      graph_operator merge = bound(whole, of_merge, joined, 4);
      for (int r = 0; r < 2 && j + 1 < blocks_; ++r) merge.result[r] = like(block.result[r], j);
      output = merge.result[0];
      statistic = merge.result[1];
      push(merge);
    }
  }

  constexpr void backward(int o) {
    const graph_operator whole = moved(from_.op[o]);
    const int forward_rule = to_.op[whole.forward].rule;
    const operator_id of_block = to_.operators.id_of_key(from_.value_of(whole).ring.block);
    int sum[3] = {-1, -1, -1};
    place_[o] = to_.op.size;
    for (int i = 0; i < blocks_; ++i) {
      const int j = (i + 1) % blocks_;
      graph_operator block = whole;
      block.kind = of_block;
      block.rule = find_backward_rule(to_, block.kind, forward_rule, to_.text_at(to_.rule[whole.rule].text));
      block.rotation = j;
      for (int r = 0; r < 3; ++r) block.result[r] = like(whole.result[r], j);
      push(block);
      for (int r = 0; r < 3; ++r) {
        const int term = block.result[r];
        sum[r] = i == 0 ? term : add(whole, r, sum[r], term, i + 1 == blocks_, r == 0 ? -1 : j);
      }
    }
  }

  /// sum + term, the last one into the tensor that the whole operator made. Sums of keys travel: `rotation` ≥ 0.
  constexpr int add(const graph_operator& whole, int result, int sum, int term, bool last, int rotation) {
    const int operands[] = {sum, term};
    graph_operator op = bound(whole, id_of<ops::sum>, operands, 2);
    op.rotation = rotation;
    op.result[0] = last ? whole.result[result] : like(term, whole.operand_count);
    push(op);
    return op.result[0];
  }

  const graph& from_;
  graph to_;
  int blocks_;
  growing_array<int> place_;  ///< of each operator, the first one that stands for it
};

/// Loops of a block of attention: over the queries' sequence, and over that of the keys, whose block travels.
struct ring_loops {
  int queries = -1, keys = -1;
};

/// Those of an operator of a ring; -1 of any other.
constexpr ring_loops ring_loops_of(const graph& g, const graph_operator& op) {
  const attention_operands& attends = g.value_of(op).attends;
  if (op.rotation < 0 || !attends.exist()) return {};
  const factor_rule& rule = g.rule_of(op);
  return {rule.operand[attends.queries].term[1], rule.operand[attends.keys].term[1]};
}

}  // namespace detail

/// The graph with each attention as `blocks` operators. Domain: 1 ≤ blocks < 100 divides the keys' sequence.
constexpr graph rotate_attention(const graph& g, int blocks) {
  if (blocks == 1) return g;
  return detail::attention_rotation(g, blocks).run();
}

}}  // namespace hyperparallel::v0_2
