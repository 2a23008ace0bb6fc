// SPDX-License-Identifier: Apache-2.0
// Objects are parsed; whatever else a text is, is one line.

#include <hyperparallel/io/json_text.hpp>

#include <gtest/gtest.h>

#include <string>

namespace hp = hyperparallel;

namespace {

std::string complaint(const std::string& text, int deepest = 4) {
  try {
    hp::parse_json_object(text, "f", "the text", deepest);
  } catch (const hp::io_error& e) {
    return e.what();
  }
  return "parsed";
}

TEST(json_text, objects_are_parsed) {
  EXPECT_EQ(hp::parse_json_object(" {\"a\": [1, {\"a\": null}]}\n", "f", "the text", 3)["a"][0], 1);
  EXPECT_EQ(complaint("{}", 1), "parsed");
}

TEST(json_text, everything_else_is_refused) {
  const std::string at = "cannot read 'f': the text ";
  EXPECT_EQ(complaint(""), at + "is not JSON (byte 1)");
  EXPECT_EQ(complaint("{\"a\": 1,}"), at + "is not JSON (byte 9 '}' behind 'a')");
  EXPECT_EQ(complaint("{} {}"), at + "is not JSON (byte 4 '{')");
  EXPECT_EQ(complaint(std::string("{}\0x", 4)), at + "is not JSON (byte 2)");
  EXPECT_EQ(complaint("{\"a\": \"\xff\"}"), at + "is not JSON (byte 8 '?' behind 'a')");
  EXPECT_EQ(complaint("[1]"), at + "is no JSON object");
  EXPECT_EQ(complaint("null"), at + "is no JSON object");
  EXPECT_EQ(complaint(R"({"a": 1, "\u0061": 2})"), at + "names 'a' twice");
  EXPECT_EQ(complaint(R"({"b": {"a\n": 1, "a\n": 2}})"), at + "names 'a?' twice");
}

TEST(json_text, what_is_no_value_is_told_with_the_name_before_it) {
  const std::string at = "cannot read 'f': the text ";
  EXPECT_EQ(complaint("{\"a\": 1, \"size\": NaN, \"b\": 2}"), at + "is not JSON (byte 18 'NaN' behind 'size')");
  EXPECT_EQ(complaint("{\"size\": -Infinity}"), at + "is not JSON (byte 11 '-Infinity' behind 'size')");
  EXPECT_EQ(complaint("{\"a\": {\"size\": 40"), at + "is not JSON (byte 18 behind 'size')");
  EXPECT_EQ(complaint("{\"size\": tru"), at + "is not JSON (byte 13 behind 'size')");
  EXPECT_EQ(complaint("{\"size\": " + std::string(5000, 'x')),
            at + "is not JSON (byte 10 '" + std::string(60, 'x') + "' behind 'size')");
  EXPECT_EQ(complaint("{\"" + std::string(5000, 'n') + "\": x}"),
            at + "is not JSON (byte 5006 'x' behind '" + std::string(60, 'n') + "')");
  for (const std::string number : {"1e999", "-1e400"})
    EXPECT_EQ(complaint("{\"a\": 1, \"size\": [" + number + "]}"),
              at + "has a number that no double holds: '" + number + "' behind 'size'");
  EXPECT_EQ(complaint("{\"a\": " + std::string(5000, '9') + "e400}"),
            at + "has a number that no double holds: '" + std::string(60, '9') + "' behind 'a'");
}

TEST(json_text, depth_is_limited) {
  EXPECT_EQ(complaint(R"({"a":[[[]]]})"), "parsed");
  EXPECT_EQ(complaint(R"({"a":[[[[]]]]})"), "cannot read 'f': the text is nested deeper than 4 levels");
  std::string objects;
  for (int i = 0; i < 1000000; ++i) objects += "{\"a\":";
  EXPECT_EQ(complaint(objects), "cannot read 'f': the text is nested deeper than 4 levels");
  EXPECT_EQ(complaint(std::string(1000000, '[')), "cannot read 'f': the text is nested deeper than 4 levels");
}

TEST(json_text, values_are_shown_on_a_short_line_of_ascii) {
  EXPECT_EQ(hp::shown_json("a\nb\xc3\xa9\xe2\x80\xa8"), "\"a\\nb\\u00e9\\u2028\"");
  EXPECT_EQ(hp::shown_json({{"k", 1}}), "{\"k\":1}");
  EXPECT_EQ(hp::shown_json(std::string(1000, 'x')), '"' + std::string(59, 'x') + "...");
}

}  // namespace
