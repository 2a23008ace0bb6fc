// SPDX-License-Identifier: Apache-2.0
// A strategy type is asked of a search that has found no plan.
// expect: strategy_from: the search has found no plan
#include <hyperparallel/program.hpp>

namespace hp = hyperparallel;

struct model {
  static constexpr void build(hp::model_builder& m) {
    const int hidden = m.dim("hidden", 16);
    const int x = m.input("x", {m.dim("batch", 4), hidden});
    const int y = m.contract("up", "*k,kn->*n", x, m.parameter("weight", {hidden, m.dim("out", 16)}));
    m.loss(m.apply<hp::ops::reduce>("loss", {y}, {.text = "*->"}));
  }
};

constexpr hp::search_result search(hp::extent_t bytes) {
  const hp::graph g = hp::training_graph<model>(hp::adamw::value);
  constexpr hp::search_limits few{.reduced = true, .tensor = 2, .context = 1, .pipeline = 1, .named = false};
  return hp::search_strategies(&g, 1, hp::matrix384::device, hp::matrix384::topology, 2, few, bytes,
                               [](const hp::search_progress&) {});
}

#ifdef NEGATIVE
constexpr hp::search_result found = search(1);
#else
constexpr hp::search_result found = search(hp::GiB);
#endif

using strategy = hp::strategy_from<found>;
static_assert(strategy::value.mesh.shape.axis_count >= 1);
