// SPDX-License-Identifier: Apache-2.0
#pragma once
// What surrounds the layers of a small language model: tokens and their vectors before, head and loss after.

#include <hyperparallel/layers.hpp>

namespace programs {

namespace hp = hyperparallel;

struct text_sizes {
  hp::extent_t batch = 4, sequence = 8, vocabulary = 32, hidden = 16;
};

/// The inputs "tokens" and "labels" (batch, seq), and the tokens' vectors.
struct text_inputs {
  int batch, sequence, tokens, labels, x;

  constexpr text_inputs(hp::model_builder& m, const text_sizes& s)
      : batch(m.dim("batch", s.batch)),
        sequence(m.dim("seq", s.sequence)),
        tokens(m.index_input("tokens", {batch, sequence})),
        labels(m.index_input("labels", {batch, sequence})),
        x(hp::token_embedding{.vocabulary = s.vocabulary, .hidden = s.hidden}(m, tokens)) {}
};

/// Embedding, `body(builder, x)`, head.
template <class Body>
constexpr void language_model(hp::model_builder& m, const text_sizes& s, const Body& body) {
  const text_inputs text(m, s);
  hp::language_head{.vocabulary = s.vocabulary}(m, body(m, text.x), text.labels);
}

/// The same around `count` repetitions of `layer(builder, x)`, called `name`.
template <class Layer>
constexpr void language_model(hp::model_builder& m, const text_sizes& s, const char* name, hp::extent_t count,
                              const Layer& layer) {
  language_model(m, s, [&](hp::model_builder& outer, int x) { return outer.repeat(name, count, x, layer); });
}

}  // namespace programs
