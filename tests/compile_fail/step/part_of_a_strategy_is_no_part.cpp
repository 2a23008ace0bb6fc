// SPDX-License-Identifier: Apache-2.0
// A part of a strategy that adds no rule: an option of a step.
// expect: diag::part_of_a_strategy_is_no_part<
// expect: accumulating<2>
#include <hyperparallel/program.hpp>

namespace hp = hyperparallel;

struct model {
  static constexpr void build(hp::model_builder& m) {
    const int hidden = m.dim("hidden", 16), x = m.input("x", {m.dim("batch", 8), hidden});
    const int h = m.contract("first", "*k,kn->*n", x, m.parameter("up", {hidden, m.dim("ffn", 32)}));
    m.loss(m.apply<hp::ops::reduce>("loss", {h}, {.text = "*->"}));
  }
};
struct mesh : hp::device_matrix<hp::axis{"dp", 2}> {};
static_assert(hp::strategy_part<hp::data_parallel<"dp">> && !hp::strategy_part<hp::accumulating<2>>);

#ifdef NEGATIVE
using data = hp::strategy<mesh, hp::data_parallel<"dp">, hp::accumulating<2>>;
#else
using data = hp::strategy<mesh, hp::data_parallel<"dp">>;
#endif
using step = hp::train_step<model, data, hp::adamw, hp::matrix384>;

constexpr hp::extent_t parameters = step::parameters;
constexpr hp::proof proved = step::verified;
constexpr bool small = hp::fits_alive<step>();
