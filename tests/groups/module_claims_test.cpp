// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/groups/module_claims.hpp>

#include <gtest/gtest.h>

#include <hyperparallel/graph/gradient.hpp>
#include <hyperparallel/graph/optimizer.hpp>

#include <string>

#include "../../examples/models/captioner.hpp"

namespace hp = hyperparallel;
using code = hp::group_code;

namespace {

constexpr hp::graph captioner() {
  hp::model_builder m;
  models::captioner<models::captioner_sizes{2, 4, 4, 4, 2, 1, 1, 16, 32, 8, 2, 32}>::build(m);
  return static_cast<hp::graph&&>(m.graph);
}

/// Two encoders on groups of their own; the decoder's has all else.
constexpr hp::group_table three_groups() {
  hp::group_table t;
  t.world = 32;
  t.disjoint = t.complete = true;
  hp::add_group(t, "seeing", hp::rank_range{0, 15});
  hp::add_group(t, "reading", hp::rank_range{16, 19});
  hp::add_group(t, "writing", hp::rank_range{20, 31});
  hp::add_module(t, "image", "seeing", "patch_*", "image_*");
  hp::add_module(t, "prompt", "reading", "prompt_*");
  hp::add_module(t, "decoder", "writing", "embedding", "decoder_layers.*", "head.*");
  return t;
}

/// Two products, which a constant evaluation builds.
constexpr hp::graph two_products() {
  hp::model_builder m;
  const int batch = m.dim("batch", 4), width = m.dim("width", 4), hidden = m.dim("hidden", 4);
  const int seen = hp::linear_layer{"vision.patch", {width}}(m, m.input("image", {batch, m.dim("values", 4)}));
  const int y = hp::linear_layer{"language.up", {hidden}}(m, seen);
  m.loss(m.apply<hp::ops::reduce>("language.sum", {y}, {.text = "*->"}));
  return static_cast<hp::graph&&>(m.graph);
}
constexpr hp::group_table by_name() {
  hp::group_table t;
  t.world = 2;
  hp::add_group(t, "a", 0);
  hp::add_group(t, "b", 1);
  hp::add_module(t, "vision", "a");
  hp::add_module(t, "language", "b");
  return t;
}
static_assert([] {
  const hp::module_claims c = hp::claim_operators(two_products(), by_name());
  return c.status.ok() && c.module_of_op[0] == 0 && c.module_of_op[1] == 1 && c.module_of_op[2] == 1;
}());
static_assert([] {
  hp::group_table t = by_name();
  t.placed[1].name = "speech";
  return hp::claim_operators(two_products(), t).status ==
         hp::group_status{.code = code::operator_has_no_module, .named = 1};
}());

TEST(module_claims, every_operator_has_one_module_and_backward_goes_with_forward) {
  hp::graph g = captioner();
  hp::differentiate(g);
  hp::append_optimizer(g, hp::optimizer_value{});
  ASSERT_EQ(g.status.code, hp::graph_code::ok);
  const hp::group_table t = three_groups();
  const hp::module_claims c = hp::claim_operators(g, t);
  ASSERT_TRUE(c.status.ok()) << hp::name_of(c.status.code) << " "
                             << (c.status.named < 0 ? "" : g.name_of_op(c.status.named));
  int of_module[3] = {}, backward = 0;
  for (int o = 0; o < g.op.size; ++o) {
    const hp::graph_operator& op = g.op[o];
    if (op.phase == hp::graph_phase::forward) {
      ASSERT_GE(c.module_of_op[o], 0);
      ++of_module[c.module_of_op[o]];
      for (int m = 0; m < t.placed.size; ++m)
        EXPECT_EQ(hp::detail::has_operator(t.placed[m], g.name_of_op(o)), m == c.module_of_op[o]) << g.name_of_op(o);
    } else if (op.forward >= 0) {
      ++backward;
      EXPECT_EQ(c.module_of_op[o], c.module_of_op[op.forward]);
    }
  }
  EXPECT_GT(of_module[0], 0);
  EXPECT_GT(of_module[1], 0);
  EXPECT_GT(of_module[2], 0);
  EXPECT_GT(backward, of_module[0]);
}

TEST(module_claims, one_model_has_several_tables) {
  const hp::graph g = captioner();
  hp::group_table one;
  one.world = 8;
  hp::add_group(one, "all", hp::rank_range{0, 7});
  hp::add_module(one, "everything", "all", "*");
  EXPECT_TRUE(hp::claim_operators(g, one).status.ok());
  EXPECT_TRUE(hp::claim_operators(g, three_groups()).status.ok());
}

TEST(module_claims, what_no_module_has_and_what_two_have_is_named) {
  const hp::graph g = captioner();
  hp::group_table t = three_groups();
  t.placed[0].operators.resize(1);
  hp::module_claims c = hp::claim_operators(g, t);
  ASSERT_EQ(c.status.code, code::operator_has_no_module);
  EXPECT_EQ(std::string(g.name_of_op(c.status.named)).rfind("image_", 0), 0U);

  t = three_groups();
  t.placed[2].operators.push("*embedding");
  c = hp::claim_operators(g, t);
  ASSERT_EQ(c.status.code, code::operator_has_two_modules);
  EXPECT_EQ(c.status.other, 0);
  EXPECT_EQ(c.status.module, 2);

  t = three_groups();
  hp::add_module(t, "audio", "seeing");
  c = hp::claim_operators(g, t);
  EXPECT_EQ(c.status,
            (hp::group_status{.code = code::module_has_no_operator, .group = 0, .module = 3, .given = g.op.size}));

  t.placed[3].group = "hearing";
  EXPECT_EQ(hp::claim_operators(g, t).status.code, code::module_names_no_group);
  hp::graph none;
  none.status.code = hp::graph_code::model_has_no_loss;
  EXPECT_EQ(hp::claim_operators(none, t).status.code, code::graph_is_refused);
}

constexpr const char* names[] = {"vision.patch", "vision", "language.layers.0"};
static_assert(hp::claim_names(by_name(), names, 3).module_of_op[1] == 0);
static_assert(hp::claim_names(by_name(), names, 3).module_of_op[2] == 1);
static_assert(hp::claim_names(by_name(), names, 2).status.code == code::module_has_no_operator);
static_assert([] {
  hp::group_table t = by_name();
  t.placed[1].operators.push("lang*");
  t.placed[0].operators.push("*");
  return hp::claim_names(t, names, 3).status ==
         hp::group_status{.code = code::operator_has_two_modules, .module = 1, .other = 0, .named = 2};
}());
static_assert([] {
  hp::group_table t = by_name();
  t.placed[0].operators.push("vision");
  return hp::claim_names(t, names, 3).status == hp::group_status{.code = code::operator_has_no_module, .named = 0};
}());

}  // namespace
