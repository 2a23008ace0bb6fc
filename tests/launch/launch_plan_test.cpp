// SPDX-License-Identifier: Apache-2.0
#include "launch/launch_plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "support/tries.hpp"

namespace hp = hyperparallel;
namespace launch = hp_tool::launch;

namespace {

struct book : launch::launch_book {
  book(const std::vector<launch::launch_option>& given, launch::same_option twice)
      : launch_book(given, path, "--", twice) {}
  using launch_book::check_world;
  using launch_book::contradict;
  using launch_book::find;
  using launch_book::name_unheeded;
  using launch_book::number;
  using launch_book::out_;
  using launch_book::result;
  using launch_book::stands;
  using launch_book::word;
  inline static const std::string path = "run.sh";
};
constexpr auto last = launch::same_option::last_counts;

template <class Act>
std::string error_of(const Act& act) {
  try {
    act();
  } catch (const hp::io_error& e) {
    return e.what();
  }
  return "none";
}

TEST(launch_plan, what_was_not_looked_up_is_not_heeded) {
  book b({{"tp", {"4"}, 1}, {"bf16", {}, 2}, {"overlap", {}, 3}, {"lr", {"1e-4"}, 4}, {"fp8", {"hybrid", "x"}, 5}},
         last);
  EXPECT_EQ(b.number("tp", 1), 4);
  EXPECT_EQ(b.number("pp", 7), 7);
  EXPECT_TRUE(b.stands("bf16"));
  EXPECT_EQ(b.word("bf16"), "");
  b.name_unheeded([](const std::string& name) { return name == "lr"; });
  EXPECT_EQ(b.out_.unheeded, (std::vector<std::string>{"--fp8 hybrid x (line 5)", "--overlap (line 3)"}));
}

TEST(launch_plan, an_option_that_stands_twice) {
  const std::vector<launch::launch_option> given{{"tp", {"4"}, 1}, {"tp", {"8"}, 3}};
  book b(given, last);
  EXPECT_EQ(b.number("tp", 1), 8);
  EXPECT_EQ(b.out_.notes, std::vector<std::string>{"--tp stands twice; that of line 3 counts"});
  EXPECT_EQ(error_of([&] { book(given, launch::same_option::refused); }),
            "cannot read 'run.sh': line 3: --tp 8: stands twice; it is in line 1, too");
}

TEST(launch_plan, numbers_that_are_none) {
  for (const char* text : {"", "4x", "0", "-1", "1e3", "99999999999999999999"}) {
    book b({{"tp", {text}, 2}}, last);
    const std::string error = error_of([&] { static_cast<void>(b.number("tp", 1)); });
    EXPECT_EQ(error, "cannot read 'run.sh': line 2: --tp " + std::string(text) +
                         ": expected a whole number from 1 to 1048576");
  }
  book b({{"tp", {"$TP"}, 2}}, last);
  EXPECT_EQ(error_of([&] { static_cast<void>(b.number("tp", 1)); }),
            "cannot read 'run.sh': line 2: --tp $TP: the file does not say what $TP is");
}

TEST(launch_plan, the_first_contradiction_is_thrown_with_what_was_read) {
  book b({{"tp", {"3"}, 2}, {"layers", {"40"}, 5}}, last);
  b.out_.plan.tp = b.number("tp", 1);
  b.contradict(*b.find("tp"), "8 is no multiple");
  b.contradict(*b.find("layers"), "the model has 32", false);
  try {
    static_cast<void>(b.result());
    FAIL() << "no contradiction";
  } catch (const launch::launch_contradiction& e) {
    EXPECT_STREQ(e.what(), "cannot read 'run.sh': line 2: --tp 3: 8 is no multiple");
    EXPECT_EQ(e.read.plan.tp, 3);
    EXPECT_TRUE(e.is_of_line);
  }
  book none({{"tp", {"2"}, 1}}, last);
  none.out_.plan.tp = 2;
  EXPECT_EQ(none.result().plan.tp, 2);
}

TEST(launch_plan, what_makes_one_line_another) {
  const auto change = launch::change_of({{"--tp 8", "--bf16", "--zero"}, {}}, {{"--tp 4", "--bf16", "--full"}, {}});
  EXPECT_EQ(change.given, (std::vector<std::string>{"--tp 4", "--full"}));
  EXPECT_EQ(change.dropped, std::vector<std::string>{"--zero"});
  const auto sections = launch::change_of({{"[a]", "x = 1", "y = 2", "[b]", "x = 1"}, {}},
                                          {{"[a]", "x = 1", "[b]", "x = 3", "z = 4"}, {}});
  EXPECT_EQ(sections.given, (std::vector<std::string>{"[b]", "x = 3", "z = 4"}));
  EXPECT_EQ(sections.dropped, std::vector<std::string>{"[a] y"});
}

/// From any line to any other: what is not dropped and not given anew, and what is given, are the lines of the other.
TEST(launch_plan, changes_lead_to_the_other_line) {
  std::mt19937 random(7);
  const auto name_of = [](const std::string& line) { return line.substr(0, line.find(' ')); };
  const auto some = [&] {
    launch::launch_text t;
    for (const char* name : {"--a", "--b", "--c", "--d", "--e"})
      if (random() % 3 != 0) t.lines.push_back(std::string(name) + " " + std::to_string(random() % 3));
    return t;
  };
  for (int n = tested::tries(500, 5000); n > 0; --n) {
    const launch::launch_text from = some(), to = some();
    const launch::launch_change c = launch::change_of(from, to);
    std::vector<std::string> lines = c.given;
    for (const std::string& line : from.lines) {
      const auto is_named = [&](const std::string& other) { return name_of(other) == name_of(line); };
      if (std::none_of(c.dropped.begin(), c.dropped.end(), is_named) &&
          std::none_of(c.given.begin(), c.given.end(), is_named))
        lines.push_back(line);
    }
    std::sort(lines.begin(), lines.end());
    ASSERT_EQ(lines, to.lines);
  }
}

TEST(launch_plan, nodes_of_a_launcher_are_held_against_the_devices) {
  const auto of = [](const std::string& nodes, int devices) {
    return error_of([&] {
      book b({{"each", {"8"}, 1}, {"nodes", {nodes}, 2}}, last);
      b.check_world("each", "nodes", devices);
      static_cast<void>(b.result());
    });
  };
  EXPECT_EQ(of("2", 16), "none");
  EXPECT_EQ(of("2", 8), "cannot read 'run.sh': line 1: --each 8: with 2 nodes these are 16 devices; --devices is 8");
  EXPECT_EQ(of("1:4", 8), "none") << "a range";
  EXPECT_EQ(of("$NODES", 8), "none") << "from outside";
  EXPECT_EQ(error_of([] { book({{"nodes", {"2"}, 1}}, last).check_world("each", "nodes", 8); }), "none");
}

TEST(launch_plan, an_option_of_another_file_is_told_with_it_and_on_one_line) {
  const launch::launch_option other{"tp", {"4\n\t5"}, 7, "other.json"};
  book b({other}, last);
  b.name_unheeded([](const std::string&) { return false; });
  EXPECT_EQ(b.out_.unheeded, std::vector<std::string>{"--tp 4??5 (other.json, line 7)"});
  EXPECT_EQ(error_of([&] { static_cast<void>(b.number("tp", 1)); }),
            "cannot read 'other.json': line 7: --tp 4??5: expected a whole number from 1 to 1048576");
}

}  // namespace
