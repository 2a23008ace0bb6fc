// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/io/launch_plan.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace hp = hyperparallel;

namespace {

struct book : hp::detail::launch_book {
  book(const std::vector<hp::launch_option>& given, hp::detail::same_option twice)
      : launch_book(given, path, "--", twice) {}
  using launch_book::check_world;
  using launch_book::name_unheeded;
  using launch_book::number;
  using launch_book::out_;
  using launch_book::stands;
  using launch_book::word;
  inline static const std::string path = "run.sh";
};
constexpr auto last = hp::detail::same_option::last_counts;

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
  const std::vector<hp::launch_option> given{{"tp", {"4"}, 1}, {"tp", {"8"}, 3}};
  book b(given, last);
  EXPECT_EQ(b.number("tp", 1), 8);
  EXPECT_EQ(b.out_.notes, std::vector<std::string>{"--tp stands twice; that of line 3 counts"});
  EXPECT_EQ(error_of([&] { book(given, hp::detail::same_option::refused); }),
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

TEST(launch_plan, nodes_of_a_launcher_are_held_against_the_devices) {
  const auto of = [](const std::string& nodes, int devices) {
    return error_of(
        [&] { book({{"each", {"8"}, 1}, {"nodes", {nodes}, 2}}, last).check_world("each", "nodes", devices); });
  };
  EXPECT_EQ(of("2", 16), "none");
  EXPECT_EQ(of("2", 8), "cannot read 'run.sh': line 1: --each 8: with 2 nodes these are 16 devices; --devices is 8");
  EXPECT_EQ(of("1:4", 8), "none") << "a range";
  EXPECT_EQ(of("$NODES", 8), "none") << "from outside";
  EXPECT_EQ(error_of([] { book({{"nodes", {"2"}, 1}}, last).check_world("each", "nodes", 8); }), "none");
}

TEST(launch_plan, an_option_of_another_file_is_told_with_it_and_on_one_line) {
  const hp::launch_option other{"tp", {"4\n\t5"}, 7, "other.json"};
  book b({other}, last);
  b.name_unheeded([](const std::string&) { return false; });
  EXPECT_EQ(b.out_.unheeded, std::vector<std::string>{"--tp 4??5 (other.json, line 7)"});
  EXPECT_EQ(error_of([&] { static_cast<void>(b.number("tp", 1)); }),
            "cannot read 'other.json': line 7: --tp 4??5: expected a whole number from 1 to 1048576");
}

}  // namespace
