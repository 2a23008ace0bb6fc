// SPDX-License-Identifier: Apache-2.0
// A result that is fetched by a name that the model lacks.
// expect: diag::model_has_nothing_of_this_name<
// expect: alias<'l', 'o', 's', 's', 'e', 's'>
// expect: nearest_name<'l', 'o', 's', 's'>
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
template <class Key>
concept fetched = std::is_same_v<typename hp::detail::checked_names<model, false, Key::name>::type, hp::accepted>;
static_assert(fetched<hp::name_key<"loss">> && !fetched<hp::name_key<"losses">>);

#ifdef NEGATIVE
auto once(const world& w) { return hp::fetch<model>(w, "losses"_n); }
auto again(const world& w) { return hp::fetch<model>(w, "losses"_n)["losses"_n]; }
#else
auto once(const world& w) { return hp::fetch<model>(w, "loss"_n); }
#endif
