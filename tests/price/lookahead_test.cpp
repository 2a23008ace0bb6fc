// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/price/lookahead.hpp>

#include <gtest/gtest.h>

#include <vector>

#include <hyperparallel/hardware/gpu_presets.hpp>
#include <hyperparallel/price/step_account.hpp>
#include <hyperparallel/step/training_step.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/strategy/partition.hpp>

#include "search/search_models.hpp"

namespace {

namespace hp = hyperparallel;

template <class Run>
void for_each_program(const Run& run) {
  for (const hp::extent_t hidden : {16, 256}) {
    searched::small_model model{.hidden = hidden, .ffn = 4 * hidden, .unrolled = true};
    model.layers = 4;
    model.micro_batches = hidden == 16 ? 2 : 1;
    for (int n = 0; n < hp::named_strategy_count; ++n) {
      SCOPED_TRACE(hp::named_strategy_at(n).name);
      const hp::sharded_program p =
          hp::partition(model.build(), hp::strategy_called(hp::named_strategy_at(n).name, 4).strategy);
      if (p.status.code == hp::strategy_code::ok) run(p);
    }
  }
}

struct tried {
  hp::extent_t makespan = 0, bytes = 0;
};

/// Every lookahead by itself.
std::vector<tried> all_of(const hp::sharded_program& p, const hp::interconnect& links) {
  std::vector<tried> all;
  for (int ahead = 0; ahead <= hp::detail::most_lookahead; ahead = ahead == 0 ? 1 : 2 * ahead) {
    const hp::lowered_program l = hp::lower_training(p, {.topology = links, .lookahead = ahead});
    EXPECT_TRUE(l.status.ok());
    all.push_back({hp::simulate(l, hp::h100::device).makespan, l.addresses.high_water[0]});
  }
  return all;
}

TEST(PlanLookahead, IsTheFirstThatIsCloseToTheEstimateOrElseTheFastestThatFits) {
  const hp::interconnect links = hp::on_topology(hp::h100::topology);
  int ahead_of_nothing = 0, close = 0;
  for_each_program([&](const hp::sharded_program& p) {
    const std::vector<tried> all = all_of(p, links);
    for (const int share : {0, 2, 5, 20, 1000}) {
      const hp::extent_t memory = all[0].bytes + all[0].bytes * share / 100;
      const hp::clocked_plan c = hp::lower_fastest(p, {.topology = links}, hp::h100::device, memory);
      ASSERT_TRUE(c.ok());
      EXPECT_EQ(c.least_bytes, all[0].bytes);
      EXPECT_LE(c.bytes(), memory);
      EXPECT_GE(c.lowered.times.makespan, c.unhindered);
      const hp::step_times estimate = hp::account_of(p, hp::h100::device, links).times;
      if (p.graph.micro_batches == 1) {
        EXPECT_EQ(c.unhindered, estimate.total.picoseconds);
      }
      EXPECT_GE(c.unhindered, estimate.total.picoseconds);
      const hp::extent_t enough = c.unhindered + c.unhindered / 256;
      hp::extent_t best = all[0].makespan;
      for (std::size_t i = 1; i < all.size() && best > enough && all[i].bytes <= memory; ++i)
        best = hp::smaller(best, all[i].makespan);
      EXPECT_EQ(c.lowered.times.makespan, best);
      ahead_of_nothing += c.lookahead == 0;
      close += best <= enough;
    }
  });
  EXPECT_GE(close, 60);
  EXPECT_GE(ahead_of_nothing, 20);
}

// Where a sweep over the steps leaves gaps, orders are tried until one fits: then the plan does.
TEST(PlanLookahead, PacksTighterWhereMemoryIsShort) {
  const hp::interconnect links = hp::on_topology(hp::h100::topology);
  int tighter = 0;
  for_each_program([&](const hp::sharded_program& p) {
    const hp::program_moves moves = hp::kinds_of_moves(p, links);
    const hp::program_addresses swept = hp::plan_addresses(p, moves);
    const hp::extent_t memory = swept.alive_maximum[0];
    if (swept.high_water[0] == memory) return;
    const hp::clocked_plan c = hp::lower_fastest(p, {.topology = links}, hp::h100::device, memory);
    ASSERT_TRUE(c.ok());
    EXPECT_EQ(c.lookahead, 0);
    EXPECT_LE(c.bytes(), swept.high_water[0]);
    EXPECT_GE(c.bytes(), memory);
    tighter += c.bytes() < swept.high_water[0];
  });
  EXPECT_GE(tighter, 1);
}

// The same as options of a step, whose plan the compiler makes.
struct model {
  static constexpr void build(hp::model_builder& m) {
    const int batch = m.dim("batch", 8), hidden = m.dim("hidden", 1024);
    int x = m.input("x", {batch, hidden});
    x = m.repeat("layers", 4, x, [&](hp::model_builder& layer, int h) {
      return layer.contract("square", "*k,kn->*n", h, layer.parameter("weight", {hidden, layer.dim("out", 1024)}));
    });
    m.loss(m.apply<hp::ops::reduce>("loss", {x}, {.text = "*->"}));
  }
};
struct mesh : hp::device_matrix<hp::axis{"dp", 4}> {};
template <class... Options>
using step = hp::train_step<model, hp::strategy<mesh, hp::fully_sharded<"dp", 3>>, hp::adamw, hp::h100, Options...>;
using least = step<>;
using fastest = step<hp::looking_ahead_within<hp::GiB>>;
using none = step<hp::looking_ahead_within<1>>;
static_assert(fastest::verified && hp::fits<fastest, hp::GiB>());
static_assert(fastest::clock.makespan < least::clock.makespan);
static_assert(fastest::clock.makespan / 256 * 255 <= fastest::account.times.total.picoseconds);
static_assert(none::verified && none::clock.makespan == least::clock.makespan);

TEST(PlanLookahead, WithoutRoomIsThePlanOfLeastMemory) {
  const hp::interconnect links = hp::on_topology(hp::h100::topology);
  const hp::sharded_program p =
      hp::partition(searched::small_model{.unrolled = true}.build(), hp::strategy_called("zero3", 4).strategy);
  const hp::clocked_plan c = hp::lower_fastest(p, {.topology = links}, hp::h100::device, 1);
  ASSERT_TRUE(c.ok());
  EXPECT_EQ(c.lookahead, 0);
  EXPECT_EQ(c.bytes(), c.least_bytes);
  EXPECT_GT(c.bytes(), 1);
}

TEST(PlanLookahead, OfWhatCannotBeLoweredThereIsNone) {
  const hp::sharded_program folded =
      hp::partition(searched::small_model{.layers = 3}.build(), hp::strategy_called("dp", 4).strategy);
  const hp::clocked_plan c =
      hp::lower_fastest(folded, {.topology = hp::on_topology(hp::h100::topology)}, hp::h100::device, 1 << 30);
  EXPECT_FALSE(c.ok());
  EXPECT_EQ(c.lowered.status.code, hp::lowering_code::segment_is_folded);
}

}  // namespace
