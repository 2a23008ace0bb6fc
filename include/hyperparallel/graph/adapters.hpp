// SPDX-License-Identifier: Apache-2.0
#pragma once
// Low-rank adapters (LoRA): products with a weight get two small ones beside them, which alone are trained.
//
//   adapt(g, targets, 16);          to be called before `differentiate`; targets are patterns of products' names
//
// Of a product y = x W with a parameter W, named by a target, readers get y + (x A) B instead: A, "name.adapter_in.weight", from what W sums to
// the rank, B, "name.adapter_out.weight", from the rank to what W gives, which begins at 0. The factor alpha / rank is 1. Every parameter but
// these is frozen: it gets no gradient, so no product for one, no state and no update; what passes gradients on stays. A bias is added behind.
//
// Laws: before the first step the loss is that of the graph without adapters; gradients of A and B are those of any parameter; each pattern names a
// product. O(operators · patterns). Source: Hu et al., "LoRA: low-rank adaptation of large language models", 2106.09685.

#include <hyperparallel/graph/model_builder.hpp>
#include <hyperparallel/graph/operator_order.hpp>
#include <hyperparallel/graph/sharding_plan.hpp>
#include <hyperparallel/support/static_vector.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Patterns of products.
using adapted_patterns = static_vector<short_text, 12>;

namespace detail {

class adapter_pass {
 public:
  constexpr adapter_pass(graph& given, const adapted_patterns& targets, extent_t rank)
      : g(given), list(targets), rank_dim(g.dim.push({add_text(given, "adapter_rank"), rank})) {}

  constexpr void run() {
    const int operators = g.op.size;
    for (graph_tensor& t : g.tensor)
      if (t.kind == graph_tensor_kind::parameter) t.frozen = true;
    instead.resize(g.tensor.size, -1);
    for (const short_text& target : list) {
      bool any = false;
      for (int o = 0; o < operators && !any; ++o) any = is_named(o, target.text);
      if (!any) return g.fail({graph_code::pattern_matches_nothing, add_text(g, target.text)});
    }
    growing_array<int> order;
    for (int o = 0; o < operators; ++o) {
      for (int i = 0; i < g.op[o].operand_count; ++i)
        if (const int t = g.op[o].operand[i]; instead[t] >= 0) g.op[o].operand[i] = instead[t];
      order.push(o);
      bool wanted = false;
      for (const short_text& target : list) wanted = wanted || is_named(o, target.text);
      const int first = g.op.size;
      if (wanted) adapt_product(o);
      if (g.status.code != graph_code::ok) return;
      for (int added = first; added < g.op.size; ++added) order.push(added);
    }
    for (graph_segment& s : g.segment)
      if (s.carried_out >= 0 && s.carried_out < instead.size && instead[s.carried_out] >= 0)
        s.carried_out = instead[s.carried_out];
    arrange_operators(g, order);
  }

 private:
  constexpr bool is_named(int o, const char* pattern) const {
    const graph_operator& op = g.op[o];
    return g.value_of(op).is_product && op.operand_count == 2 &&
           g.tensor[op.operand[1]].kind == graph_tensor_kind::parameter && name_matches(pattern, g.name_of_op(o));
  }

  /// "*ab,abc->*c" for two dims into one.
  struct product_text {
    char text[3 * max_dims + 8] = {};
    constexpr product_text(int summed, int given) {
      int at = 0;
      const auto letters = [&](int begin, int end) {
        for (int l = begin; l < end; ++l) text[at++] = static_cast<char>('a' + l);
      };
      text[at++] = '*';
      letters(0, summed);
      text[at++] = ',';
      letters(0, summed + given);
      text[at++] = '-';
      text[at++] = '>';
      text[at++] = '*';
      letters(summed, summed + given);
    }
  };

  constexpr int parameter(int o, const char* name, const int* dims, int count, first_value first) {
    graph_tensor t;
    t.name = add_text(g, g.name_of_op(o), name);
    t.type = g.tensor[g.op[o].operand[1]].type;
    t.kind = graph_tensor_kind::parameter;
    t.first = first;
    t.shape.rank = count;
    for (int d = 0; d < count; ++d) {
      t.dim[d] = dims[d];
      t.shape.extent[d] = g.dim[dims[d]].extent;
    }
    t.segment = g.op[o].segment;
    return g.tensor.push(t);
  }
  /// Adds an operator of two operands behind operator `o` and returns its result.
  constexpr int apply(int o, operator_id kind, const char* name, const char* text, int a, int b) {
    graph_operator added;
    added.kind = kind;
    added.segment = g.op[o].segment;
    added.name = add_text(g, g.name_of_op(o), name);
    const int operands[] = {a, b};
    graph_status s = bind_loops(g, added, text, operands, 2, nullptr, 0);
    if (s.code != graph_code::ok) {
      s.op = added.name;
      g.fail(s);
      return a;
    }
    return model_builder::add_operator(g, added, g.tensor[g.op[o].result[0]].type);
  }

  constexpr void adapt_product(int o) {
    const int x = g.op[o].operand[0], y = g.op[o].result[0];
    const graph_tensor weight = g.tensor[g.op[o].operand[1]];
    const int summed = (g.tensor[x].shape.rank + weight.shape.rank - g.tensor[y].shape.rank) / 2;
    const int given = weight.shape.rank - summed;
    int dims[max_dims + 1] = {};
    for (int d = 0; d < summed; ++d) dims[d] = weight.dim[d];
    dims[summed] = rank_dim;
    const int in = parameter(o, ".adapter_in.weight", dims, summed + 1, first_value::drawn);
    dims[0] = rank_dim;
    for (int d = 0; d < given; ++d) dims[d + 1] = weight.dim[summed + d];
    const int out = parameter(o, ".adapter_out.weight", dims, given + 1, first_value::zeros);
    const int low = apply(o, id_of<ops::contract>, ".adapter_in", product_text(summed, 1).text, x, in);
    const int high = apply(o, id_of<ops::contract>, ".adapter_out", product_text(1, given).text, low, out);
    instead[y] = apply(o, id_of<ops::sum>, ".adapted", ops::sum::text, y, high);
  }

  graph& g;
  const adapted_patterns& list;
  int rank_dim;
  growing_array<int> instead;  ///< of each tensor that was there: what readers get, or -1
};

}  // namespace detail

/// Adds adapters of `rank` to the products that a target names, and freezes all other parameters. Where a target names none, `graph::status` has
/// it as the operator's name. Precondition: rank ≥ 1, no backward operators yet.
constexpr void adapt(graph& g, const adapted_patterns& targets, extent_t rank) {
  if (g.status.code == graph_code::ok) detail::adapter_pass(g, targets, rank).run();
}

}}  // namespace hyperparallel::v0_2
