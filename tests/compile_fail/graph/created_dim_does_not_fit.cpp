// SPDX-License-Identifier: Apache-2.0
// A concat that makes a dim of another extent than its operands have together.
// expect: diag::model_cannot_be_built<
// expect: created_dim_does_not_fit
// expect: named_operator<'j', 'o', 'i', 'n', 'e', 'd'>
// expect: extent<48>
// expect: extent<32>
#include <hyperparallel/program.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
using whole = hp::strategy<mesh>;

template <hp::extent_t Both>
struct joined {
  static constexpr void build(hp::model_builder& m) {
    const int hidden = m.dim("hidden", 16), both = m.dim("both", Both);
    const int x = m.input("x", {m.dim("batch", 8), hidden});
    const int h = m.contract("first", "*k,km->*m", x, m.parameter("weight", {hidden, m.dim("out", 16)}));
    const int y =
        m.apply<hp::ops::concat>("joined", {x, h}, {.text = "bA,bB->bC", .created = {{'C', both}}, .created_count = 1});
    m.loss(m.apply<hp::ops::mean>("loss", {y}, {.text = "*->"}));
  }
};

static_assert(hp::valid_train_step<joined<32>, whole, hp::adamw, hp::matrix384>);
static_assert(!hp::valid_train_step<joined<48>, whole, hp::adamw, hp::matrix384>);

#ifdef NEGATIVE
using step = hp::train_step<joined<48>, whole, hp::adamw, hp::matrix384>;
#else
using step = hp::train_step<joined<32>, whole, hp::adamw, hp::matrix384>;
#endif

constexpr hp::extent_t parameters = step::parameters;
constexpr hp::proof proved = step::verified;
