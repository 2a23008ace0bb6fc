// SPDX-License-Identifier: Apache-2.0
// A rule of memory for tensors that the model does not have.
// expect: diag::offload_rule_does_not_hold<
// expect: offload_rule_code::pattern_matches_nothing
// expect: rule_for<'*', '.', 'b', 'i', 'a', 's'>
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

template <class... Rules>
constexpr bool accepted =
    hp::valid_train_step<pair, strategy, hp::adamw, hp::matrix384, hp::offloaded_within<17 * 1024>, Rules...>;
static_assert(accepted<hp::keeping<"down">> && !accepted<hp::keeping<"*.bias">>);

#ifdef NEGATIVE
using step =
    hp::train_step<pair, strategy, hp::adamw, hp::matrix384, hp::offloaded_within<17 * 1024>, hp::keeping<"*.bias">>;
#else
using step =
    hp::train_step<pair, strategy, hp::adamw, hp::matrix384, hp::offloaded_within<17 * 1024>, hp::keeping<"down">>;
#endif

constexpr hp::extent_t peak = step::peak;
constexpr bool planned = step::offload.ok();
constexpr bool small = hp::fits_alive<step>();
