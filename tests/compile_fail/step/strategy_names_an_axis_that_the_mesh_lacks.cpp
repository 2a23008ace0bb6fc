// SPDX-License-Identifier: Apache-2.0
// Data parallel along "fsdp", which is no axis of the mesh.
// expect: diag::strategy_names_an_axis_that_the_mesh_lacks<
// expect: axes_named<'f', 's', 'd', 'p'>
#include <hyperparallel/program.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
struct pair {
  static constexpr void build(hp::model_builder& m) {
    const int hidden = m.dim("hidden", 16), wide = m.dim("ffn", 32);
    const int x = m.input("x", {m.dim("batch", 8), hidden});
    const int h = m.contract("first", "*k,kn->*n", x, m.parameter("up", {hidden, wide}));
    const int y = m.contract("second", "*k,kn->*n", h, m.parameter("down", {wide, hidden}));
    m.loss(m.apply<hp::ops::reduce>("loss", {y}, {.text = "*->"}));
  }
};
using right = hp::strategy<mesh, hp::data_parallel<"dp">>;
using wrong = hp::strategy<mesh, hp::data_parallel<"fsdp">>;

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
