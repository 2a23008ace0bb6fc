// SPDX-License-Identifier: Apache-2.0
// A feed that lacks an input of the model.
// expect: diag::input_is_not_fed<
// expect: alias<'t', 'a', 'r', 'g', 'e', 't'>
#include <vector>

#include <hyperparallel/hana.hpp>
#include <hyperparallel/world/program_world.hpp>

namespace hp = hyperparallel;
using namespace hp::literals;

struct model {
  static constexpr void build(hp::model_builder& m) {
    const int x = m.input("x", {m.dim("batch", 8)}), target = m.input("target", {m.dim("batch", 8)});
    const int product = m.apply<hp::ops::multiply>("product", {x, target});
    m.loss(m.apply<hp::ops::reduce>("loss", {product}, {.text = "*->"}));
  }
};
using world = hp::program_world<float>;
using numbers = std::vector<float>;
static_assert(hp::takes_inputs<model, "x", "target"> && !hp::takes_inputs<model, "x">);

#ifdef NEGATIVE
void once(world& w, const numbers& x) { hp::feed<model>(w, hp::values("x"_n = x)); }
void again(world& w, const numbers& x) { hp::feed<model>(w, hp::values("x"_n = x)); }
#else
void once(world& w, const numbers& x) { hp::feed<model>(w, hp::values("x"_n = x, "target"_n = x)); }
#endif
