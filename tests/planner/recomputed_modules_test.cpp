// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/planner/recomputed_modules.hpp>

#include <gtest/gtest.h>

#include <hyperparallel/planner/estimate.hpp>
#include <hyperparallel/planner/known_hardware.hpp>
#include <hyperparallel/planner/plan_bounds.hpp>
#include <hyperparallel/planner/plan_check.hpp>
#include <hyperparallel/planner/simulation.hpp>

#include <layers/decoder_shapes.hpp>

#include "small_decoders.hpp"

namespace hp = hyperparallel;

namespace {

static_assert(hp::module_bit("layernorm") == 1 && hp::module_bit("core_attn") == 0 && hp::module_bit("") == 0);

/// Operators that the plan's step computes again.
int recomputed_operators(const hp::decoder& d, const hp::decoder_plan& p) {
  const hp::graph g = hp::training_graph_of(d, p);
  EXPECT_EQ(g.status.code, hp::graph_code::ok);
  int n = 0;
  for (int o = 0; o < g.op.size; ++o) n += g.op[o].recomputed ? 1 : 0;
  return n;
}

hp::extent_t kept(const hp::plan_estimate& e) { return e.held[static_cast<int>(hp::memory_class::activations)]; }

// Every module of every small decoder: one that no layer has is refused by name; one that a layer has is computed again, and a step takes no
// less time than without; bounds hold.
TEST(recomputed_modules, stand_in_layers_or_are_refused) {
  hp::plan_prices prices(hp::h100::device, hp::h100::topology);
  int refused = 0, computed = 0;
  for (const hp::decoder& d : small_decoders::all())
    for (const hp::recomputed_module& m : hp::recomputed_modules) {
      hp::decoder_plan p{.dp = 2, .micro_batches = 2, .batch = 8, .sequence = 8};
      const hp::plan_estimate without = hp::estimate_plan(d, p, prices);
      p.modules = hp::module_bit(m.name);
      const hp::decoder_plan_status s = hp::check_plan(d, p, 2);
      if (!hp::detail::stands_in(m, d)) {
        EXPECT_EQ(s.code, hp::decoder_plan_code::model_has_no_module);
        EXPECT_STREQ(s.dim, m.name);
        ++refused;
        continue;
      }
      ASSERT_TRUE(s.ok());
      EXPECT_GT(recomputed_operators(d, p), 0) << m.name;
      const hp::plan_estimate e = hp::estimate_plan(d, p, prices);
      ASSERT_TRUE(e.ok());
      EXPECT_GE(e.time(), without.time()) << m.name;
      EXPECT_LE(hp::memory_bound(d, p), e.evaluation.memory) << m.name;
      EXPECT_LE(hp::time_bound(d, p, prices), e.time()) << m.name;
      ++computed;
    }
  EXPECT_GT(refused, 10);
  EXPECT_GT(computed, 20);
}

// Of 32 dense layers, what mlp computes again is kept no more: the results of gate, up and activation, 3 of 14336 in bf16 a token; the
// norms are 2 of 4096.
TEST(recomputed_modules, are_not_kept) {
  hp::plan_prices prices(hp::h100::device, hp::h100::topology);
  hp::decoder_plan p{.dp = 8, .zero = 1, .formats = hp::find_formats("bf16")->formats, .batch = 64, .sequence = 4096};
  hp::decoder d = hp::test::llama3_8b;
  d.vocabulary = 512;  // the peak is where all layers are kept
  const auto activations = [&](unsigned modules) {
    p.modules = modules;
    return kept(hp::estimate_plan(d, p, prices));
  };
  const hp::extent_t all = activations(0), layer = 8 * 4096 * 2;
  const hp::extent_t norms = all - activations(hp::module_bit("layernorm"));
  EXPECT_NEAR(static_cast<double>(norms), 32.0 * 2 * 4096 * layer, 2.0 * 2 * 4096 * layer);
  const hp::extent_t inner = all - activations(hp::module_bit("mlp"));
  EXPECT_NEAR(static_cast<double>(inner), 32.0 * 3 * 14336 * layer, 2.0 * 3 * 14336 * layer);
}

// Experts of which the activation alone is computed again keep gate and up; beside their layer whole it says nothing more.
TEST(recomputed_modules, activations_of_experts) {
  hp::decoder_plan p{.dp = 2, .ep = 4, .batch = 8, .sequence = 64};
  const hp::decoder& d = hp::test::qwen3_30b_a3b;
  p.modules = hp::module_bit("moe_act");
  EXPECT_EQ(recomputed_operators(d, p), 1);  // of layers that repeat
  p.modules = hp::module_bit("moe");
  const int whole = recomputed_operators(d, p);
  EXPECT_GT(whole, 5);
  p.modules |= hp::module_bit("moe_act");
  EXPECT_EQ(recomputed_operators(d, p), whole);
}

TEST(recomputed_modules, layers_have_none_where_they_are_whole) {
  hp::decoder_plan p{.recomputed = true, .modules = hp::module_bit("layernorm"), .batch = 1, .sequence = 64};
  EXPECT_EQ(hp::check_plan(hp::test::llama3_8b, p, 1).code, hp::decoder_plan_code::modules_of_recomputed_layers);
  p.recomputed = false;
  EXPECT_TRUE(hp::check_plan(hp::test::llama3_8b, p, 1).ok());
  EXPECT_EQ(hp::check_stack(hp::test::llama3_8b, p, *hp::find_stack("fsdp2")), hp::stack_code::selects_results);
  EXPECT_EQ(hp::check_stack(hp::test::llama3_8b, p, *hp::find_stack("megatron")), hp::stack_code::ok);
}

}  // namespace
