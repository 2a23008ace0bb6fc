// SPDX-License-Identifier: Apache-2.0
// processes: 4
#include <hyperparallel/mpi/process_link.hpp>

#include <hyperparallel/groups/check_programs.hpp>

#include <support/error_of.hpp>

#include <gtest/gtest.h>

#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace hp = hyperparallel;

namespace {

int process() {
  int p = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &p);
  return p;
}

/// Programs on random runs of the four ranks, and edges between them.
struct random_programs {
  hp::group_table t;
  hp::program_graph g;

  explicit random_programs(std::mt19937& random) {
    const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
    t.world = 4;
    const int programs = 2 + below(3);
    for (int p = 0; p < programs; ++p) {
      const std::string name = "p" + std::to_string(p);
      const int first = below(4), last = first + below(4 - first);
      hp::add_group(t, name.c_str(), hp::rank_range(first, last));
      hp::add_program(g, name.c_str(), name.c_str());
    }
    for (int e = 0; e < programs; ++e) {
      const int from = below(programs), to = below(programs), ready = to > from ? below(2) : 1 + below(2);
      hp::connect(g, {.name = hp::short_text(("e" + std::to_string(e)).c_str()),
                      .from = from,
                      .to = to,
                      .ready = ready,
                      .room = std::max(ready, 1) + below(2)});
    }
    g.row = hp::rows_of(g, t);
  }
};

TEST(ProcessLink, ProgramsKeepToWaitsAndTurnsWhereverTheyLive) {
  std::mt19937 random(4);
  for (int i = 0, tried = 0; tried < 20; ++i) {
    const random_programs r(random);
    if (!hp::check_programs(r.g, r.t).ok()) continue;
    ++tried;
    hp::process_link link(MPI_COMM_WORLD, r.g, r.t);
    hp::controller c(r.g, r.t, {.link = &link});
    for (int p = 0; p < r.g.program.size; ++p) {
      const std::string name = r.g.program[p].name.text;
      EXPECT_EQ(link.is_here(p), hp::position_in(r.t.group[p], process()) >= 0);
      if (!link.is_here(p)) continue;
      c.set_program(name, {[&, p, name](const hp::firing& f) {
                      EXPECT_EQ(f.number(), c.firings(name));
                      for (const hp::program_wait& w : hp::waits_of(r.g))
                        if (w.to == p) {
                          EXPECT_GE(c.firings(r.g.program[w.from].name.text),
                                    f.number() + (w.kind == hp::wait_kind::itself ? 0 : 1 - w.back));
                        }
                      const std::int64_t own = f.number();
                      std::int64_t least = 0,
                                   most = 0;  // a collective: all of the program's processes are in one firing
                      MPI_Allreduce(&own, &least, 1, MPI_INT64_T, MPI_MIN, link.processes_of(p));
                      MPI_Allreduce(&own, &most, 1, MPI_INT64_T, MPI_MAX, link.processes_of(p));
                      EXPECT_EQ(least, most);
                    }});
    }
    EXPECT_EQ(c.run(3), hp::run_result::complete);
    EXPECT_EQ(c.run(12), hp::run_result::complete);
    for (const hp::group_program& p : r.g.program) EXPECT_EQ(c.firings(p.name.text), 12);
  }
}

TEST(ProcessLink, AFiringThatFailsOnOneProcessIsNamedOnAllAndIsTriedAgain) {
  std::mt19937 random(5);
  for (int i = 0, tried = 0; tried < 20; ++i) {
    const random_programs r(random);
    if (!hp::check_programs(r.g, r.t).ok()) continue;
    ++tried;
    hp::process_link link(MPI_COMM_WORLD, r.g, r.t);
    hp::controller c(r.g, r.t, {.link = &link});
    const int bad = static_cast<int>(random() % static_cast<unsigned>(r.g.program.size));
    const std::int64_t when = static_cast<std::int64_t>(random() % 10);
    bool fails = true;
    std::vector<int> fired(static_cast<std::size_t>(r.g.program.size));
    for (int p = 0; p < r.g.program.size; ++p)
      if (link.is_here(p))
        c.set_program(r.g.program[p].name.text, {[&, p](const hp::firing& f) {
                        const bool last_rank =
                            process() == hp::rank_at(r.t.group[p], static_cast<int>(hp::rank_count(r.t.group[p])) - 1);
                        if (p == bad && f.number() == when && fails && last_rank) throw std::runtime_error("lost");
                        ++fired[static_cast<std::size_t>(p)];
                      }});
    const std::string text = tested::error_of<hp::controller_error>([&] { c.run(10); });
    EXPECT_NE(text.find("program p" + std::to_string(bad) + " on rank"), std::string::npos) << text;
    EXPECT_NE(text.find(" failed in firing " + std::to_string(when)), std::string::npos) << text;
    EXPECT_NE(text.find(": lost"), std::string::npos) << text;
    EXPECT_EQ(c.firings(r.g.program[bad].name.text), when);
    EXPECT_NE(tested::error_of<hp::program_error>([&] { c.run(10); }).find("restart it"), std::string::npos);
    fails = false;
    c.restart(r.g.program[bad].name.text);
    EXPECT_EQ(c.run(10), hp::run_result::complete);
    for (int p = 0; p < r.g.program.size; ++p) {
      EXPECT_EQ(c.firings(r.g.program[p].name.text), 10);
      if (link.is_here(p)) {
        EXPECT_LE(fired[static_cast<std::size_t>(p)], 10 + (p == bad ? 1 : 0));
      }
    }
  }
}

TEST(ProcessLink, RefusesGroupsOfMoreRanksAndEdgesOfTheNewest) {
  hp::group_table t;
  t.world = 5;
  hp::add_group(t, "a", hp::rank_range{0, 4});
  hp::program_graph g;
  hp::add_program(g, "a", "a");
  g.row = hp::rows_of(g, t);
  EXPECT_EQ(tested::error_of<hp::program_error>([&] { hp::process_link(MPI_COMM_WORLD, g, t); }),
            "the groups have 5 ranks, there are 4 processes");
  t.world = 4;
  t.group[0].ranks[0].last = 3;
  g.row = hp::rows_of(g, t);
  hp::connect(g, {.name = "e", .from = 0, .to = 0, .ready = 1, .reads = hp::edge_reads::newest});
  hp::process_link link(MPI_COMM_WORLD, g, t);
  EXPECT_EQ(tested::error_of<hp::program_error>([&] { hp::controller(g, t, {.link = &link}); }),
            "edge e reads the newest version: between processes edges are read version by version");
}

}  // namespace
