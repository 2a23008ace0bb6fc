// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a layer is given: a tensor of tokens (batch, seq, hidden), and the ends of its list of dims.
//
// Law: a layer that is given what it cannot take returns -1 and leaves the graph's first mistake in `graph::status`; a
// layer that is given -1 returns -1, so a model is built to its end whatever happens. O(1).

#include <hyperparallel/graph/model_builder.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// The dims of a tensor of tokens. `seq` stands for any dim of positions: "seq", "patches", …
struct token_dims {
  bool valid = false;
  int batch = -1;
  int sequence = -1;
  int hidden = -1;
};

/// Whether `x` has at least `rank` dims; otherwise the mistake is `layer`'s.
constexpr bool has_rank(model_builder& m, const char* layer, int x, int rank) {
  if (x < 0 || x >= m.graph.tensor.size) {
    m.graph.fail({graph_code::operand_does_not_exist, m.scoped(layer)});
    return false;
  }
  const graph_tensor& t = m.graph.tensor[x];
  if (t.shape.rank >= rank) return true;
  m.graph.fail({graph_code::rank_differs_from_text, m.scoped(layer), t.name, 0, 0, t.shape.rank, rank});
  return false;
}

/// The last named dim but `back` of `x`, which has it.
constexpr int dim_from_end(const model_builder& m, int x, int back) {
  const graph_tensor& t = m.graph.tensor[x];
  return t.dim[t.shape.rank - 1 - back];
}

namespace detail {

/// Dims of `x` as (batch, seq, hidden); not valid where it has another rank.
constexpr token_dims token_dims_of(model_builder& m, const char* layer, int x) {
  if (!has_rank(m, layer, x, 3)) return {};
  const graph_tensor& t = m.graph.tensor[x];
  if (t.shape.rank == 3) return {true, t.dim[0], t.dim[1], t.dim[2]};
  m.graph.fail({graph_code::rank_differs_from_text, m.scoped(layer), t.name, 0, 0, t.shape.rank, 3});
  return {};
}

}  // namespace detail

/// `x` times a number, as the tensor `name`; `x` itself for 1.
constexpr int scaled(model_builder& m, const char* name, int x, double by) {
  return x < 0 || by == 1.0 ? x : m.apply<ops::scale>(name, {x}, {.real = {by}});
}

}}  // namespace hyperparallel::v0_2
