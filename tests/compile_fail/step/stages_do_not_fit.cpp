// SPDX-License-Identifier: Apache-2.0
// Stages of three layers together, of a model of two.
// expect: diag::stages_of_a_step_do_not_fit<
// expect: layers_do_not_add_up
// expect: stages_given<3>
// expect: stages_expected<2>
#include <hyperparallel/layers.hpp>
#include <hyperparallel/pipeline/schedules/one_forward_one_backward.hpp>
#include <hyperparallel/step/pipelined_step.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}> {};
struct model {
  static constexpr void build(hp::model_builder& m) {
    const int hidden = m.dim("hidden", 16), wide = m.dim("ffn", 32);
    int x = m.input("x", {m.dim("batch", 8), hidden});
    x = m.repeat("layers", 2, x, [&](hp::model_builder& layer, int h) {
      const int y = layer.contract("first", "*k,kn->*n", h, layer.parameter("up", {hidden, wide}));
      return layer.contract("second", "*k,kn->*n", y, layer.parameter("down", {wide, hidden}));
    });
    m.loss(m.apply<hp::ops::reduce>("loss", {x}, {.text = "*->"}));
  }
};
using strategy = hp::strategy<mesh, hp::data_parallel<"dp">>;
using pipeline = hp::pipelined<hp::one_forward_one_backward, 2>;
using right = hp::layers_of_stages<1, 1>;
using wrong = hp::layers_of_stages<2, 1>;

template <class Layers>
constexpr bool accepted =
    hp::valid_train_step<model, strategy, hp::adamw, hp::matrix384, hp::accumulating<2>, pipeline, Layers>;
static_assert(accepted<right> && !accepted<wrong>);

#ifdef NEGATIVE
using step = hp::train_step<model, strategy, hp::adamw, hp::matrix384, hp::accumulating<2>, pipeline, wrong>;
#else
using step = hp::train_step<model, strategy, hp::adamw, hp::matrix384, hp::accumulating<2>, pipeline, right>;
#endif

constexpr hp::extent_t parameters = step::parameters;
constexpr hp::proof proved = step::verified;
constexpr bool small = hp::fits_alive<step>();
