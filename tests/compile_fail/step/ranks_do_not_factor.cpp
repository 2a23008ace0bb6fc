// SPDX-License-Identifier: Apache-2.0
// A named strategy whose degrees are those of other ranks.
// expect: diag::strategy_is_not_valid<
// expect: ranks_do_not_factor
// expect: extent<8>
// expect: extent<6>
#include <hyperparallel/program.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>

namespace hp = hyperparallel;

struct pair {
  static constexpr void build(hp::model_builder& m) {
    const int hidden = m.dim("hidden", 16), wide = m.dim("ffn", 32);
    const int x = m.input("x", {m.dim("batch", 8), m.dim("seq", 4), hidden});
    const int h = m.contract("first", "*k,kn->*n", x, m.parameter("up", {hidden, wide}));
    const int y = m.contract("second", "*k,kn->*n", h, m.parameter("down", {wide, hidden}));
    m.loss(m.apply<hp::ops::reduce>("loss", {y}, {.text = "*->"}));
  }
};
template <int Data, int Tensor>
struct of_degrees {
  static constexpr int degrees[] = {Data, Tensor};
  static constexpr hp::strategy_value value = hp::strategy_called("dp-tp", 8, degrees, 2).strategy;
};
using right = of_degrees<4, 2>;
using wrong = of_degrees<3, 2>;

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
