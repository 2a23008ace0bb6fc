// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/groups/check_programs.hpp>

#include <gtest/gtest.h>

#include "groups/played_programs.hpp"

namespace hp = hyperparallel;
using code = hp::programs_code;
using status = hp::programs_status;

namespace {

constexpr hp::group_table groups() {
  hp::group_table t;
  t.world = 8;
  hp::add_group(t, "generation", hp::rank_range{0, 5});
  hp::add_group(t, "training", hp::rank_range{4, 7});
  return t;
}

constexpr hp::program_graph rl() {
  hp::program_graph g;
  const int rollout = hp::add_program(g, "rollout", "generation", 128),
            train = hp::add_program(g, "train", "training", 99);
  hp::connect(g, {.name = "samples", .from = rollout, .to = train, .ready = 0, .room = 1});
  hp::connect(g, {.name = "weights", .from = train, .to = rollout, .ready = 1, .room = 2});
  g.row = hp::rows_of(g, groups());
  return g;
}
constexpr status why(void (*change)(hp::program_graph&, hp::group_table&)) {
  hp::program_graph g = rl();
  hp::group_table t = groups();
  change(g, t);
  return hp::check_programs(g, t);
}

static_assert(hp::check_programs(rl(), groups()).ok());
static_assert(rl().row.size == 3 && rl().row[1].turn.size == 2 && rl().row[1].ranks[0] == hp::rank_range{4, 5});
static_assert(hp::detail::find_program(rl(), "train") == 1 && hp::detail::find_program(rl(), "reward") == -1);
static_assert(hp::find_edge(rl(), "weights") == 1 && hp::find_edge(rl(), "caches") == -1);
static_assert(why([](auto& g, auto&) { g = {}; }) == status{.code = code::graph_has_no_program});
static_assert(why([](auto& g, auto&) { g.program[1].name = ""; }) ==
              status{.code = code::program_name_is_empty_or_too_long, .program = 1});
static_assert(why([](auto& g, auto&) { hp::add_program(g, "a name of thirty-two characters!", "training"); }).code ==
              code::program_name_is_empty_or_too_long);
static_assert(why([](auto& g, auto&) { g.program[1].name = "rollout"; }) ==
              status{.code = code::program_stands_twice, .program = 1, .other = 0});
static_assert(why([](auto& g, auto&) { g.program[1].duration = -1; }) ==
              status{.code = code::duration_is_negative, .program = 1, .given = -1});
static_assert(why([](auto& g, auto&) { g.edge[1].name = ""; }) ==
              status{.code = code::edge_name_is_empty_or_too_long, .edge = 1});
static_assert(why([](auto& g, auto&) { g.edge[1].name = "samples"; }) ==
              status{.code = code::edge_stands_twice, .other = 0, .edge = 1});
static_assert(why([](auto& g, auto&) { g.edge[1].to = 2; }) ==
              status{.code = code::edge_end_is_no_program, .edge = 1, .given = 2, .expected = 2});
static_assert(why([](auto& g, auto&) { g.edge[0].from = -1; }) ==
              status{.code = code::edge_end_is_no_program, .edge = 0, .given = -1, .expected = 2});
static_assert(why([](auto& g, auto&) { g.edge[0].ready = -1; }) ==
              status{.code = code::ready_is_negative, .edge = 0, .given = -1});
static_assert(why([](auto& g, auto&) { g.edge[0].room = 0; }) ==
              status{.code = code::room_is_too_small, .edge = 0, .given = 0, .expected = 1});
static_assert(why([](auto& g, auto&) { g.edge[1].ready = 3; }) ==
              status{.code = code::room_is_too_small, .edge = 1, .given = 2, .expected = 3});
static_assert(why([](auto& g, auto&) { g.edge[1].move = -2; }) ==
              status{.code = code::move_is_negative, .edge = 1, .given = -2});
static_assert(why([](auto& g, auto&) { g.row[0].ranks.clear(); }) == status{.code = code::row_has_no_ranks, .row = 0});
static_assert(why([](auto& g, auto&) { g.row[0].ranks[0] = {3, 1}; }) ==
              status{.code = code::row_runs_backwards, .row = 0, .rank = 3, .given = 1});
static_assert(why([](auto& g, auto&) { g.row[2].ranks[0] = {5, 7}; }) ==
              status{.code = code::rows_share_a_rank, .other = 1, .row = 2, .rank = 5});
static_assert(why([](auto& g, auto&) { g.row[2].ranks.push(7); }) ==
              status{.code = code::rows_share_a_rank, .other = 2, .row = 2, .rank = 7});
static_assert(why([](auto& g, auto&) { g.row[1].turn.push(2); }) ==
              status{.code = code::turn_is_no_program, .row = 1, .given = 2, .expected = 2});
static_assert(why([](auto& g, auto&) { g.row[1].turn.push(0); }) ==
              status{.code = code::program_has_two_turns, .program = 0, .row = 1});
static_assert(why([](auto& g, auto&) { g.edge[1].ready = 0; }).code == code::programs_wait_for_each_other);
static_assert(why([](auto& g, auto&) { g.row[1].turn[0] = 1, g.row[1].turn[1] = 0; }).code ==
                  code::programs_wait_for_each_other,
              "train first, which waits for samples");
static_assert(why([](auto& g, auto&) { g.edge[1].ready = 2, g.edge[1].behind = 0; }) ==
              status{.code = code::staleness_is_exceeded, .edge = 1, .given = 0, .expected = 1});
static_assert(why([](auto&, auto& t) { t.world = 0; }).groups ==
              hp::group_status{.code = hp::group_code::world_cannot_be, .given = 0});
static_assert(why([](auto&, auto& t) { t.disjoint = true; }).groups ==
              hp::group_status{.code = hp::group_code::groups_share_a_rank, .group = 1, .other = 0, .rank = 4});
static_assert(why([](auto&, auto& t) { t.group[0].ranks.clear(); }).groups.code == hp::group_code::group_has_no_ranks);
static_assert(why([](auto& g, auto&) { g.program[0].group = "generator"; }) ==
              status{.code = code::program_names_no_group, .program = 0, .group = 0});
static_assert(why([](auto& g, auto&) { g.row[2].ranks[0] = {6, 8}; }) ==
              status{.code = code::row_is_outside_the_world, .row = 2, .rank = 8, .given = 8});
static_assert(why([](auto& g, auto&) { g.row[1].turn.resize(1); }) ==
              status{.code = code::row_misses_a_program, .program = 1, .row = 1, .rank = 4});
static_assert(why([](auto& g, auto&) { g.row[0].turn.push(1); }) ==
              status{.code = code::row_has_a_foreign_program, .program = 1, .row = 0});
static_assert(why([](auto& g, auto&) { g.row[0].ranks[0] = {1, 3}; }) ==
              status{.code = code::rank_has_no_row, .program = 0, .rank = 0});
static_assert(why([](auto& g, auto&) { g.row.clear(); }) ==
              status{.code = code::rank_has_no_row, .program = 0, .rank = 0});

TEST(check_programs, sums_of_times_that_leave_64_bits_are_refused) {
  hp::program_graph g = rl();
  g.program[0].duration = INT64_MAX / 1000;
  EXPECT_TRUE(hp::check_programs(g).ok());
  g.program[0].duration = INT64_MAX / 2;
  EXPECT_EQ(hp::check_programs(g).code, code::times_overflow);
  g.program[0].duration = g.program[1].duration = INT64_MAX;
  EXPECT_EQ(hp::check_programs(g).code, code::times_overflow);
  g = rl();
  g.edge[0].move = INT64_MAX;
  EXPECT_EQ(hp::check_programs(g).code, code::times_overflow);
  g = rl();
  g.edge[0].ready = g.edge[0].room = INT32_MAX;
  EXPECT_EQ(hp::check_programs(g).code, code::times_overflow);
}

TEST(check_programs, crossed_rows_wait_for_each_other) {
  hp::program_graph g;
  hp::group_table t;
  t.world = 2;
  hp::add_group(t, "all", hp::rank_range{0, 1});
  hp::add_program(g, "a", "all");
  hp::add_program(g, "b", "all");
  for (int r = 0; r < 2; ++r) {
    hp::program_row row;
    row.ranks.push(r);
    row.turn.push(r);
    row.turn.push(1 - r);
    g.row.push(row);
  }
  const status s = hp::check_programs(g, t);
  EXPECT_EQ(s.code, code::programs_wait_for_each_other);
  EXPECT_GE(s.row, 0);
  std::swap(g.row[1].turn[0], g.row[1].turn[1]);
  EXPECT_TRUE(hp::check_programs(g, t).ok());
}

TEST(check_programs, rows_are_derived_with_every_rank_once_and_one_order) {
  played::dice roll(17);
  for (int i = 0; i < played::tries(500, 20'000); ++i) {
    played::setting s = played::any_setting(roll, 4, 1);
    s.graph.edge.clear();
    ASSERT_TRUE(hp::check_programs(s.graph, s.table).ok()) << "rows of one order, and no edges";
    for (int rank = 0; rank < s.table.world; ++rank) {
      int rows = 0, used = 0;
      for (const hp::group_program& p : s.graph.program)
        used += hp::position_in(s.table.group[hp::find_group(s.table, p.group.text)], rank) >= 0;
      for (const hp::program_row& row : s.graph.row) {
        if (hp::position_in({{}, row.ranks}, rank) < 0) continue;
        ++rows;
        ASSERT_EQ(row.turn.size, used);
      }
      ASSERT_EQ(rows, used > 0);
    }
    for (int a = 0; a < s.graph.row.size; ++a)
      for (int b = 0; b < a; ++b) ASSERT_FALSE(s.graph.row[a].turn == s.graph.row[b].turn);
  }
}

TEST(check_programs, ranks_stay_ranges) {
  hp::group_table t;
  t.world = 1 << 30;
  hp::add_group(t, "generation", hp::rank_range{0, (1 << 30) - 1});
  hp::add_group(t, "training", hp::rank_range{1 << 29, (1 << 30) - 1});
  hp::program_graph g = rl();
  g.row = hp::rows_of(g, t);
  EXPECT_EQ(g.row.size, 2);
  EXPECT_TRUE(hp::check_programs(g, t).ok());
}

}  // namespace
