// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/graph/recomputation.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include <hyperparallel/graph/check_graph.hpp>
#include <hyperparallel/graph/gradient.hpp>
#include <hyperparallel/graph/optimizer.hpp>

#include "models/graph_reference.hpp"
#include "models/language_model.hpp"
#include "models/random_graph.hpp"

namespace {

using namespace hyperparallel;

using test::graph_evaluator;

struct stack {
  static constexpr void build(model_builder& m) {
    programs::language_model(m, {2, 2, 5, 4}, "layers", 3, [](model_builder& layer, int x) {
      const int y = residual_branch(layer, "norm", "residual", 1e-6, x, swiglu_layer{.width = 3});
      return residual_branch(layer, "second_norm", "second_residual", 1e-6, y, swiglu_layer{"second", 3});
    });
  }
};

graph differentiated(bool unrolled, int micro_batches = 1) {
  graph g = build_model<stack>({.activation = data_type::f64, .parameter = data_type::f64, .unrolled = unrolled});
  g.micro_batches = micro_batches;
  differentiate(g);
  return g;
}

std::vector<std::string> recomputed_operators(const graph& g) {
  std::vector<std::string> r;
  for (const graph_operator& o : g.op)
    if (o.recomputed) r.push_back(g.name_of_op(o.forward));
  return r;
}

/// Gradients of the same values, with and without recomputation, to the bit.
void expect_same_gradients(const graph& kept, const graph& g) {
  graph_evaluator before(kept), after(g);
  std::mt19937 random(3), again(3);
  test::randomise(before, kept, random);
  test::randomise(after, g, again);
  for (const char* index : {"tokens", "labels"}) {
    before.of(find_tensor(g, index)) = {0, 4, 2, 3};
    after.of(find_tensor(g, index)) = {0, 4, 2, 3};
  }
  before.run(graph_phase::forward, graph_phase::backward);
  after.run(graph_phase::forward, graph_phase::backward);
  for (int t = 0; t < kept.tensor.size; ++t)
    EXPECT_TRUE(gradient_of(kept, t) < 0 || before.of(gradient_of(kept, t)) == after.of(gradient_of(g, t)));
}

TEST(recomputation, tells_repetitions_by_their_names) {
  EXPECT_EQ(hyperparallel::detail::repetition_length("layers.3.norm"), 8);
  EXPECT_EQ(hyperparallel::detail::repetition_length("layers.0-7.norm"), 10);
  EXPECT_EQ(hyperparallel::detail::repetition_length("vision.layers.12.experts.3.up"), 16);
  EXPECT_EQ(hyperparallel::detail::repetition_length("head.norm"), 0);
  EXPECT_TRUE(hyperparallel::detail::same_repetition("layers.3.norm", "layers.3.up"));
  EXPECT_FALSE(hyperparallel::detail::same_repetition("layers.3.norm", "layers.31.norm"));
  EXPECT_FALSE(hyperparallel::detail::same_repetition("layers.3.norm", "head.norm"));
  EXPECT_TRUE(hyperparallel::detail::same_repetition("embedding", "head.norm"));
}

TEST(recomputation, changes_no_bit_of_any_gradient) {
  for (const char* pattern : {"layers.*", "*", "*.activation", "layers.1.*", "*norm", "*up"}) {
    const graph kept = differentiated(true);
    graph g = kept;
    recompute(g, pattern);
    EXPECT_EQ(check_graph(g), graph_status{});
    EXPECT_FALSE(recomputed_operators(g).empty()) << pattern;
    expect_same_gradients(kept, g);
  }
}

/// Nothing that the pattern names is read in the backward phase but what leaves its repetition; each copy is read there
/// and stands right before, so that copies of one layer are gone before those of the next are made.
TEST(recomputation, of_layers_keeps_what_passes_from_layer_to_layer) {
  for (const bool unrolled : {false, true}) {
    graph g = differentiated(unrolled);
    recompute(g, "layers.*");
    ASSERT_EQ(check_graph(g), graph_status{});
    std::map<std::string, bool> read_again;
    std::vector<bool> read(static_cast<std::size_t>(g.tensor.size));
    std::vector<std::string> layers;
    for (const graph_operator& o : g.op) {
      if (o.phase != graph_phase::backward) continue;
      for (int i = 0; i < o.operand_count; ++i) {
        const graph_tensor& t = g.tensor[o.operand[i]];
        read[static_cast<std::size_t>(o.operand[i])] = true;
        if (t.kind == graph_tensor_kind::activation && t.producer >= 0 &&
            g.op[t.producer].phase == graph_phase::forward &&
            hyperparallel::detail::name_matches("layers.*", g.text_at(t.name)))
          read_again[g.text_at(t.name)] = true;
      }
      if (!o.recomputed) continue;
      const std::string name = g.name_of_op(o.forward);
      const std::string now =
          name.substr(0, static_cast<std::size_t>(hyperparallel::detail::repetition_length(name.c_str())));
      if (layers.empty() || layers.back() != now) layers.push_back(now);
    }
    for (const auto& [name, is_read] : read_again)
      EXPECT_TRUE(hyperparallel::detail::name_matches("*.second_residual", name.c_str())) << name;
    EXPECT_EQ(read_again.size(), unrolled ? 3U : 1U);
    EXPECT_EQ(layers, unrolled ? (std::vector<std::string>{"layers.2", "layers.1", "layers.0"})
                               : (std::vector<std::string>{"layers.0-2"}));
    for (const graph_operator& o : g.op)
      for (int r = 0; o.recomputed && r < o.result_count; ++r)
        EXPECT_TRUE(read[static_cast<std::size_t>(o.result[r])]) << g.text_at(o.name);
  }
}

/// What is spared is read by backward as it was; the rest of the pattern is computed again, and no bit of a gradient changes.
TEST(recomputation, keeps_what_is_spared) {
  for (const bool unrolled : {false, true}) {
    const graph kept = differentiated(unrolled);
    graph whole = kept, g = kept, other = kept;
    recompute(whole, "layers.*");
    spared_patterns spared;
    spared.push(short_text("*.gate"));
    spared.push(short_text("*.second.up"));
    recompute(g, "layers.*", spared);
    EXPECT_EQ(check_graph(g), graph_status{});
    const auto names_of = [](const graph& of) {
      std::vector<std::string> names = recomputed_operators(of);
      std::sort(names.begin(), names.end());
      return names;
    };
    const std::vector<std::string> all = names_of(whole);
    std::vector<std::string> expected;
    for (const std::string& name : all)
      if (!hyperparallel::detail::name_matches("*.gate", name.c_str()) &&
          !hyperparallel::detail::name_matches("*.second.up", name.c_str()))
        expected.push_back(name);
    EXPECT_EQ(names_of(g), expected);
    EXPECT_LT(expected.size(), all.size());
    recompute(other, "layers.*.norm");
    recompute(other, "layers.*", spared);
    EXPECT_EQ(names_of(other), expected);
    if (!unrolled) continue;
    expect_same_gradients(kept, g);
  }
  graph g = differentiated(true);
  spared_patterns nothing;
  nothing.push(short_text("*.banana"));
  recompute(g, "layers.*", nothing);
  EXPECT_EQ(g.status.code, graph_code::pattern_matches_nothing);
  EXPECT_STREQ(g.text_at(g.status.op), "*.banana");
}

TEST(recomputation, of_one_operator_copies_it_alone) {
  graph g = differentiated(true);
  recompute(g, "*.second.activation");
  EXPECT_EQ(recomputed_operators(g),
            (std::vector<std::string>{"layers.2.second.activation", "layers.1.second.activation",
                                      "layers.0.second.activation"}));
  for (int o = 0; o < g.op.size; ++o) EXPECT_TRUE(!g.op[o].recomputed || g.op[o + 1].operand[1] == g.op[o].result[0]);
}

/// Two patterns one after the other are one pattern that matches what either does.
TEST(recomputation, adds_up_over_patterns) {
  for (const bool unrolled : {false, true}) {
    graph both = differentiated(unrolled), reverse = both, whole = both;
    recompute(both, "*.second.*");
    recompute(both, "layers.*");
    recompute(reverse, "layers.*");
    recompute(reverse, "*.second.*");
    recompute(whole, "layers.*");
    EXPECT_EQ(check_graph(both), graph_status{});
    EXPECT_EQ(check_graph(reverse), graph_status{});
    EXPECT_EQ(recomputed_operators(both), recomputed_operators(whole));
    EXPECT_EQ(recomputed_operators(reverse), recomputed_operators(whole));
  }
}

TEST(recomputation, of_a_folded_model_is_that_of_the_unrolled_one) {
  graph folded = differentiated(false), unrolled = differentiated(true);
  recompute(folded, "layers.*");
  recompute(unrolled, "layers.*");
  std::map<operator_id, extent_t> counts[2];
  for (const graph_operator& o : folded.op)
    if (o.recomputed) counts[0][o.kind] += hyperparallel::detail::repeats_of(folded, o.segment);
  for (const graph_operator& o : unrolled.op)
    if (o.recomputed) counts[1][o.kind] += 1;
  EXPECT_EQ(counts[0], counts[1]);
}

TEST(recomputation, goes_with_an_optimizer_before_or_after) {
  for (const bool first : {false, true}) {
    graph g = differentiated(false, 2);
    if (first) recompute(g, "layers.*");
    append_optimizer(g, {});
    if (!first) recompute(g, "layers.*");
    EXPECT_EQ(check_graph(g), graph_status{});
  }
}

TEST(recomputation, refuses_a_pattern_that_matches_nothing) {
  graph g = differentiated(true);
  recompute(g, "layer.*");
  EXPECT_EQ(g.status.code, graph_code::pattern_matches_nothing);
  EXPECT_STREQ(g.text_at(g.status.op), "layer.*");
}

}  // namespace
