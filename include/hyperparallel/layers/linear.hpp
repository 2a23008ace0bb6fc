// SPDX-License-Identifier: Apache-2.0
#pragma once
// A linear map between named dims, as one einsum: no reshape is ever needed.
//
//   linear_layer{"query", {key_heads, query_group, head_dim}}
//       x (…, hidden) -> (…, key_heads, query_group, head_dim)
//   linear_layer{"output", {hidden}, 3}
//       the three last dims of x -> (…, hidden)
//
// Weight "name.weight": the dims of x that are summed, then the output's; with `bias` "name.bias" of the output's dims
// (bias.hpp). The result is the tensor "name".
// 2 · elements(weight) · (the other dims of x) operations.

#include <hyperparallel/layers/bias.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct linear_layer {
  const char* name = "linear";
  number_list output{};  ///< named dims
  int contracted = 1;    ///< how many last dims of x are summed
  first_value first = first_value::by_reader;
  bool bias = false;

  constexpr int operator()(model_builder& m, int x) const {
    if (!has_rank(m, name, x, contracted)) return -1;
    if (contracted + output.count > max_dims) {
      m.graph.fail({graph_code::too_many_loops, m.scoped(name), -1, 0, 0, contracted + output.count, max_dims});
      return -1;
    }
    number_list dims;
    for (int d = 0; d < contracted; ++d) dims.item[dims.count++] = dim_from_end(m, x, contracted - 1 - d);
    for (int d = 0; d < output.count; ++d) dims.item[dims.count++] = output.item[d];
    const int weight = m.scope(name, [&] { return m.parameter("weight", dims, first); });

    // "*ab,abcd->*cd" for two dims into two.
    char text[3 * max_dims + 8] = {};
    int at = 0;
    const auto letters = [&](int begin, int end) {
      for (int l = begin; l < end; ++l) text[at++] = static_cast<char>('a' + l);
    };
    text[at++] = '*';
    letters(0, contracted);
    text[at++] = ',';
    letters(0, dims.count);
    text[at++] = '-';
    text[at++] = '>';
    text[at++] = '*';
    letters(contracted, dims.count);
    const int product = m.contract(name, text, x, weight);
    if (!bias || product < 0) return product;
    const int rank = m.graph.tensor[product].shape.rank;
    return with_bias(m, name, product, rank - output.count, rank);
  }
};

}}  // namespace hyperparallel::v0_2
