// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/price/clock.hpp>

#include <hyperparallel/hardware/ascend_presets.hpp>
#include <hyperparallel/hardware/gpu_presets.hpp>
#include <hyperparallel/price/step_account.hpp>

#include <lowering/broken_tables.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

namespace hp = hyperparallel;

namespace {

/// Begins of all tasks by relaxation until nothing changes: no walk in any order. Ends of the tables' records by queue.
std::vector<std::vector<hp::extent_t>> relaxed_ends(const hp::program_plan& all, const std::vector<hp::extent_t>& row) {
  const hp::grown_execution_table t = hp::table_of(all);
  std::vector<std::vector<hp::extent_t>> end(static_cast<std::size_t>(t.size.queues));
  std::vector<int> row_of_record(static_cast<std::size_t>(t.record.size));
  std::vector<int> next(static_cast<std::size_t>(t.size.queues), 0);
  for (int i = 0; i < all.row.size; ++i)
    for (int r = 0; r < all.machine.ranks; ++r) {
      const int q = hp::detail::first_queue(all.machine, r, all.row[i].kind);
      row_of_record[static_cast<std::size_t>(t.queue_begin[q] + next[static_cast<std::size_t>(q)]++)] = i;
    }
  for (int q = 0; q < t.size.queues; ++q)
    end[static_cast<std::size_t>(q)].resize(static_cast<std::size_t>(t.queue_begin[q + 1] - t.queue_begin[q]), 0);
  for (bool changed = true; changed;) {
    changed = false;
    for (int q = 0; q < t.size.queues; ++q)
      for (int k = t.queue_begin[q]; k < t.queue_begin[q + 1]; ++k) {
        const std::size_t place = static_cast<std::size_t>(k - t.queue_begin[q]), queue = static_cast<std::size_t>(q);
        hp::extent_t begin = place == 0 ? 0 : end[queue][place - 1];
        for (int w = hp::wait_begin(t, k); w < t.record[k].wait_end; ++w)
          begin = std::max(
              begin, end[static_cast<std::size_t>(t.wait[w].word)][static_cast<std::size_t>(t.wait[w].threshold - 1)]);
        const hp::extent_t now = begin + row[static_cast<std::size_t>(row_of_record[static_cast<std::size_t>(k)])];
        changed = changed || now != end[queue][place];
        end[queue][place] = now;
      }
  }
  return end;
}

template <class Each>
void for_all_programs(const Each& each) {
  for (int i = 0; i < hp::named_strategy_count; ++i) {
    const hp::sharded_program p = programs::program_of(hp::named_strategy_at(i).name, 4, 1 + i % 2);
    if (p.status.code != hp::strategy_code::ok) continue;
    for (const hp::interconnect& links : programs::links_of(p))
      for (const bool vector_queue : {false, true}) {
        SCOPED_TRACE(hp::named_strategy_at(i).name);
        const hp::lowered_program l = hp::lower_training(p, {.topology = links, .vector_queue = vector_queue});
        ASSERT_TRUE(l.status.ok());
        each(l);
      }
  }
}

TEST(PlanClock, OneRankOfTheClassHasTheTimesOfEveryRank) {
  std::mt19937 random(1);
  int runs = 0;
  for_all_programs([&](const hp::lowered_program& l) {
    for (const hp::lowered_run& r : l.run) {
      hp::growing_array<hp::extent_t> duration;
      for (int i = 0; i < r.plan.row.size; ++i) duration.push(static_cast<hp::extent_t>(random() % 100));
      const hp::plan_timeline one = hp::play(r.plan, duration);
      const hp::program_plan all = hp::plan_of_all_ranks(r.plan, l.program);
      const hp::plan_timeline every = hp::play(all, duration);
      const auto oracle = relaxed_ends(all, {duration.begin(), duration.end()});
      std::vector<std::size_t> next(oracle.size(), 0);
      ASSERT_EQ(one.begin.size, all.row.size);
      for (int i = 0; i < all.row.size; ++i)
        for (int rank = 0; rank < all.machine.ranks; ++rank) {
          const std::size_t q = static_cast<std::size_t>(hp::detail::first_queue(all.machine, rank, all.row[i].kind));
          ASSERT_EQ(every.begin[i * all.machine.ranks + rank], one.begin[i]);
          ASSERT_EQ(every.end[i * all.machine.ranks + rank], one.end[i]);
          ASSERT_EQ(oracle[q][next[q]++], one.end[i]);
        }
      ++runs;
    }
  });
  EXPECT_GE(runs, 150);
}

TEST(PlanClock, ComputedTimeIsTheUnionOfWhatComputes) {
  std::mt19937 random(2);
  for_all_programs([&](const hp::lowered_program& l) {
    const hp::program_plan& plan = l.run[0].plan;
    hp::growing_array<hp::extent_t> duration;
    for (int i = 0; i < plan.row.size; ++i) duration.push(static_cast<hp::extent_t>(random() % 7));
    const hp::plan_timeline times = hp::play(plan, duration);
    hp::extent_t end = 0, counted = 0;
    for (const hp::extent_t e : times.end) end = std::max(end, e);
    std::vector<bool> computes(static_cast<std::size_t>(end), false);
    for (int i = 0; i < plan.row.size; ++i)
      if (plan.row[i].kind == hp::resource::aic || plan.row[i].kind == hp::resource::aiv)
        for (hp::extent_t t = times.begin[i]; t < times.end[i]; ++t) computes[static_cast<std::size_t>(t)] = true;
    counted = std::count(computes.begin(), computes.end(), true);
    EXPECT_EQ(hp::detail::computed_time(plan, times, 0), counted);
  });
}

TEST(PlanClock, RowsOfAMoveTakeWhatTheAccountSaysOfIt) {
  int moves = 0, linked = 0;
  for_all_programs([&](const hp::lowered_program& l) {
    if (l.pulls.moves.load.empty()) return;  // chosen on no links: nothing that travels has a price
    ++linked;
    const hp::growing_array<hp::move_load> load = hp::detail::loads_of_moves(l.program, l.pulls.moves);
    const hp::detail::program_prices prices{l.program, l.pulls.moves, load, hp::h100::device, l.pulls.moves.links};
    for (const hp::lowered_run& r : l.run) {
      hp::detail::bucket_prices together(l.program, prices, l.pulls.moves.links);
      const hp::row_prices rows = hp::prices_of_rows(l, r, hp::h100::device);
      ASSERT_EQ(rows.code, hp::cost_code::ok);
      std::vector<hp::extent_t> of_step(static_cast<std::size_t>(l.program.step.size), 0);
      for (int i = 0; i < r.plan.row.size; ++i) {
        EXPECT_GE(rows.duration[i], 0);
        of_step[static_cast<std::size_t>(r.plan.row[i].step)] += rows.duration[i];
      }
      for (int s = 0; s < l.program.step.size; ++s) {
        const hp::program_step& step = l.program.step[s];
        if ((r.phases >> static_cast<int>(step.phase) & 1u) == 0) continue;
        const hp::time_cost price = step.is_move ? together.of_next(step.index) : prices.of_compute(step.index).time;
        EXPECT_EQ(of_step[static_cast<std::size_t>(s)], price.picoseconds);
        moves += step.is_move;
      }
    }
  });
  EXPECT_GE(linked, 80);
  EXPECT_GE(moves, 1000);
}

/// Of tiled steps: operations add up to those of the whole and bytes to at least as many, messages carry all bytes; each plan
/// keeps its bounds, and ranks of a class run alike.
TEST(PlanClock, TilesTakeTheirShares) {
  int tiled = 0;
  for (int i = 0; i < hp::named_strategy_count; ++i) {
    const char* const name = hp::named_strategy_at(i).name;
    const hp::graph g = programs::moe_graph({.unrolled = true});
    const hp::sharded_program p = hp::partition(g, hp::strategy_called(name, 4).strategy);
    if (p.status.code != hp::strategy_code::ok) continue;
    hp::lowering_options how{.topology = hp::on_topology(hp::ascend_910b::topology)};
    const hp::lowered_program whole = hp::lower_training(p, how);
    how.tiles.push("*.experts.*");
    const hp::lowered_program parts = hp::lower_training(p, how);
    if (!parts.status.ok()) continue;
    ++tiled;
    SCOPED_TRACE(name);
    hp::operator_work of_whole{}, of_parts{};
    const auto add = [](hp::operator_work& sum, const hp::sharded_program& of) {
      for (const hp::program_step& s : of.step) {
        if (s.is_move) continue;
        const hp::operator_work w = hp::work_of(of, of.compute[s.index], s.tile);
        sum.flops += w.flops;
        sum.bytes_read += w.bytes_read;
        sum.bytes_written += w.bytes_written;
      }
    };
    add(of_whole, whole.program);
    add(of_parts, parts.program);
    EXPECT_EQ(of_parts.flops, of_whole.flops);
    EXPECT_EQ(of_parts.bytes_written, of_whole.bytes_written);
    EXPECT_GE(of_parts.bytes_read, of_whole.bytes_read);
    const hp::run_times one = hp::simulate(whole, hp::ascend_910b::device),
                        other = hp::simulate(parts, hp::ascend_910b::device);
    ASSERT_TRUE(one.ok() && other.ok());
    for (const hp::resource kind : {hp::resource::aic, hp::resource::link})
      EXPECT_GE(other.busy[static_cast<int>(kind)], one.busy[static_cast<int>(kind)]);
    EXPECT_GE(other.makespan, std::max({other.bound.work, other.bound.links, other.bound.path}));
    const hp::lowered_run& r = parts.run[0];
    const hp::row_prices rows = hp::prices_of_rows(parts, r, hp::ascend_910b::device);
    const hp::plan_timeline every = hp::play(hp::plan_of_all_ranks(r.plan, parts.program), rows.duration),
                            first = hp::play(r.plan, rows.duration);
    for (int row = 0; row < r.plan.row.size; ++row)
      for (int rank = 0; rank < 4; ++rank) EXPECT_EQ(every.end[4 * row + rank], first.end[row]);
  }
  EXPECT_GE(tiled, 12);
}

/// On presets, where the estimate of the account stands beside the clock.
TEST(PlanClock, NoPlanIsFasterThanItsBoundsOrSlowerThanOneTaskAfterTheOther) {
  int steps = 0;
  for (int i = 0; i < hp::named_strategy_count; ++i) {
    const hp::sharded_program p = programs::program_of(hp::named_strategy_at(i).name, 4, 1 + i % 2);
    if (p.status.code != hp::strategy_code::ok) continue;
    for (const bool vector_queue : {false, true}) {
      SCOPED_TRACE(hp::named_strategy_at(i).name);
      const hp::interconnect links = hp::interconnect_of(hp::h100::topology);
      const hp::lowered_program l = hp::lower_training(p, {.topology = links, .vector_queue = vector_queue});
      ASSERT_TRUE(l.status.ok());
      const hp::run_times t = hp::simulate(l, hp::h100::device);
      ASSERT_TRUE(t.ok());
      hp::extent_t all = 0;
      for (const hp::extent_t busy : t.busy) all += busy;
      EXPECT_LE(t.bound.most(), t.makespan);
      EXPECT_LE(t.makespan, all);
      EXPECT_GE(t.exposed, t.makespan - t.busy[0] - t.busy[1]);
      if (!vector_queue) {
        EXPECT_EQ(t.exposed, t.makespan - t.busy[0]);
      }
      EXPECT_GE(hp::simulate(l, hp::h100::device, 1000).makespan, t.makespan);
      ++steps;
    }
  }
  EXPECT_GE(steps, 40);
}

/// The estimate is the clock of a plan with memory without end; with less, a plan waits for addresses and is slower.
TEST(PlanClock, IsTheEstimateWhereNoTwoStoragesShareAnAddress) {
  constexpr int without_end = 1 << 20;
  int steps = 0, slower = 0, bucketed = 0;
  for (int i = 0; i < hp::named_strategy_count; ++i) {
    const hp::sharded_program p = programs::program_of(hp::named_strategy_at(i).name, 4, 1 + i % 2);
    if (p.status.code != hp::strategy_code::ok) continue;
    for (const hp::topology_value& topology : {hp::h100::topology, hp::matrix384::topology}) {
      SCOPED_TRACE(hp::named_strategy_at(i).name);
      const hp::interconnect links = hp::interconnect_of(topology);
      const hp::lowered_program l = hp::lower_training(p, {.topology = links, .lookahead = without_end});
      ASSERT_TRUE(l.status.ok());
      const hp::run_times t = hp::simulate(l, hp::h100::device);
      const hp::step_times e = hp::account_of(p, hp::h100::device, links).times;
      if (p.graph.micro_batches == 1) {
        EXPECT_EQ(t.makespan, e.total.picoseconds);
        EXPECT_EQ(t.exposed, e.exposed);
      } else {
        EXPECT_GE(t.makespan, e.total.picoseconds);  // a plan runs one micro-batch after the other
      }
      EXPECT_EQ(t.busy[static_cast<int>(hp::resource::aic)], e.compute_busy);
      EXPECT_EQ(t.busy[static_cast<int>(hp::resource::link)], e.communication_busy);
      for (const int lookahead : {0, 1, 4}) {
        const hp::lowered_program less = hp::lower_training(p, {.topology = links, .lookahead = lookahead});
        const hp::extent_t makespan = hp::simulate(less, hp::h100::device).makespan;
        EXPECT_GE(makespan, e.total.picoseconds);
        slower += makespan > e.total.picoseconds;
      }
      bucketed += p.buckets > 0;
      ++steps;
    }
  }
  EXPECT_GE(steps, 40);
  EXPECT_GE(slower, 20);
  EXPECT_GE(bucketed, 10);
}

TEST(PlanClock, WhatHasNoPriceHasNoTime) {
  const hp::lowered_program l = hp::lower_training(programs::program_of("dp", 4, 1));
  const hp::run_times t = hp::simulate(l, hp::h100::device);  // lowered without links
  EXPECT_FALSE(t.ok());
  EXPECT_EQ(t.makespan, 0);
}

}  // namespace
