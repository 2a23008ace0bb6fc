// SPDX-License-Identifier: Apache-2.0
// Steps of training on 64 ranks in 8 nodes, reduced in size: what runs moves over each level of links what the account of
// the same program says, to the byte.
#include <hyperparallel/world/program_tasks.hpp>
#include <hyperparallel/world/program_world.hpp>

#include <hyperparallel/graph/gradient.hpp>
#include <hyperparallel/graph/optimizer.hpp>
#include <hyperparallel/hardware/gpu_presets.hpp>
#include <hyperparallel/kernels/ops/builtin_kernels.hpp>
#include <hyperparallel/price/step_account.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/strategy/partition.hpp>
#include <hyperparallel/world/model_run.hpp>

#include <models/language_model.hpp>
#include <models/trained_models.hpp>
#include <support/small_links.hpp>
#include <support/tries.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace hp = hyperparallel;

namespace {

hp::graph model(bool experts) {
  hp::model_builder m(hp::build_options{.unrolled = true});
  m.graph.micro_batches = 2;
  const programs::text_sizes text{.batch = 64, .sequence = 64, .vocabulary = 64, .hidden = 64};
  programs::language_model(m, text, "layer", 1, [&](hp::model_builder& layer, int x) {
    const hp::attention_layer attention{.query_heads = 64, .key_heads = 64, .head_dim = 2, .rope_base = 10000.0};
    if (!experts)
      return hp::transformer_block<hp::attention_layer, hp::swiglu_layer>{attention, {.width = 128}}(layer, x);
    const hp::mixture_of_experts mixture{
        .experts = 64, .top_k = 2, .width = 8, .slots = hp::expert_slots::dropless, .balance_scale = 0.01};
    return hp::transformer_block<hp::attention_layer, hp::mixture_of_experts>{attention, mixture}(layer, x);
  });
  hp::differentiate(m.graph);
  hp::append_optimizer(m.graph, {});
  return m.graph;
}

TEST(LinkedMoves, TakeOverEachLevelWhatTheAccountSays) {
  const hp::interconnect links = hp::on_topology(hp::h100::topology);
  int by_levels = 0;
  for (const char* const name : {"zero3", "hsdp3", "tp-sp", "dp-tp", "ep"}) {
    SCOPED_TRACE(name);
    const hp::graph g = model(std::string(name) == "ep");
    ASSERT_EQ(g.status.code, hp::graph_code::ok);
    hp::program_options options;
    options.topology = links;
    const hp::strategy_result s = hp::strategy_called(name, 64);
    hp::model_run<float> run(g, s.strategy, {.program = options});
    const hp::sharded_program& p = run.world().program();
    const hp::step_account account = hp::account_of(p, hp::h100::device, links);
    ASSERT_TRUE(account.ok());
    std::vector<std::int64_t> step = run.world().received_by_level(hp::micro_phases);
    const std::vector<std::int64_t> update = run.world().received_by_level(hp::update_phases);
    ASSERT_EQ(step.size(), static_cast<std::size_t>(links.topology.level_count));
    hp::extent_t between_nodes = 0;
    for (std::size_t l = 0; l < step.size(); ++l) {
      step[l] = 2 * step[l] + update[l];
      EXPECT_EQ(step[l], account.traffic.by_level[l]) << "level " << l;
      between_nodes = step[l];
    }
    EXPECT_GT(between_nodes, 0);
    run.train_step([&](int micro) { run.set_random_inputs(static_cast<std::uint64_t>(micro)); });
    const hp::program_moves moves = hp::kinds_of_moves(p, links);
    const auto loads = hp::detail::loads_of_moves(p, moves);
    hp::extent_t expected = 0, brought = 0;
    for (const hp::program_step& one : p.step)
      if (one.is_move)
        expected += hp::detail::received_by_all(loads[moves.of[one.index]]) * hp::times_of(p, one) *
                    hp::bytes_of(p.graph.tensor[p.value[p.move[one.index].source].tensor].type);
    for (int r = 0; r < 64; ++r) brought += run.world().received(r);
    EXPECT_EQ(brought, expected);
    for (const hp::move_kind& k : moves.kind) by_levels += k.candidate != hp::move_candidate::exchange ? 1 : 0;
    if (std::string(name) != "zero3") continue;
    // By fewest bytes every rank fetches most shards from other nodes.
    const hp::program_moves plain = hp::kinds_of_moves(p);
    hp::program_pulls pulls = hp::pulls_of(p, plain);
    pulls.moves.links = links;
    EXPECT_GT(hp::received_by_level(p, pulls, hp::micro_phases).back(),
              4 * run.world().received_by_level(hp::micro_phases).back());
  }
  EXPECT_GT(by_levels, 20);
}

/// A matrix of 260 MiB that no dim of six ranks divides, gathered and its gradient reduced by levels, a chunk at a time.
TEST(LinkedMoves, OfMuchMemoryStageAChunkAtATime) {
  if (tested::watches_threads) return;  // it would need tens of gigabytes
  hp::graph g = programs::one_matrix(6, 8192, 8321);
  hp::optimizer_value sgd;
  sgd.kind = hp::optimizer_kind::sgd;
  sgd.momentum = 0;
  hp::append_optimizer(g, sgd);
  ASSERT_EQ(g.status.code, hp::graph_code::ok);
  const int weight = hp::find_tensor(g, "weight"), gradient = g.tensor[weight].gradient;
  const std::string name = g.name_of_tensor(gradient);
  const auto train = [&](hp::model_run<float>& run) {
    run.set_first_values();
    run.train_step([&](int) { run.set_random_inputs(1); });
    return run.world().get(name);
  };
  hp::model_run_options options;
  options.program.keep = {name};
  hp::model_run<float> alone(g, hp::strategy_called("single", 1).strategy, options);
  const std::vector<float> expected = train(alone);
  options.program.topology = tested::node_links();
  hp::model_run<float> run(g, hp::strategy_called("zero3", 6).strategy, options);
  const std::vector<float> found = train(run);
  ASSERT_EQ(found.size(), expected.size());
  float most = 0, off = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    most = std::max(most, std::abs(expected[i]));
    off = std::max(off, std::abs(found[i] - expected[i]));
  }
  EXPECT_GT(most, 0);
  EXPECT_LE(off, 1e-6F * most) << "terms are added level by level";
  int chunked = 0;
  const hp::program_pulls pulls =
      hp::pulls_of(run.world().program(), hp::kinds_of_moves(run.world().program(), tested::node_links()));
  for (const hp::move_pulls& one : pulls.kind) chunked += one.row.size > 0 && one.row[0].dim >= 0 ? 1 : 0;
  EXPECT_GE(chunked, 1);
}

}  // namespace
