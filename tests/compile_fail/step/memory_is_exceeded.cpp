// SPDX-License-Identifier: Apache-2.0
// A step that needs more memory than it may have.
// expect: diag::memory_is_exceeded<
// expect: bytes_needed<
// expect: bytes_given<2048>
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
using step = hp::train_step<pair, hp::strategy<mesh, hp::data_parallel<"dp">>, hp::adamw, hp::matrix384>;
static_assert(hp::fits_alive<step, 64 * 1024>() && !hp::fits_alive<step, 2048>());

#ifdef NEGATIVE
using budget = hp::alive_within<step, 2048>;
#else
using budget = hp::alive_within<step, 64 * 1024>;
#endif

constexpr bool small = budget::met;
static_assert(budget::met);
struct again : budget {};
