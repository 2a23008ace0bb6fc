// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/groups/placement.hpp>

#include <gtest/gtest.h>

#include <hyperparallel/groups/program_period.hpp>

#include "groups/played_programs.hpp"

namespace hp = hyperparallel;
using code = hp::placement_code;
using kind = hp::program_sharing;
using status = hp::placement_status;

namespace {

struct world {
  hp::group_table table;
  hp::program_graph graph;
  hp::program_placement at;
};

/// An actor of 60 bytes beside a rollout of 40 on devices of `bytes`.
constexpr world rl(int last_of_generation, int first_of_training, hp::extent_t bytes, bool swapped, kind k) {
  world w;
  w.table.world = 8;
  hp::add_group(w.table, "generation", hp::rank_range{0, last_of_generation});
  hp::add_group(w.table, "training", hp::rank_range{first_of_training, 7});
  hp::add_program(w.graph, "rollout", "generation", 128);
  hp::add_program(w.graph, "train", "training", 99);
  hp::connect(w.graph, {.name = "samples", .from = 0, .to = 1});
  hp::connect(w.graph, {.name = "weights", .from = 1, .to = 0, .ready = 1});
  w.graph.row = hp::rows_of(w.graph, w.table);
  w.at = {k, bytes, 10};
  w.at.program.push({40, 20, swapped});
  w.at.program.push({60, 30});
  return w;
}
constexpr status why(const world& w) { return hp::check_placement(w.graph, w.table, w.at); }

static_assert(why(rl(3, 4, 90, false, kind::disjoint)).ok(), "60 and 90");
static_assert(why(rl(3, 4, 89, false, kind::disjoint)) ==
              status{.code = code::phase_does_not_fit, .program = 1, .row = 1, .given = 90, .expected = 89});
static_assert(why(rl(7, 0, 130, false, kind::colocated)).ok(), "100 resident and 30");
static_assert(why(rl(7, 0, 129, false, kind::colocated)) ==
              status{.code = code::phase_does_not_fit, .program = 1, .row = 0, .given = 130, .expected = 129});
static_assert(why(rl(7, 0, 120, true, kind::colocated)).ok(), "rollout is away while the actor is trained");
static_assert(why(rl(7, 0, 119, true, kind::colocated)) ==
                  status{.code = code::phase_does_not_fit, .program = 0, .row = 0, .given = 120, .expected = 119},
              "and the actor stays");
static_assert(why(rl(5, 4, 130, false, kind::disjoint)) ==
              status{.code = code::programs_share_a_rank, .program = 1, .other = 0, .row = 1});
static_assert(why(rl(5, 4, 130, false, kind::colocated)) ==
              status{.code = code::groups_differ, .program = 1, .other = 0, .row = 1});
static_assert(why(rl(5, 4, 130, false, kind::overlapping)).ok());

constexpr status changed(void (*change)(world&)) {
  world w = rl(7, 0, 130, true, kind::colocated);
  change(w);
  return why(w);
}
static_assert(changed([](world&) {}).ok());
static_assert(changed([](world& w) { w.graph.edge[1].ready = 0; }).code == code::programs_are_refused);
static_assert(changed([](world& w) { w.graph.edge[1].ready = 0; }).programs.code ==
              hp::programs_code::programs_wait_for_each_other);
static_assert(changed([](world& w) { w.at.program.push({}); }) ==
              status{.code = code::memory_of_other_programs, .given = 3, .expected = 2});
static_assert(changed([](world& w) { w.at.device_bytes = 0; }) ==
              status{.code = code::device_has_no_bytes, .given = 0});
static_assert(changed([](world& w) { w.at.program[1].working = -1; }) ==
              status{.code = code::bytes_are_negative, .program = 1});
static_assert(changed([](world& w) { w.at.swap_rate = 0; }) ==
              status{.code = code::swap_has_no_rate, .program = 0, .given = 0});
static_assert(changed([](world& w) { w.at.program[0].resident = INT64_MAX; }) ==
              status{.code = code::swaps_overflow, .program = 0});
static_assert(changed([](world& w) { w.at.program[1].resident = w.at.program[1].working = INT64_MAX; }) ==
              status{
                  .code = code::phase_does_not_fit, .program = 0, .row = 0, .given = hp::not_counted, .expected = 130});
static_assert(changed([](world& w) {
                w.at.swap_rate = 1;
                w.at.device_bytes = INT64_MAX;
                w.at.program[0].resident = INT64_MAX / 4;
              }).code == code::swaps_overflow);

constexpr hp::extent_t period(const world& w) { return hp::period_of(hp::with_swaps(w.graph, w.at)).time; }
static_assert(period(rl(7, 0, 130, false, kind::colocated)) == 227);
static_assert(period(rl(7, 0, 130, true, kind::colocated)) == 227 + 2 * 4, "40 bytes out and in, 10 in a unit of time");
static_assert(period(rl(3, 4, 130, true, kind::disjoint)) == 227, "alone on its rows it stays");

TEST(placement, every_phase_fits_exactly_where_no_rank_ever_holds_more) {
  played::dice roll(61);
  int fits = 0, not_fits = 0, swapped = 0;
  while (fits + not_fits < played::tries(2000, 40'000)) {
    const played::setting s = played::safe_setting(roll, 4, 3);
    hp::program_placement at{kind::overlapping, 12 + roll(20), 1 + roll(4)};
    for (int p = 0; p < s.graph.program.size; ++p) at.program.push({roll(12), roll(12), roll(3) == 0});
    const status st = hp::check_placement(s.graph, s.table, at);
    // Rank by rank: two rounds of turns, with the copies that swap.
    hp::extent_t most = 0;
    for (int rank = 0; rank < s.table.world; ++rank)
      for (const hp::program_row& row : s.graph.row) {
        if (hp::position_in({{}, row.ranks}, rank) < 0) continue;
        hp::extent_t held = 0;
        for (const int p : row.turn) held += at.program[p].swapped ? 0 : at.program[p].resident;
        hp::extent_t copied = 0;
        for (const int p : row.turn) {
          const hp::memory_of_program& m = at.program[p];
          const hp::extent_t in = m.swapped ? m.resident : 0;
          held += in;
          most = std::max(most, held + m.working);
          held -= in;
          copied += hp::detail::swaps(s.graph, at, p) ? 2 * in : 0;
        }
        swapped += copied > 0;
      }
    ASSERT_EQ(st.ok(), most <= at.device_bytes);
    ++(st.ok() ? fits : not_fits);
    if (!st.ok()) {
      ASSERT_EQ(st.code, code::phase_does_not_fit);
      ASSERT_GT(st.given, at.device_bytes);
      ASSERT_LE(st.given, most);
      continue;
    }
    const hp::program_graph g = hp::with_swaps(s.graph, at);
    ASSERT_TRUE(hp::check_programs(g, s.table).ok());
    for (int p = 0; p < g.program.size; ++p) {
      bool shared = false;
      for (int q = 0; q < g.program.size; ++q)
        for (int rank = 0; rank < s.table.world; ++rank)
          shared =
              shared ||
              (q != p && hp::position_in(s.table.group[hp::find_group(s.table, g.program[p].group.text)], rank) >= 0 &&
               hp::position_in(s.table.group[hp::find_group(s.table, g.program[q].group.text)], rank) >= 0);
      const hp::extent_t copy = (at.program[p].resident + at.swap_rate - 1) / at.swap_rate;
      ASSERT_EQ(g.program[p].duration - s.graph.program[p].duration, shared && at.program[p].swapped ? 2 * copy : 0);
    }
  }
  EXPECT_GT(fits, 300);
  EXPECT_GT(not_fits, 300);
  EXPECT_GT(swapped, 300);
}

TEST(placement, kinds_are_what_the_groups_are) {
  played::dice roll(67);
  int of_kind[3] = {};
  for (int i = 0; i < played::tries(1000, 20'000); ++i) {
    const played::setting s = played::safe_setting(roll, 4, 2);
    bool meet = false, differ = false;
    for (int p = 0; p < s.graph.program.size; ++p)
      for (int q = 0; q < p; ++q) {
        const hp::process_group &a = s.table.group[hp::find_group(s.table, s.graph.program[p].group.text)],
                                &b = s.table.group[hp::find_group(s.table, s.graph.program[q].group.text)];
        const bool common = hp::detail::first_common_rank(a.ranks, b.ranks) >= 0;
        meet = meet || common;
        differ = differ || (common && !(a.ranks == b.ranks));
      }
    const auto accepted = [&](kind k) {
      hp::program_placement at{k, 1};
      at.program.resize(s.graph.program.size);
      return hp::check_placement(s.graph, s.table, at).ok();
    };
    ASSERT_EQ(accepted(kind::disjoint), !meet);
    ASSERT_EQ(accepted(kind::colocated), !differ);
    ASSERT_TRUE(accepted(kind::overlapping));
    ++of_kind[!meet ? 0 : !differ ? 1 : 2];
  }
  for (const int n : of_kind) EXPECT_GT(n, 30);
}

}  // namespace
