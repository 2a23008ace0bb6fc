// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/lowering/lowered_offload.hpp>

#include <hyperparallel/hardware/gpu_presets.hpp>
#include <hyperparallel/price/clock.hpp>

#include <lowering/broken_tables.hpp>
#include <models/random_program.hpp>
#include <support/tries.hpp>

#include <gtest/gtest.h>

#include <utility>

namespace hp = hyperparallel;

namespace {

/// A device with these links to its slower tiers.
hp::device_value device_with(std::initializer_list<hp::offload_link> links) {
  hp::device_value d = hp::h100::device;
  d.task_overhead = 10'000;  // small programs shall compute for a while
  d.tier_count = 1;
  for (const hp::offload_link& l : links) {
    hp::memory_tier& t = d.tier[d.tier_count++];
    t = hp::h100::device.tier[1];
    t.bandwidth = l.bytes_per_second;
    t.latency = l.latency;
  }
  return d;
}

/// How the clocks of runs stand to those of their periods.
struct comparison {
  int runs = 0, equal = 0, earlier = 0, later = 0;
  int waiting = 0;  ///< runs whose plan waits for copies
  int differs = 0;  ///< where equality is law
};

struct planned {
  hp::offloaded_program o;
  hp::lowered_program l;
};

planned plan_within(const hp::sharded_program& p, const hp::device_value& d, int percent, bool recomputation) {
  const hp::interconnect links = hp::interconnect_of(hp::h100::topology);
  const hp::program_moves moves = hp::kinds_of_moves(p, links);
  const hp::row_prices price = hp::prices_of_steps(p, moves, d);
  EXPECT_EQ(price.code, hp::cost_code::ok);
  const hp::extent_t budget = hp::plan_addresses(p, moves).high_water[0] * percent / 100;
  planned r;
  r.o = hp::offload(p, price.duration, hp::tiers_of(d, budget),
                    {.planning = {.effort = 20'000}, .recomputation = recomputation, .links = links});
  if (r.o.ok()) r.l = hp::lower_training(r.o, {.topology = links});
  return r;
}

/// Whether an operator with several results runs again.
bool makes_others_again(const hp::sharded_program& p) {
  hp::growing_array<int> times;
  times.resize(p.graph.op.size, 0);
  for (const hp::program_compute& c : p.compute)
    if (++times[c.op] > 1 && p.graph.op[c.op].result_count > 1) return true;
  return false;
}

bool in_domain(const planned& r) { return r.o.ok() && r.o.added_stores == 0 && !makes_others_again(r.o.program); }

void compare(const planned& r, const hp::device_value& d, bool no_moves, comparison& c) {
  ASSERT_TRUE(r.l.status.ok());
  ASSERT_EQ(r.l.run.size, r.o.period.size);
  for (int i = 0; i < r.l.run.size; ++i) {
    const hp::run_times t = hp::simulate(r.l, r.l.run[i], d);
    ASSERT_TRUE(t.ok());
    EXPECT_LE(t.bound.most(), t.makespan);
    const hp::offload_certificate& planner = r.o.period[i];
    ++c.runs;
    c.waiting += planner.exposed > 0;
    c.equal += t.makespan == planner.time;
    c.earlier += t.makespan < planner.time;
    c.later += t.makespan > planner.time;
    c.differs += no_moves && planner.exposed == 0 && t.makespan != planner.time;
    const hp::extent_t bytes[] = {planner.bytes_in, planner.bytes_out};
    const hp::resource queue[] = {hp::resource::copy_in, hp::resource::copy_out};
    for (int way = 0; way < 2; ++way) EXPECT_EQ(t.busy[static_cast<int>(queue[way])] > 0, bytes[way] > 0);
  }
}

TEST(LoweredOffload, OfAllStrategiesNoRunIsLaterThanItsPeriod) {
  comparison all, single;
  for (int i = 0; i < hp::named_strategy_count; ++i) {
    const hp::sharded_program p = programs::program_of(hp::named_strategy_at(i).name, 4, 1 + i % 2);
    if (p.status.code != hp::strategy_code::ok) continue;
    for (const hp::offload_link& link : {hp::offload_link{64'000'000'000, 0}, {4'000'000'000, 1'000'000}})
      for (const int percent : {110, 90, 70, 50}) {
        SCOPED_TRACE(std::string(hp::named_strategy_at(i).name) + ", " + std::to_string(percent) + " %");
        const hp::device_value d = device_with({link});
        const planned r = plan_within(p, d, percent, i % 3 == 0);
        if (!in_domain(r)) continue;
        compare(r, d, p.move.empty(), p.move.empty() ? single : all);
      }
  }
  EXPECT_EQ(all.later, 0);
  EXPECT_GE(all.runs, 200);
  EXPECT_GT(all.equal, 0);
  EXPECT_GT(all.earlier, 0);
  EXPECT_EQ(single.later, 0);
  EXPECT_EQ(single.differs, 0);
  EXPECT_GT(single.runs, single.waiting);
}

/// Each step reads what its storage holds by then. The first values are the homes.
void read_the_latest(hp::sharded_program& p) {
  hp::growing_array<int> holder;
  holder.resize(p.storage.size, -1);
  p.home.resize(p.graph.tensor.size, -1);
  for (int v = 0; v < p.value.size; ++v)
    if (p.storage[p.value[v].storage].home && holder[p.value[v].storage] < 0) {
      p.home[p.value[v].tensor] = v;
      holder[p.value[v].storage] = v;
    }
  const auto latest = [&](int v) {
    const int held = holder[p.value[v].storage];
    return held < 0 ? v : held;
  };
  for (const hp::program_step& s : p.step) {
    if (s.is_move) {
      p.move[s.index].source = latest(p.move[s.index].source);
      continue;
    }
    hp::program_compute& c = p.compute[s.index];
    const hp::graph_operator& o = p.graph.op[c.op];
    for (int i = 0; i < o.operand_count; ++i) c.operand[i] = latest(c.operand[i]);
    for (int i = 0; i < o.result_count; ++i) holder[p.value[c.result[i]].storage] = c.result[i];
  }
}

comparison of_random_programs(double share_of_moves, int& outside) {
  std::mt19937 random(7);
  comparison c;
  for (int n = 0; n < tested::tries(40, 400); ++n) {
    const auto below = [&](int k) { return static_cast<int>(random() % static_cast<unsigned>(k)); };
    hp::sharded_program p =
        programs::random_program(random, {.steps = 20 + below(40), .share_of_moves = share_of_moves});
    read_the_latest(p);
    const hp::device_value d = device_with({{1'000'000'000ll << below(7), below(2) * below(20'000)}});
    for (const int percent : {110, 85, 70, 55}) {
      const planned r = plan_within(p, d, percent, n % 3 == 0);
      if (in_domain(r))
        compare(r, d, share_of_moves == 0, c);
      else
        outside += r.o.ok();
    }
  }
  return c;
}

TEST(LoweredOffload, OfRandomProgramsNoRunIsLaterThanItsPeriod) {
  int outside = 0;
  const comparison single = of_random_programs(0, outside), moving = of_random_programs(0.25, outside);
  EXPECT_GT(outside, 0);
  EXPECT_EQ(single.later, 0);
  EXPECT_EQ(single.differs, 0);
  EXPECT_GT(single.waiting, 0);
  EXPECT_GE(single.equal, single.runs - single.waiting);
  EXPECT_EQ(moving.later, 0);
  EXPECT_GT(moving.runs, 60);
}

TEST(LoweredOffload, WhatTheDeviceHasNotIsNoPrice) {
  const hp::sharded_program p = programs::program_of("single", 1, 1);
  const hp::device_value d = device_with({{64'000'000'000, 0}});
  const planned r = plan_within(p, d, 60, false);
  ASSERT_TRUE(r.o.ok());
  EXPECT_TRUE(hp::simulate(r.l, d).ok());
  EXPECT_EQ(hp::simulate(r.l, device_with({})).code, hp::cost_code::count_exceeds_the_device);
}

}  // namespace
