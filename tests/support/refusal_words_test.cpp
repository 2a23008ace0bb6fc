// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/support/refusal_words.hpp>

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace hp = hyperparallel;

namespace {

std::vector<hp::detail::refusal_words> all_words() {
  std::vector<hp::detail::refusal_words> all;
  hp::detail::any_refusal([&](const hp::detail::refusal_words& one) {
    all.push_back(one);
    return false;
  });
  return all;
}

TEST(refusal_words, each_key_stands_once_and_is_found) {
  std::set<std::string> keys;
  for (const hp::detail::refusal_words& one : all_words()) {
    EXPECT_TRUE(keys.insert(one.key).second) << one.key;
    ASSERT_NE(hp::detail::find_refusal(one.key), nullptr);
    EXPECT_EQ(hp::detail::find_refusal(one.key)->sentence, one.sentence);
  }
  EXPECT_EQ(hp::detail::find_refusal("axis_is_not"), nullptr);
  EXPECT_EQ(hp::detail::find_refusal(""), nullptr);
}

TEST(refusal_words, patterns_are_well_formed) {
  for (const hp::detail::refusal_words& one : all_words())
    for (const std::string pattern : {one.sentence, one.remedy}) {
      int braces = 0, brackets = 0;
      for (const char c : pattern) {
        braces += c == '{' ? 1 : c == '}' ? -1 : 0;
        brackets += c == '[' ? 1 : c == ']' ? -1 : 0;
        ASSERT_TRUE(braces >= 0 && braces <= 1 && brackets >= 0 && brackets <= 1) << one.key;
        ASSERT_TRUE(c != '|' || brackets == 1) << one.key;
      }
      EXPECT_TRUE(braces == 0 && brackets == 0) << one.key;
      EXPECT_TRUE(pattern.empty() || pattern.back() != '.') << one.key << ": the sentence is ended by who writes it";
    }
}

TEST(refusal_words, a_sentence_takes_the_texts_of_its_slots) {
  const hp::detail::slot_text slots[] = {{"dim", "1"}, {"extent", "6"}, {"shards", "4"}, {"axes_named", ""}};
  EXPECT_STREQ(hp::detail::sentence_of("extent_is_not_divisible_by_its_shards", slots).text,
               "dim 1 of extent 6 does not divide by its 4 shards");
  const hp::detail::slot_text named[] = {{"dim", "1"}, {"extent", "6"}, {"shards", "4"}, {"axes_named", "tp"}};
  EXPECT_STREQ(hp::detail::sentence_of("extent_is_not_divisible_by_its_shards", named).text,
               "dim 1 of extent 6 does not divide by its 4 shards (axes tp)");
  EXPECT_STREQ(hp::detail::sentence_of("no_such_refusal", named).text, "no_such_refusal");
}

}  // namespace
