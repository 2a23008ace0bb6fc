// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/controller/channel.hpp>

#include <support/error_of.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace hp = hyperparallel;

namespace {

TEST(Channel, ReadsWhatWasWrittenVersionByVersionInAsManySlotsAsThereIsRoom) {
  for (const int ready : {0, 1, 3})
    for (const int room : {std::max(ready, 1), ready + 2})
      for (const int threads : {1, 2}) {
        hp::program_graph g;
        const int writer = hp::add_program(g, "writer", ""), reader = hp::add_program(g, "reader", "");
        hp::connect(g, {.name = "e", .from = writer, .to = reader, .ready = ready, .room = room});
        hp::controller c(g, {}, {.threads = threads});
        EXPECT_EQ(c.slots(0), room);
        hp::channel<std::string> e(c, "e", "first");
        std::vector<std::string> read, wanted(static_cast<std::size_t>(ready), "first");
        c.set_program("writer", {[&](const hp::firing& f) { e.write(f) = std::to_string(f.number()); }});
        c.set_program("reader", {[&](const hp::firing& f) {
                        EXPECT_EQ(e.version_read(f), f.number());
                        read.push_back(e.read(f));
                      }});
        c.run(20);
        for (int k = 0; k + ready < 20; ++k) wanted.push_back(std::to_string(k));
        EXPECT_EQ(read, wanted) << ready << " ready, room " << room;
      }
}

TEST(Channel, BelongsToTheProgramsOfItsEdge) {
  hp::program_graph g;
  const int a = hp::add_program(g, "a", ""), b = hp::add_program(g, "b", "");
  hp::connect(g, {.name = "e", .from = a, .to = b});
  hp::controller c(g, {}, {.threads = 1});
  hp::channel<int> e(c, "e");
  EXPECT_EQ(tested::error_of<hp::program_error>([&] { hp::channel<int>(c, "f"); }), "no edge of the graph is called f");
  c.set_program("a", {[&](const hp::firing& f) { e.write(f) = 1; }});
  c.set_program("b", {[&](const hp::firing& f) { e.write(f) = 2; }});
  EXPECT_EQ(tested::error_of<hp::controller_error>([&] { c.run(1); }),
            "program b failed in firing 0, which read version 0 of edge e: program b writes edge e, which comes from "
            "program a");
}

}  // namespace
