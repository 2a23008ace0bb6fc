// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/redistribution/choose_move.hpp>

#include <hyperparallel/hardware/collective_cost.hpp>
#include <hyperparallel/hardware/full_mesh_cost.hpp>
#include <hyperparallel/redistribution/certificate.hpp>

#include "small_moves.hpp"

#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <random>

namespace hp = hyperparallel;

namespace {

using worlds::cut_by;
using worlds::levels;
using worlds::link;
using kind = hp::move_candidate;

hp::chosen_move choose(const hp::layout_value& from, const hp::layout_value& to, const hp::shape& s,
                       const hp::interconnect& net, hp::objective goal = hp::objective::time,
                       hp::extent_t memory_limit = 0, hp::extent_t bytes = 1) {
  std::vector<hp::extent_t> entries(static_cast<std::size_t>(hp::tally_size(net, hp::position_count(from.mesh))));
  return hp::choose_move(from, to, s, {goal, net, bytes, memory_limit, false}, entries.data());
}

hp::time_cost time_of(const hp::chosen_move& c, kind k) {
  const hp::move_alternative& row = c.alternative[static_cast<int>(k)];
  EXPECT_EQ(row.why_not, hp::candidate_code::ok) << hp::name_of(k) << ": " << hp::text_of(row.why_not);
  return row.figures.time;
}

TEST(ChooseMove, ThePriceIsAtMostEveryCandidates) {
  std::mt19937 random(31);
  int staged = 0, total = 0;
  for (const hp::mesh_shape& m : {hp::mesh_shape{2, {2, 4}}, hp::mesh_shape{3, {2, 2, 2}}}) {
    const std::vector<hp::layout_value> layouts = worlds::all_partial_layouts(m, 2, hp::reduce_op::sum);
    const std::vector<hp::interconnect> nets{
        worlds::full_mesh(m), hp::on_topology(levels({link(1000, 5, 4), link(100, 50)})),
        hp::on_topology(levels({link(1000, 5, 2), link(300, 9, 4), link(100, 50)}))};
    for (int i = 0; i < 300; ++i) {
      const hp::layout_value &from = layouts[random() % layouts.size()], &to = layouts[random() % layouts.size()];
      for (const hp::interconnect& net : nets) {
        const hp::chosen_move c = choose(from, to, hp::shape(16, 16), net);
        if (c.code == hp::choice_code::links_carry_no_candidate) continue;
        ASSERT_EQ(c.code, hp::choice_code::ok);
        ASSERT_EQ(worlds::trouble_of(from, to, hp::shape(16, 16), c.plan), "");
        for (const hp::move_alternative& row : c.alternative) {
          if (row.why_not != hp::candidate_code::ok) continue;
          ASSERT_LE(c.figures.time.picoseconds, row.figures.time.picoseconds);
        }
        ++total;
        if (c.candidate != kind::exchange) ++staged;
      }
    }
  }
  EXPECT_GT(total, 1000);
  EXPECT_GT(staged, 200);
}

TEST(ChooseMove, OnAFullMeshSomeCandidateIsAlwaysCarried) {
  const hp::mesh_shape m{2, {2, 4}};
  const std::vector<hp::layout_value> layouts = worlds::all_partial_layouts(m, 2, hp::reduce_op::sum);
  for (const hp::layout_value& from : layouts)
    for (const hp::layout_value& to : layouts)
      for (const hp::objective goal : {hp::objective::bytes, hp::objective::time})
        EXPECT_EQ(choose(from, to, hp::shape(16, 16), worlds::full_mesh(m), goal).code, hp::choice_code::ok);
}

TEST(ChooseMove, BytesAreTheLeastAndObeyTheTriangleInequality) {
  const hp::mesh_shape m{2, {2, 2}};
  const hp::shape s(8, 8);
  const std::vector<hp::layout_value> layouts = worlds::all_partial_layouts(m, 2, hp::reduce_op::sum);
  const hp::interconnect net = hp::on_topology(levels({link(1000, 5)}));
  const std::size_t n = layouts.size();
  std::vector<hp::extent_t> bytes(n * n);
  for (std::size_t a = 0; a < n; ++a)
    for (std::size_t b = 0; b < n; ++b) {
      const hp::chosen_move c = choose(layouts[a], layouts[b], s, net, hp::objective::bytes);
      ASSERT_EQ(c.code, hp::choice_code::ok);
      bytes[a * n + b] = c.figures.received_total;
      ASSERT_EQ(c.figures.received_total, hp::least_received_total(hp::plan_move(layouts[a], layouts[b], s)));
      for (const hp::move_alternative& row : c.alternative) {
        if (row.why_not != hp::candidate_code::ok) continue;
        ASSERT_LE(c.figures.received_total, row.figures.received_total);
        if (row.figures.received_total != c.figures.received_total) continue;
        ASSERT_LE(c.figures.time.picoseconds, row.figures.time.picoseconds);
      }
    }
  for (std::size_t a = 0; a < n; ++a)
    for (std::size_t b = 0; b < n; ++b)
      for (std::size_t c = 0; c < n; ++c) ASSERT_LE(bytes[a * n + c], bytes[a * n + b] + bytes[b * n + c]);
}

TEST(ChooseMove, WhatIsOneCollectiveIsCalledThat) {
  const hp::mesh_shape m{2, {2, 4}};
  const hp::layout_value whole = cut_by(m, 2, {}), rows = cut_by(m, 2, {{0, 1}}), columns = cut_by(m, 2, {{1, 1}});
  const hp::layout_value terms = cut_by(m, 2, {}, 2);
  const std::vector<std::tuple<hp::layout_value, hp::layout_value, hp::plan_kind>> pairs{
      {rows, whole, hp::plan_kind::all_gather},
      {rows, columns, hp::plan_kind::all_to_all},
      {whole, rows, hp::plan_kind::local_slice},
      {terms, rows, hp::plan_kind::reduce_scatter},
      {terms, whole, hp::plan_kind::all_reduce},
      {whole, terms, hp::plan_kind::fill},
      {rows, rows, hp::plan_kind::no_op},
      {cut_by(m, 2, {{0, 0}, {0, 1}}), cut_by(m, 2, {{0, 1}, {0, 0}}), hp::plan_kind::collective_permute}};
  for (const auto& [from, to, what] : pairs)
    for (const hp::objective goal : {hp::objective::bytes, hp::objective::time})
      for (const hp::interconnect& net : {worlds::full_mesh(m), hp::on_topology(levels({link(9, 1, 4), link(1, 5)}))})
        EXPECT_EQ(choose(from, to, hp::shape(16, 16), net, goal).plan.part[0].kind, what);
}

/// The bytes through the busiest port of each step, added up.
hp::extent_t busiest_ports(const hp::move_parts& m) {
  hp::extent_t sum = 0;
  for (int k = 0; k < hp::step_count(m); ++k) {
    std::map<int, hp::extent_t> in, out;
    hp::extent_t most = 0;
    for (int i = 0; i < m.count; ++i) {
      if (k >= m.part[i].step_count) continue;
      const hp::move_step& step = m.part[i].step[k];
      for (int p = 0; p < hp::position_count(step.target.mesh); ++p) {
        const hp::step_receiver r = hp::receiver_of(step, m.part[i].shape, p);
        for (hp::extent_t t = 0; t < r.transfers; ++t) {
          const hp::transfer x = hp::transfer_at(step, r, t);
          if (x.sender == p) continue;
          most = hp::larger(most, in[p] += hp::volume(x.part));
          most = hp::larger(most, out[x.sender] += hp::volume(x.part));
        }
      }
    }
    sum += most;
  }
  return sum;
}

TEST(ChooseMove, OneLevelWithoutLatencyOrdersByTheBusiestPort) {
  const hp::mesh_shape m{2, {2, 4}};
  const hp::shape s(16, 16);
  const std::vector<hp::layout_value> layouts = worlds::all_partial_layouts(m, 2, hp::reduce_op::sum);
  const hp::interconnect net = hp::on_topology(levels({link(hp::second / 1000)}));
  for (const hp::layout_value& from : layouts)
    for (const hp::layout_value& to : layouts) {
      const hp::candidate_source all = hp::candidates_of(from, to, s, net);
      const hp::chosen_move c = choose(from, to, s, net);
      for (int i = 0; i < hp::move_candidate_count; ++i) {
        if (c.alternative[i].why_not != hp::candidate_code::ok) continue;
        const hp::extent_t ports = busiest_ports(hp::build_candidate(all, static_cast<kind>(i)).parts);
        ASSERT_EQ(c.alternative[i].figures.time.picoseconds, 1000 * ports);
        ASSERT_LE(busiest_ports(c.plan), ports);
      }
    }
}

/// x · y ranks; axis 0 of the matrix runs along the rows (x), axis 1 along the columns (y).
struct rack {
  hp::full_mesh_2d closed{};
  hp::mesh_shape mesh{};
  hp::interconnect net{};
  hp::extent_t per_rank = 1;  ///< elements whose shares of both orders are whole
};

rack rack_of(int x, int y, std::int64_t along_x, std::int64_t along_y, std::int64_t latency_x, std::int64_t latency_y) {
  rack r;
  r.closed = {x, y, link(along_x, latency_x), link(along_y, latency_y)};
  r.mesh = {2, {x, y}};
  const hp::link_level along[2] = {r.closed.along_x, r.closed.along_y};
  r.net = hp::on_full_mesh(r.mesh, along);
  const std::int64_t both = x * along_x + y * along_y;
  r.per_rank = 6 * both / std::gcd(both, x * along_x);
  return r;
}

TEST(ChooseMove, TheCollectivesOfATwoDimensionalMeshComeOutOfTheSteps) {
  for (const rack& r : {rack_of(2, 2, 25, 25, 0, 0), rack_of(4, 4, 25, 25, 9, 9), rack_of(2, 4, 10, 30, 5, 5),
                        rack_of(4, 2, 10, 30, 5, 11), rack_of(3, 5, 40, 7, 1, 2), rack_of(8, 8, 25, 25, 100, 100)}) {
    const hp::extent_t ranks = r.closed.x * r.closed.y, n = ranks * r.per_rank;
    const hp::shape s(n);
    const hp::layout_value whole = cut_by(r.mesh, 1, {}), terms = cut_by(r.mesh, 1, {}, 3);
    const hp::layout_value parts = cut_by(r.mesh, 1, {{0, 0}, {0, 1}});
    const hp::chosen_move gather = choose(parts, whole, s, r.net);
    EXPECT_EQ(time_of(gather, kind::outer_first), hp::all_gather_x_then_y(r.closed, n));
    EXPECT_EQ(time_of(gather, kind::inner_first), hp::detail::all_gather_y_then_x(r.closed, n));
    EXPECT_EQ(time_of(gather, kind::both_orders), hp::all_gather_two_orders(r.closed, n));
    const hp::chosen_move scatter = choose(terms, parts, s, r.net);
    EXPECT_EQ(time_of(scatter, kind::outer_first), hp::all_gather_x_then_y(r.closed, n));
    EXPECT_EQ(time_of(scatter, kind::inner_first), hp::detail::all_gather_y_then_x(r.closed, n));
    EXPECT_EQ(time_of(scatter, kind::both_orders), hp::all_gather_two_orders(r.closed, n));
    // An all-reduce is a reduce-scatter mirrored onto an all-gather.
    const hp::chosen_move reduce = choose(terms, whole, s, r.net);
    const auto twice = [](const hp::time_cost& price) { return hp::then(price, price); };
    EXPECT_EQ(hp::faster(time_of(reduce, kind::outer_first), time_of(reduce, kind::inner_first)),
              twice(hp::all_gather_one_order(r.closed, n)));
    EXPECT_EQ(time_of(reduce, kind::both_orders), twice(hp::all_gather_two_orders(r.closed, n)));
    const hp::layout_value other = cut_by(r.mesh, 2, {{1, 0}, {1, 1}});
    const hp::shape table(ranks * 2, ranks * 3);
    const hp::chosen_move turn = choose(cut_by(r.mesh, 2, {{0, 0}, {0, 1}}), other, table, r.net);
    const hp::extent_t local = ranks * 6;
    EXPECT_EQ(time_of(turn, kind::outer_first), hp::detail::all_to_all_one_order(r.closed, local));
    EXPECT_EQ(time_of(turn, kind::inner_first), hp::detail::all_to_all_one_order(r.closed, local));
    if (r.closed.x != 3) {  // three rows of a dim cannot be halved
      const hp::layout_value from = cut_by(r.mesh, 2, {{0, 0}, {0, 1}});
      const hp::chosen_move halved = choose(from, other, hp::shape(ranks * 2, ranks * 2), r.net);
      EXPECT_EQ(time_of(halved, kind::halves), hp::all_to_all_two_orders(r.closed, ranks * 4));
    }
    // The exchange over both axes needs links that are not there.
    for (const hp::chosen_move* c : {&gather, &scatter, &reduce, &turn})
      EXPECT_EQ(c->alternative[0].why_not, hp::candidate_code::links_do_not_carry_it);
  }
}

TEST(ChooseMove, BothOrdersAtOnceWinOnSquareMeshes) {
  const rack r = rack_of(4, 4, 25, 25, 1, 1);
  const hp::extent_t n = 16 * r.per_rank;
  const hp::chosen_move c = choose(cut_by(r.mesh, 1, {{0, 0}, {0, 1}}), cut_by(r.mesh, 1, {}), hp::shape(n), r.net);
  EXPECT_EQ(c.candidate, kind::both_orders);
  EXPECT_EQ(c.plan.count, 2);
  EXPECT_EQ(c.figures.time, hp::then(hp::latencies(2, 1), hp::all_gather_bound(r.closed, n)));
}

TEST(ChooseMove, HierarchicalAllReduceHasItsFormula) {
  const hp::link_level inner = link(1000, 5, 4), outer = link(100, 50);
  const hp::topology_value t = levels({inner, outer});
  for (const hp::mesh_shape& m : {hp::mesh_shape{2, {3, 4}}, hp::mesh_shape{1, {12}}}) {  // also where one axis is both
    const hp::extent_t n = 12 * 50;
    const hp::layout_value terms = cut_by(m, 1, {}, hp::detail::all_axes(m)), whole = cut_by(m, 1, {});
    const hp::chosen_move c = choose(terms, whole, hp::shape(n), hp::on_topology(t));
    EXPECT_EQ(time_of(c, kind::outer_first), hp::hierarchical_all_reduce_time(inner, 4, outer, 3, n));
    EXPECT_EQ(c.candidate, kind::outer_first);
    EXPECT_LT(c.figures.time.picoseconds, time_of(c, kind::exchange).picoseconds);
  }
}

TEST(ChooseMove, AFlatGatherOverSlowLinksIsBeaten) {
  const hp::topology_value t = levels({link(1000, 5, 4), link(100, 50)});
  const hp::mesh_shape m{2, {2, 4}};
  const hp::layout_value parts = cut_by(m, 1, {{0, 0}, {0, 1}}), whole = cut_by(m, 1, {});
  const hp::chosen_move c = choose(parts, whole, hp::shape(800), hp::on_topology(t));
  EXPECT_EQ(c.candidate, kind::outer_first);
  // 4 blocks of 100 over the outer port at once; 1 over it and then 3 of 200 inside.
  EXPECT_EQ(time_of(c, kind::exchange), hp::then(hp::latencies(4, 50), hp::work_time(400, 1, 1, 100)));
  EXPECT_EQ(c.figures.time, hp::then(hp::then(hp::latencies(1, 50), hp::work_time(100, 1, 1, 100)),
                                     hp::then(hp::latencies(3, 5), hp::work_time(600, 1, 1, 1000))));
  // Only the outer axis shards: slices of the idle inner one, then the same two steps.
  const hp::chosen_move d = choose(cut_by(m, 1, {{0, 0}}), whole, hp::shape(800), hp::on_topology(t));
  EXPECT_EQ(d.candidate, kind::sliced);
  EXPECT_EQ(d.figures.time, c.figures.time);
  EXPECT_GT(d.figures.received_total, d.alternative[0].figures.received_total) << "bytes are what it costs";
  EXPECT_EQ(choose(cut_by(m, 1, {{0, 0}}), whole, hp::shape(800), hp::on_topology(t), hp::objective::bytes).candidate,
            kind::exchange);
}

TEST(ChooseMove, AxesThatWaitForEachOtherParkWhereBytesCount) {
  // (S0 x, S1 y) → (S0 y, S1 x) over links of one axis each: x gathers for y, or holds something else meanwhile.
  const hp::mesh_shape m{2, {4, 4}};
  const hp::layout_value from = cut_by(m, 2, {{0, 0}, {1, 1}}), to = cut_by(m, 2, {{0, 1}, {1, 0}});
  const hp::link_level along[2] = {link(hp::second, 100), link(hp::second, 100)};
  const hp::interconnect net = hp::on_full_mesh(m, along);
  const hp::chosen_move large = choose(from, to, hp::shape(64, 64), net),
                        small = choose(from, to, hp::shape(16, 16), net);
  EXPECT_EQ(time_of(large, kind::outer_first).picoseconds, 2 * (100 + 256));
  EXPECT_EQ(time_of(large, kind::parked).picoseconds, 3 * (100 + 64));
  EXPECT_EQ(large.alternative[static_cast<int>(kind::parked)].figures.peak_elements, 2 * 256) << "constant size";
  EXPECT_EQ(large.candidate, kind::halves);
  EXPECT_EQ(large.figures.time.picoseconds, 3 * (100 + 32));
  EXPECT_EQ(worlds::trouble_of(from, to, hp::shape(64, 64), large.plan), "");
  EXPECT_EQ(time_of(small, kind::parked).picoseconds, 3 * (100 + 4));
  EXPECT_EQ(time_of(small, kind::outer_first).picoseconds, 2 * (100 + 16)) << "steps count";
  EXPECT_EQ(small.candidate, kind::both_orders);
}

TEST(ChooseMove, KeepsTheOrderOfTermsOnRequest) {
  const hp::topology_value t = levels({link(1000, 5, 4), link(100, 50)});
  const hp::mesh_shape m{2, {3, 4}};
  const hp::layout_value terms = cut_by(m, 1, {}, 3), whole = cut_by(m, 1, {});
  hp::move_request request{hp::objective::time, hp::on_topology(t), 1, 0, true};
  std::vector<hp::extent_t> entries(static_cast<std::size_t>(hp::tally_size(request.links, 12)));
  const hp::chosen_move c = hp::choose_move(terms, whole, hp::shape(600), request, entries.data());
  EXPECT_EQ(c.alternative[static_cast<int>(kind::outer_first)].why_not, hp::candidate_code::folds_in_another_order);
  EXPECT_TRUE(hp::folds_by_position(c.plan));
  request.in_order = false;
  const hp::chosen_move any = hp::choose_move(terms, whole, hp::shape(600), request, entries.data());
  EXPECT_FALSE(hp::folds_by_position(any.plan));
  EXPECT_LT(any.figures.time.picoseconds, c.figures.time.picoseconds);
}

TEST(ChooseMove, OneShotWinsBelowItsLimitAndNotAbove) {
  for (const int p : {4, 8}) {
    const hp::link_level along = link(hp::gigabyte, 96 * hp::nanosecond);
    const hp::mesh_shape m{1, {p}};
    const hp::interconnect net = hp::on_full_mesh(m, &along);
    const hp::extent_t limit = hp::one_shot_limit(along, p);
    const hp::layout_value terms = cut_by(m, 1, {}, 1), whole = cut_by(m, 1, {});
    for (hp::extent_t n = p; n <= 2 * limit; n += p) {
      const hp::chosen_move c = choose(terms, whole, hp::shape(n), net);
      ASSERT_EQ(time_of(c, kind::one_shot),
                hp::collective_time({hp::collective::all_reduce, hp::collective_algorithm::one_shot, p, n}, along));
      ASSERT_EQ(time_of(c, kind::exchange),
                hp::collective_time({hp::collective::all_reduce, hp::collective_algorithm::full_mesh, p, n}, along));
      if (n < limit) {
        ASSERT_EQ(c.candidate, kind::one_shot);
      }
      if (n > limit) {
        ASSERT_NE(c.candidate, kind::one_shot);
      }
    }
  }
}

TEST(ChooseMove, ALimitOfMemoryPicksTheNormalForm) {
  const hp::mesh_shape m{2, {2, 2}};
  const hp::layout_value from = cut_by(m, 2, {{0, 1}}), to = cut_by(m, 2, {{1, 0}});
  const hp::shape s(8, 8);
  const hp::interconnect net = hp::on_topology(levels({link(1000, 5)}));
  for (const hp::objective goal : {hp::objective::bytes, hp::objective::time}) {
    const hp::chosen_move free = choose(from, to, s, net, goal);
    EXPECT_EQ(free.candidate, kind::exchange);
    EXPECT_EQ(free.figures.peak_elements, 64);
    EXPECT_EQ(free.smallest_peak, 48) << "32 in place, 16 + 16, 16 + 32";
    const hp::chosen_move tight = choose(from, to, s, net, goal, 48);
    ASSERT_EQ(tight.code, hp::choice_code::ok);
    EXPECT_EQ(tight.figures.peak_elements, 48);
    EXPECT_EQ(tight.alternative[0].why_not, hp::candidate_code::exceeds_the_memory_limit);
    EXPECT_EQ(worlds::trouble_of(from, to, s, tight.plan), "");
    const hp::chosen_move none = choose(from, to, s, net, goal, 47);
    EXPECT_EQ(none.code, hp::choice_code::no_candidate_fits_the_memory);
    EXPECT_EQ(none.smallest_peak, 48);
    EXPECT_EQ(none.plan.count, 0);
  }
}

TEST(ChooseMove, TheNormalFormNeverTakesMoreThanTheExchangeUnlessAxesAreFilled) {
  int smaller = 0;
  for (const hp::mesh_shape& m : {hp::mesh_shape{2, {2, 2}}, hp::mesh_shape{2, {2, 4}}}) {
    const std::vector<hp::layout_value> layouts = worlds::all_partial_layouts(m, 2, hp::reduce_op::sum);
    for (const hp::layout_value& from : layouts)
      for (const hp::layout_value& to : layouts) {
        if (hp::sort_axes(from, to).filled != 0) continue;  // a fill gathers nothing
        const hp::chosen_move c = choose(from, to, hp::shape(16, 16), hp::without_links, hp::objective::bytes);
        const hp::move_alternative& form = c.alternative[static_cast<int>(kind::normal_form)];
        if (form.why_not != hp::candidate_code::ok) continue;
        ASSERT_LE(form.figures.peak_elements, c.alternative[0].figures.peak_elements);
        if (form.figures.peak_elements < c.alternative[0].figures.peak_elements) ++smaller;
      }
  }
  EXPECT_GT(smaller, 50);
}

TEST(ChooseMove, NamesWhatIsWrong) {
  const hp::mesh_shape m{1, {2}};
  const hp::layout_value rows = cut_by(m, 1, {{0, 0}}), whole = cut_by(m, 1, {});
  const hp::objective time = hp::objective::time;
  EXPECT_EQ(choose(rows, whole, hp::shape(3), hp::without_links).code, hp::choice_code::move_is_refused);
  EXPECT_EQ(choose(rows, whole, hp::shape(3), hp::without_links).plan.part[0].code, hp::move_code::source_is_refused);
  EXPECT_EQ(choose(rows, whole, hp::shape(4), hp::without_links, time, 0, 0).code,
            hp::choice_code::element_size_is_not_positive);
  EXPECT_EQ(choose(rows, whole, hp::shape(4), hp::on_topology(levels({link(0)}))).code,
            hp::choice_code::links_are_refused);
  EXPECT_EQ(choose(rows, whole, hp::shape(4), hp::without_links).code, hp::choice_code::links_are_refused)
      << "without links no time is the least";
  EXPECT_EQ(choose(rows, whole, hp::shape(4), hp::without_links, hp::objective::bytes).code, hp::choice_code::ok);
  static constexpr int apart[] = {0, 7};
  EXPECT_EQ(choose(rows, whole, hp::shape(4), hp::on_topology(levels({link(5, 0, 2)}), {2, apart})).code,
            hp::choice_code::links_carry_no_candidate);
  EXPECT_EQ(choose(rows, rows, hp::shape(4), hp::without_links).figures, hp::move_figures{});
}

constexpr hp::chosen_move constant_choice(hp::objective goal) {
  hp::topology_value t;
  t.level_count = 2;
  t.level[0] = {"inner", 2, 1000, 5};
  t.level[1] = {"outer", hp::unbounded_group, 100, 50};
  hp::layout_value rows{{2, {2, 2}}, 1, 0, {}, {}, 0};
  const hp::layout_value whole = rows;
  hp::append_cut(rows, {0, 0, 1, 2});
  hp::extent_t entries[32] = {};
  return hp::choose_move(rows, whole, hp::shape(400), {goal, hp::on_topology(t), 1, 0, false}, entries);
}

constexpr hp::chosen_move at_compile_time = constant_choice(hp::objective::time);
static_assert(at_compile_time.code == hp::choice_code::ok && at_compile_time.candidate == kind::sliced);
static_assert(constant_choice(hp::objective::bytes).candidate == kind::exchange);

TEST(ChooseMove, IsTheSameAtCompileTimeAndAtRunTime) {
  const hp::chosen_move c = constant_choice(hp::objective::time);
  EXPECT_EQ(c.figures, at_compile_time.figures);
  for (int i = 0; i < hp::move_candidate_count; ++i) {
    EXPECT_EQ(c.alternative[i].why_not, at_compile_time.alternative[i].why_not);
    EXPECT_EQ(c.alternative[i].figures, at_compile_time.alternative[i].figures);
  }
}

TEST(ChooseMove, RequestsThatCannotBeAreRefused) {
  using enum hp::choice_code;
  const hp::mesh_shape m{1, {4}};
  const hp::layout_value rows = cut_by(m, 1, {{0, 0}}), whole = cut_by(m, 1, {});
  const hp::objective time = hp::objective::time;
  EXPECT_EQ(choose(rows, whole, hp::shape(8), hp::without_links, time, -1).code, memory_limit_is_negative);
  EXPECT_EQ(choose(rows, whole, hp::shape(8), hp::without_links, time, 0, -4).code, element_size_is_not_positive);
  EXPECT_EQ(choose(rows, whole, hp::shape(-8), hp::without_links).plan.part[0].layout.code,
            hp::layout_code::extent_is_negative);
  static constexpr int few[] = {0, 1, 2};
  EXPECT_EQ(choose(rows, whole, hp::shape(8), hp::on_topology(levels({link(5)}), {3, few})).code, links_are_refused);
  const hp::link_level along[1] = {link(5)};
  for (const hp::mesh_shape& none : {hp::mesh_shape{1, {0}}, hp::mesh_shape{9, {}}, hp::mesh_shape{2, {-2, -2}}})
    EXPECT_EQ(hp::check(hp::on_full_mesh(none, along)), hp::cost_code::ranks_are_not_connected);
  // Eight steps of 2^59 elements on four devices leave 64 bits, where the exchange alone does not.
  const hp::shape large(hp::extent_t{1} << 59);
  EXPECT_EQ(hp::plan_move(rows, whole, large).code, hp::move_code::ok);
  const hp::chosen_move c = choose(rows, whole, large, hp::without_links);
  EXPECT_EQ(c.code, move_is_refused);
  EXPECT_EQ(c.plan.part[0].code, hp::move_code::traffic_overflows);
}

}  // namespace
