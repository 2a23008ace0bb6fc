// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/redistribution/step_price.hpp>

#include "small_moves.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <utility>

namespace hp = hyperparallel;

namespace {

using worlds::cut_by;
using worlds::link;

struct priced {
  hp::step_price price{};
  std::vector<hp::extent_t> received{}, sent{}, messages{};
};

priced price_of(const std::vector<hp::step_part>& parts, const hp::interconnect& net, hp::extent_t bytes) {
  const int positions = hp::position_count(parts[0].step->source.mesh);
  std::vector<hp::extent_t> entries(static_cast<std::size_t>(hp::tally_size(net, positions)), -1);
  const hp::move_tally tally = hp::detail::tally_in(entries.data(), net, positions);
  priced p;
  p.price = hp::price_step(parts.data(), static_cast<int>(parts.size()), net, bytes, tally);
  p.received.assign(tally.received, tally.received + positions);
  p.sent.assign(tally.sent, tally.sent + positions);
  p.messages.assign(tally.messages, tally.messages + positions);
  return p;
}

/// What the headers say, with maps of ports and of links.
hp::time_cost expected_time(const std::vector<hp::step_part>& parts, const hp::interconnect& net, hp::extent_t bytes) {
  std::map<std::pair<int, int>, hp::extent_t> in, out, messages, links;  // by (rank, level) or (sender, receiver)
  for (const hp::step_part& part : parts)
    for (int p = 0; p < hp::position_count(part.step->target.mesh); ++p) {
      const hp::step_receiver r = hp::receiver_of(*part.step, *part.shape, p);
      for (hp::extent_t k = 0; k < r.transfers; ++k) {
        const hp::transfer t = hp::transfer_at(*part.step, r, k);
        const hp::extent_t n = hp::volume(t.part);
        if (n == 0 || t.sender == p) continue;
        links[{t.sender, p}] += n;
        const int level = hp::level_between(net.topology, t.sender, p);
        in[{p, level}] += n;
        ++messages[{p, level}];
        out[{t.sender, level}] += n;
      }
    }
  hp::time_cost time{}, latency{};
  if (net.kind == hp::interconnect_kind::topology) {
    for (const auto& [port, n] : in)
      time = hp::slower(time, hp::then(hp::latencies(messages[port], net.topology.level[port.second].latency),
                                       hp::work_time(n, bytes, 1, net.topology.level[port.second].bandwidth)));
    for (const auto& [port, n] : out)
      time = hp::slower(time, hp::work_time(n, bytes, 1, net.topology.level[port.second].bandwidth));
    return time;
  }
  for (const auto& [ends, n] : links) {
    const int axis = hp::link_between(net.mesh, ends.first, ends.second).axis;
    if (axis < 0) return {hp::cost_code::ranks_are_not_connected, 0};
    latency = hp::slower(latency, hp::latencies(1, net.along[axis].latency));
    time = hp::slower(time, hp::work_time(n, bytes, 1, net.along[axis].bandwidth));
  }
  return hp::then(latency, time);
}

TEST(StepPrice, EqualsTheModelForEveryStepOfSmallWorlds) {
  const hp::mesh_shape m{2, {2, 4}};
  const hp::shape s(8, 16);
  const std::vector<hp::interconnect> nets{
      worlds::full_mesh(m), hp::on_topology(worlds::levels({link(700, 3, 2), link(300, 9, 4), link(50, 20)})),
      hp::on_topology(worlds::levels({link(64)}))};
  int carried = 0, off = 0;
  const std::vector<hp::layout_value> layouts = worlds::all_partial_layouts(m, 2, hp::reduce_op::sum);
  for (const hp::layout_value& source : layouts)
    for (const hp::layout_value& target : layouts) {
      const hp::move_plan plan = hp::plan_move(source, target, s);
      ASSERT_EQ(plan.code, hp::move_code::ok);
      for (int k = 0; k < plan.step_count; ++k)
        for (const hp::interconnect& net : nets) {
          const std::vector<hp::step_part> parts{{&plan.step[k], &s}};
          const priced p = price_of(parts, net, 4);
          ASSERT_EQ(p.price.time, expected_time(parts, net, 4));
          ++(p.price.time.ok() ? carried : off);
          const bool any = std::any_of(p.received.begin(), p.received.end(), [](hp::extent_t n) { return n > 0; });
          ASSERT_EQ(p.price.communicates, any);
          hp::extent_t balance = 0;
          for (std::size_t q = 0; q < p.sent.size(); ++q) balance += p.received[q] - p.sent[q];
          ASSERT_EQ(balance, 0);
        }
    }
  EXPECT_GT(carried, 500);
  EXPECT_GT(off, 50) << "exchanges over both axes have no links on a full mesh";
}

TEST(StepPrice, StepsAtTheSameTimeShareTheirPortsAndLinks) {
  const hp::mesh_shape m{2, {3, 4}};
  const hp::shape s(12, 24);
  const hp::layout_value whole = cut_by(m, 2, {});
  const hp::move_plan rows = hp::plan_move(cut_by(m, 2, {{0, 0}}), whole, s);
  const hp::move_plan columns = hp::plan_move(cut_by(m, 2, {{0, 1}}), whole, s);
  for (const hp::interconnect& net :
       {worlds::full_mesh(m), hp::on_topology(worlds::levels({link(700, 3, 4), link(300, 9)}))})
    for (const auto& [a, b] : {std::pair{&rows, &columns}, std::pair{&rows, &rows}}) {
      const std::vector<hp::step_part> both{{&a->step[0], &s}, {&b->step[0], &s}};
      const priced p = price_of(both, net, 2);
      EXPECT_EQ(p.price.time, expected_time(both, net, 2));
      const hp::time_cost alone = price_of({both[0]}, net, 2).price.time;
      if (a != b && net.kind == hp::interconnect_kind::full_mesh) {
        EXPECT_LE(p.price.time.picoseconds, alone.picoseconds + net.along[1].latency) << "links of different axes";
      }
      if (a == b) {
        EXPECT_GT(p.price.time.picoseconds, alone.picoseconds) << "the same links";
      }
    }
}

TEST(StepPrice, KnownCases) {
  // All-gather over four devices of one level: three messages and three quarters of the tensor.
  const hp::mesh_shape m{1, {4}};
  const hp::shape s(400);
  const hp::move_plan gather = hp::plan_move(cut_by(m, 1, {{0, 0}}), cut_by(m, 1, {}), s);
  const hp::interconnect port = hp::on_topology(worlds::levels({link(1000, 5)}));
  EXPECT_EQ(price_of({{&gather.step[0], &s}}, port, 1).price.time,
            hp::then(hp::latencies(3, 5), hp::work_time(300, 1, 1, 1000)));
  const hp::link_level along = link(1000, 5);
  EXPECT_EQ(price_of({{&gather.step[0], &s}}, hp::on_full_mesh(m, &along), 1).price.time,
            hp::then(hp::latencies(1, 5), hp::work_time(100, 1, 1, 1000)));
  EXPECT_EQ(price_of({{&gather.step[0], &s}}, hp::interconnect{}, 1).price.time, hp::time_cost{});
  // Ranks 0, 1, 8, 9: two of the three messages cross the outer level.
  static constexpr int apart[] = {0, 1, 8, 9};
  const hp::interconnect two = hp::on_topology(worlds::levels({link(1000, 5, 8), link(100, 50)}), {4, apart});
  EXPECT_EQ(price_of({{&gather.step[0], &s}}, two, 1).price.time,
            hp::then(hp::latencies(2, 50), hp::work_time(200, 1, 1, 100)));
  const hp::interconnect torn = hp::on_topology(worlds::levels({link(1000, 5, 2)}));
  const priced p = price_of({{&gather.step[0], &s}}, torn, 1);
  EXPECT_EQ(p.price.time.code, hp::cost_code::ranks_are_not_connected);
  EXPECT_EQ(p.received, std::vector<hp::extent_t>(4, 300)) << "the tally is complete all the same";
}

TEST(StepPrice, BetweenMeshesRanksDecide) {
  // A stage of ranks 0…3 hands rows to one of ranks 2…5, over levels of two: every row crosses the outer one.
  const hp::mesh_shape m{1, {4}};
  const hp::shape s(400);
  hp::move_step step;
  step.source = step.target = cut_by(m, 1, {{0, 0}});
  step.source_ranks = {4, 0};
  step.target_ranks = {4, 2};
  const hp::interconnect net = hp::on_topology(worlds::levels({link(1000, 5, 2), link(100, 50)}));
  const priced p = price_of({{&step, &s}}, net, 1);
  EXPECT_EQ(p.received, std::vector<hp::extent_t>(4, 100));
  EXPECT_EQ(p.price.time, hp::then(hp::latencies(1, 50), hp::work_time(100, 1, 1, 100)));
  step.target_ranks = {4, 0};
  EXPECT_FALSE(price_of({{&step, &s}}, net, 1).price.communicates) << "every rank is its own sender";
}

TEST(StepPrice, SaturatesInsteadOfWrapping) {
  const hp::mesh_shape m{1, {2}};
  const hp::shape s(hp::extent_t{1} << 60);
  const hp::move_plan gather = hp::plan_move(cut_by(m, 1, {{0, 0}}), cut_by(m, 1, {}), s);
  ASSERT_EQ(gather.code, hp::move_code::ok);
  const hp::time_cost t = price_of({{&gather.step[0], &s}}, hp::on_topology(worlds::levels({link(1)})), 8).price.time;
  EXPECT_EQ(t.code, hp::cost_code::overflow);
}

TEST(StepPrice, TalliesOfManyPositionsAreCounted) {
  const hp::extent_t positions = hp::extent_t{1} << 30;
  EXPECT_EQ(hp::tally_size(hp::without_links, positions), 3 * positions);
  hp::topology_value t;
  t.level_count = 3;
  EXPECT_EQ(hp::tally_size(hp::on_topology(t), positions), 6 * positions);
}

}  // namespace
