// SPDX-License-Identifier: Apache-2.0
#pragma once
// One layer without norms and residuals, between an entry and an exit that lie where everything between layers does.
//
// The entry multiplies the input with a parameter of its shape, so that the layer's gradient is wanted at its input;
// the exit multiplies with an input, so that a gradient comes back in the layout in which the result left. Both work
// element by element and move nothing of their own.

#include <hyperparallel/graph/gradient.hpp>
#include <hyperparallel/graph/optimizer.hpp>
#include <hyperparallel/layers.hpp>

namespace programs {

namespace hp = hyperparallel;

struct bare_sizes {
  hp::extent_t batch = 4, sequence = 8, hidden = 16;
  hp::data_type type = hp::data_type::f32;
  bool trained = false;  ///< with an optimizer
  int micro_batches = 1;
};

/// `body(builder, x)` in the scope "layer", differentiated.
template <class Body>
hp::graph bare_model(const bare_sizes& sizes, const Body& body) {
  hp::model_builder m(hp::build_options{sizes.type, sizes.type, true});
  m.graph.micro_batches = sizes.micro_batches;
  const int batch = m.dim("batch", sizes.batch), seq = m.dim("seq", sizes.sequence);
  const int hidden = m.dim("hidden", sizes.hidden);
  const int x = m.input("x", {batch, seq, hidden}), weight = m.parameter("entry.weight", {batch, seq, hidden});
  const int entered = m.apply<hp::ops::multiply>("entry", {x, weight});
  const int y = m.scope("layer", [&] { return body(m, entered); });
  const int target = m.input("target", {batch, seq, hidden});
  const int left = m.apply<hp::ops::multiply>("exit", {y, target});
  m.loss(m.apply<hp::ops::reduce>("loss", {left}, {.text = "*->"}));
  hp::differentiate(m.graph);
  if (sizes.trained) hp::append_optimizer(m.graph, {});
  return m.graph;
}

/// down · silu(up · x), `width` the named dim "ffn".
inline int matrix_pair(hp::model_builder& m, int x, hp::extent_t width) {
  const int wide = m.dim("ffn", width), hidden = hp::dim_from_end(m, x, 0);
  const int up = hp::linear_layer{"up", {wide}}(m, x);
  return hp::linear_layer{"down", {hidden}}(m, m.apply<hp::ops::silu>("activation", {up}));
}

}  // namespace programs
