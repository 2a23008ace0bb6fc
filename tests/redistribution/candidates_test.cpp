// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/redistribution/candidates.hpp>

#include "small_moves.hpp"

#include <gtest/gtest.h>

#include <array>
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

}  // namespace
