// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/controller/channel.hpp>

#include <hyperparallel/groups/check_programs.hpp>

#include <support/error_of.hpp>
#include <support/tries.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace hp = hyperparallel;

namespace {

hp::program_row row_of(int rank, std::initializer_list<int> turns) {
  hp::program_row r;
  r.ranks.push(rank);
  for (const int p : turns) r.turn.push(p);
  return r;
}

/// A random graph that is live, with edges of either kind; programs on rows of their own or together.
hp::program_graph random_graph(std::mt19937& random, bool newest) {
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  hp::program_graph g;
  const int programs = 1 + below(5);
  for (int p = 0; p < programs; ++p) hp::add_program(g, ("p" + std::to_string(p)).c_str(), "");
  for (int e = 0, edges = below(8); e < edges; ++e) {
    const int from = below(programs), to = below(programs), ready = to > from ? below(3) : 1 + below(3);
    hp::connect(g, {.name = hp::short_text(("e" + std::to_string(e)).c_str()),
                    .from = from,
                    .to = to,
                    .ready = ready,
                    .room = std::max(ready + below(3), 1),
                    .reads = newest && below(2) == 0 ? hp::edge_reads::newest : hp::edge_reads::every});
  }
  for (int p = 0; p < programs;) {
    hp::program_row r = row_of(p, {});
    for (int n = 1 + below(3); n > 0 && p < programs; --n) r.turn.push(p++);
    g.row.push(r);
  }
  return g;
}

/// Programs that each have a number, which every firing mixes with all that it reads; what was written is kept.
struct mixing_programs {
  hp::program_graph graph;
  hp::controller c;
  std::vector<hp::channel<std::uint64_t>> edge;
  std::vector<std::uint64_t> state, kept;
  int fails_at = -1;  ///< the call of `moment` that throws
  std::atomic<int> moments{0};

  mixing_programs(const hp::program_graph& g, int threads) : graph(g), c(g, {}, {.threads = threads}) {
    for (int e = 0; e < g.edge.size; ++e) edge.emplace_back(c, g.edge[e].name.text, static_cast<std::uint64_t>(e + 7));
    for (int p = 0; p < g.program.size; ++p) state.push_back(static_cast<std::uint64_t>(p + 1));
    kept = state;
    for (int p = 0; p < g.program.size; ++p) {
      const auto at = static_cast<std::size_t>(p);
      c.set_program(g.program[p].name.text,
                    {[this, p](const hp::firing& f) { fire(p, f); }, [this, at] { moment(), kept[at] = state[at]; },
                     [this, at] { state[at] = kept[at]; }});
    }
  }
  void moment() {
    if (moments++ == fails_at) throw std::runtime_error("lost");
  }
  void fire(int p, const hp::firing& f) {
    std::uint64_t& own = state[static_cast<std::size_t>(p)];
    for (int e = 0; e < graph.edge.size; ++e) {
      if (graph.edge[e].to != p) continue;
      moment();
      own = (own ^ edge[static_cast<std::size_t>(e)].read(f)) * 0x9E3779B97F4A7C15u + 1;
    }
    moment();
    own = own * 3 + static_cast<std::uint64_t>(f.number());
    for (int e = 0; e < graph.edge.size; ++e) {
      if (graph.edge[e].from != p) continue;
      edge[static_cast<std::size_t>(e)].write(f) = own + static_cast<std::uint64_t>(e);
      moment();
    }
  }
};

TEST(Controller, EveryNumberOfThreadsGivesTheSameValues) {
  std::mt19937 random(1);
  for (int i = 0, tried = 0; tried < tested::tries(40, 2000); ++i) {
    const hp::program_graph g = random_graph(random, false);
    if (!hp::check_programs(g).ok()) continue;
    ++tried;
    mixing_programs one(g, 1);
    EXPECT_EQ(one.c.run(30), hp::run_result::complete);
    for (const int threads : {0, 2, 3}) {
      mixing_programs many(g, threads);
      many.c.run(11);
      many.c.run(30);
      EXPECT_EQ(many.state, one.state) << "graph " << i << ", " << threads << " threads";
    }
  }
}

TEST(Controller, ARunThatIsReplayedReadsTheSame) {
  std::mt19937 random(2);
  int differing = 0;
  for (int i = 0, tried = 0; tried < tested::tries(40, 2000); ++i) {
    const hp::program_graph g = random_graph(random, true);
    if (!hp::check_programs(g).ok()) continue;
    ++tried;
    mixing_programs first(g, 0), again(g, i % 3), one(g, 1);
    first.c.run(60);
    one.c.run(60);
    differing += first.state != one.state;
    for (const hp::program_edge& e : g.edge)
      if (e.reads == hp::edge_reads::newest) again.c.replay(e.name.text, first.c.versions_read(e.name.text));
    EXPECT_EQ(again.c.run(60), hp::run_result::complete);
    EXPECT_EQ(again.state, first.state) << "graph " << i;
    for (const hp::program_edge& e : g.edge)
      if (e.reads == hp::edge_reads::newest) {
        EXPECT_EQ(again.c.versions_read(e.name.text), first.c.versions_read(e.name.text));
      }
  }
  EXPECT_GT(differing, 0);  // or time would have decided nothing
}

TEST(Controller, TheNewestVersionIsNeverOlderThanTheGraphSays) {
  hp::program_graph g;
  const int fast = hp::add_program(g, "fast", ""), slow = hp::add_program(g, "slow", "");
  hp::connect(g, {.name = "weights", .from = fast, .to = slow, .ready = 2, .room = 2, .reads = hp::edge_reads::newest});
  hp::controller c(g);
  hp::channel<int> weights(c, "weights", 1);  // version - or 1 at first
  std::vector<int> read;
  c.set_program("fast", {[&](const hp::firing& f) { weights.write(f) = static_cast<int>(f.number()) + 2; }});
  c.set_program("slow", {[&](const hp::firing& f) {
                  EXPECT_EQ(weights.version_read(f), weights.read(f));
                  EXPECT_GE(weights.version_read(f), std::max<std::int64_t>(f.number(), 1));
                  read.push_back(weights.read(f));
                }});
  c.run(200);
  const std::vector<std::int64_t> recorded = c.versions_read("weights");
  EXPECT_EQ(std::vector<int>(recorded.begin(), recorded.end()), read);
}

TEST(Controller, ProgramsTakeTheirTurns) {
  hp::program_graph g;
  for (const char* name : {"a", "b", "c"}) hp::add_program(g, name, "");
  g.row.push(row_of(0, {1, 0}));  // b is on both rows
  g.row.push(row_of(1, {1, 2}));
  hp::controller c(g);
  std::atomic<int> a{0}, b{0}, other{0};
  c.set_program("a", {[&](const hp::firing&) { EXPECT_EQ(b.load(), ++a); }});
  c.set_program("b", {[&](const hp::firing&) {
                  EXPECT_EQ(a.load(), b.load());
                  EXPECT_EQ(other.load(), b++);
                }});
  c.set_program("c", {[&](const hp::firing&) { EXPECT_EQ(b.load(), ++other); }});
  c.run(100);
  EXPECT_EQ(a + b + other, 300);
}

TEST(Controller, NothingIsLostButTheFiringThatFails) {
  std::mt19937 random(3);
  int failures = 0;
  for (int i = 0; failures < tested::tries(120, 5000); ++i) {
    const hp::program_graph g = random_graph(random, i % 2 == 0);
    if (!hp::check_programs(g).ok()) continue;
    mixing_programs hurt(g, i % 3), calm(g, 1);
    hurt.fails_at = static_cast<int>(random() % 400);
    hp::failed_firing lost;
    try {
      hurt.c.run(40);
    } catch (const hp::controller_error& e) {
      ASSERT_EQ(e.failed.size(), 1u) << e.what();
      lost = e.failed[0];
      const std::string name = g.program[lost.program].name.text;
      EXPECT_EQ(lost.why, "lost");
      EXPECT_EQ(hurt.c.firings(name), lost.number);
      EXPECT_NE(std::string(e.what()).find("program " + name + " failed in firing " + std::to_string(lost.number)),
                std::string::npos)
          << e.what();
      EXPECT_EQ(hp::detail::find_program(g, name.c_str()), lost.program);
      EXPECT_NE(tested::error_of<hp::program_error>([&] { hurt.c.run(40); }).find("restart it"), std::string::npos);
      ++failures;
      hurt.c.restart(name);
    }
    EXPECT_EQ(hurt.c.run(40), hp::run_result::complete);
    for (const hp::program_edge& e : g.edge)
      if (e.reads == hp::edge_reads::newest) calm.c.replay(e.name.text, hurt.c.versions_read(e.name.text));
    calm.c.run(40);
    EXPECT_EQ(hurt.state, calm.state) << "graph " << i;
  }
}

TEST(Controller, AProgramThatIsCancelledIsNamedAndTheOthersDrain) {
  hp::program_graph g;
  const int rollout = hp::add_program(g, "rollout", "generation"), train = hp::add_program(g, "train", "training");
  hp::connect(g, {.name = "samples", .from = rollout, .to = train});
  hp::group_table t;
  t.world = 6;
  hp::add_group(t, "generation", hp::rank_range{2, 5});
  hp::add_group(t, "training", 0, 1);
  g.row = hp::rows_of(g, t);
  hp::controller c(g, t);
  std::atomic<bool> ends{false};
  c.set_program("rollout", {[](const hp::firing&) {}});
  c.set_program("train", {.fire =
                              [&](const hp::firing& f) {
                                while (f.number() == 3 && !ends) std::this_thread::yield();
                              },
                          .cancel = [&] { ends = true; }});
  std::jthread killer([&] {
    while (c.firings("train") < 3) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    c.cancel("train");
  });
  EXPECT_EQ(tested::error_of<hp::controller_error>([&] { c.run(10); }),
            "program train on ranks 0, 1 failed in firing 3, which read version 3 of edge samples: it was cancelled");
  killer.join();
  c.restart("train");
  EXPECT_EQ(c.run(10), hp::run_result::complete);
}

TEST(Controller, ARunThatIsStoppedGoesOn) {
  hp::program_graph g;
  hp::add_program(g, "a", "");
  hp::controller c(g);
  c.set_program("a", {[&](const hp::firing& f) {
                  if (f.number() == 4) c.stop();
                }});
  EXPECT_EQ(c.run(9), hp::run_result::cancelled);
  EXPECT_EQ(c.firings("a"), 5);
  EXPECT_EQ(c.run(9), hp::run_result::complete);
  EXPECT_EQ(c.use("a").firings, 4);
}

TEST(Controller, RefusesWhatCannotRun) {
  hp::program_graph g;
  const int a = hp::add_program(g, "a", ""), b = hp::add_program(g, "b", "group");
  const auto refusal = [](const hp::program_graph& of) {
    return tested::error_of<hp::program_error>([&] { hp::controller c(of); });
  };
  hp::program_graph bad = g;
  hp::connect(bad, {.name = "e", .from = a, .to = 2});
  EXPECT_EQ(refusal(bad), "edge e joins program number 2, and there are 2 programs");
  bad = g;
  hp::connect(bad, {.name = "e", .from = a, .to = b, .ready = 3, .room = 2});
  EXPECT_EQ(refusal(bad), "edge e has room for 2 versions, expected at least 3");
  bad = g;
  bad.row.push(row_of(0, {0, 5}));
  EXPECT_EQ(refusal(bad), "row 0 has a turn of program number 5, and there are 2 programs");
  bad = g;
  hp::connect(bad, {.name = "there", .from = a, .to = b});
  hp::connect(bad, {.name = "back", .from = b, .to = a});
  EXPECT_EQ(refusal(bad), "programs wait for each other: a waits for back of b, b waits for there of a");
  hp::connect(g, {.name = "e", .from = a, .to = b, .reads = hp::edge_reads::newest});
  hp::controller c(g);
  EXPECT_EQ(tested::error_of<hp::program_error>([&] { c.run(1); }),
            "program a has nothing to run: set_program gives it");
  EXPECT_EQ(tested::error_of<hp::program_error>([&] { c.set_program("d", {}); }),
            "no program of the graph is called d");
  EXPECT_EQ(tested::error_of<hp::program_error>([&] { c.set_program("a", {}); }), "program a is given nothing to run");
  hp::channel<int> e(c, "e");
  c.set_program("a", {[&](const hp::firing& f) { e.read(f); }});
  c.set_program("b", {[&](const hp::firing&) {}});
  EXPECT_EQ(tested::error_of<hp::controller_error>([&] { c.run(1); }),
            "program a failed in firing 0: program a reads edge e, which goes to program b");
  const std::vector<std::int64_t> falling = {3, 2}, late = {0, 9};
  EXPECT_EQ(tested::error_of<hp::program_error>([&] { c.replay("e", falling); }),
            "edge e: firing 1 is to read version 2, where 3 is there");
  c.replay("e", late);
  c.set_program("a", {[&](const hp::firing& f) { e.write(f) = 1; }});
  EXPECT_EQ(tested::error_of<hp::controller_error>([&] { c.run(2); }),
            "no program can go on: program b on group group waits in firing 1 for version 9 of edge e");
}

}  // namespace
