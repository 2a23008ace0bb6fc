// SPDX-License-Identifier: Apache-2.0
// An embedding whose tokens are floats.
// expect: diag::model_cannot_be_built<
// expect: operand_holds_no_indices
// expect: named_operator<'e', 'm', 'b', 'e', 'd'>
// expect: named_tensor<'t', 'o', 'k', 'e', 'n', 's'>
#include <hyperparallel/program.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
using whole = hp::strategy<mesh>;

template <bool Indices>
struct row {
  static constexpr void build(hp::model_builder& m) {
    const int batch = m.dim("batch", 8), hidden = m.dim("hidden", 16), vocab = m.dim("vocab", 32);
    const int tokens = Indices ? m.index_input("tokens", {batch}) : m.input("tokens", {batch});
    const int x = m.apply<hp::ops::embed>("embed", {tokens, m.parameter("table", {vocab, hidden})});
    m.loss(m.apply<hp::ops::reduce>("loss", {x}, {.text = "*->"}));
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
