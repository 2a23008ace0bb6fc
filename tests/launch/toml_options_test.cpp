// SPDX-License-Identifier: Apache-2.0
#include "launch/toml_options.hpp"

#include <support/error_of.hpp>
#include <support/tries.hpp>

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace hp = hyperparallel;
namespace launch = hp_tool::launch;

namespace {

/// "name@line[value]…" of each.
std::string told(const std::string& text) {
  std::string all;
  for (const launch::launch_option& o : launch::toml_options(text, "x.toml")) {
    all += (all.empty() ? "" : " ") + o.name + "@" + std::to_string(o.line);
    for (const std::string& v : o.values) all += "[" + v + "]";
  }
  return all;
}
std::string complaint(const std::string& text) {
  return tested::error_of<hp::io_error>([&] { launch::toml_options(text, "x.toml"); });
}

TEST(toml_options, sections_keys_and_lines) {
  EXPECT_EQ(told(""), "");
  EXPECT_EQ(told("top = 1 # why\n[b]\n\nx = 'y z'\n[b.c]\non = true\n[a]\noff = false\n"),
            "top@1[1] b.x@4[y z] b.c.on@6[true] a.off@8[false]");
  EXPECT_EQ(told("[a]\nb = {c = 1, d = 2}\ne.f = 3"), "a.b.c@2[1] a.b.d@2[2] a.e.f@3[3]");
}

TEST(toml_options, values) {
  EXPECT_EQ(told("a = 2_000\nb = 0x10\nc = -1\nd = 1.5\ne = 8.0\nf = 1979-05-27\n"),
            "a@1[2000] b@2[16] c@3[-1] d@4[1.5] e@5[8.0] f@6[1979-05-27]");
  EXPECT_EQ(told("a = [1,\n 2]\nb = []\nc = [['x'], ['y', 'z']]"), "a@1[1][2] b@3 c@4[x][y][z]");
  EXPECT_EQ(told("[[t]]\nx = 1\n[[t]]\nx = 2"), "t.0.x@2[1] t.1.x@4[2]");
  EXPECT_EQ(told("a = \"x\\ny\""), "a@1[x?y]") << "an option is one line";
  EXPECT_EQ(told("a = '''\nx\"\"\"'''''\nb = 1"), "a@1[x\"\"\"''] b@3[1]");
}

TEST(toml_options, what_is_no_toml_is_one_line_with_file_and_line) {
  EXPECT_EQ(complaint("a = 1\na = 2"),
            "cannot read 'x.toml': line 2: Error while parsing key-value pair: cannot redefine existing integer 'a'");
  for (const char* text : {"a", "a = ", "[a", "a = [1", "a = 'x", "= 1", "a = 1 b = 2", "\xff = 1", "\n\n]"}) {
    const std::string error = complaint(text);
    EXPECT_TRUE(error.starts_with("cannot read 'x.toml': line ")) << text << ": " << error;
    EXPECT_EQ(error.find('\n'), std::string::npos);
  }
}

/// Parsers recurse: what would have them do it without end is refused before.
TEST(toml_options, depth_is_bounded) {
  const auto repeated = [](const std::string& text, int times) {
    std::string all;
    for (int i = 0; i < times; ++i) all += text;
    return all;
  };
  const std::string deep = "cannot read 'x.toml': line 2: more than 32 sections within each other";
  EXPECT_EQ(complaint("\n[" + repeated("a.", 400000) + "a]"), deep);
  EXPECT_EQ(complaint("\n" + repeated("\"=\" . '#' .", 400000) + "a = 1"), deep);
  EXPECT_EQ(complaint("\n" + repeated("a.b.c = {", 100) + "d = 1" + repeated("}", 100)), deep);
  EXPECT_EQ(complaint("\na = " + repeated("[", 100) + repeated("]", 100)), deep);
  EXPECT_NE(complaint("a = " + repeated("[", 100000)), "no error");
  EXPECT_EQ(told("[" + repeated("a.", 20) + "a]\nx = '" + repeated(".", 100) + "' # " + repeated(".", 100)),
            repeated("a.", 21) + "x@2[" + repeated(".", 100) + "]");
  EXPECT_EQ(told("x = [" + repeated("1.5,", 1000) + "]").size(), 3 + 1000 * 5u);
}

/// What toml++ 3.3 takes for granted.
TEST(toml_options, what_the_parser_must_not_see) {
  const std::string at = "cannot read 'x.toml': line 2: ";
  for (const char* text : {"\n[=", "\n[", "\n[[\n", "\n [ #]", "\n[[,]]", "[a]\n[.b]"})
    EXPECT_EQ(complaint(text), at + "expected a key behind '['") << text;
  for (const char* text : {"\na = [}", "\na = {]", "\n]", "\n[a}"})
    EXPECT_EQ(complaint(text), at + "a bracket that closes none of its kind") << text;
  EXPECT_TRUE(complaint("\n\xc3\xa9 = 1").starts_with(at));
  EXPECT_EQ(told("\xef\xbb\xbf[ a ]\nb = '\xc3\xa9' # \xc3\xa9\nc = [\n[\n1]]"), "a.b@2[??] a.c@3[1]");
}

/// Whatever the bytes are, they are options or one line that says why not.
TEST(toml_options, any_bytes) {
  std::mt19937 random(7);
  const std::string pieces[] = {"a",
                                "[",
                                "]",
                                "{",
                                "}",
                                "=",
                                ".",
                                ",",
                                "\n",
                                "\"",
                                "'",
                                "\"\"\"",
                                "'''",
                                "#",
                                "1",
                                "-1.5e3",
                                "true",
                                "\\",
                                " ",
                                "\t",
                                "\r\n",
                                std::string(1, '\0'),
                                "\xff",
                                "\xc3\xa9",
                                "0x",
                                "_",
                                "[[",
                                "]]",
                                "training.",
                                "1979-05-27",
                                "x = 1\n",
                                "y = 'z'\n",
                                "v = [1, 2]\n",
                                "[p]\n"};
  int read = 0;
  for (int n = tested::tries(20000, 400000); n > 0; --n) {
    std::string text;
    for (int k = static_cast<int>(random() % 8); k > 0; --k) text += pieces[random() % std::size(pieces)];
    try {
      for (const launch::launch_option& o : launch::toml_options(text, "x.toml")) {
        ++read;
        ASSERT_FALSE(o.name.empty() && o.values.empty());
        ASSERT_GE(o.line, 1);
        for (const std::string& v : o.values) ASSERT_EQ(v.find_first_of("\n\r"), std::string::npos);
      }
    } catch (const hp::io_error& e) {
      ASSERT_EQ(std::string(e.what()).find_first_of("\n\r"), std::string::npos);
    }
  }
  EXPECT_GT(read, 100);
}

}  // namespace
