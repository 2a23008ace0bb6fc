// SPDX-License-Identifier: Apache-2.0
// A matmul whose operands disagree about the dim that they sum over.
// expect: diag::model_cannot_be_built<
// expect: dim_differs_between_operands
// expect: named_operator<'s', 'e', 'c', 'o', 'n', 'd'>
// expect: extent<32>
// expect: extent<24>
#include <hyperparallel/program.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
using whole = hp::strategy<mesh>;

template <hp::extent_t Width>
struct pair {
  static constexpr void build(hp::model_builder& m) {
    const int hidden = m.dim("hidden", 16), wide = m.dim("ffn", 32), rows = m.dim("rows", Width);
    const int x = m.input("x", {m.dim("batch", 8), hidden});
    const int h = m.contract("first", "*k,kn->*n", x, m.parameter("up", {hidden, wide}));
    const int y = m.contract("second", "*k,kn->*n", h, m.parameter("down", {rows, hidden}));
    m.loss(m.apply<hp::ops::reduce>("loss", {y}, {.text = "*->"}));
  }
};

static_assert(hp::valid_train_step<pair<32>, whole, hp::adamw, hp::matrix384>);
static_assert(!hp::valid_train_step<pair<24>, whole, hp::adamw, hp::matrix384>);

#ifdef NEGATIVE
using step = hp::train_step<pair<24>, whole, hp::adamw, hp::matrix384>;
#else
using step = hp::train_step<pair<32>, whole, hp::adamw, hp::matrix384>;
#endif

constexpr hp::extent_t parameters = step::parameters;
constexpr hp::proof proved = step::verified;
constexpr bool small = hp::fits_alive<step>();
