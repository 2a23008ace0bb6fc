// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/program/step_timing.hpp>

#include <models/one_device_program.hpp>
#include <models/stacked_model.hpp>

#include <hyperparallel/hardware/presets.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/strategy/partition.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

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
  const hp::program_moves moves = hp::kinds_of_moves(p);
  const hp::interconnect net = hp::on_topology(hardware::topology);
  return hp::time_step(p, moves, hp::loads_of_moves(p, moves, net), hardware::device, net);
}

/// Both queues of a program that repeats nothing, with every interval kept.
struct played {
  hp::extent_t total = 0, compute = 0, communication = 0, exposed = 0;
};

played play(const hp::sharded_program& p) {
  const hp::program_moves moves = hp::kinds_of_moves(p);
  const hp::interconnect net = hp::on_topology(hardware::topology);
  const auto loads = hp::loads_of_moves(p, moves, net);
  struct interval {
    hp::extent_t begin, end;
  };
  std::vector<interval> queue[2];
  std::vector<hp::extent_t> ready(static_cast<std::size_t>(p.value.size), 0);
  hp::extent_t clock[2] = {};
  for (const hp::program_step& s : p.step) {
    int link = 0;
    hp::extent_t start = 0, took = 0;
    std::vector<int> written;
    if (s.is_move) {
      const hp::program_move& m = p.move[s.index];
      const hp::data_type type = p.graph.tensor[p.value[m.source].tensor].type;
      const hp::move_kind& k = hp::kind_of(moves, s.index);
      link = k.received > 0 ? 1 : 0;
      start = ready[static_cast<std::size_t>(m.source)];
      if (link == 1)
        took =
            hp::time_of(loads[moves.of[s.index]], hp::bytes_of(type), hp::on_topology(hardware::topology)).picoseconds;
      else if (k.steps > 0)
        took = hp::vector_time(hardware::device, 2 * hp::local_bytes(p, m.target), 1).picoseconds;
      written.push_back(m.target);
    } else {
      const hp::program_compute& c = p.compute[s.index];
      const hp::graph_operator& o = p.graph.op[c.op];
      for (int i = 0; i < o.operand_count; ++i) start = std::max(start, ready[static_cast<std::size_t>(c.operand[i])]);
      const int typed = o.operand_count > 0 ? o.operand[0] : o.result[0];
      took = hp::compute_time(hardware::device, hp::work_of(p, c), p.graph.tensor[typed].type).picoseconds;
      for (int r = 0; r < o.result_count; ++r) written.push_back(c.result[r]);
    }
    start = std::max(start, clock[link]);
    queue[link].push_back({start, start + took});
    clock[link] = start + took;
    for (const int v : written) ready[static_cast<std::size_t>(v)] = clock[link];
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

TEST(step_timing, plays_two_queues_and_exposes_what_compute_does_not_cover) {
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

TEST(step_timing, of_folded_layers_is_close_to_that_of_layers_written_out) {
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

TEST(step_timing, micro_batches_take_as_long_as_they_are_many) {
  programs::stacked_model model = large_model();
  model.trained = false;
  const hp::step_times once = timed(partitioned(model, "tp-sp"));
  model.micro_batches = 10;
  const hp::step_times often = timed(partitioned(model, "tp-sp"));
  EXPECT_EQ(often.compute_busy, 10 * once.compute_busy);
  EXPECT_GE(often.total.picoseconds, often.compute_busy);
  EXPECT_LE(often.total.picoseconds, 10 * once.total.picoseconds);
}

TEST(step_timing, a_bucket_pays_one_latency_and_starts_with_its_last_move) {
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
  const auto loads = hp::loads_of_moves(p, hp::kinds_of_moves(p), net);
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

constexpr hp::extent_t busy_of_one_product() {
  hp::model_builder m(hp::build_options{hp::data_type::bf16, hp::data_type::bf16});
  const int rows = m.dim("rows", 4096), inner = m.dim("inner", 4096), columns = m.dim("columns", 4096);
  m.contract("product", "mk,kn->mn", m.input("a", {rows, inner}), m.parameter("b", {inner, columns}));
  const hp::sharded_program p = programs::one_device_program(m.graph);
  const hp::program_moves moves = hp::kinds_of_moves(p);
  const hp::interconnect net = hp::on_topology(hardware::topology);
  return hp::time_step(p, moves, hp::loads_of_moves(p, moves, net), hardware::device, net).total.picoseconds;
}
static_assert(busy_of_one_product() ==
              hardware::device.task_overhead +
                  hp::matmul_time(hardware::device, 4096, 4096, 4096, hardware::device.gmm_cold, 24).picoseconds);

}  // namespace
