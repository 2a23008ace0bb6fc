// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tensors and operators of a graph as short texts, so that a test states what a layer makes in one line each.

#include <hyperparallel/graph/model_builder.hpp>
#include <string>
#include <vector>

namespace hyperparallel::test {

using strings = std::vector<std::string>;

/// "attention.query (batch 2, seq 3)"; "no tensor" where there is none.
inline std::string described(const graph& g, int t) {
  if (t < 0 || t >= g.tensor.size) return "no tensor";
  std::string text = std::string(g.name_of_tensor(t)) + " (";
  for (int d = 0; d < g.tensor[t].shape.rank; ++d) {
    if (d > 0) text += ", ";
    text += g.name_of_dim(g.tensor[t].dim[d]);
    text += " " + std::to_string(g.tensor[t].shape.extent[d]);
  }
  return text + ")";
}
inline std::string described(const graph& g, const char* name) { return described(g, find_tensor(g, name)); }

/// Every tensor of `kind`, in the order in which it was made.
inline strings described(const graph& g, graph_tensor_kind kind) {
  strings all;
  for (int t = 0; t < g.tensor.size; ++t)
    if (g.tensor[t].kind == kind) all.push_back(described(g, t));
  return all;
}

/// "contract attention.query", operator by operator.
inline strings operators(const graph& g) {
  strings all;
  for (int o = 0; o < g.op.size; ++o) all.push_back(std::string(name_of(g.op[o].kind)) + " " + g.name_of_op(o));
  return all;
}

/// The operator called `name`; the graph has it.
inline const graph_operator& operator_called(const graph& g, const char* name) {
  for (int o = 0; o < g.op.size; ++o)
    if (hyperparallel::detail::same_text(g.name_of_op(o), name)) return g.op[o];
  static const graph_operator none{};
  return none;
}

/// A builder with tokens x (batch, seq, hidden).
struct token_graph {
  model_builder m{};
  int batch, sequence, hidden, x;
  token_graph(extent_t b, extent_t s, extent_t h)
      : batch(m.dim("batch", b)),
        sequence(m.dim("seq", s)),
        hidden(m.dim("hidden", h)),
        x(m.input("x", {batch, sequence, hidden})) {}
};

/// "heads_do_not_divide attention 6 4": the status of the first mistake.
inline std::string mistake(const graph& g) {
  std::string text = name_of(g.status.code);
  if (g.status.op >= 0) text += std::string(" ") + g.text_at(g.status.op);
  if (g.status.tensor >= 0) text += std::string(" ") + g.text_at(g.status.tensor);
  return text + " " + std::to_string(g.status.extent) + " " + std::to_string(g.status.other);
}

}  // namespace hyperparallel::test
