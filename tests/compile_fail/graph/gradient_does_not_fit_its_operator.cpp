// SPDX-License-Identifier: Apache-2.0
// The gradient of a user's operator hands its backward operator a factor rule that this one does not write.
// expect: diag::model_cannot_be_built<
// expect: gradient_does_not_fit_its_operator
// expect: named_operator<'a', 'c', 't'>
#include <hyperparallel/program.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}> {};
using whole = hp::strategy<mesh>;

struct act_gradient {
  static constexpr const char *name = "act_gradient", *text = "*,*->*";
};
template <class Backward>
struct act {
  static constexpr const char *name = "act", *text = "*->*";
  template <class Builder>
  static constexpr void gradient(Builder& b) {
    b.template backward<Backward>("g0,x0>0");
  }
};
struct row_gradient {  // wants whole rows, where the forward operator takes any piece
  static constexpr const char *name = "row_gradient", *text = "*H,*H->*H";
};

template <class Act>
struct model {
  static constexpr void build(hp::model_builder& m) {
    const int x = m.parameter("x", {m.dim("batch", 8), m.dim("hidden", 16)});
    m.loss(m.apply<hp::ops::reduce>("loss", {m.apply<Act>("act", {x})}, {.text = "*->"}));
  }
};

using good = act<act_gradient>;
using bad = act<row_gradient>;
using good_list = hp::operators<hp::builtin, good, act_gradient>;
using bad_list = hp::operators<hp::builtin, bad, row_gradient>;
static_assert(hp::valid_train_step<model<good>, whole, hp::adamw, hp::matrix384, good_list>);
static_assert(!hp::valid_train_step<model<bad>, whole, hp::adamw, hp::matrix384, bad_list>);

#ifdef NEGATIVE
using step = hp::train_step<model<bad>, whole, hp::adamw, hp::matrix384, bad_list>;
#else
using step = hp::train_step<model<good>, whole, hp::adamw, hp::matrix384, good_list>;
#endif

constexpr hp::extent_t parameters = step::parameters;
constexpr hp::proof proved = step::verified;
