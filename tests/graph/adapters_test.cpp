// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/graph/adapters.hpp>

#include <gtest/gtest.h>

#include <map>
#include <string>

#include <hyperparallel/graph/check_graph.hpp>
#include <hyperparallel/graph/check_training.hpp>
#include <hyperparallel/graph/gradient.hpp>
#include <hyperparallel/graph/optimizer.hpp>
#include <hyperparallel/layers/linear.hpp>

#include "models/graph_reference.hpp"
#include "models/language_model.hpp"
#include "models/random_graph.hpp"

namespace {

using namespace hyperparallel;

using test::graph_evaluator;

/// A stack of blocks, the second of which may have biases.
template <bool Biased>
struct stack {
  static constexpr void build(model_builder& m) {
    programs::language_model(m, {2, 2, 5, 4}, "layers", 3, [](model_builder& layer, int x) {
      const int y = residual_branch(layer, "norm", "residual", 1e-6, x, swiglu_layer{.width = 3});
      return residual_branch(layer, "second_norm", "second_residual", 1e-6, y,
                             swiglu_layer{.name = "second", .width = 3, .bias = Biased});
    });
  }
};

template <bool Biased = false>
graph built(bool unrolled) {
  return build_model<stack<Biased>>({.activation = data_type::f64, .parameter = data_type::f64, .unrolled = unrolled});
}
adapted_patterns patterns(std::initializer_list<const char*> names) {
  adapted_patterns list;
  for (const char* name : names) list.push(short_text(name));
  return list;
}

TEST(Adapters, AloneAreTrained) {
  for (const bool unrolled : {false, true}) {
    graph g = built<true>(unrolled);
    adapt(g, patterns({"*.gate", "*.second.down"}), 2);
    ASSERT_EQ(g.status, graph_status{});
    differentiate(g);
    append_optimizer(g, {});
    ASSERT_EQ(g.status, graph_status{});
    EXPECT_EQ(check_graph(g), graph_status{});
    EXPECT_EQ(check_training(g), graph_status{});
    int trained = 0, frozen = 0;
    for (const graph_tensor& t : g.tensor) {
      if (t.kind != graph_tensor_kind::parameter || t.replaces >= 0) continue;
      const bool is_adapter = hyperparallel::detail::name_matches("*.adapter_*", g.text_at(t.name));
      EXPECT_EQ(t.gradient >= 0, is_adapter) << g.text_at(t.name);
      EXPECT_EQ(t.frozen, !is_adapter);
      ++(is_adapter ? trained : frozen);
    }
    EXPECT_EQ(trained, (unrolled ? 3 : 1) * 2 * 3);
    EXPECT_GT(frozen, trained);
    for (const graph_tensor& t : g.tensor)
      EXPECT_FALSE(t.kind == graph_tensor_kind::state && t.source >= 0 && g.tensor[t.source].frozen);
    // No backward product is of a frozen weight's gradient.
    for (const graph_operator& o : g.op)
      for (int r = 0; o.phase == graph_phase::backward && r < o.result_count; ++r) {
        const int source = g.tensor[o.result[r]].source;
        EXPECT_FALSE(o.kind == id_of<ops::contract> && source >= 0 && g.tensor[source].frozen);
      }
  }
}

/// Of all tensors of that name in both graphs.
void randomise_alike(graph_evaluator& one, const graph& a, graph_evaluator& other, const graph& b, bool zero_out) {
  std::mt19937 random(3), again(5);
  test::randomise(one, a, random);
  test::randomise(other, b, again);
  for (int t = 0; t < a.tensor.size; ++t)
    if (a.tensor[t].producer < 0)
      if (const int same = find_tensor(b, a.name_of_tensor(t)); same >= 0) other.of(same) = one.of(t);
  for (int t = 0; zero_out && t < b.tensor.size; ++t)
    if (hyperparallel::detail::name_matches("*.adapter_out.weight", b.name_of_tensor(t)) && b.tensor[t].producer < 0)
      for (double& value : other.of(t)) value = 0;
  for (const char* index : {"tokens", "labels"}) {
    one.of(find_tensor(a, index)) = {0, 4, 2, 3};
    other.of(find_tensor(b, index)) = {0, 4, 2, 3};
  }
}

// With B at 0 the loss is that without adapters, and A has no gradient yet; B has one.
TEST(Adapters, BeginAsTheModelWithoutThem) {
  graph plain = built(true), g = built(true);
  adapt(g, patterns({"*.gate", "*.up", "*.down"}), 2);
  differentiate(plain);
  differentiate(g);
  graph_evaluator before(plain), after(g);
  randomise_alike(before, plain, after, g, true);
  before.run(graph_phase::forward, graph_phase::backward);
  after.run(graph_phase::forward, graph_phase::backward);
  EXPECT_EQ(before.of(plain.loss), after.of(g.loss));
  bool some = false;
  for (int t = 0; t < g.tensor.size; ++t) {
    if (g.tensor[t].kind != graph_tensor_kind::parameter || gradient_of(g, t) < 0) continue;
    const bool is_in = hyperparallel::detail::name_matches("*.adapter_in.weight", g.name_of_tensor(t));
    for (const double value : after.of(gradient_of(g, t))) {
      EXPECT_TRUE(!is_in || value == 0.0);
      some = some || (!is_in && value != 0.0);
    }
  }
  EXPECT_TRUE(some);
}

// The gradient of a trained parameter is that of the same graph with nothing frozen, to the bit.
TEST(Adapters, FreezingChangesNoGradientThatIsLeft) {
  graph g = built(true), all = built(true);
  for (graph* each : {&g, &all}) adapt(*each, patterns({"*.gate", "*.second.down"}), 2);
  for (graph_tensor& t : all.tensor) t.frozen = false;
  differentiate(g);
  differentiate(all);
  graph_evaluator of_g(g), of_all(all);
  randomise_alike(of_all, all, of_g, g, false);
  of_g.run(graph_phase::forward, graph_phase::backward);
  of_all.run(graph_phase::forward, graph_phase::backward);
  int compared = 0;
  for (int t = 0; t < g.tensor.size; ++t) {
    if (g.tensor[t].kind != graph_tensor_kind::parameter || gradient_of(g, t) < 0) continue;
    const int same = find_tensor(all, g.name_of_tensor(t));
    ASSERT_GE(same, 0);
    EXPECT_EQ(of_g.of(gradient_of(g, t)), of_all.of(gradient_of(all, same))) << g.name_of_tensor(t);
    ++compared;
  }
  EXPECT_EQ(compared, 18);
  EXPECT_LT(g.op.size, all.op.size);
}

TEST(Adapters, RefuseAPatternThatNamesNoProduct) {
  graph g = built(false);
  adapt(g, patterns({"*.gate", "*.norm"}), 2);
  EXPECT_EQ(g.status.code, graph_code::pattern_matches_nothing);
  EXPECT_STREQ(g.text_at(g.status.op), "*.norm");
}

constexpr int constant_operators = [] {
  graph g = build_model<stack<true>>();
  adapted_patterns list;
  list.push(short_text("*.gate"));
  adapt(g, list, 4);
  differentiate(g);
  return g.op.size;
}();

TEST(Adapters, ConstantsAreThoseOfRunTime) {
  graph g = build_model<stack<true>>();
  adapt(g, patterns({"*.gate"}), 4);
  differentiate(g);
  EXPECT_EQ(g.op.size, constant_operators);
}

}  // namespace
