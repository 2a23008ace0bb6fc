// SPDX-License-Identifier: Apache-2.0
// A strategy that names its parts before its mesh.
// expect: diag::first_argument_of_a_strategy_is_no_mesh<
// expect: data_parallel<
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
static_assert(hp::mesh_type<mesh> && !hp::mesh_type<hp::data_parallel<"dp">>);

#ifdef NEGATIVE
using data = hp::strategy<hp::data_parallel<"dp">, mesh>;
#else
using data = hp::strategy<mesh, hp::data_parallel<"dp">>;
#endif
using step = hp::train_step<model, data, hp::adamw, hp::matrix384>;

constexpr hp::extent_t parameters = step::parameters;
constexpr hp::proof proved = step::verified;
constexpr bool small = hp::fits_alive<step>();
