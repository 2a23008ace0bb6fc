// SPDX-License-Identifier: Apache-2.0
// What is asserted of a step that is refused adds no error line.
// expect: diag::strategy_names_an_axis_that_the_mesh_lacks<
// expect: axes_named<'f', 's', 'd', 'p'>
#include <hyperparallel/program.hpp>

namespace hp = hyperparallel;

struct model {
  static constexpr void build(hp::model_builder& m) {
    const int hidden = m.dim("hidden", 16), x = m.input("x", {m.dim("batch", 8), hidden});
    const int h = m.contract("first", "*k,kn->*n", x, m.parameter("up", {hidden, m.dim("ffn", 32)}));
    m.loss(m.apply<hp::ops::reduce>("loss", {h}, {.text = "*->"}));
  }
};
struct mesh : hp::device_matrix<hp::axis{"dp", 2}> {};
using data = hp::strategy<mesh, hp::data_parallel<"dp">>;
using wrong = hp::strategy<mesh, hp::data_parallel<"fsdp">>;
static_assert(hp::valid_train_step<model, data, hp::adamw, hp::matrix384>);
static_assert(!hp::valid_train_step<model, wrong, hp::adamw, hp::matrix384>);

#ifdef NEGATIVE
using step = hp::train_step<model, wrong, hp::adamw, hp::matrix384>;
#else
using step = hp::train_step<model, data, hp::adamw, hp::matrix384>;
#endif

static_assert(step::verified && step::peak <= 56 * hp::GiB);
static_assert(hp::fits_alive<step, hp::MiB>() && hp::fits_alive<step>());
static_assert(step::account.times.exposed <= step::account.times.total.picoseconds);
static_assert(hp::proved<step>::met && hp::alive_within<step, hp::MiB>::met);
static_assert(step::parameters == 512 && 512 == step::parameters);
static_assert(step::peak > 1024 && step::peak * 2 > step::parameters);
