// SPDX-License-Identifier: Apache-2.0
// A step on links whose groups of 12 devices are made of groups of 8.
// expect: diag::topology_cannot_be<
// expect: group_does_not_nest
// expect: link_named<'i', 'b'>
// expect: number_given<12>
// expect: number_expected<8>
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

constexpr hp::topology_value links(int outer) {
  hp::topology_value t;
  t.level_count = 2;
  t.level[0] = {"nvlink", 8, 450 * hp::gigabyte, 2 * hp::microsecond};
  t.level[1] = {"ib", outer, 50 * hp::gigabyte, 5 * hp::microsecond};
  return t;
}
template <int Outer>
struct nodes : hp::matrix384 {
  static constexpr hp::topology_value topology = links(Outer);
};
static_assert(hp::valid_train_step<pair, strategy, hp::adamw, nodes<16>>);
static_assert(!hp::valid_train_step<pair, strategy, hp::adamw, nodes<12>>);

#ifdef NEGATIVE
using hardware = nodes<12>;
#else
using hardware = nodes<16>;
#endif
using step = hp::train_step<pair, strategy, hp::adamw, hardware>;

constexpr hp::extent_t peak = step::peak;
constexpr bool small = hp::fits_alive<step>();
