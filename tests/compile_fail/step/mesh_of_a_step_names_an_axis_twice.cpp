// SPDX-License-Identifier: Apache-2.0
// A step of training on a device matrix that names an axis twice: the strategy of that mesh says nothing of its own.
// expect: diag::device_matrix_is_not_valid<
// expect: axis_name_is_used_twice
// expect: dim<1>
#include <hyperparallel/program.hpp>

namespace hp = hyperparallel;

struct model {
  static constexpr void build(hp::model_builder& m) {
    const int hidden = m.dim("hidden", 16), x = m.input("x", {m.dim("batch", 8), hidden});
    const int h = m.contract("first", "*k,kn->*n", x, m.parameter("up", {hidden, m.dim("ffn", 32)}));
    m.loss(m.apply<hp::ops::reduce>("loss", {h}, {.text = "*->"}));
  }
};
static_assert(!hp::valid_device_matrix<hp::axis{"dp", 2}, hp::axis{"dp", 4}>);

#ifdef NEGATIVE
struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"dp", 4}> {};
#else
struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
#endif
using data = hp::strategy<mesh, hp::data_parallel<"dp">>;
using step = hp::train_step<model, data, hp::adamw, hp::matrix384>;

constexpr hp::extent_t parameters = step::parameters;
constexpr hp::proof proved = step::verified;
constexpr bool small = hp::fits_alive<step>();
