// SPDX-License-Identifier: Apache-2.0
// A strategy by a name that there is not: nothing trains on one device instead.
// expect: diag::no_strategy_has_this_name<
// expect: strategy_named<'z', 'e', 'r', 'o', '4'>
// expect: nearest_name<'z', 'e', 'r', 'o', '1'>
#include <hyperparallel/program.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>

namespace hp = hyperparallel;

struct pair {
  static constexpr void build(hp::model_builder& m) {
    const int hidden = m.dim("hidden", 16), wide = m.dim("ffn", 32);
    const int x = m.input("x", {m.dim("batch", 8), hidden});
    const int h = m.contract("first", "*k,kn->*n", x, m.parameter("up", {hidden, wide}));
    const int y = m.contract("second", "*k,kn->*n", h, m.parameter("down", {wide, hidden}));
    m.loss(m.apply<hp::ops::reduce>("loss", {y}, {.text = "*->"}));
  }
};
struct right {
  static constexpr hp::strategy_value value = hp::strategy_called("zero3", 8).strategy;
};
struct wrong {
  static constexpr hp::strategy_value value = hp::strategy_called("zero4", 8).strategy;
};

template <class Strategy>
constexpr bool accepted = hp::valid_train_step<pair, Strategy, hp::adamw, hp::matrix384>;
static_assert(accepted<right> && !accepted<wrong>);

#ifdef NEGATIVE
using step = hp::train_step<pair, wrong, hp::adamw, hp::matrix384>;
#else
using step = hp::train_step<pair, right, hp::adamw, hp::matrix384>;
#endif

constexpr hp::extent_t parameters = step::parameters;
constexpr hp::proof proved = step::verified;
constexpr bool small = hp::fits_alive<step>();
