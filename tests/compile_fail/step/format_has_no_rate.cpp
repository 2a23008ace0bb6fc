// SPDX-License-Identifier: Apache-2.0
// A step in a number format for which the device states no rate.
// expect: diag::step_cannot_be_priced<
// expect: rate_is_not_positive
// expect: bfloat16
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

constexpr hp::device_value device_in(hp::number_format format) {
  hp::device_value d = hp::matrix384::device;
  for (std::int64_t& rate : d.matrix_flops) rate = 0;
  d.matrix_flops[static_cast<int>(format)] = 300 * hp::teraflops;
  return d;
}
template <hp::number_format Format>
struct machine : hp::matrix384 {
  static constexpr hp::device_value device = device_in(Format);
};
using halves = machine<hp::number_format::float16>;
using brains = machine<hp::number_format::bfloat16>;
static_assert(hp::valid_train_step<pair, strategy, hp::sgd, brains>);
static_assert(!hp::valid_train_step<pair, strategy, hp::sgd, halves>);

#ifdef NEGATIVE
using hardware = halves;
#else
using hardware = brains;
#endif
using step = hp::train_step<pair, strategy, hp::sgd, hardware>;

constexpr hp::extent_t peak = step::peak;
constexpr bool small = hp::fits_alive<step>();
