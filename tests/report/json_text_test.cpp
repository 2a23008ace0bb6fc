// SPDX-License-Identifier: Apache-2.0
// Every byte sequence becomes JSON; valid UTF-8 comes back unchanged.

#include <hyperparallel/report/json_text.hpp>

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace {

using hyperparallel::report::detail::json_string;

std::string utf8(unsigned code) {
  const auto byte = [](unsigned b) { return static_cast<char>(b); };
  if (code < 0x80) return {byte(code)};
  if (code < 0x800) return {byte(0xC0 | code >> 6), byte(0x80 | (code & 63))};
  if (code < 0x10000) return {byte(0xE0 | code >> 12), byte(0x80 | (code >> 6 & 63)), byte(0x80 | (code & 63))};
  return {byte(0xF0 | code >> 18), byte(0x80 | (code >> 12 & 63)), byte(0x80 | (code >> 6 & 63)),
          byte(0x80 | (code & 63))};
}

TEST(json_text, returns_every_character_unchanged) {
  for (unsigned code = 0; code < 0x110000; code += code < 0x3000 ? 1 : 251) {
    if (code >= 0xD800 && code < 0xE000) continue;
    const std::string text = "a" + utf8(code) + "b";
    EXPECT_EQ(nlohmann::json::parse(json_string(text)).get<std::string>(), text) << code;
  }
}

TEST(json_text, is_valid_for_every_pair_of_bytes) {
  for (int a = 0; a < 256; ++a)
    for (int b = 0; b < 256; ++b) {
      const std::string text{static_cast<char>(a), static_cast<char>(b)};
      EXPECT_TRUE(nlohmann::json::accept(json_string(text))) << a << " " << b;
    }
}

TEST(json_text, replaces_what_is_no_character) {
  const std::string replaced = "\xEF\xBF\xBD";
  const auto back = [](const std::string& text) { return nlohmann::json::parse(json_string(text)).get<std::string>(); };
  EXPECT_EQ(back("\xff"), replaced);
  EXPECT_EQ(back("\xC0\xAF"), replaced + replaced);                                // overlong
  EXPECT_EQ(back("\xED\xA0\x80"), replaced + replaced + replaced);                 // surrogate
  EXPECT_EQ(back("\xF4\x90\x80\x80"), replaced + replaced + replaced + replaced);  // above U+10FFFF
  EXPECT_EQ(back("x\xE2\x82"), "x" + replaced + replaced);                         // cut short
}

TEST(json_text, golden) { EXPECT_EQ(json_string("a\"b\\c\n\x7f"), "\"a\\\"b\\\\c\\u000a\\u007f\""); }

}  // namespace
