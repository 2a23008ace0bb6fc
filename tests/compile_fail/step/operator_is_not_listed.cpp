// SPDX-License-Identifier: Apache-2.0
// An operator of a user that the step is not given.
// expect: diag::operator_is_not_listed<
// expect: named_operator<'o', 'w', 'n'>
// expect: operator_type_named<'m', 'i', 'n', 'e'>
#include <hyperparallel/program.hpp>

namespace hp = hyperparallel;

struct mine {
  static constexpr const char *name = "mine", *text = "*->*";
  template <class Builder>
  static constexpr void gradient(Builder& b) {
    b.template backward<hp::ops::scale>("g0>0");
  }
};
struct model {
  static constexpr void build(hp::model_builder& m) {
    const int hidden = m.dim("hidden", 16), x = m.input("x", {m.dim("batch", 8), hidden});
    const int h = m.contract("first", "*k,kn->*n", x, m.parameter("up", {hidden, m.dim("ffn", 32)}));
    m.loss(m.apply<hp::ops::reduce>("loss", {m.apply<mine>("own", {h})}, {.text = "*->"}));
  }
};
struct mesh : hp::device_matrix<hp::axis{"dp", 2}> {};
using data = hp::strategy<mesh, hp::data_parallel<"dp">>;
using listed = hp::operators<hp::builtin, mine>;
static_assert(hp::valid_train_step<model, data, hp::sgd, hp::matrix384, listed>);
static_assert(!hp::valid_train_step<model, data, hp::sgd, hp::matrix384>);

#ifdef NEGATIVE
using step = hp::train_step<model, data, hp::sgd, hp::matrix384>;
#else
using step = hp::train_step<model, data, hp::sgd, hp::matrix384, listed>;
#endif

constexpr hp::extent_t parameters = step::parameters;
constexpr hp::proof proved = step::verified;
constexpr bool small = hp::fits_alive<step>();
