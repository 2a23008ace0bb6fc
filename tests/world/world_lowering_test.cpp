// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/world/world_lowering.hpp>

#include <support/error_of.hpp>
#include <world/small_models.hpp>

#include <gtest/gtest.h>

namespace hp = hyperparallel;

namespace {

using tested::error_of;

TEST(WorldLowering, KeepsItsTypesAndWhatIsKept) {
  using enum hp::data_type;
  for (const hp::data_type type : {f16, bf16, f32, f64}) {
    const hp::sharded_program p = small_models::two_layers_on(2, true, type);
    const hp::lowered_program lowered = hp::detail::lowered_for(p, type == f64 ? f64 : f32, {.keep = {"y", "h"}});
    for (const hp::graph_tensor& t : lowered.program.graph.tensor) EXPECT_EQ(t.type, type);
    for (int s = 0; s < p.storage.size; ++s) EXPECT_EQ(lowered.program.storage[s].bytes, p.storage[s].bytes);
    EXPECT_EQ(lowered.monitors, 0);
    ASSERT_EQ(lowered.program.graph.monitor.size, 2);
    EXPECT_EQ(lowered.program.graph.monitor[0], hp::find_tensor(p.graph, "y"));
    EXPECT_EQ(lowered.pulls.moves.of.size, p.move.size);
  }
}

TEST(WorldLowering, WhatCannotRunIsNamed) {
  const auto refusal = [](const hp::sharded_program& p, const std::vector<std::string>& keep = {}) {
    return error_of<hp::program_error>([&] { hp::detail::lowered_for(p, hp::data_type::f32, {.keep = keep}); });
  };
  hp::sharded_program p = small_models::two_layers_on(2, true);
  EXPECT_EQ(refusal(p), "no error");
  EXPECT_EQ(refusal(small_models::two_layers_on(2, true, hp::f64)),
            "operator h (contract) has no kernel for \"x\" of f64 that computes in f32");
  EXPECT_EQ(refusal(p, {"q"}), "keep: the graph has no tensor \"q\", the nearest is \"x\"");
  p.value[p.move[0].target].rotation = {0, 1};
  EXPECT_EQ(refusal(p), "the move of \"d_first\" cannot be planned: a rotated block changes its layout");
  p.graph.segment.push({p.graph.tensor[0].name, 4});
  EXPECT_EQ(refusal(p), "segment \"x\" is folded: only graphs that are built unrolled can run");
  p.status.code = hp::strategy_code::dim_does_not_divide;
  EXPECT_EQ(refusal(p), "the program was refused: dim_does_not_divide");
}

TEST(WorldLowering, LookaheadStaysWithinTheBudgetOrIsRefused) {
  const hp::sharded_program p = small_models::two_layers_on(2, true);
  const std::vector<hp::offload_link> tiers{{1'000'000'000, 0}};
  const hp::extent_t whole = hp::detail::lowered_for(p, hp::data_type::f32).addresses.high_water[0];
  hp::program_options options{.lookahead = 100};
  const hp::extent_t apart = hp::detail::lowered_for(p, hp::data_type::f32, options).addresses.high_water[0];
  ASSERT_GT(apart, whole);
  options.budget = {.bytes = apart, .tiers = tiers};
  EXPECT_LE(hp::detail::lowered_for(p, hp::data_type::f32, options).addresses.high_water[0], apart);
  options.budget.bytes = whole;
  EXPECT_EQ(error_of<hp::program_error>([&] { hp::detail::lowered_for(p, hp::data_type::f32, options); }),
            "budget of " + std::to_string(whole) + " bytes: with a lookahead of 100 steps, addresses take " +
                std::to_string(apart));
  options.lookahead = 0;
  EXPECT_LE(hp::detail::lowered_for(p, hp::data_type::f32, options).addresses.high_water[0], whole);
}

TEST(WorldLowering, ARunThatCannotBeIsNamedByItsStepAndPlace) {
  hp::lowered_program l = hp::detail::lowered_for(small_models::two_layers_on(2, true), hp::data_type::f32);
  hp::add_run(l, hp::micro_phases | hp::update_phases);
  ASSERT_EQ(l.run.size, 1);
  l.addresses.high_water[0] -= 1;
  EXPECT_EQ(error_of<hp::program_error>([&] { hp::add_run(l, hp::micro_phases); }),
            "the program's plan uses " + std::to_string(l.addresses.high_water[0] + 1) +
                " bytes of tier 0, planned are " + std::to_string(l.addresses.high_water[0]));
  l.status = {};
  for (hp::extent_t& offset : l.addresses.storage) offset = 0;
  const std::string text = error_of<hp::program_error>([&] { hp::add_run(l, hp::micro_phases); });
  EXPECT_NE(text.find("(contract)) cannot be lowered"), std::string::npos) << text;
  EXPECT_NE(text.find(" of "), std::string::npos) << text;
}

}  // namespace
