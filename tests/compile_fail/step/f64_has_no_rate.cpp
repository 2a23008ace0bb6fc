// SPDX-License-Identifier: Apache-2.0
// A step in doubles on hardware that states no rate for them: it has no price, and is not priced as one in floats.
// expect: diag::step_cannot_be_priced<
// expect: rate_is_not_positive
// expect: matrix384
// expect: float64
#include <hyperparallel/program.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
struct pair {
  static constexpr void build(hp::model_builder& m) {
    const int hidden = m.dim("hidden", 16), wide = m.dim("ffn", 32);
    const int x = m.input("x", {m.dim("batch", 8), hidden});
    const int h = m.contract("first", "*k,kn->*n", x, m.parameter("up", {hidden, wide}));
    const int y = m.contract("second", "*k,kn->*n", h, m.parameter("down", {wide, hidden}));
    m.loss(m.apply<hp::ops::reduce>("loss", {y}, {.text = "*->"}));
  }
};
using strategy = hp::strategy<mesh, hp::data_parallel<"dp">>;
using doubles = hp::precision<hp::f64>;
static_assert(hp::valid_train_step<pair, strategy, hp::sgd, hp::generic_host, doubles>);
static_assert(!hp::valid_train_step<pair, strategy, hp::sgd, hp::matrix384, doubles>);

#ifdef NEGATIVE
using hardware = hp::matrix384;
#else
using hardware = hp::generic_host;
#endif
using step = hp::train_step<pair, strategy, hp::sgd, hardware, doubles>;

constexpr hp::extent_t peak = step::peak;
constexpr bool small = hp::fits_alive<step>();
