// SPDX-License-Identifier: Apache-2.0
// An option of a step of training that is none: an optimizer behind the hardware.
// expect: diag::option_of_a_step_is_no_option<
// expect: sgd
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
using data = hp::strategy<mesh, hp::data_parallel<"dp">>;
static_assert(hp::step_option<hp::accumulating<2>> && !hp::step_option<hp::sgd>);

#ifdef NEGATIVE
using step = hp::train_step<model, data, hp::adamw, hp::matrix384, hp::accumulating<2>, hp::sgd>;
#else
using step = hp::train_step<model, data, hp::adamw, hp::matrix384, hp::accumulating<2>>;
#endif

constexpr hp::extent_t parameters = step::parameters;
constexpr hp::proof proved = step::verified;
constexpr bool small = hp::fits_alive<step>();
