// SPDX-License-Identifier: Apache-2.0
// A world of a step whose plan is too large for the compiler.
// expect: diag::plan_is_not_proved<
// expect: proof_state::not_asked
// expect: lowering_code::plan_is_too_large
// expect: steps_of_the_plan<
// expect: tasks_of_the_plan<
#include <hyperparallel/layers.hpp>
#include <hyperparallel/world/world.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}> {};
template <int Layers>
struct tower {
  static constexpr void build(hp::model_builder& m) {
    const int hidden = m.dim("hidden", 16);
    const int x = m.input("x", {m.dim("batch", 8), hidden});
    const int y = m.repeat("layers", Layers, x, [&](hp::model_builder& layer, int h) {
      return layer.contract("square", "*k,kn->*n", h, layer.parameter("weight", {hidden, layer.dim("out", 16)}));
    });
    m.loss(m.apply<hp::ops::reduce>("loss", {y}, {.text = "*->"}));
  }
};
template <int Layers>
using step_of = hp::train_step<tower<Layers>, hp::strategy<mesh, hp::data_parallel<"dp">>, hp::adamw, hp::matrix384>;
static_assert(step_of<2>::verified && !step_of<200>::verified);

#ifdef NEGATIVE
using step = step_of<200>;
#else
using step = step_of<2>;
#endif

void train(const std::vector<float>& x) {
  hp::world<step> world;
  world.feed("x", x);
  for (const double loss : world.train(3)) static_cast<void>(loss);
}
