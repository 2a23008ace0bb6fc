// SPDX-License-Identifier: Apache-2.0
// A user of the compiled library: trains a model of his own in two units of one program.
#include <cmath>

#include <hyperparallel/train.hpp>

#ifndef HYPERPARALLEL_COMPILED
#error "hyperparallel::compiled has to tell its users that the bodies are in the library"
#endif
static_assert(hyperparallel::is_compiled);

namespace hp = hyperparallel;

hp::graph one_layer();  // compiled_user_units.cpp
double loss_after(const hp::graph& g, const char* strategy);

struct two_layers {
  static constexpr void build(hp::model_builder& m) {
    const int batch = m.dim("batch", 4), seq = m.dim("seq", 8);
    const int tokens = m.index_input("tokens", {batch, seq}), labels = m.index_input("labels", {batch, seq});
    int x = hp::token_embedding{.vocabulary = 32, .hidden = 16}(m, tokens);
    x = m.repeat("layers", 2, x,
                 hp::transformer_block<hp::attention_layer, hp::swiglu_layer>{
                     .attention = {.query_heads = 4, .key_heads = 2, .head_dim = 4}, .feed_forward = {.width = 32}});
    hp::language_head{.vocabulary = 32}(m, x, labels);
  }
};

int main() {
  const hp::graph graph = hp::training_graph<two_layers>(hp::adamw::value, {.build = {.unrolled = true}});
  const double alone = loss_after(graph, "single"), spread = loss_after(graph, "zero3-tp");
  const double shallow = loss_after(one_layer(), "dp-tp");
  return std::fabs(alone - spread) <= 1e-9 * alone && std::isfinite(shallow) && shallow > 0 ? 0 : 1;
}
