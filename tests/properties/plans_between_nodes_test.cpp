// SPDX-License-Identifier: Apache-2.0
// Search and accounts on nodes whose outer links are nine times slower than their inner ones: 64 H100 in 8 nodes.
#include <hyperparallel/price/step_account.hpp>
#include <hyperparallel/search/strategy_search.hpp>

#include <hyperparallel/graph/gradient.hpp>
#include <hyperparallel/graph/optimizer.hpp>
#include <hyperparallel/graph/recomputation.hpp>
#include <hyperparallel/layers.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <vector>

namespace hp = hyperparallel;

namespace {

constexpr int devices = 64;

hp::device_value h100() {
  hp::device_value d;
  d.aic = d.aiv = 132;
  d.matrix_flops[0] = d.matrix_flops[1] = 989 * hp::teraflops;
  d.matrix_flops[2] = 494 * hp::teraflops;
  d.matrix_flops[3] = 1979 * hp::teraflops;
  d.vector_flops = 67 * hp::teraflops;
  d.l2_bytes = 50 * hp::MiB;
  d.l2_bandwidth = 5500 * hp::gigabyte;
  d.tier_count = 1;
  d.tier[0] = {hp::hbm, 80 * hp::gigabyte, 3350 * hp::gigabyte, hp::per_mille(850), 0};
  d.gmm_cold = hp::per_mille(650);
  d.gmm_warm = hp::per_mille(700);
  d.task_overhead = 3 * hp::microsecond;
  d.synchronisation_latency = 3 * hp::microsecond;
  d.vector_synchronisation_latency = 3 * hp::microsecond;
  return d;
}

hp::topology_value nodes() {
  hp::topology_value t;
  t.level_count = 2;
  t.level[0] = {"nvlink", 8, 450 * hp::gigabyte, 2 * hp::microsecond};
  t.level[1] = {"infiniband", hp::unbounded_group, 400 * hp::gigabit_per_second, 5 * hp::microsecond};
  return t;
}

/// Llama-3-70B, one sequence a device and micro-batch, layers made again for backward. Its layers are folded, so their
/// number costs nothing.
hp::graph llama_70b(hp::extent_t sequence, int micro_batches) {
  hp::model_builder m(hp::build_options{hp::data_type::bf16, hp::data_type::bf16});
  m.graph.micro_batches = micro_batches;
  const int b = m.dim("batch", devices), s = m.dim("seq", sequence);
  const int tokens = m.index_input("tokens", {b, s}), labels = m.index_input("labels", {b, s});
  const hp::transformer_block<hp::attention_layer, hp::swiglu_layer> block{
      .attention = {.query_heads = 64, .key_heads = 8, .head_dim = 128, .rope_base = 500000.0},
      .feed_forward = {.width = 28672},
      .epsilon = 1e-5};
  int x = hp::token_embedding{.vocabulary = 128256, .hidden = 8192}(m, tokens);
  x = m.repeat("layers", 80, x, block);
  hp::language_head{.vocabulary = 128256, .epsilon = 1e-5}(m, x, labels);
  hp::differentiate(m.graph);
  hp::recompute(m.graph, "layers.*");
  hp::append_optimizer(m.graph, {});
  return static_cast<hp::graph&&>(m.graph);
}

// Gathered by levels, a parameter crosses into a node once for all of its devices: what each of them takes over its own
// card is 7 parts of 64, not 56 of 64.
TEST(PlansBetweenNodes, FullyShardedTrainingIsChargedWhatHierarchiesTake) {
  const hp::graph g = llama_70b(8192, 2);
  const hp::sharded_program p = hp::partition(g, hp::strategy_called("zero3", devices).strategy);
  ASSERT_EQ(p.status.code, hp::strategy_code::ok);
  const hp::interconnect net = hp::on_topology(nodes());
  const hp::step_account a = hp::account_of(p, h100(), net);
  EXPECT_LE(a.traffic.by_level[1] * 8, a.traffic.bytes);
  EXPECT_GE(a.traffic.by_level[1] * 10, a.traffic.bytes);
  // Every move: what `choose_move` says, and what is charged never exceeds the plan by fewest bytes.
  const hp::program_moves moves = hp::kinds_of_moves(p, net);
  const auto loads = hp::detail::loads_of_moves(p, moves);
  std::vector<hp::extent_t> entries(static_cast<std::size_t>(hp::tally_size(net, devices)));
  int staged = 0;
  for (int k = 0; k < moves.kind.size; ++k) {
    if (moves.kind[k].received == 0) continue;
    const hp::program_move& m = p.move[moves.kind[k].example];
    const hp::graph_tensor& t = p.graph.tensor[p.value[m.source].tensor];
    const hp::extent_t bytes = hp::bytes_of(t.type);
    const hp::chosen_move chosen = hp::choose_move(p.value[m.source].layout, p.value[m.target].layout, t.shape,
                                                   {hp::objective::time, net, bytes, 0, false}, entries.data());
    ASSERT_EQ(chosen.code, hp::choice_code::ok);
    EXPECT_EQ(hp::time_of(loads[k], bytes, net), chosen.figures.time);
    EXPECT_EQ(loads[k].candidate, chosen.candidate);
    staged += chosen.candidate == hp::move_candidate::exchange ? 0 : 1;
  }
  EXPECT_GT(staged, 5);
}

/// Plans of the space at random: a frame, and a candidate for each part.
struct random_plans {
  const hp::graph& g;
  hp::search_limits limits;
  std::mt19937 random{64};
  std::vector<hp::plan_frame> frames{};

  random_plans(const hp::graph& of, const hp::search_limits& most) : g(of), limits(most) {
    hp::detail::visit_frames(g, devices, limits, [&](const hp::plan_frame& f) { frames.push_back(f); });
  }
  hp::strategy_value next(hp::plan_frame& frame) {
    for (;;) {
      frame = frames[random() % frames.size()];
      hp::plan_space space;
      hp::detail::fill_space(space, g, hp::detail::find_parts(g), frame, limits.reduced);
      int choice[hp::max_model_parts] = {};
      for (int p = 0; p < space.parts; ++p)
        choice[p] = static_cast<int>(random() % static_cast<unsigned>(space.candidate[p].size));
      hp::strategy_value s;
      if (hp::detail::compose(space, choice, s)) return s;
    }
  }
};

// The winner's step takes, by the account of its program, no longer than that of any other plan that fits by its own.
TEST(PlansBetweenNodes, NoRandomPlanBeatsTheWinner) {
  const bool exhaustive = std::getenv("HYPERPARALLEL_EXHAUSTIVE") != nullptr;
  const hp::graph g = llama_70b(8192, 2);
  const hp::device_value device = h100();
  const hp::topology_value topology = nodes();
  hp::search_limits limits;
  limits.tensor = exhaustive ? 16 : 8;
  limits.context = 1;
  limits.pipeline = 1;
  limits.orders = exhaustive ? 2 : 1;
  limits.reduced = !exhaustive;
  const hp::search_result r = hp::search_strategies(&g, 1, device, topology, devices, limits);
  ASSERT_TRUE(r.ok());
  EXPECT_TRUE(r.certificate.complete);
  EXPECT_EQ(r.certificate.law_breaks, 0);
  const auto account = [&](const hp::strategy_value& s) {
    return hp::account_of(hp::partition(g, s), device, hp::on_topology(topology));
  };
  const hp::step_account best = account(r.plan[0].strategy);
  EXPECT_EQ(best.times, r.plan[0].evaluation.times);
  EXPECT_EQ(best.times.total.picoseconds, r.plan[0].evaluation.time);
  EXPECT_LE(best.memory.peak, device.tier[0].bytes);
  random_plans plans(g, limits);
  int fit = 0, beside = 0;
  const auto compare = [&](const hp::step_account& a) {
    if (a.status.code != hp::strategy_code::ok || a.memory.peak > device.tier[0].bytes) return;
    ++fit;
    EXPECT_LE(best.times.total.picoseconds, a.times.total.picoseconds);
    beside += a.times.exposed < a.times.communication_busy ? 1 : 0;
  };
  const int wanted = exhaustive ? 1000 : 200;
  for (int tries = 0; fit < wanted && tries < 100 * wanted; ++tries) {
    hp::plan_frame frame;
    const hp::strategy_value s = plans.next(frame);
    compare(account(s));
  }
  EXPECT_GE(fit, wanted);
  for (const char* name : {"zero3", "hsdp2", "zero3-tp"}) compare(account(hp::strategy_called(name, devices).strategy));
  EXPECT_GT(beside, fit / 2);  // moves overlap, so that times in a row would rank plans in another order
}

}  // namespace
