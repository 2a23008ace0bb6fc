// SPDX-License-Identifier: Apache-2.0
// A model that is trained and names no loss.
// expect: diag::model_cannot_be_built<
// expect: model_has_no_loss
#include <hyperparallel/program.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
using whole = hp::strategy<mesh>;

template <bool HasLoss>
struct row {
  static constexpr void build(hp::model_builder& m) {
    const int batch = m.dim("batch", 8), hidden = m.dim("hidden", 16);
    const int x = m.contract("product", "bh,h->bh", m.input("x", {batch, hidden}), m.parameter("weight", {hidden}));
    const int sum = m.apply<hp::ops::reduce>("sum", {x}, {.text = "*->"});
    if (HasLoss) m.loss(sum);
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
