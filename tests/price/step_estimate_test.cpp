// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/price/step_estimate.hpp>

#include <models/one_device_program.hpp>
#include <models/stacked_model.hpp>

#include <hyperparallel/hardware/presets.hpp>
#include <hyperparallel/price/plan_prices.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/strategy/partition.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "search/search_models.hpp"

namespace hp = hyperparallel;

namespace {

using hardware = hp::matrix384;

hp::sharded_program partitioned(const programs::stacked_model& model, const char* name) {
  return hp::partition(model.build(), hp::strategy_called(name, 4).strategy);
}

programs::stacked_model large_model() {
  programs::stacked_model model;
  model.batch = 8;
  model.sequence = 512;
  model.hidden = 1024;
  model.ffn = 4096;
  model.key_heads = 8;
  model.query_heads = 16;
  model.head_dim = 64;
  model.vocabulary = 4096;
  model.type = hp::data_type::bf16;
  return model;
}

hp::step_times timed(const hp::sharded_program& p) {
  const hp::interconnect net = hp::on_topology(hardware::topology);
  const hp::program_moves moves = hp::kinds_of_moves(p, net);
  return hp::estimate_step(p, moves, hp::detail::loads_of_moves(p, moves), hardware::device, net);
}

/// Both queues of a program that repeats nothing and has no buckets, with every interval kept.
struct played {
  hp::extent_t total = 0, compute = 0, communication = 0, exposed = 0;
};

played play(const hp::sharded_program& p) {
  const hp::interconnect net = hp::on_topology(hardware::topology);
  const hp::program_moves moves = hp::kinds_of_moves(p, net);
  const auto loads = hp::detail::loads_of_moves(p, moves);
  struct interval {
    hp::extent_t begin, end;
  };
  std::vector<interval> queue[2];
  std::vector<hp::extent_t> ready(static_cast<std::size_t>(p.value.size), 0);
  std::vector<hp::extent_t> used(static_cast<std::size_t>(p.storage.size), 0);
  hp::extent_t clock[2] = {};
  for (const hp::program_step& s : p.step) {
    int link = 0;
    hp::extent_t start = 0, took = 0;
    std::vector<int> written, touched;
    if (s.is_move) {
      const hp::program_move& m = p.move[s.index];
      const hp::data_type type = p.graph.tensor[p.value[m.source].tensor].type;
      const hp::move_kind& k = hp::kind_of(moves, s.index);
      link = 1;
      start = ready[static_cast<std::size_t>(m.source)];
      touched.push_back(m.source);
      if (k.received > 0)
        took = hp::time_of(loads[moves.of[s.index]], hp::bytes_of(type), net).picoseconds;
      else if (k.steps > 0)
        took = hp::vector_time(hardware::device, 2 * hp::local_bytes(p, m.target), 1).picoseconds;
      written.push_back(m.target);
    } else {
      const hp::program_compute& c = p.compute[s.index];
      const hp::graph_operator& o = p.graph.op[c.op];
      for (int i = 0; i < o.operand_count; ++i) {
        start = std::max(start, ready[static_cast<std::size_t>(c.operand[i])]);
        touched.push_back(c.operand[i]);
      }
      const int typed = o.operand_count > 0 ? o.operand[0] : o.result[0];
      took = hp::detail::compute_time(hardware::device, hp::work_of(p, c), p.graph.tensor[typed].type).picoseconds;
      for (int r = 0; r < o.result_count; ++r) written.push_back(c.result[r]);
    }
    const auto use_of = [&](int v) -> hp::extent_t& { return used[static_cast<std::size_t>(p.value[v].storage)]; };
    for (const int v : written) start = std::max(start, use_of(v));
    start = std::max(start, clock[link]);
    queue[link].push_back({start, start + took});
    clock[link] = start + took;
    for (const int v : written) ready[static_cast<std::size_t>(v)] = clock[link];
    touched.insert(touched.end(), written.begin(), written.end());
    for (const int v : touched) use_of(v) = std::max(use_of(v), clock[link]);
  }
  played r;
  r.total = std::max(clock[0], clock[1]);
  for (const interval& i : queue[0]) r.compute += i.end - i.begin;
  for (const interval& i : queue[1]) {
    r.communication += i.end - i.begin;
    hp::extent_t hidden = 0;
    for (const interval& k : queue[0])
      hidden += std::max<hp::extent_t>(0, std::min(i.end, k.end) - std::max(i.begin, k.begin));
    r.exposed += i.end - i.begin - hidden;
  }
  return r;
}

/// Buckets of folded layers end with each repetition, so they are compared without.
hp::sharded_program without_buckets(hp::sharded_program p) {
  for (hp::program_move& m : p.move) m.bucket = -1;
  return p;
}

template <class Run>
void for_each_program(std::mt19937& random, int models, const Run& run) {
  for (int i = 0; i < models; ++i) {
    searched::small_model model = searched::random_model(random, i % 2 == 0);
    model.micro_batches = 1 + i % 4;
    const hp::graph g = model.build();
    const hp::device_value device = searched::random_device(random);
    const hp::topology_value topology = searched::random_topology(random);
    for (int n = 0; n < hp::named_strategy_count; ++n) {
      const hp::strategy_value s = hp::strategy_called(hp::named_strategy_at(n).name, 4).strategy;
      const hp::sharded_program p = hp::partition(g, s);
      if (p.status.code == hp::strategy_code::ok) run(p, device, topology, s.name.text);
    }
  }
}

TEST(StepEstimate, PlaysTwoQueuesAndExposesWhatComputeDoesNotCover) {
  int compared = 0;
  for (int i = 0; i < hp::named_strategy_count; ++i)
    for (const bool large : {false, true}) {
      const char* const name = hp::named_strategy_at(i).name;
      programs::stacked_model model = large ? large_model() : programs::stacked_model{};
      if (!large) model.key_heads = 4;
      model.unrolled = true;
      const hp::sharded_program p = without_buckets(partitioned(model, name));
      if (p.status.code != hp::strategy_code::ok) continue;  // the model has no experts
      const hp::step_times t = timed(p);
      const played expected = play(p);
      ASSERT_TRUE(t.total.ok());
      EXPECT_EQ(t.total.picoseconds, expected.total) << name;
      EXPECT_EQ(t.compute_busy, expected.compute) << name;
      EXPECT_EQ(t.communication_busy, expected.communication) << name;
      EXPECT_EQ(t.exposed, expected.exposed) << name;
      EXPECT_EQ(t.by_unit[0] + t.by_unit[1], t.compute_busy) << name;
      ++compared;
    }
  EXPECT_GE(compared, 20);
}

TEST(StepEstimate, OfFoldedLayersIsCloseToThatOfLayersWrittenOut) {
  for (const char* name : {"single", "dp", "zero1", "zero3", "tp", "tp-sp", "dp-tp", "ulysses"}) {
    programs::stacked_model model = large_model();
    model.dense_layers = 24;
    model.trained = false;
    const hp::sharded_program p = without_buckets(partitioned(model, name));
    ASSERT_EQ(p.status.code, hp::strategy_code::ok) << name;
    const hp::step_times folded = timed(p);
    model.unrolled = true;
    const hp::step_times unrolled = timed(without_buckets(partitioned(model, name)));
    EXPECT_EQ(folded.compute_busy, unrolled.compute_busy) << name;
    EXPECT_EQ(folded.communication_busy, unrolled.communication_busy) << name;
    EXPECT_NEAR(static_cast<double>(folded.total.picoseconds) / static_cast<double>(unrolled.total.picoseconds), 1.0,
                0.02)
        << name;
  }
}

TEST(StepEstimate, MicroBatchesTakeAsLongAsTheyAreMany) {
  programs::stacked_model model = large_model();
  model.trained = false;
  const hp::step_times once = timed(partitioned(model, "tp-sp"));
  model.micro_batches = 10;
  const hp::step_times often = timed(partitioned(model, "tp-sp"));
  EXPECT_EQ(often.compute_busy, 10 * once.compute_busy);
  EXPECT_GE(often.total.picoseconds, often.compute_busy);
  EXPECT_LE(often.total.picoseconds, 10 * once.total.picoseconds);
}

TEST(StepEstimate, ABucketPaysOneLatency) {
  programs::stacked_model model;
  model.unrolled = true;
  model.trained = false;
  hp::sharded_program p = partitioned(model, "dp");
  for (hp::program_move& m : p.move) m.bucket = -1;
  const hp::step_times alone = timed(p);
  for (hp::program_move& m : p.move) m.bucket = 0;
  p.buckets = 1;
  const hp::step_times together = timed(p);
  // All gradients are reduced the same way; what its steps wait for apart from bytes is paid once.
  const hp::interconnect net = hp::on_topology(hardware::topology);
  const auto loads = hp::detail::loads_of_moves(p, hp::kinds_of_moves(p, net));
  hp::extent_t latency = 0;
  for (const hp::move_load& load : loads) {
    hp::extent_t own = 0;
    for (const hp::step_levels& step : load.step) {
      hp::extent_t longest = 0;
      for (int l = 0; l < net.topology.level_count; ++l)
        longest = std::max(longest, step.level[l].messages * net.topology.level[l].latency);
      own += longest;
    }
    EXPECT_TRUE(latency == 0 || latency == own);
    latency = own;
  }
  EXPECT_NEAR(static_cast<double>(alone.communication_busy - together.communication_busy),
              static_cast<double>((p.move.size - 1) * latency), 2.0 * p.move.size);
  EXPECT_GE(together.total.picoseconds, together.compute_busy);
}

// Prices that are looked up give the times of prices that are made from kinds and loads.
TEST(StepEstimate, IsTheSameForSearchAndAccounts) {
  std::mt19937 random(5);
  int compared = 0;
  for_each_program(
      random, 12,
      [&](const hp::sharded_program& p, const hp::device_value& d, const hp::topology_value& t, const char* name) {
        hp::plan_prices prices(d, t);
        const hp::priced_program priced(p, prices);
        const hp::interconnect net = hp::on_topology(t);
        const hp::program_moves kinds = hp::kinds_of_moves(p, net);
        EXPECT_EQ(hp::estimate_step(p, priced, hp::pipeline_form(p.graph, 1), net),
                  hp::estimate_step(p, kinds, hp::detail::loads_of_moves(p, kinds), d, net))
            << name;
        ++compared;
      });
  EXPECT_GT(compared, 100);
}

// Something is always running, so a step takes at least either queue's busy time and at most both.
TEST(StepEstimate, RunsBetweenTheLongerQueueAndBoth) {
  std::mt19937 random(6);
  int overlapping = 0, compared = 0;
  for_each_program(
      random, 12,
      [&](const hp::sharded_program& p, const hp::device_value& d, const hp::topology_value& t, const char* name) {
        hp::plan_prices prices(d, t);
        const hp::priced_program priced(p, prices);
        for (const int stages : {1, 2}) {
          const hp::pipeline_form form(p.graph, stages);
          if (!form.fits()) continue;
          const hp::step_times times = hp::estimate_step(p, priced, form, prices.links());
          ASSERT_TRUE(times.total.ok()) << name;
          EXPECT_GE(times.total.picoseconds, times.compute_busy) << name;
          EXPECT_GE(times.total.picoseconds, times.communication_busy) << name;
          EXPECT_LE(times.total.picoseconds, times.compute_busy + times.communication_busy) << name;
          EXPECT_EQ(times.exposed, times.total.picoseconds - times.compute_busy) << name;
          EXPECT_EQ(times.by_unit[0] + times.by_unit[1], times.compute_busy) << name;
          overlapping += times.exposed < times.communication_busy ? 1 : 0;
          ++compared;
        }
      });
  EXPECT_GT(compared, 150);
  EXPECT_GT(overlapping, 50);
}

constexpr hp::extent_t busy_of_one_product() {
  hp::model_builder m(hp::build_options{hp::data_type::bf16, hp::data_type::bf16});
  const int rows = m.dim("rows", 4096), inner = m.dim("inner", 4096), columns = m.dim("columns", 4096);
  m.contract("product", "mk,kn->mn", m.input("a", {rows, inner}), m.parameter("b", {inner, columns}));
  const hp::sharded_program p = programs::one_device_program(m.graph);
  const hp::interconnect net = hp::on_topology(hardware::topology);
  const hp::program_moves moves = hp::kinds_of_moves(p, net);
  return hp::estimate_step(p, moves, hp::detail::loads_of_moves(p, moves), hardware::device, net).total.picoseconds;
}
static_assert(busy_of_one_product() ==
              hardware::device.task_overhead +
                  hp::matmul_time(hardware::device, 4096, 4096, 4096, hardware::device.gmm_cold, 24).picoseconds);

}  // namespace
