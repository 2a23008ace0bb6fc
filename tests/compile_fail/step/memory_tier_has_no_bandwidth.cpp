// SPDX-License-Identifier: Apache-2.0
// A budget of memory on hardware whose slower tier nothing reaches.
// expect: diag::device_cannot_be<
// expect: tier_has_no_bandwidth
// expect: memory_tier_number<1>
// expect: number_given<0>
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

struct standing : hp::matrix384 {
  static constexpr hp::device_value device = hp::with_bandwidth(hp::matrix384::device, hp::dram, 0);
};
template <class Hardware>
constexpr bool accepted = hp::valid_train_step<pair, strategy, hp::adamw, Hardware, hp::offloaded_within<17 * 1024>>;
static_assert(accepted<hp::matrix384> && !accepted<standing>);

#ifdef NEGATIVE
using hardware = standing;
#else
using hardware = hp::matrix384;
#endif
using step = hp::train_step<pair, strategy, hp::adamw, hardware, hp::offloaded_within<17 * 1024>>;

constexpr hp::extent_t peak = step::peak;
constexpr bool planned = step::offload.ok();
constexpr bool small = hp::fits_alive<step>();
