// SPDX-License-Identifier: Apache-2.0
// An optimizer whose rate of learning is below zero.
// expect: diag::model_cannot_be_built<
// expect: optimizer_number_is_out_of_range
// expect: named_operator<'r', 'a', 't', 'e'>
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
struct right {
  static constexpr hp::optimizer_value value{.rate = 3e-4};
};
struct wrong {
  static constexpr hp::optimizer_value value{.rate = -3e-4};
};

template <class Optimizer>
constexpr bool accepted = hp::valid_train_step<pair, strategy, Optimizer, hp::matrix384>;
static_assert(accepted<right> && !accepted<wrong>);

#ifdef NEGATIVE
using step = hp::train_step<pair, strategy, wrong, hp::matrix384>;
#else
using step = hp::train_step<pair, strategy, right, hp::matrix384>;
#endif

constexpr hp::extent_t parameters = step::parameters;
constexpr hp::proof proved = step::verified;
constexpr bool small = hp::fits_alive<step>();
