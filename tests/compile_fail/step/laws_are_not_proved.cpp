// SPDX-License-Identifier: Apache-2.0
// Laws are insisted on where the compiler does not ask them.
// expect: diag::laws_are_not_proved<
// expect: proof_state::not_asked
// expect: devices_of_the_mesh<64>
// expect: devices_asked<32>
#include <hyperparallel/program.hpp>

namespace hp = hyperparallel;

template <int Devices>
struct mesh : hp::device_matrix<hp::axis{"dp", Devices}> {};
struct pair {
  static constexpr void build(hp::model_builder& m) {
    const int hidden = m.dim("hidden", 16), wide = m.dim("ffn", 32);
    const int x = m.input("x", {m.dim("batch", 64), hidden});
    const int h = m.contract("first", "*k,kn->*n", x, m.parameter("up", {hidden, wide}));
    const int y = m.contract("second", "*k,kn->*n", h, m.parameter("down", {wide, hidden}));
    m.loss(m.apply<hp::ops::reduce>("loss", {y}, {.text = "*->"}));
  }
};
template <int Devices>
using step_on = hp::train_step<pair, hp::strategy<mesh<Devices>, hp::data_parallel<"dp">>, hp::adamw, hp::matrix384>;
static_assert(step_on<32>::lawful && !step_on<64>::lawful);

#ifdef NEGATIVE
using step = step_on<64>;
#else
using step = step_on<32>;
#endif

static_assert(hp::lawful<step>::met);
