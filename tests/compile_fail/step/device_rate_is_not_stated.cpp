// SPDX-License-Identifier: Apache-2.0
// A step on a device of one's own that does not say what its products reach of the peak.
// expect: diag::device_cannot_be<
// expect: gmm_cold_is_not_in_0_to_1
// expect: number_given<0>
// expect: number_expected<1000000>
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

constexpr hp::device_value device_with(hp::efficiency cold) {
  hp::device_value d = hp::matrix384::device;
  d.gmm_cold = cold;
  return d;
}
struct forgetful : hp::matrix384 {
  static constexpr hp::device_value device = device_with({});
};
struct complete : hp::matrix384 {
  static constexpr hp::device_value device = device_with(hp::per_mille(650));
};
static_assert(hp::valid_train_step<pair, strategy, hp::adamw, complete>);
static_assert(!hp::valid_train_step<pair, strategy, hp::adamw, forgetful>);

#ifdef NEGATIVE
using hardware = forgetful;
#else
using hardware = complete;
#endif
using step = hp::train_step<pair, strategy, hp::adamw, hardware>;

constexpr hp::extent_t peak = step::peak;
constexpr bool small = hp::fits_alive<step>();
