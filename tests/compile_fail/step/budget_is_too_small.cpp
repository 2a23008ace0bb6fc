// SPDX-License-Identifier: Apache-2.0
// A budget of memory below what one operator needs at once.
// expect: diag::memory_budget_is_too_small<
// expect: bytes_given<4096>
// expect: bytes_needed<16704>
// expect: {"master(up)"}, 12288>
// expect: {"gradient(down)"}, 2048>
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
using strategy = hp::strategy<mesh, hp::data_parallel<"dp">>;

template <hp::extent_t Bytes>
constexpr bool enough = hp::valid_train_step<pair, strategy, hp::adamw, hp::matrix384, hp::offloaded_within<Bytes>>;
static_assert(enough<16704> && !enough<16703>);

#ifdef NEGATIVE
using budget = hp::offloaded_within<4096>;
#else
using budget = hp::offloaded_within<17 * 1024>;
#endif
using step = hp::train_step<pair, strategy, hp::adamw, hp::matrix384, budget>;

constexpr hp::extent_t peak = step::peak;
constexpr bool planned = step::offload.ok();
constexpr bool small = hp::fits_alive<step>();
