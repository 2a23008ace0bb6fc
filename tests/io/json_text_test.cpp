// SPDX-License-Identifier: Apache-2.0
// Objects are parsed; whatever else a text is, is one line.

#include <hyperparallel/io/json_text.hpp>

#include <gtest/gtest.h>

#include <iterator>
#include <random>
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

TEST(json_text, numbers_that_python_writes_are_read_where_they_are_asked_for) {
  const auto read = [](const std::string& text) {
    return hp::parse_json_object(text, "f", "the text", 4, hp::json_numbers::as_python);
  };
  const nlohmann::json all =
      read("{\"a\":Infinity,\"b\" : [-Infinity, NaN],\"c\":\"NaN, Infinity\",\"d\":\"\\\"\",\"NaN\":1.5}");
  EXPECT_EQ(hp::shown_json(all["a"]), "Infinity");
  EXPECT_EQ(hp::shown_json(all["b"]), "[-Infinity,NaN]");
  EXPECT_EQ(all["c"], "NaN, Infinity");
  EXPECT_EQ(all["d"], "\"");
  EXPECT_EQ(all["NaN"], 1.5);
  EXPECT_EQ(hp::shown_json(read("{\"a\": {\"b\": NaN}}")["a"]), "{\"b\":NaN}");

  const auto complaint_of = [&](const std::string& text) {
    try {
      return read(text).dump();
    } catch (const hp::io_error& e) {
      return std::string(e.what());
    }
  };
  const std::string at = "cannot read 'f': the text is not JSON (byte ";
  // Places are those of the text that was given.
  EXPECT_EQ(complaint_of("{\"a\": NaN, \"b\": nan}"), at + "18 'nan' behind 'b')");
  EXPECT_EQ(complaint_of("{\"a\": NaN, \"b\": Infinity, \"c\": -NaN}"), at + "33 '-NaN' behind 'c')");
  EXPECT_EQ(complaint_of("{\"a\": NaNs}"), at + "7 'NaNs' behind 'a')");
  EXPECT_EQ(complaint_of("{NaN: 1}"), at + "2 'NaN')");
  EXPECT_EQ(complaint_of("NaN"), "cannot read 'f': the text is no JSON object");
  // A text that has the mark of such a number itself.
  EXPECT_EQ(complaint_of("{\"a\": NaN, \"b\": \"\\u0001NaN\"}"), at + "7 'NaN' behind 'a')");
}

// Texts without such numbers parse as they do without the question, whatever their bytes.
TEST(json_text, other_texts_are_the_same_under_both_questions) {
  std::mt19937 random(24);
  const std::string parts[] = {"{", "}", "[",   "]",  ",",  ":",        "\"a\"", "\"b\"",
                               "1", "-", "NaN", "\"", "\\", "Infinity", " ",     "null"};
  const auto either = [](const std::string& text, hp::json_numbers numbers) {
    try {
      return hp::parse_json_object(text, "f", "the text", 9, numbers).dump();
    } catch (const hp::io_error& e) {
      return std::string(e.what());
    }
  };
  int same = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text = "{\"k\":";
    for (int i = 0, n = static_cast<int>(random() % 8); i < n; ++i) text += parts[random() % std::size(parts)];
    text += "}";
    const std::string strict = either(text, hp::json_numbers::finite),
                      python = either(text, hp::json_numbers::as_python);
    const bool is_read = python[0] == '{', was_read = strict[0] == '{';
    EXPECT_TRUE(is_read || !was_read) << text;
    if (was_read) {
      EXPECT_EQ(strict, python) << text;
    }
    same += was_read;
    if (is_read && !was_read) {
      EXPECT_TRUE(text.find("NaN") != text.npos || text.find("Infinity") != text.npos) << text;
    }
  }
  EXPECT_GT(same, 100);
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
