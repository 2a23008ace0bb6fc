// SPDX-License-Identifier: Apache-2.0
// A model whose build the compiler cannot run, because it is not constexpr.
// expect: diag::build_of_a_model_is_not_constant<
// expect: run_time_model
#include <hyperparallel/program.hpp>

namespace hp = hyperparallel;

struct model {
  static constexpr void build(hp::model_builder& m) {
    const int hidden = m.dim("hidden", 16), x = m.input("x", {m.dim("batch", 8), hidden});
    const int h = m.contract("first", "*k,kn->*n", x, m.parameter("up", {hidden, m.dim("ffn", 32)}));
    m.loss(m.apply<hp::ops::reduce>("loss", {h}, {.text = "*->"}));
  }
};
struct run_time_model {
  static void build(hp::model_builder& m) { model::build(m); }
};
struct mesh : hp::device_matrix<hp::axis{"dp", 2}> {};
using data = hp::strategy<mesh, hp::data_parallel<"dp">>;
static_assert(hp::constant_build<model> && !hp::constant_build<run_time_model>);
static_assert(!hp::valid_train_step<run_time_model, data, hp::adamw, hp::matrix384>);

#ifdef NEGATIVE
using step = hp::train_step<run_time_model, data, hp::adamw, hp::matrix384>;
#else
using step = hp::train_step<model, data, hp::adamw, hp::matrix384>;
#endif

constexpr hp::extent_t parameters = step::parameters;
constexpr hp::proof proved = step::verified;
static_assert(step::verified && hp::fits_alive<step>());
