// SPDX-License-Identifier: Apache-2.0
#include "launch/yaml_options.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <iterator>
#include <random>
#include <string>

#include "support/error_of.hpp"
#include "support/tries.hpp"

namespace {

namespace hp = hyperparallel;
namespace launch = hp_tool::launch;

/// "name=value,value@line" of each.
std::string told(const std::string& text) {
  std::string all;
  for (const launch::launch_option& o : launch::yaml_options_of(text, "x.yaml")) {
    all += (all.empty() ? "" : " ") + o.name + "=";
    for (std::size_t i = 0; i < o.values.size(); ++i) all += (i == 0 ? "" : ",") + o.values[i];
    all += "@" + std::to_string(o.line);
  }
  return all;
}
std::string complaint(const std::string& text) {
  return tested::error_of<hp::io_error>([&] { told(text); });
}

TEST(yaml_options, names_have_dots_and_keys_have_lines) {
  const std::string yaml = "# first\na: 1\nzero:\n  stage: 3\n  offload:\n    device: cpu\nb: 'x y'\n";
  EXPECT_EQ(told(yaml), "a=1@2 zero.stage=3@4 zero.offload.device=cpu@6 b=x y@7");
  EXPECT_EQ(told("{\n\t\"a\":1,\"b\": {\n\"c\":true, \"d\" : 5e8}}\n"), "a=1@2 b.c=true@3 b.d=5e8@3");
}

TEST(yaml_options, lists_are_values_and_maps_in_them_have_places) {
  EXPECT_EQ(told("l: [a, b]\nm:\n- c\n- d\n"), "l=a,b@1 m=c,d@2");
  EXPECT_EQ(told("l:\n- path: x\n  kind: y\n- z\n- [p, q]\n"), "l=z@1 l.0.path=x@2 l.0.kind=y@3 l.2=p,q@5");
  EXPECT_EQ(told("e: {}\nf: []\ng:\nh: ~\ni: ''\n"), "e=@1 f=@2 g=null@3 h=null@4 i=@5");
}

TEST(yaml_options, a_key_that_stands_twice_is_two_options) {
  EXPECT_EQ(told("a: 1\na: 2\n"), "a=1@1 a=2@2");
  EXPECT_EQ(told("{\"a\": {\"b\": 1, \"b\": 2}}"), "a.b=1@1 a.b=2@1");
}

TEST(yaml_options, what_is_refused_is_one_line_with_file_and_line) {
  EXPECT_EQ(complaint("a: 1\nb: [1\n"), "cannot read 'x.yaml': line 3: end of sequence flow not found");
  EXPECT_EQ(complaint("a: 1\nb: c: d\n"), "cannot read 'x.yaml': line 2: illegal map value");
  EXPECT_EQ(complaint(""), "cannot read 'x.yaml': it is empty");
  EXPECT_EQ(complaint("# nothing\n"), "cannot read 'x.yaml': it is empty");
  EXPECT_EQ(complaint("word"), "cannot read 'x.yaml': line 1: expected names with values");
  EXPECT_EQ(complaint("- a\n"), "cannot read 'x.yaml': line 1: expected names with values, not a list");
  EXPECT_EQ(complaint("a: 1\n---\nb: 2\n"), "cannot read 'x.yaml': line 2: a second document begins here; one is read");
  EXPECT_EQ(complaint("? [a, b]\n: c\n"), "cannot read 'x.yaml': line 1: a name is no map and no list");
  EXPECT_EQ(complaint("a: " + std::string(40, '[') + std::string(40, ']')),
            "cannot read 'x.yaml': line 1: nested deeper than 32 maps and lists");
  EXPECT_EQ(complaint(std::string(300, 'n') + ": 1"), "cannot read 'x.yaml': line 1: a name is longer than 256 bytes");
}

/// Each line would stand for ten of the one before.
TEST(yaml_options, a_text_stands_for_no_more_than_it_holds) {
  std::string laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    std::string list = before;
    for (int k = 1; k < 10; ++k) list += ", " + before;
    laughs += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + list + "]\n";
  }
  std::size_t values = 0;
  for (const launch::launch_option& o : launch::yaml_options_of(laughs, "x.yaml")) values += o.values.size();
  EXPECT_EQ(values, 120u) << "an alias of a list is one value";
  EXPECT_EQ(told("a: &x {b: 1}\nc:\n  <<: *x\n"), "a.b=1@1 c.<<=*@3");
  EXPECT_EQ(told("a: &dp 4\nb: [*dp, 1]\nc: *dp\n"), "a=4@1 b=4,1@2 c=4@3");
  EXPECT_EQ(told("a: &x 1\n"), "a=1@1") << "a name that nobody uses";
}

TEST(yaml_options, any_bytes_are_read_to_their_end) {
  std::mt19937 random(91);
  const std::string pieces[] = {"a",  ":",   " ",  "\n",  "- ", "[",    "]",   "{",    "}",     ",",       "\"", "'",
                                "#",  "&a ", "*a", "!t ", "|",  "\xff", "%",   "? ",   "---\n", "...",     "\t", "~",
                                ">-", ": ",  "@",  "`",   "\\", "\r",   "1e8", "null", "\n  ",  "\xc3\xa9"};
  for (int n = tested::tries(5000, 100000); n > 0; --n) {
    std::string text;
    for (int k = static_cast<int>(random() % 30); k > 0; --k) text += pieces[random() % std::size(pieces)];
    try {
      for (const launch::launch_option& o : launch::yaml_options_of(text, "x")) EXPECT_GE(o.line, 1) << text;
    } catch (const hp::io_error& e) {
      EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos) << text;
    }
  }
}

}  // namespace
