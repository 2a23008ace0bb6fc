// SPDX-License-Identifier: Apache-2.0
// Words of shell scripts: what a shell would make of quotes, comments, lines that go on, variables and lists.
#include "launch/launch_words.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/tries.hpp"

namespace {

namespace hp = hyperparallel;
namespace launch = hp_tool::launch;

class words_of_a_command : launch::launch_words {
 public:
  explicit words_of_a_command(std::string_view text, launch::launch_values values = {},
                              const std::vector<std::string>& list = {})
      : launch_words(text) {
    values_ = std::move(values);
    for (const std::string& w : list) lists_["L"].words.push_back({w, 7});
  }
  /// "[word@line]" of each, up to the end of the command.
  std::string told(bool over_lines = false) {
    std::vector<word> words;
    while (skip(over_lines)) is_mark(here()) ? static_cast<void>(next()) : read_word(words);
    std::string all;
    for (const word& w : words) all += "[" + w.text + "@" + std::to_string(w.line) + "]";
    return all;
  }
  bool uses_the_list() { return lists_["L"].used; }
  bool begins_with(std::string_view name) { return keyword(name); }
};

TEST(launch_words, quotes_and_lines) {
  EXPECT_EQ(words_of_a_command("a 'b c' \"d e\"f  g # h\n i").told(), "[a@1][b c@1][d ef@1][g@1]");
  EXPECT_EQ(words_of_a_command("a \\\n  b\\ c \\\n\n d").told(), "[a@1][b c@2]");
  EXPECT_EQ(words_of_a_command("a\nb \"\"\n\nc").told(true), "[a@1][b@2][@2][c@4]");
  EXPECT_EQ(words_of_a_command("a; b").told(), "[a@1]");
  EXPECT_EQ(words_of_a_command("a && b").told(), "[a@1]");
  EXPECT_EQ(words_of_a_command("\"$\\\"x\"").told(), "[$\"x@1]");
}

TEST(launch_words, variables_are_words_outside_of_quotes_and_one_word_within) {
  const launch::launch_values v = {{"A", "x y"}, {"N", "3"}, {"EMPTY", ""}};
  EXPECT_EQ(words_of_a_command("$A \"$A\" '$A' p${N}q", v).told(), "[x@1][y@1][x y@1][$A@1][p3q@1]");
  EXPECT_EQ(words_of_a_command("${B:-two} ${EMPTY:-one} ${N:-zero} $C", v).told(), "[two@1][one@1][3@1][$C@1]");
  EXPECT_EQ(words_of_a_command("$((N * (N + 1))) $((C)) $(date +%s)", v).told(), "[12@1][$((C))@1][$(date +%s)@1]");
}

TEST(launch_words, lists_keep_the_lines_of_their_words) {
  const std::vector<std::string> list = {"--a", "b c"};
  EXPECT_EQ(words_of_a_command("run ${L[@]} d", {}, list).told(), "[run@1][--a@7][b c@7][d@1]");
  EXPECT_EQ(words_of_a_command("\"${L[@]}\"", {}, list).told(), "[--a@7][b c@7]");
  words_of_a_command used("$L", {}, list), unused("$M", {}, list);
  used.told();
  unused.told();
  EXPECT_TRUE(used.uses_the_list());
  EXPECT_FALSE(unused.uses_the_list());
}

TEST(launch_words, keywords_are_whole_words) {
  EXPECT_TRUE(words_of_a_command("if [").begins_with("if"));
  EXPECT_TRUE(words_of_a_command("fi; x").begins_with("fi"));
  EXPECT_TRUE(words_of_a_command("fi").begins_with("fi"));
  EXPECT_FALSE(words_of_a_command("iface").begins_with("if"));
  EXPECT_FALSE(words_of_a_command("").begins_with("if"));
}

TEST(launch_words, single_quotes_keep_any_bytes) {
  std::mt19937 random(5);
  const std::string bytes = "ab $\"\\(){}#;&|<>=+~*`";
  for (int n = tested::tries(1000, 20000); n > 0; --n) {
    std::string text;
    for (int k = static_cast<int>(random() % 12); k > 0; --k) text += bytes[random() % bytes.size()];
    EXPECT_EQ(words_of_a_command("'" + text + "'").told(), "[" + text + "@1]");
  }
}

}  // namespace
