// SPDX-License-Identifier: Apache-2.0
// The other unit of compiled_user: includes everything, and shares the library's definitions with the first.
#include <hyperparallel/hyperparallel.hpp>

namespace hp = hyperparallel;

struct single_layer {
  static constexpr void build(hp::model_builder& m) {
    const int batch = m.dim("batch", 4), seq = m.dim("seq", 8);
    const int tokens = m.index_input("tokens", {batch, seq}), labels = m.index_input("labels", {batch, seq});
    const int x = hp::token_embedding{.vocabulary = 32, .hidden = 16}(m, tokens);
    hp::language_head{.vocabulary = 32}(m, hp::swiglu_layer{.width = 32}(m, x), labels);
  }
};

hp::graph one_layer() { return hp::training_graph<single_layer>(hp::adamw::value, {.build = {.unrolled = true}}); }

double loss_after(const hp::graph& g, const char* strategy) {
  const hp::strategy_result s = hp::strategy_called(strategy, 4);
  if (s.status.code != hp::strategy_code::ok) return -1;
  hp::model_run<double> run(hp::in_floats(g, hp::f64), s.strategy);
  double loss = 0;
  for (int step = 0; step < 3; ++step) loss = run.train_step([&](int) { run.set_random_inputs(1); });
  return loss;
}
