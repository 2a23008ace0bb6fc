// SPDX-License-Identifier: Apache-2.0
// A loss that has a dim: a number for each row.
// expect: diag::model_cannot_be_built<
// expect: loss_is_not_one_number
// expect: named_tensor<'r', 'o', 'w', 's'>
#include <hyperparallel/program.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
using whole = hp::strategy<mesh>;

template <bool Whole>
struct row {
  static constexpr void build(hp::model_builder& m) {
    const int batch = m.dim("batch", 8), hidden = m.dim("hidden", 16);
    const int x = m.contract("product", "bh,h->bh", m.input("x", {batch, hidden}), m.parameter("weight", {hidden}));
    m.loss(m.apply<hp::ops::reduce>("rows", {x}, {.text = Whole ? "*->" : "bh->b"}));
  }
};

static_assert(hp::valid_train_step<row<true>, whole, hp::adamw, hp::matrix384>);
static_assert(!hp::valid_train_step<row<false>, whole, hp::adamw, hp::matrix384>);

#ifdef NEGATIVE
using step = hp::train_step<row<false>, whole, hp::adamw, hp::matrix384>;
#else
using step = hp::train_step<row<true>, whole, hp::adamw, hp::matrix384>;
#endif

constexpr hp::extent_t parameters = step::parameters;
constexpr hp::proof proved = step::verified;
constexpr bool small = hp::fits_alive<step>();
