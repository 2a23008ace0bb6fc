// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/groups/refused_programs.hpp>

#include <gtest/gtest.h>

#include <string>

namespace hp = hyperparallel;

namespace {

struct world {
  hp::group_table table;
  hp::program_graph graph;
  hp::program_placement at;
};

world rl() {
  world w;
  w.table.world = 8;
  hp::add_group(w.table, "generation", hp::rank_range{0, 5});
  hp::add_group(w.table, "training", hp::rank_range{4, 7});
  hp::add_program(w.graph, "rollout", "generation", 128);
  hp::add_program(w.graph, "train", "training", 99);
  hp::connect(w.graph, {.name = "samples", .from = 0, .to = 1});
  hp::connect(w.graph, {.name = "weights", .from = 1, .to = 0, .ready = 1, .room = 2, .move = 4});
  w.graph.row = hp::rows_of(w.graph, w.table);
  w.at.device_bytes = 130;
  w.at.swap_rate = 10;
  w.at.program.push({40, 20, true});
  w.at.program.push({60, 30});
  return w;
}

std::string why(void (*change)(world&)) {
  world w = rl();
  change(w);
  return hp::text_of_refusal(hp::check_placement(w.graph, w.table, w.at), w.graph, w.table);
}

TEST(refused_programs, sentences_name_programs_and_edges) {
  EXPECT_EQ(why([](world&) {}), "ok");
  EXPECT_EQ(why([](world& w) { w.graph = {}; }), "the graph has no program");
  EXPECT_EQ(why([](world& w) { w.graph.program[0].name = ""; }),
            "the name of a program is empty, or longer than 31 characters");
  EXPECT_EQ(why([](world& w) { w.graph.program[1].name = "rollout"; }), "program rollout stands twice");
  EXPECT_EQ(why([](world& w) { w.graph.program[1].duration = -3; }), "program train fires for -3, less than no time");
  EXPECT_EQ(why([](world& w) { w.graph.edge[0].name = ""; }),
            "the name of an edge is empty, or longer than 31 characters");
  EXPECT_EQ(why([](world& w) { w.graph.edge[1].name = "samples"; }), "edge samples stands twice");
  EXPECT_EQ(why([](world& w) { w.graph.edge[1].to = 7; }),
            "edge weights joins program number 7, and there are 2 programs");
  EXPECT_EQ(why([](world& w) { w.graph.edge[1].ready = -1; }), "edge weights has -1 versions ready, less than none");
  EXPECT_EQ(why([](world& w) { w.graph.edge[1].ready = 3; }),
            "edge weights has room for 2 versions, expected at least 3");
  EXPECT_EQ(why([](world& w) { w.graph.edge[1].move = -1; }), "edge weights moves for -1, less than no time");
  EXPECT_EQ(why([](world& w) { w.graph.edge[1].move = INT64_MAX; }),
            "durations, moves and versions together leave 64 bits");
  EXPECT_EQ(why([](world& w) { w.graph.edge[1].behind = 0, w.graph.edge[1].ready = 2; }),
            "edge weights claims to be at most 0 firings behind, and its versions are used up to 1 behind");
  EXPECT_EQ(
      why([](world& w) {
        w.graph.edge[1].behind = 0;
        hp::connect(w.graph, {.name = "caches", .from = 0, .to = 0, .ready = 1, .room = 2});
      }),
      "what is made with edge weights goes round through program rollout, so no bound holds for how far behind it is");
}

TEST(refused_programs, sentences_name_rows_and_groups) {
  EXPECT_EQ(why([](world& w) { w.graph.row[2].ranks.clear(); }), "row 2 has no ranks");
  EXPECT_EQ(why([](world& w) { w.graph.row[2].ranks[0] = {7, 6}; }),
            "row 2 has ranks from 7 to 6, which runs backwards");
  EXPECT_EQ(why([](world& w) { w.graph.row[2].ranks[0] = {5, 7}; }), "rank 5 is in rows 1 and 2");
  EXPECT_EQ(why([](world& w) { w.graph.row[2].turn.push(4); }),
            "row 2 has a turn of program number 4, and there are 2 programs");
  EXPECT_EQ(why([](world& w) { w.graph.row[2].turn.push(1); }), "program train has two turns in row 2");
  EXPECT_EQ(why([](world& w) { w.graph.row[2].ranks[0] = {6, 9}; }), "rank 9 of row 2 is outside the world of 8 ranks");
  EXPECT_EQ(why([](world& w) { w.graph.row[1].turn.resize(1); }),
            "row 1 has rank 4 of program train, and no turn of it");
  EXPECT_EQ(why([](world& w) { w.graph.row[0].turn.push(1); }),
            "row 0 has a turn of program train, and none of its ranks");
  EXPECT_EQ(why([](world& w) { w.graph.row[2].ranks[0] = 6; }), "rank 7 of program train is in no row");
  EXPECT_EQ(why([](world& w) { w.graph.program[1].group = "trainer"; }),
            "program train is on group trainer, which does not exist: the nearest is training");
  EXPECT_EQ(why([](world& w) { w.table.disjoint = true; }),
            "groups generation and training share rank 4, and the table asks for disjoint groups");
  EXPECT_EQ(hp::text_of_refusal({.code = hp::programs_code::wait_is_missing, .program = 1, .other = 0, .edge = 0},
                                rl().graph),
            "program train does not wait for rollout over edge samples");
  EXPECT_EQ(
      hp::text_of_refusal({.code = hp::programs_code::wait_is_missing, .program = 1, .other = 0, .row = 1}, rl().graph),
      "program train does not wait for rollout in row 1");
  EXPECT_EQ(hp::text_of_refusal({.code = hp::programs_code::wait_is_missing, .program = 1, .other = 1}, rl().graph),
            "program train does not wait for train");
}

TEST(refused_programs, sentences_name_who_waits_for_whom) {
  EXPECT_EQ(hp::detail::text_of_cycle(rl().graph), "");
  EXPECT_EQ(why([](world& w) { w.graph.edge[1].ready = 0; }),
            "programs wait for each other: rollout waits for weights of train, train waits for samples of rollout");
  EXPECT_EQ(why([](world& w) { std::swap(w.graph.row[1].turn[0], w.graph.row[1].turn[1]); }),
            "programs wait for each other: rollout waits for its turn behind train in row 1, train waits for samples "
            "of rollout");
  EXPECT_EQ(why([](world& w) { w.graph.edge[1].room = 1; }), "ok");
  EXPECT_EQ(
      why([](world& w) { w.graph.edge[0].ready = 1; }),
      "programs wait for each other: rollout waits for room in samples behind train, train waits for its turn behind "
      "rollout in row 1");
  EXPECT_EQ(why([](world& w) { hp::connect(w.graph, {.name = "caches", .from = 0, .to = 0, .ready = 1, .room = 1}); }),
            "programs wait for each other: rollout waits for room in caches behind rollout");
}

TEST(refused_programs, sentences_name_phases_and_bytes) {
  EXPECT_EQ(why([](world& w) { w.at.device_bytes = 110; }),
            "while program rollout fires, row 1 holds 120 bytes on a rank, more than the 110 of a device");
  EXPECT_EQ(why([](world& w) { w.at.device_bytes = 0; }), "a device has 0 bytes, expected at least 1");
  EXPECT_EQ(why([](world& w) { w.at.program.push({}); }), "the placement has bytes of 3 programs, and there are 2");
  EXPECT_EQ(why([](world& w) { w.at.program[1].working = -1; }), "program train has less than no bytes");
  EXPECT_EQ(why([](world& w) { w.at.swap_rate = 0; }), "program rollout is swapped, and copies have a rate of 0");
  EXPECT_EQ(why([](world& w) { w.at.program[0].resident = INT64_MAX; }),
            "the time of program rollout with its swaps leaves 64 bits");
  EXPECT_EQ(why([](world& w) { w.at.kind = hp::program_sharing::disjoint; }),
            "programs rollout and train share the ranks of row 1, and the placement is disjoint");
  EXPECT_EQ(why([](world& w) { w.at.kind = hp::program_sharing::colocated; }),
            "programs rollout and train share row 1, but not all of their ranks, and the placement is colocated");
  EXPECT_STREQ(hp::name_of(hp::program_sharing::colocated), "colocated");
}

TEST(refused_programs, a_period_is_one_line) {
  const world w = rl();
  EXPECT_EQ(hp::text_of_period(w.graph, hp::period_of(w.graph)), "231 = rollout 128 + train 99 + weights 4, 1 firing");
  hp::program_graph g = w.graph;
  g.row.clear();
  g.edge[0].room = g.edge[1].ready = 2;
  EXPECT_EQ(hp::text_of_period(g, hp::period_of(g)), "128 = rollout 128, 1 firing");
  g.edge[1].move = 80;
  EXPECT_EQ(hp::text_of_period(g, hp::period_of(g)), "307 = rollout 128 + train 99 + weights 80, 2 firings");
}

TEST(refused_programs, every_code_has_words) {
  for (int c = 1; c <= static_cast<int>(hp::programs_code::rank_has_no_row); ++c) {
    const std::string key = std::string("programs_code::") + hp::name_of(static_cast<hp::programs_code>(c));
    EXPECT_NE(hp::detail::find_refusal(key.c_str()), nullptr) << key;
  }
  for (int c = 1; c <= static_cast<int>(hp::placement_code::swaps_overflow); ++c) {
    const std::string key = std::string("placement_code::") + hp::name_of(static_cast<hp::placement_code>(c));
    EXPECT_NE(hp::detail::find_refusal(key.c_str()), nullptr) << key;
  }
}

}  // namespace
