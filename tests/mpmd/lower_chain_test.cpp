// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/mpmd/lower_chain.hpp>

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <tuple>

#include "chains.hpp"

namespace {

using namespace chain_test;

int chains() { return exhaustive() ? 20000 : 1000; }

TEST(lower_chain, tasks_are_units_times_tiles_and_the_sizing_pass_counts_them) {
  std::mt19937 random(1);
  for (int i = 0; i < chains(); ++i) {
    const hp::tile_chain c = accepted_chain(random);
    const lowered l(c);
    EXPECT_EQ(l.flow.size, l.size);
    std::set<std::tuple<int, int, int>> seen;  // rank, stage, item
    for (int t = 0; t < l.size.tasks; ++t)
      EXPECT_TRUE(seen.insert({l.flow.task[t].rank, l.flow.task[t].operation, l.flow.task[t].item}).second);
    int tasks = 0;
    for (int s = 0; s < c.stages; ++s)
      for (int u = 0, units = hp::units_of(c.space[c.stage[s].space], c.stage[s].per); u < units; ++u) {
        const hp::tile_stage& k = c.stage[s];
        const bool stays = k.route != hp::stage_route::local && k.stay.tiles > 0 && hp::rotation_of(c, u) == 0;
        const int tiles = stays ? k.stay.tiles : k.work.tiles;
        tasks += c.ranks * tiles;
        for (int rank = 0; rank < c.ranks; ++rank)
          for (int q = 0; q < tiles; ++q) EXPECT_EQ(seen.count({rank, s, u * hp::stride_of(k) + q}), 1U);
      }
    EXPECT_EQ(l.size.tasks, tasks);
  }
}

/// A chain with most of what there is, small enough for the compiler.
constexpr hp::tile_chain everything() {
  hp::tile_chain c;
  c.devices = c.ranks = 2;
  c.overhead = 1;
  const int space = hp::add_space(c, 8, 4);
  c.window = {1, {0, 0}, {-1, 0}};
  const int x = hp::add_tensor(c, space, hp::grain::whole, 4096);
  const int stored = hp::add_tensor(c, space, hp::grain::group, 4096, 1);
  const int weight = hp::add_tensor(c, space, hp::grain::group, 4096);
  const int arrived = hp::add_tensor(c, space, hp::grain::item, 4096);
  const int product = hp::add_tensor(c, space, hp::grain::item, 4096);
  const int sum = hp::add_tensor(c, space, hp::grain::whole, 4096);
  c.tensor[weight].windowed = true;
  hp::tile_stage& fetch = hp::add_stage(c, 0, space, hp::grain::group, {hp::resource::copy_in, 1, 20});
  hp::add_read(fetch, stored, hp::grain::group);
  hp::add_write(fetch, weight);
  hp::tile_stage& send = hp::add_stage(c, 1, space, hp::grain::item, {hp::resource::link, 1, 10});
  send.route = hp::stage_route::to_receiver;
  send.stay = {hp::resource::aiv, 2, 4};
  hp::add_read(send, x, hp::grain::whole);
  hp::add_write(send, arrived);
  hp::tile_stage& multiply = hp::add_stage(c, 2, space, hp::grain::item, {hp::resource::aic, 3, 12}, 0);
  hp::add_read(multiply, arrived);
  hp::add_read(multiply, weight, hp::grain::group);
  hp::add_write(multiply, product);
  const int scaled = hp::add_update(c, product);
  hp::tile_stage& scale = hp::add_stage(c, 3, space, hp::grain::item, {hp::resource::aiv, 2, 3}, 1);
  hp::add_read(scale, product);
  hp::add_write(scale, scaled);
  hp::tile_stage& add = hp::add_stage(c, 4, space, hp::grain::group, {hp::resource::aiv, 2, 8}, 2);
  hp::add_read(add, scaled, hp::grain::group);
  hp::add_read(add, sum, hp::grain::tile);
  hp::add_write(add, sum);
  add.folds = true;
  return c;
}

constexpr hp::chain_builder everything_builder{everything()};
constexpr auto constant_size = hp::measure(everything_builder);
constexpr auto constant_flow = hp::build_fixed<constant_size>(everything_builder);
constexpr auto constant_schedule = hp::schedule_fixed<2 * 6>(constant_flow, machine(2));
static_assert(hp::check(everything()).code == hp::chain_code::ok);
static_assert(hp::verify(constant_flow, constant_schedule).code == hp::verify_code::ok);

TEST(lower_chain, the_compiler_writes_the_flow_that_runs) {
  const lowered l(everything());
  ASSERT_EQ(l.size, constant_size);
  for (int t = 0; t < l.size.tasks; ++t) {
    const hp::task &a = l.flow.task[t], &b = constant_flow.task[t];
    EXPECT_EQ(std::tie(a.kind, a.rank, a.duration, a.operation, a.item, a.part, a.wait_begin, a.wait_end),
              std::tie(b.kind, b.rank, b.duration, b.operation, b.item, b.part, b.wait_begin, b.wait_end));
    EXPECT_EQ(std::tie(a.signal_begin, a.signal_end, a.access_begin, a.access_end),
              std::tie(b.signal_begin, b.signal_end, b.access_begin, b.access_end));
  }
  for (int w = 0; w < l.size.waits; ++w) {
    EXPECT_EQ(l.flow.wait[w].event, constant_flow.wait[w].event);
    EXPECT_EQ(l.flow.wait[w].threshold, constant_flow.wait[w].threshold);
  }
  for (int g = 0; g < l.size.signals; ++g) EXPECT_EQ(l.flow.signal[g], constant_flow.signal[g]);
  for (int a = 0; a < l.size.accesses; ++a) {
    const hp::access &x = l.flow.access[a], &y = constant_flow.access[a];
    EXPECT_EQ(std::tie(x.slot, x.begin, x.end, x.mode, x.step), std::tie(y.slot, y.begin, y.end, y.mode, y.step));
  }
}

TEST(lower_chain, every_wait_is_needed_or_implied_by_others) {
  // Where stages wait for no more than they take, a wait that can go without a conflict is one whose signallers are
  // waited for in other ways too.
  std::mt19937 random(2);
  int needed = 0, implied = 0;
  for (int i = 0, wanted = exhaustive() ? 2000 : 150; i < wanted; ++i) {
    hp::tile_chain c = accepted_chain(random, 60);
    for (int s = 0; s < c.stages; ++s)
      for (int r = 0; r < c.stage[s].reads; ++r) c.stage[s].read[r].waits = c.stage[s].read[r].takes;
    if (hp::check(c).code != hp::chain_code::ok) continue;
    const lowered l(c);
    EXPECT_EQ(first_unordered(l.flow, ancestors(l.flow)), -1);
    const ancestors all(l.flow);
    for (int w = 0; w < l.size.waits; ++w) {
      const ancestors known(l.flow, w);
      if (known.of == all.of) {
        ++implied;
        continue;
      }
      ++needed;
      EXPECT_NE(first_unordered(l.flow, known), -1) << "wait " << w;
    }
  }
  EXPECT_GT(needed, 20 * implied / 10);
  RecordProperty("needed", needed);
  RecordProperty("implied", implied);
}

using task_key = std::tuple<int, int, int, int, std::int64_t>;  // rank, class, stage, item, duration
std::map<task_key, int> keys(const lowered& l) {
  std::map<task_key, int> found;
  for (int t = 0; t < l.size.tasks; ++t) {
    const hp::task& k = l.flow.task[t];
    ++found[{k.rank, static_cast<int>(k.kind), k.operation, k.item, k.duration}];
  }
  return found;
}

TEST(lower_chain, a_serialized_chain_has_the_same_tasks_and_accesses_and_waits_for_more) {
  std::mt19937 random(3);
  int more = 0;
  for (int i = 0; i < chains() / 4; ++i) {
    const hp::tile_chain c = accepted_chain(random, 120);
    hp::tile_chain serial = c;
    hp::serialize(serial);
    if (hp::check(serial).code != hp::chain_code::ok) {
      EXPECT_EQ(hp::check(serial).code, hp::chain_code::window_is_not_valid);  // two readers that no longer interleave
      continue;
    }
    const lowered l(c);
    lowered s(serial);
    EXPECT_EQ(keys(l), keys(s));
    EXPECT_EQ(l.size.access_uses, s.size.access_uses);
    for (const hp::priority policy : {hp::priority::upward_rank, hp::priority::reference_order}) {
      s.freeze(policy);
      EXPECT_EQ(s.exact().code, hp::exact_code::safe);
    }
    // Whatever was before a task still is.
    std::map<std::tuple<int, int, int>, int> number;
    for (int t = 0; t < s.size.tasks; ++t)
      number[{s.flow.task[t].rank, s.flow.task[t].operation, s.flow.task[t].item}] = t;
    const auto in_serial = [&](int t) {
      return number[{l.flow.task[t].rank, l.flow.task[t].operation, l.flow.task[t].item}];
    };
    const ancestors own(l.flow), coarse(s.flow);
    for (int b = 0; b < l.size.tasks; ++b)
      for (int a = 0; a < b; ++a)
        if (own.before(a, b)) {
          EXPECT_TRUE(coarse.before(in_serial(a), in_serial(b)));
        }
    for (const auto& row : coarse.of)
      for (const bool before : row) more += before;
    for (const auto& row : own.of)
      for (const bool before : row) more -= before;
  }
  EXPECT_GT(more, 0);
}

TEST(lower_chain, lags_change_the_order_alone) {
  std::mt19937 random(4);
  int reordered = 0;
  for (int i = 0; i < chains() / 4; ++i) {
    const hp::tile_chain c = accepted_chain(random);
    hp::tile_chain shifted = c;
    for (int s = 0; s < c.stages; ++s)
      if (c.stage[s].lag != hp::at_once) shifted.stage[s].lag = c.stage[s].lag * 2 + s;
    if (hp::check(shifted).code != hp::chain_code::ok) continue;
    const lowered a(c), b(shifted);
    EXPECT_EQ(keys(a), keys(b));
    EXPECT_EQ(a.size, b.size);
    std::map<std::tuple<int, int, int>, std::set<int>> waits[2];
    const lowered* const both[] = {&a, &b};
    for (int side = 0; side < 2; ++side)
      for (int t = 0; t < a.size.tasks; ++t) {
        const hp::task& k = both[side]->flow.task[t];
        for (int w = k.wait_begin; w < k.wait_end; ++w)
          waits[side][{k.rank, k.operation, k.item}].insert(both[side]->flow.wait[w].event);
      }
    EXPECT_EQ(waits[0], waits[1]);
    for (int t = 0; t < a.size.tasks; ++t)
      if (a.flow.task[t].operation != b.flow.task[t].operation || a.flow.task[t].item != b.flow.task[t].item) {
        ++reordered;
        break;
      }
  }
  EXPECT_GT(reordered, 10);
}

TEST(lower_chain, rows_scale_what_a_tile_takes_above_the_overhead) {
  const int full[] = {4, 4, 4, 4, 4, 4, 4, 4}, some[] = {4, 0, 2, 1, 3, 4, 0, 0};
  hp::tile_chain c = everything();
  c.space[0].row_block = 4;
  c.space[0].rows = full;
  EXPECT_EQ(keys(lowered(c)), keys(lowered(everything())));
  c.space[0].rows = some;
  lowered l(c);
  EXPECT_EQ(l.proof().code, hp::verify_code::ok);
  EXPECT_EQ(l.size, constant_size);
  for (int t = 0; t < l.size.tasks; ++t) {
    const hp::task& k = l.flow.task[t];
    const chain_task p = part_of(c, k);
    const std::int64_t whole = constant_flow.task[t].duration;
    int rows = 0, room = 0;
    if (c.stage[p.stage].per == hp::grain::item) {
      rows = some[p.unit];
      room = 4;
    } else {
      for (int i = 0; i < 4; ++i) rows += some[4 * p.unit + i];
      room = 16;
    }
    EXPECT_EQ(k.duration, c.overhead + (whole - c.overhead) * rows / room);
  }
}

TEST(lower_chain, one_of_equal_ranks_does_what_each_of_all_does) {
  std::mt19937 random(5);
  for (int i = 0; i < chains() / 4; ++i) {
    hp::tile_chain c = accepted_chain(random);
    c.ranks = c.devices;
    const lowered all(c);
    c.ranks = 1;
    const lowered one(c);
    std::map<task_key, int> expected;
    for (const auto& [key, count] : keys(one))
      for (int rank = 0; rank < c.devices; ++rank) {
        task_key k = key;
        std::get<0>(k) = rank;
        expected[k] = count;
      }
    EXPECT_EQ(keys(all), expected);
    EXPECT_EQ(all.size.events, one.size.events * c.devices);
    EXPECT_EQ(all.size.slots, one.size.slots * c.devices);
    EXPECT_EQ(all.size.signal_uses, one.size.signal_uses * c.devices);
    EXPECT_EQ(all.size.waits, one.size.waits * c.devices);
  }
}

}  // namespace
