// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/groups/frozen_modules.hpp>

#include <gtest/gtest.h>

#include <string>

#include "models/omni_model.hpp"

namespace {

namespace hp = hyperparallel;
using code = hp::submodel_code;
using programs::omni_plan;
using programs::shared_parameter;

constexpr hp::group_table table_of(const char* text, const char* vision, const char* fusion) {
  return omni_plan({{"a", "single", 1, {text}}, {"b", "single", 1, {vision}}, {"c", "single", 1, {fusion}}}).table;
}

static_assert([] {
  const hp::group_table t = table_of("text", "!vision", "fusion");
  const hp::graph g = programs::omni_graph({.micro_batches = 1}, &t);
  return g.status.code == hp::graph_code::ok && hp::detail::check_frozen(g, t).ok() &&
         g.tensor[hp::find_tensor(g, "vision.patch.weight")].gradient < 0 &&
         g.tensor[hp::find_tensor(g, "text.embedding.weight")].gradient >= 0;
}());

/// No backward operator of a frozen module that nothing trained leads to; of one that passes gradients on, none for its
/// parameters.
TEST(frozen_modules, have_no_gradients_and_pass_them_on) {
  for (const bool fusion : {false, true}) {
    const hp::group_table t = fusion ? table_of("text", "vision", "!fusion") : table_of("text", "!vision", "fusion");
    const std::string frozen = fusion ? "fusion." : "vision.";
    const hp::graph g = programs::omni_graph({.micro_batches = 2}, &t);
    ASSERT_EQ(g.status.code, hp::graph_code::ok);
    int parameters = 0, backward = 0, states = 0;
    for (const hp::graph_tensor& one : g.tensor) {
      const bool inside = std::string(g.text_at(one.name)).rfind(frozen, 0) == 0;
      if (one.kind == hp::graph_tensor_kind::parameter && one.replaces < 0) {
        EXPECT_EQ(one.frozen, inside) << g.text_at(one.name);
        EXPECT_EQ(one.gradient < 0, inside) << g.text_at(one.name);
        parameters += inside;
      }
      if (one.kind == hp::graph_tensor_kind::state && g.tensor[one.source].frozen) ++states;
    }
    for (const hp::graph_operator& o : g.op)
      if (o.phase == hp::graph_phase::backward && o.forward >= 0 &&
          std::string(g.text_at(g.op[o.forward].name)).rfind(frozen, 0) == 0)
        ++backward;
    EXPECT_EQ(parameters, 3);
    EXPECT_EQ(states, 0);
    EXPECT_EQ(backward > 0, fusion);
  }
}

TEST(frozen_modules, a_parameter_that_is_half_frozen_is_refused) {
  hp::model_builder m({.activation = hp::f64, .parameter = hp::f64, .unrolled = true});
  programs::build_omni(m, {.shared = shared_parameter::matrix});
  const hp::submodel_status s = hp::freeze_modules(m.graph, table_of("!text", "vision", "fusion"));
  EXPECT_EQ(s, (hp::submodel_status{.code = code::parameter_is_half_frozen,
                                    .other = 1,
                                    .module = 0,
                                    .named = hp::find_tensor(m.graph, "shared.weight")}));
  for (const hp::graph_tensor& t : m.graph.tensor) EXPECT_FALSE(t.frozen) << "nothing is changed";
  EXPECT_TRUE(hp::freeze_modules(m.graph, table_of("!text", "!vision", "fusion")).ok());
  EXPECT_TRUE(m.graph.tensor[s.named].frozen);
  hp::group_table none;
  EXPECT_EQ(hp::freeze_modules(m.graph, none).code, code::groups_are_refused);
}

TEST(frozen_modules, a_graph_that_was_not_frozen_is_named) {
  const hp::graph g = programs::omni_graph({.micro_batches = 1});
  EXPECT_TRUE(hp::detail::check_frozen(g, table_of("text", "vision", "fusion")).ok());
  EXPECT_EQ(hp::detail::check_frozen(g, table_of("text", "!vision", "fusion")),
            (hp::submodel_status{.code = code::frozen_parameter_has_gradient,
                                 .module = 1,
                                 .named = hp::find_tensor(g, "vision.patch.weight")}));
}

/// A router's bias of a frozen module keeps its value.
TEST(frozen_modules, biases_of_frozen_routers_are_not_updated) {
  for (const bool frozen : {false, true}) {
    hp::group_table t;
    t.world = 1;
    hp::add_group(t, "all", 0);
    hp::add_module(t, "layer", "all", "layers.0.*");
    hp::add_module(t, "rest", "all", "embedding", "head.*", "loss*", "auxiliary*");
    t.placed[0].frozen = frozen;
    hp::model_builder m({.unrolled = true});
    models::build_small_moe(
        m,
        {.batch = 2, .sequence = 4, .vocabulary = 8, .layers = 1, .hidden = 8, .scores = hp::expert_scores::sigmoid});
    const hp::submodel_status s = hp::freeze_modules(m.graph, t);
    ASSERT_TRUE(s.ok()) << name_of(s.groups.code) << (s.groups.named < 0 ? "" : m.graph.name_of_op(s.groups.named));
    const hp::graph g = programs::trained(m, {.unrolled = true});
    ASSERT_EQ(g.status.code, hp::graph_code::ok);
    int updated = 0, biases = 0;
    for (const hp::graph_tensor& one : g.tensor)
      biases += one.kind == hp::graph_tensor_kind::state && one.replaces < 0 && one.frozen;
    EXPECT_EQ(biases > 0, frozen);
    for (const hp::graph_operator& o : g.op)
      updated += o.phase == hp::graph_phase::update && std::string(g.text_at(o.name)).rfind("layers.0.", 0) == 0;
    EXPECT_EQ(updated == 0, frozen);
  }
}

}  // namespace
