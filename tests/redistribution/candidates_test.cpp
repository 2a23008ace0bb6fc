// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/redistribution/candidates.hpp>

#include <hyperparallel/redistribution/busiest_receiver.hpp>
#include <hyperparallel/redistribution/relocation.hpp>

#include "../support/sub_axis_layouts.hpp"
#include "small_moves.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <numeric>
#include <random>

namespace hp = hyperparallel;

namespace {

using worlds::cut_by;

struct tally {
  std::array<int, hp::move_candidate_count> built{};
  int wrong = 0, off_links = 0, oversized = 0, miscounted = 0;
};

/// The largest block that any rank holds on the way.
hp::extent_t largest_block(const hp::move_parts& m) {
  hp::extent_t most = 0;
  const hp::move_plan& p = m.part[0];
  for (int k = 0; k < p.step_count; ++k)
    for (int q = 0; q < hp::position_count(p.step[k].target.mesh); ++q)
      most = hp::larger(most, hp::volume(hp::target_frame(p.step[k], p.shape, q)));
  return most;
}

void judge(const hp::layout_value& source, const hp::layout_value& target, const hp::shape& s,
           const hp::interconnect& net, tally& count) {
  const hp::candidate_source all = hp::candidates_of(source, target, s, net);
  if (all.exchange.code != hp::move_code::ok) return;
  const int positions = hp::position_count(source.mesh);
  for (int i = 0; i < hp::move_candidate_count; ++i) {
    const hp::move_candidate candidate = static_cast<hp::move_candidate>(i);
    const hp::candidate_result c = hp::build_candidate(all, candidate);
    if (c.code != hp::candidate_code::ok) continue;
    ++count.built[static_cast<std::size_t>(i)];
    hp::extent_t received = 0;
    const std::string trouble = worlds::trouble_of(source, target, s, c.parts, &received);
    if (!trouble.empty() && count.wrong++ < 5) ADD_FAILURE() << hp::name_of(candidate) << ": " << trouble;
    const hp::move_figures f = worlds::figures(c.parts, net, 1, positions);
    if (f.received_total != received) ++count.miscounted;
    const bool axis_by_axis = candidate >= hp::move_candidate::outer_first;
    if (axis_by_axis && net.kind == hp::interconnect_kind::full_mesh && !f.time.ok()) ++count.off_links;
    if (candidate == hp::move_candidate::normal_form) {
      const hp::shape_result held = hp::local_shape(source, s), wanted = hp::local_shape(target, s);
      const hp::extent_t limit = hp::larger(hp::element_count(held.shape).value, hp::element_count(wanted.shape).value);
      if (largest_block(c.parts) > limit) ++count.oversized;
    }
  }
}

void expect_right(const tally& t) {
  EXPECT_EQ(t.wrong, 0);
  EXPECT_EQ(t.off_links, 0) << "axis-by-axis candidates must run on the links of a full mesh";
  EXPECT_EQ(t.oversized, 0) << "blocks of the normal form";
  EXPECT_EQ(t.miscounted, 0) << "figures and replay count differently";
}

void all_pairs(const hp::mesh_shape& m, const hp::shape& s, hp::reduce_op op, const hp::interconnect& net,
               tally& count) {
  const std::vector<hp::layout_value> layouts = worlds::all_partial_layouts(m, s.rank, op);
  for (const hp::layout_value& source : layouts)
    for (const hp::layout_value& target : layouts) judge(source, target, s, net, count);
}

TEST(Candidates, EveryPairOfTwoByTwoIsRight) {
  const hp::mesh_shape m{2, {2, 2}};
  for (const hp::reduce_op op : {hp::reduce_op::sum, hp::reduce_op::max, hp::reduce_op::avg}) {
    tally count;
    all_pairs(m, hp::shape(8, 8), op, worlds::full_mesh(m), count);
    expect_right(count);
    for (int i = 0; i < hp::move_candidate_count; ++i)
      EXPECT_GT(count.built[static_cast<std::size_t>(i)], 20) << hp::name_of(static_cast<hp::move_candidate>(i));
  }
}

TEST(Candidates, EveryPairOfTwoByFourIsRight) {
  const hp::mesh_shape m{2, {2, 4}};
  tally count;
  all_pairs(m, hp::shape(16, 8), hp::reduce_op::sum, worlds::full_mesh(m), count);
  expect_right(count);
  // Levels that end inside an axis: the candidates see the devices as 2 × 2 × 2.
  tally on_levels;
  const hp::topology_value t = worlds::levels({worlds::link(1000, 1, 2), worlds::link(100, 10)});
  all_pairs(m, hp::shape(16, 8), hp::reduce_op::sum, hp::on_topology(t), on_levels);
  expect_right(on_levels);
}

TEST(Candidates, SamplesOfTwoByTwoByTwoAreRight) {
  const hp::mesh_shape m{3, {2, 2, 2}};
  std::mt19937 random(20);
  const std::vector<hp::layout_value> layouts = worlds::all_partial_layouts(m, 2, hp::reduce_op::sum);
  tally count;
  for (int i = 0; i < 300; ++i)
    judge(layouts[random() % layouts.size()], layouts[random() % layouts.size()], hp::shape(16, 8),
          worlds::full_mesh(m), count);
  expect_right(count);
}

TEST(Candidates, SamplesOfMixedReductionsAndUnequalFactorsAreRight) {
  std::mt19937 random(21);
  for (const hp::mesh_shape& m : {hp::mesh_shape{2, {2, 3}}, hp::mesh_shape{2, {4, 2}}, hp::mesh_shape{3, {2, 1, 3}}}) {
    std::vector<hp::layout_value> layouts;
    for (const hp::reduce_op op : {hp::reduce_op::sum, hp::reduce_op::avg, hp::reduce_op::min, hp::reduce_op::prod})
      for (const hp::layout_value& l : worlds::all_partial_layouts(m, 2, op)) layouts.push_back(l);
    tally count;
    for (int i = 0; i < 300; ++i)
      judge(layouts[random() % layouts.size()], layouts[random() % layouts.size()], hp::shape(24, 24),
            worlds::full_mesh(m), count);
    expect_right(count);
  }
}

TEST(Candidates, TensorsThatDoNotDivideAreRight) {
  const hp::mesh_shape m{2, {2, 2}};
  std::vector<hp::layout_value> layouts = worlds::all_layouts(m, 2);
  for (hp::layout_value& l : layouts) l.padded = 3;
  tally count;
  for (const hp::shape& s : {hp::shape(9, 5), hp::shape(1, 3), hp::shape(0, 4), hp::shape(6, 4)})
    for (const hp::layout_value& source : layouts)
      for (const hp::layout_value& target : layouts) judge(source, target, s, worlds::full_mesh(m), count);
  expect_right(count);
}

TEST(Candidates, SayWhyTheyAreNotThere) {
  const hp::mesh_shape m{2, {2, 2}};
  const hp::layout_value whole = cut_by(m, 1, {}), rows = cut_by(m, 1, {{0, 0}}), all = cut_by(m, 1, {{0, 0}, {0, 1}});
  const auto code = [&](const hp::layout_value& from, const hp::layout_value& to, const hp::shape& s,
                        hp::move_candidate candidate, const hp::interconnect& net) {
    return hp::build_candidate(hp::candidates_of(from, to, s, net), candidate).code;
  };
  using c = hp::candidate_code;
  using k = hp::move_candidate;
  const hp::interconnect mesh = worlds::full_mesh(m);
  EXPECT_EQ(code(whole, rows, hp::shape(7), k::exchange, mesh), c::move_is_refused);
  EXPECT_EQ(code(rows, rows, hp::shape(8), k::outer_first, mesh), c::nothing_moves);
  EXPECT_EQ(code(rows, whole, hp::shape(8), k::one_shot, mesh), c::nothing_is_reduced);
  EXPECT_EQ(code(all, whole, hp::shape(8), k::sliced, mesh), c::no_axis_is_idle);
  EXPECT_EQ(code(rows, whole, hp::shape(2), k::sliced, mesh), c::no_axis_is_idle);
  EXPECT_EQ(code(all, whole, hp::shape(8), k::parked, mesh), c::no_axis_is_in_the_way);
  EXPECT_EQ(code(all, whole, hp::shape(8), k::both_orders, hp::without_links), c::mesh_is_not_two_dimensional);
  EXPECT_EQ(code(all, whole, hp::shape(4), k::both_orders, mesh), c::no_dim_can_be_shared);
  EXPECT_EQ(code(all, whole, hp::shape(0), k::outer_first, mesh), c::tensor_is_empty);
  hp::layout_value threes = cut_by({2, {2, 3}}, 1, {{0, 0}}), twos = cut_by({2, {2, 3}}, 1, {{0, 1}});
  EXPECT_EQ(code(threes, twos, hp::shape(6), k::outer_first, hp::without_links), c::cut_points_do_not_refine);
  EXPECT_EQ(code(threes, twos, hp::shape(6), k::exchange, hp::without_links), c::ok);
}

std::string text_of(const hp::layout_value& l) {
  std::string text = "[";
  for (int i = 0; i < l.cut_count; ++i) {
    const hp::cut& c = l.cut[i];
    text += " dim " + std::to_string(c.dim) + " axis " + std::to_string(c.axis) + ":(" + std::to_string(c.pre) + ")" +
            std::to_string(c.size);
  }
  for (int a = 0; a < l.mesh.axis_count; ++a)
    if (l.partial[a] != hp::reduce_op::none) text += std::string(" ") + hp::name_of(l.partial[a]) + std::to_string(a);
  return text + " ]";
}

struct sub_axis_counts {
  int pairs = 0, refused = 0, unrefined = 0, reductions = 0;
  std::array<int, hp::move_candidate_count> built{};
};

/// Every candidate of the pair gives every rank its data; what the certificate says of the plan is what is moved.
void judge_sub_axes(const hp::layout_value& source, const hp::layout_value& target, const hp::shape& s,
                    const hp::interconnect& net, sub_axis_counts& n) {
  SCOPED_TRACE(text_of(source) + " -> " + text_of(target));
  const hp::candidate_source all = hp::candidates_of(source, target, s, net);
  ++n.pairs;
  if (all.exchange.code == hp::move_code::filled_axis_is_cut_in_parts) {
    ++n.refused;
    return;
  }
  ASSERT_EQ(all.exchange.code, hp::move_code::ok);
  if (all.refined.code == hp::refined_code::cut_points_do_not_refine) ++n.unrefined;
  for (int i = 0; i < hp::move_candidate_count; ++i) {
    const hp::candidate_result c = hp::build_candidate(all, static_cast<hp::move_candidate>(i));
    if (c.code != hp::candidate_code::ok) continue;
    ++n.built[static_cast<std::size_t>(i)];
    ASSERT_EQ(worlds::trouble_of(source, target, s, c.parts), "") << hp::name_of(static_cast<hp::move_candidate>(i));
  }
  const hp::move_plan& p = all.exchange;
  const replay::move_report r = replay::replay_move(source, target, p);
  std::vector<hp::extent_t> tally(static_cast<std::size_t>(3 * hp::position_count(source.mesh)));
  const hp::move_certificate c = hp::certify(p, tally.data());
  ASSERT_EQ(c.received_total, r.received_total);
  ASSERT_EQ(c.least_total, r.least_total);
  ASSERT_EQ(c.received_maximum, hp::most_received(p));
  if (p.reduced != 0) {
    ++n.reductions;
    ASSERT_GE(c.received_total, c.least_total) << "cuts of parts of axes may cost a reduction more";
    return;
  }
  ASSERT_EQ(c.received_total, c.least_total);
  if (p.filled != 0) return;
  ASSERT_TRUE(r.every_rank_at_least);
  const hp::redistribution_plan q = hp::plan_redistribution(source, target, s);
  if (q.status.code != hp::plan_code::ok) return;
  ASSERT_EQ(q.received_maximum, c.received_maximum);
  ASSERT_EQ(q.lower_bound, c.received_maximum);
  ASSERT_TRUE(!q.balanced || 4 * c.sent_maximum <= 5 * c.received_maximum);
}

sub_axis_counts judge_pairs(const std::vector<hp::layout_value>& layouts, const hp::shape& s, std::size_t about) {
  sub_axis_counts n;
  const hp::interconnect net = hp::on_topology(worlds::levels({worlds::link(1000, 5, 2), worlds::link(100, 50)}));
  const std::size_t pairs = layouts.size() * layouts.size();
  std::size_t stride = std::getenv("HYPERPARALLEL_EXHAUSTIVE") != nullptr ? 1 : pairs / about + 1;
  while (std::gcd(stride, layouts.size()) != 1) ++stride;  // so that all targets come
  for (std::size_t k = 0; k < pairs && !testing::Test::HasFatalFailure(); k += stride)
    judge_sub_axes(layouts[k / layouts.size()], layouts[k % layouts.size()], s, net, n);
  return n;
}

/// Every layout, and with each axis that it does not cut partial.
std::vector<hp::layout_value> with_terms(std::vector<hp::layout_value> layouts) {
  const std::size_t bare = layouts.size();
  for (std::size_t k = 0; k < bare; ++k)
    for (int a = 0; a < layouts[k].mesh.axis_count; ++a) {
      hp::layout_value l = layouts[k];
      if ((hp::detail::cut_axes(l) >> a & 1u) != 0) continue;
      l.partial[a] = hp::reduce_op::sum;
      layouts.push_back(l);
    }
  return layouts;
}

TEST(CandidatesOfSubAxes, AllPairsOfOneAxisAreRight) {
  for (const int size : {4, 6, 8}) {
    const std::vector<hp::layout_value> layouts = worlds::sub_axis_layouts({1, {size}}, 2, 3);
    const sub_axis_counts n = judge_pairs(layouts, {size, size}, 1500);
    EXPECT_EQ(n.refused, 0);
    EXPECT_EQ(n.unrefined > 0, size == 6) << "powers of two always refine";
  }
}

TEST(CandidatesOfSubAxes, PairsThatDoNotNestAreRight) {
  const sub_axis_counts n = judge_pairs(worlds::sub_axis_layouts({1, {12}}, 2, 2), {12, 12}, 1000);
  EXPECT_GT(n.unrefined, 100);
  EXPECT_GT(n.pairs, n.unrefined + 100);
  for (const hp::move_candidate c :
       {hp::move_candidate::exchange, hp::move_candidate::normal_form, hp::move_candidate::outer_first})
    EXPECT_GT(n.built[static_cast<std::size_t>(c)], 100) << hp::name_of(c);
}

TEST(CandidatesOfSubAxes, PairsWithTermsAreRightOrRefused) {
  sub_axis_counts n = judge_pairs(with_terms(worlds::sub_axis_layouts({2, {4, 2}}, 2, 2)), {8, 8}, 700);
  EXPECT_GT(n.reductions, 50);
  EXPECT_GT(n.refused, 10);
  n = judge_pairs(with_terms(worlds::sub_axis_layouts({2, {6, 2}}, 2, 2)), {12, 12}, 700);
  EXPECT_GT(n.reductions, 50);
  EXPECT_GT(n.refused, 10);
  EXPECT_GT(n.unrefined, 50);
}

TEST(CandidatesOfSubAxes, WhatUnifyBringsToOneFlatAxisIsMovedRight) {
  // 3x2x2 and 2x2x3 meet on one axis of 12, where the parts of one side do not nest in those of the other.
  const hp::mesh_shape a{3, {3, 2, 2}}, b{3, {2, 2, 3}};
  const hp::shape s{12, 12};
  const hp::interconnect net = hp::on_topology(worlds::levels({worlds::link(1000, 10, 2), worlds::link(10, 1000)}));
  sub_axis_counts n;
  const std::vector<hp::layout_value> from = worlds::all_layouts(a, 2), to = worlds::all_layouts(b, 2);
  for (std::size_t k = 0; k < from.size() * to.size() && !HasFatalFailure(); k += 17) {
    const hp::unified_layouts u = hp::unify(from[k / to.size()], s, to[k % to.size()], s);
    ASSERT_EQ(u.status.code, hp::refinement_code::ok);
    judge_sub_axes(u.source, u.target, u.shape, net, n);
  }
  EXPECT_GT(n.unrefined, 100);
}

TEST(CandidatesOfSubAxes, AFilledAxisThatIsCutInPartsIsRefusedAndARelocationMovesIt) {
  const hp::mesh_shape m{1, {4}};
  hp::layout_value from = hp::replicated(m, 1), to = from;
  hp::append_cut(from, {0, 0, 1, 2});
  to.partial[0] = hp::reduce_op::sum;
  const hp::shape s(8);
  const hp::move_plan p = hp::plan_move(from, to, s);
  EXPECT_EQ(p.code, hp::move_code::filled_axis_is_cut_in_parts);
  EXPECT_EQ(p.axis, 0);
  const hp::relocation r = hp::plan_relocation({from, s, hp::all_ranks(m)}, {to, s, hp::all_ranks(m)});
  ASSERT_EQ(r.code, hp::relocation_code::ok);
  to.partial[0] = hp::reduce_op::max;  // a shard is no term of a maximum
  EXPECT_EQ(hp::plan_move(from, to, s).code, hp::move_code::ok);
}

TEST(CandidatesOfSubAxes, LayoutsWhoseOwnPartsDoNotNestAreRefusedEverywhere) {
  hp::layout_value bad = hp::replicated({1, {12}}, 2);
  bad.cut[bad.cut_count++] = {0, 0, 1, 3};  // stride 4
  bad.cut[bad.cut_count++] = {1, 0, 4, 3};  // stride 1, ends at 3
  const hp::layout_value whole = hp::replicated(bad.mesh, 2);
  const hp::shape s(12, 12);
  const hp::rank_list ranks = hp::all_ranks(bad.mesh);
  const hp::layout_code code = hp::layout_code::sub_axes_do_not_nest;
  EXPECT_EQ(hp::check_shape(bad, s).code, code);
  EXPECT_EQ(hp::slice_of(bad, s, 5).status.code, code);
  EXPECT_EQ(hp::plan_redistribution(bad, whole, s).status.layout.code, code);
  EXPECT_EQ(hp::plan_move(bad, whole, s).layout.code, code);
  EXPECT_EQ(hp::plan_move(whole, bad, s).layout.code, code);
  EXPECT_EQ(hp::plan_relocation({bad, s, ranks}, {whole, s, ranks}).layout.code, code);
  EXPECT_EQ(hp::unify(whole, s, bad, s).status.layout.code, code);
  EXPECT_EQ(hp::candidates_of(bad, whole, s, hp::without_links).exchange.code, hp::move_code::source_is_refused);
}

}  // namespace
