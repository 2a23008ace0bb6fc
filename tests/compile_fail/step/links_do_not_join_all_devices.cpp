// SPDX-License-Identifier: Apache-2.0
// A step on 8 devices of which the links join 4.
// expect: diag::topology_does_not_join_all_devices<
// expect: link_named<'n', 'v', 'l', 'i', 'n', 'k'>
// expect: devices_to_join<8>
// expect: devices_joined<4>
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

constexpr hp::topology_value links(int group) {
  hp::topology_value t;
  t.level_count = 1;
  t.level[0] = {"nvlink", group, 450 * hp::gigabyte, 2 * hp::microsecond};
  return t;
}
template <int Group>
struct node : hp::matrix384 {
  static constexpr hp::topology_value topology = links(Group);
};
static_assert(hp::valid_train_step<pair, strategy, hp::adamw, node<8>>);
static_assert(!hp::valid_train_step<pair, strategy, hp::adamw, node<4>>);

#ifdef NEGATIVE
using hardware = node<4>;
#else
using hardware = node<8>;
#endif
using step = hp::train_step<pair, strategy, hp::adamw, hardware>;

constexpr hp::extent_t peak = step::peak;
constexpr bool small = hp::fits_alive<step>();
