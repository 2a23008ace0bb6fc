// SPDX-License-Identifier: Apache-2.0
// docs/how-to/add-a-layer-or-a-strategy.md
#undef NDEBUG
#include <cassert>
#include <cmath>

#include <hyperparallel/graph/check_graph.hpp>
#include <hyperparallel/train.hpp>

namespace hp = hyperparallel;

/// x + up(down(x)), `rank` numbers wide in between.
struct adapter_layer {
  const char* name = "adapter";
  hp::extent_t rank = 8;

  constexpr int operator()(hp::model_builder& m, int x) const {
    if (!hp::has_rank(m, name, x, 1)) return -1;
    const int narrow = m.dim("adapter", rank), hidden = hp::dim_from_end(m, x, 0);
    return m.scope(name, [&] {
      const int down = hp::linear_layer{"down", {narrow}}(m, x);
      return m.sum("output", x, hp::linear_layer{"up", {hidden}}(m, down));
    });
  }
};

struct adapted_model {
  static constexpr void build(hp::model_builder& m) {
    const int batch = m.dim("batch", 4), seq = m.dim("seq", 8);
    const int tokens = m.index_input("tokens", {batch, seq}), labels = m.index_input("labels", {batch, seq});
    int x = hp::token_embedding{.vocabulary = 32, .hidden = 16}(m, tokens);
    x = adapter_layer{}(m, x);
    hp::language_head{.vocabulary = 32}(m, x, labels);
  }
};

static_assert(hp::check_graph(hp::build_model<adapted_model>()).code == hp::graph_code::ok);

/// The width of adapters along an axis.
template <hp::fixed_string Axis>
struct adapter_parallel {
  static constexpr void add(hp::strategy_value& s) { s.add(hp::shard_dim("adapter", Axis.text)); }
};

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
using strategy = hp::strategy<mesh, hp::data_parallel<"dp">, adapter_parallel<"tp">>;
using training = hp::train_step<adapted_model, strategy, hp::adamw, hp::matrix384>;
static_assert(training::verified);

// A part that never decides anything is refused: the model has no experts.
using wrong = hp::strategy<mesh, adapter_parallel<"tp">, hp::expert_parallel<"dp">>;
static_assert(!hp::valid_train_step<adapted_model, wrong, hp::adamw, hp::matrix384>);

int main() {
  const hp::graph step = hp::training_graph<adapted_model>(hp::adamw::value, {.build = {.unrolled = true}});
  const hp::graph g = hp::in_floats(step, hp::f64);  // the step trains in bf16
  hp::model_run<double> many(g, strategy::value), one(g, hp::strategy_called("single", 1).strategy);
  for (int i = 0; i < 5; ++i) {
    const double loss = many.train_step([&](int) { many.set_random_inputs(1); });
    const double alone = one.train_step([&](int) { one.set_random_inputs(1); });
    assert(std::abs(loss - alone) <= 1e-12 * alone);
  }
}
