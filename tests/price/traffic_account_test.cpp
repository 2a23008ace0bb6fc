// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/price/traffic_account.hpp>

#include <models/stacked_model.hpp>

#include <hyperparallel/hardware/presets.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/strategy/partition.hpp>

#include <gtest/gtest.h>

#include <string>

namespace hp = hyperparallel;

namespace {

hp::sharded_program partitioned(const programs::stacked_model& model, const char* name, int ranks = 4) {
  return hp::partition(model.build(), hp::strategy_called(name, ranks).strategy);
}

TEST(traffic_account, parts_add_up_to_the_total) {
  for (int i = 0; i < hp::named_strategy_count; ++i) {
    const char* const name = hp::named_strategy_at(i).name;
    programs::stacked_model model;
    model.key_heads = 4;
    model.micro_batches = 2;
    const hp::sharded_program p = partitioned(model, name);
    if (p.status.code != hp::strategy_code::ok) continue;  // the model has no experts
    const hp::interconnect net = hp::on_topology(hp::matrix384::topology);
    const hp::program_moves moves = hp::kinds_of_moves(p, net);
    const auto loads = hp::detail::loads_of_moves(p, moves);
    const hp::traffic_account a = hp::traffic_of(p, moves, loads);
    hp::extent_t phases = 0, classes = 0, axes = 0, levels = 0, counted = 0;
    for (const hp::extent_t n : a.by_phase) phases += n;
    for (const hp::extent_t n : a.by_class) classes += n;
    for (const hp::extent_t n : a.by_level) levels += n;
    for (int k = 0; k < a.by_axes.size; ++k) {
      axes += a.by_axes.item[k].bytes;
      counted += a.by_axes.item[k].moves;
      for (int before = 0; before < k; ++before) EXPECT_NE(a.by_axes.item[k].axes, a.by_axes.item[before].axes);
    }
    EXPECT_EQ(phases, a.bytes) << name;
    EXPECT_EQ(classes, a.bytes) << name;
    EXPECT_EQ(axes, a.bytes) << name;
    EXPECT_EQ(counted, a.moves) << name;
    // The busiest receiver of a step takes at most what the busiest ones of its levels take.
    hp::extent_t fastest = 0;
    for (const hp::program_step& s : p.step)
      for (int l = 0; s.is_move && l < net.topology.level_count; ++l)
        fastest += hp::detail::elements_over(loads[moves.of[s.index]], l) * hp::times_of(p, s) *
                   hp::bytes_of(p.graph.tensor[p.value[p.move[s.index].source].tensor].type);
    EXPECT_EQ(levels, fastest) << name;
    EXPECT_GE(levels, a.bytes) << name;
    EXPECT_EQ(a.bytes == 0, std::string(name) == "single");
    const hp::traffic_account bare = hp::traffic_of(p, moves, {});
    EXPECT_EQ(bare.bytes, a.bytes);
    EXPECT_EQ(bare.by_level[0] + bare.by_level[1], 0);
  }
}

TEST(traffic_account, of_data_parallel_is_one_all_reduce_of_the_gradients) {
  programs::stacked_model model;
  const hp::sharded_program p = partitioned(model, "dp");
  const hp::traffic_account a = hp::traffic_of(p);
  const hp::extent_t bytes = hp::parameter_count(p.graph) * 4;
  EXPECT_EQ(a.by_class[static_cast<int>(hp::traffic_class::gradients)], 2 * bytes * 3 / 4);
  EXPECT_EQ(a.by_class[static_cast<int>(hp::traffic_class::parameters)], 0);
  ASSERT_EQ(a.by_axes.size, 1);
  EXPECT_EQ(a.by_axes[0].axes, 1u);
  EXPECT_EQ(a.by_axes[0].bytes, a.bytes);
}

TEST(traffic_account, of_fully_sharded_data_parallel_is_three_halves_of_that) {
  programs::stacked_model model;
  const hp::sharded_program p = partitioned(model, "zero3");
  const hp::traffic_account a = hp::traffic_of(p);
  const hp::extent_t bytes = hp::parameter_count(p.graph) * 4;
  const hp::extent_t gathered = a.by_class[static_cast<int>(hp::traffic_class::parameters)];
  EXPECT_EQ(a.by_class[static_cast<int>(hp::traffic_class::gradients)], bytes * 3 / 4);
  EXPECT_GT(gathered, bytes * 3 / 4);      // for forward and again for backward,
  EXPECT_LE(gathered, 2 * bytes * 3 / 4);  // but for tables that backward does not read
}

TEST(traffic_account, of_folded_layers_is_that_of_layers_written_out) {
  for (const char* name : {"dp", "zero1", "zero3", "tp-sp", "zero3-tp"}) {
    programs::stacked_model model;
    model.key_heads = 4;
    model.dense_layers = 5;
    const hp::traffic_account folded = hp::traffic_of(partitioned(model, name));
    model.unrolled = true;
    const hp::traffic_account unrolled = hp::traffic_of(partitioned(model, name));
    for (int c = 0; c < 2; ++c) EXPECT_EQ(folded.by_class[c], unrolled.by_class[c]) << name;
    EXPECT_EQ(folded.by_phase[0], unrolled.by_phase[0]) << name;
    EXPECT_EQ(folded.by_phase[1], unrolled.by_phase[1]) << name;
  }
}

TEST(traffic_account, micro_batches_repeat_what_is_not_of_the_update) {
  programs::stacked_model model;
  model.key_heads = 4;
  model.trained = false;
  const hp::traffic_account once = hp::traffic_of(partitioned(model, "tp"));
  model.micro_batches = 3;
  const hp::traffic_account thrice = hp::traffic_of(partitioned(model, "tp"));
  EXPECT_GT(once.bytes, 0);
  EXPECT_EQ(thrice.bytes, 3 * once.bytes);
}

}  // namespace
