// SPDX-License-Identifier: Apache-2.0
// Rings along an axis that has been given to the heads.
// expect: diag::ring_axis_does_not_shard_the_sequence<
// expect: axes_named<'t', 'p'>
// expect: named_operator<'a', 't', 't', 'e', 'n', 'd'>
#include <hyperparallel/program.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};

struct attention {
  static constexpr void build(hp::model_builder& m) {
    const int batch = m.dim("batch", 2), sequence = m.dim("seq", 8), width = m.dim("head_dim", 4);
    const hp::number_list dims{batch, sequence, m.dim("key_heads", 4), m.dim("query_group", 1), width};
    const hp::number_list keys{batch, sequence, dims.item[2], width};
    const int k = m.parameter("keys", keys), v = m.parameter("values", keys);
    const int y = m.apply<hp::ops::attention>("attend", {m.input("queries", dims), k, v}, {.real = {0.5}});
    m.loss(m.apply<hp::ops::reduce>("loss", {y}, {.text = "*->"}));
  }
};
template <class... Parts>
using rings = hp::strategy<mesh, Parts..., hp::context_parallel<"tp", hp::context_method::ring>>;
using right = rings<>;
using wrong = rings<hp::tensor_parallel<"tp">>;

template <class Strategy>
constexpr bool accepted = hp::valid_train_step<attention, Strategy, hp::adamw, hp::matrix384>;
static_assert(accepted<right> && !accepted<wrong>);

#ifdef NEGATIVE
using step = hp::train_step<attention, wrong, hp::adamw, hp::matrix384>;
#else
using step = hp::train_step<attention, right, hp::adamw, hp::matrix384>;
#endif

constexpr hp::extent_t parameters = step::parameters;
constexpr hp::proof proved = step::verified;
constexpr bool small = hp::fits_alive<step>();
