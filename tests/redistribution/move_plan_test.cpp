// SPDX-License-Identifier: Apache-2.0
// Moves by brute force: every pair of states of small worlds is executed value by value on every rank.
#include <hyperparallel/redistribution/move_plan.hpp>

#include <gtest/gtest.h>

#include "redistribution/frozen_moves.hpp"
#include "redistribution/move_sweep.hpp"

namespace {

namespace hp = hyperparallel;
using hp::reduce_op;
using sweeps::sweep;

/// Where every extent divides, replicas are used up wherever that helps, and in digit mode no sender is busier than the
/// busiest receiver.
void expect_balance(const sweep& r) {
  EXPECT_EQ(r.passed_over, 0);
  EXPECT_EQ(r.uneven_shares, 0);
  EXPECT_LE(r.worst_refined, 1.25);
}

sweep plain(const hp::mesh_shape& m, int rank, std::size_t stride = 1) {
  return sweeps::run(worlds::partial_layouts(m, rank, {}), worlds::divisible_shape(m, rank), stride);
}

TEST(move_plan, layouts_without_partial_states_of_two_axes) {
  for (const hp::mesh_shape& m : {hp::mesh_shape{2, {2, 2}}, hp::mesh_shape{2, {2, 4}}, hp::mesh_shape{2, {4, 2}},
                                  hp::mesh_shape{2, {2, 3}}, hp::mesh_shape{2, {6, 4}}, hp::mesh_shape{2, {5, 7}}}) {
    const sweep r = plain(m, 2);
    EXPECT_EQ(r.pairs, 110);
    EXPECT_EQ(r.heavy, 0);
    expect_balance(r);
  }
}

TEST(move_plan, layouts_without_partial_states_of_2x2x2) {
  const sweep rank_2 = plain({3, {2, 2, 2}}, 2);
  EXPECT_EQ(rank_2.pairs, 2352);
  EXPECT_LE(rank_2.worst, 1.0);
  const sweep rank_3 = plain({3, {2, 2, 2}}, 3, 7);
  EXPECT_LE(rank_3.worst, 1.0);
  if (sweeps::exhaustive()) {
    EXPECT_EQ(rank_3.pairs, 11130);
  }
}

TEST(move_plan, layouts_without_partial_states_of_2x4x4) {
  const sweep r = plain({3, {2, 4, 4}}, 2, 7);
  EXPECT_LE(r.worst, 1.0);
  if (sweeps::exhaustive()) {
    EXPECT_EQ(r.pairs, 2352);
  }
}

TEST(move_plan, axes_that_share_no_factor_order) {
  const sweep r = plain({3, {6, 2, 3}}, 2, 11);
  EXPECT_EQ(r.heavy, 0);
  expect_balance(r);
}

TEST(move_plan, every_operation_on_2x2) {
  const hp::mesh_shape m{2, {2, 2}};
  for (const reduce_op op : {reduce_op::sum, reduce_op::max, reduce_op::min, reduce_op::avg, reduce_op::prod,
                             reduce_op::all, reduce_op::any}) {
    const sweep r = sweeps::run(worlds::partial_layouts(m, 2, {op}), {4, 4});
    EXPECT_EQ(r.pairs, 306);
    EXPECT_EQ(r.heavy, 0);
  }
}

TEST(move_plan, operations_beside_each_other_on_2x2) {
  const hp::mesh_shape m{2, {2, 2}};
  const sweep linear = sweeps::run(worlds::partial_layouts(m, 2, {reduce_op::sum, reduce_op::avg}), {4, 4});
  EXPECT_EQ(linear.refused, 0);
  const sweep mixed = sweeps::run(worlds::partial_layouts(m, 2, {reduce_op::sum, reduce_op::max}), {4, 4});
  EXPECT_GT(mixed.refused, 0);
  EXPECT_EQ(linear.heavy + mixed.heavy, 0);
}

TEST(move_plan, sums_and_maxima_of_two_axes) {
  for (const hp::mesh_shape& m :
       {hp::mesh_shape{2, {2, 4}}, hp::mesh_shape{2, {4, 2}}, hp::mesh_shape{2, {2, 3}}, hp::mesh_shape{2, {3, 4}}})
    for (const reduce_op op : {reduce_op::sum, reduce_op::max}) {
      const sweep r = sweeps::run(worlds::partial_layouts(m, 2, {op}), worlds::divisible_shape(m, 2));
      EXPECT_EQ(r.pairs, 306);
      expect_balance(r);
    }
}

TEST(move_plan, sums_and_maxima_of_three_axes) {
  for (const reduce_op op : {reduce_op::sum, reduce_op::max}) {
    expect_balance(sweeps::run(worlds::partial_layouts({3, {2, 2, 2}}, 2, {op}), {8, 8}, 5));
    expect_balance(sweeps::run(worlds::partial_layouts({3, {2, 2, 2}}, 3, {op}), {8, 8, 8}, 211));
    expect_balance(sweeps::run(worlds::partial_layouts({3, {2, 4, 4}}, 2, {op}), {32, 32}, 211));
  }
}

TEST(move_plan, uneven_extents) {
  for (const hp::shape& s :
       {hp::shape{10, 5}, hp::shape{9, 5}, hp::shape{3, 5}, hp::shape{1, 3}, hp::shape{7, 11}, hp::shape{36, 36}}) {
    const std::size_t thin = s.extent[0] == 36 ? 8 : 1;
    for (const hp::mesh_shape& m : {hp::mesh_shape{1, {4}}, hp::mesh_shape{2, {2, 2}}, hp::mesh_shape{2, {2, 3}}}) {
      EXPECT_EQ(sweeps::run(worlds::partial_layouts(m, 2, {}, 3), s, thin).passed_over, 0);
      EXPECT_EQ(sweeps::run(worlds::partial_layouts(m, 2, {reduce_op::sum}, 3), s, thin).passed_over, 0);
    }
    const hp::mesh_shape cube{3, {2, 2, 2}};
    EXPECT_EQ(sweeps::run(worlds::partial_layouts(cube, 2, {}, 3), s, 3 * thin).passed_over, 0);
    EXPECT_EQ(sweeps::run(worlds::partial_layouts(cube, 2, {reduce_op::sum}, 3), s, 13 * thin).passed_over, 0);
  }
}

/// The all-reduce over g of r idle replicas: (g − 1) / gr + (gr − 1) / gr of the tensor, to and from every device.
TEST(move_plan, idle_replicas_share_an_all_reduce) {
  for (const int g : {2, 4, 8})
    for (const int r : {1, 2, 4}) {
      hp::layout_value source = hp::replicated({2, {g, r}}, 1);
      const hp::layout_value target = source;
      source.partial[0] = reduce_op::sum;
      const hp::extent_t n = 64;
      const hp::move_plan p = hp::plan_move(source, target, hp::shape{n});
      std::vector<hp::extent_t> tally(static_cast<std::size_t>(3 * g * r));
      const hp::move_certificate c = hp::certify(p, tally.data());
      EXPECT_EQ(p.kind, hp::plan_kind::all_reduce);
      EXPECT_EQ(c.received_maximum, n / (g * r) * (g - 1) + n / (g * r) * (g * r - 1));
      EXPECT_EQ(c.sent_maximum, c.received_maximum);
    }
}

TEST(move_plan, a_move_there_and_back_is_the_identity) {
  // Replay proves that each way ends with its target's meaning of the same values; fills come back by reductions.
  const hp::mesh_shape m{2, {2, 2}};
  for (const hp::layout_value& a : worlds::partial_layouts(m, 2, {}))
    for (const hp::layout_value& b : worlds::partial_layouts(m, 2, {reduce_op::sum, reduce_op::max})) {
      const hp::move_plan there = hp::plan_move(a, b, {4, 4});
      if (there.code != hp::move_code::ok) continue;
      ASSERT_EQ(replay::replay_move(a, b, there).trouble, "");
      ASSERT_EQ(replay::replay_move(b, a, hp::plan_move(b, a, {4, 4})).trouble, "");
    }
}

/// Terms that wait make a detour cheaper than the direct way never: each leg receives at least its own least.
TEST(move_plan, a_detour_never_receives_less_in_all) {
  const hp::mesh_shape m{2, {2, 2}};
  const std::vector<hp::layout_value> states = worlds::partial_layouts(m, 2, {reduce_op::sum});
  const auto total = [](const hp::layout_value& a, const hp::layout_value& b) {
    return hp::least_received_total(hp::plan_move(a, b, {4, 4}));
  };
  for (const hp::layout_value& a : states)
    for (const hp::layout_value& b : states)
      for (const hp::layout_value& c : states) ASSERT_LE(total(a, c), total(a, b) + total(b, c));
}

TEST(move_plan, refusals_name_the_side_or_the_axis) {
  const hp::mesh_shape m{2, {2, 2}};
  const hp::layout_value whole = hp::replicated(m, 1);
  hp::layout_value cut = whole, mixed = whole;
  hp::append_cut(cut, {0, 0, 1, 2});
  mixed.partial[0] = reduce_op::sum;
  mixed.partial[1] = reduce_op::max;
  EXPECT_EQ(hp::plan_move(cut, whole, hp::shape{3}).code, hp::move_code::source_is_refused);
  EXPECT_EQ(hp::plan_move(whole, cut, hp::shape{3}).code, hp::move_code::target_is_refused);
  EXPECT_EQ(hp::plan_move(whole, cut, hp::shape{3}).layout.code,
            hp::layout_code::extent_is_not_divisible_by_its_shards);
  EXPECT_EQ(hp::plan_move(whole, hp::replicated({1, {4}}, 1), hp::shape{4}).code,
            hp::move_code::layouts_are_on_different_meshes);
  EXPECT_EQ(hp::plan_move(mixed, whole, hp::shape{4}).code, hp::move_code::reductions_do_not_commute);
  EXPECT_EQ(hp::plan_move(mixed, whole, hp::shape{4}).axis, 1);
  EXPECT_EQ(hp::plan_move(whole, mixed, hp::shape{4}).code, hp::move_code::reductions_do_not_commute);
}

TEST(move_plan, what_leaves_64_bits_is_refused) {
  const hp::extent_t huge = hp::extent_t{1} << 40;
  const hp::mesh_shape m{6, {4, 4, 4, 4, 4, 4}};
  hp::layout_value rows = hp::replicated(m, 2), columns = rows, sum = rows;
  for (int a = 0; a < 6; ++a) {
    hp::append_cut(rows, {0, a, 1, 4});
    hp::append_cut(columns, {1, a, 1, 4});
  }
  sum.partial[0] = reduce_op::sum;
  EXPECT_EQ(hp::plan_move(rows, columns, {huge, huge}).code, hp::move_code::source_is_refused);
  EXPECT_EQ(hp::plan_move(rows, columns, {huge, huge}).layout.code, hp::layout_code::element_count_overflows);
  EXPECT_EQ(hp::plan_move(rows, columns, {huge, hp::extent_t{1} << 21}).code, hp::move_code::ok);
  EXPECT_EQ(hp::plan_move(sum, rows, {huge, hp::extent_t{1} << 21}).code, hp::move_code::traffic_overflows);
  EXPECT_EQ(hp::plan_move(sum, rows, {huge, 4096}).code, hp::move_code::traffic_overflows);
  EXPECT_EQ(hp::plan_move(sum, rows, {huge / 4, 64}).code, hp::move_code::ok);
}

TEST(move_plan, the_program_finds_what_the_compiler_found) {
  for (int i = 0; i < frozen::move_count; ++i) {
    frozen::move input = frozen::moves[i];
    // The optimizer must not see the constant through the copy.
    asm volatile("" : : "r"(&input) : "memory");
    EXPECT_TRUE(frozen::examine(input) == frozen::compiled_moves.of[i]) << "move " << i;
  }
}

TEST(move_plan, the_frozen_table_holds_every_kind_of_step) {
  bool kinds[10] = {}, steps[3] = {}, dealt = false;
  for (const frozen::move_findings& f : frozen::compiled_moves.of) {
    kinds[static_cast<int>(f.kind)] = true;
    steps[f.step_count] = true;
    dealt = dealt || f.parts > 0;
  }
  EXPECT_TRUE(kinds[static_cast<int>(hp::plan_kind::fill)] && kinds[static_cast<int>(hp::plan_kind::reduce_scatter)]);
  EXPECT_TRUE(kinds[static_cast<int>(hp::plan_kind::all_reduce)] && kinds[static_cast<int>(hp::plan_kind::reduction)]);
  EXPECT_TRUE(steps[0] && steps[1] && steps[2] && dealt);
}

}  // namespace
