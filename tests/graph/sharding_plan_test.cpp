// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/graph/sharding_plan.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace hp = hyperparallel;

namespace {

static_assert(hp::detail::name_matches("*.weight", "ffn.up.weight") &&
              !hp::detail::name_matches("*.weight", "ffn.up.bias"));
static_assert(hp::detail::name_matches("*", "") && hp::detail::name_matches("", "") &&
              !hp::detail::name_matches("", "a"));
static_assert(hp::detail::name_matches("layer?.w", "layer3.w") && !hp::detail::name_matches("layer?.w", "layer12.w"));
static_assert(hp::detail::name_matches("*a*b*", "xxaybz") && !hp::detail::name_matches("*a*b", "xxaybz"));

/// The same by recursion on the definition.
bool defined(const std::string& pattern, const std::string& name) {
  if (pattern.empty()) return name.empty();
  if (pattern[0] == '*') return defined(pattern.substr(1), name) || (!name.empty() && defined(pattern, name.substr(1)));
  return !name.empty() && (pattern[0] == '?' || pattern[0] == name[0]) && defined(pattern.substr(1), name.substr(1));
}

void all_texts(const std::string& letters, std::size_t most, const std::string& text, std::vector<std::string>& found) {
  found.push_back(text);
  if (text.size() == most) return;
  for (const char c : letters) all_texts(letters, most, text + c, found);
}

TEST(sharding_plan, patterns_match_by_their_definition) {
  std::vector<std::string> patterns, names;
  all_texts("ab*?", 4, "", patterns);
  all_texts("ab", 5, "", names);
  for (const std::string& p : patterns)
    for (const std::string& n : names)
      ASSERT_EQ(hp::detail::name_matches(p.c_str(), n.c_str()), defined(p, n)) << p << " " << n;
}

using subject = hp::plan_subject;
constexpr const char* parameters[] = {"up.weight", "down.weight", "norm.scale"};
constexpr const char* functions[] = {"ffn", "head"};
constexpr hp::planned_names names{parameters, 3, functions, 2};

template <int Count>
constexpr hp::sharding_plan_status check(const hp::plan_entry (&entries)[Count]) {
  return hp::check_plan(entries, Count, names);
}

constexpr hp::plan_entry good[] = {{subject::parameter, "*.weight"},      {subject::parameter, "down.weight"},
                                   {subject::activations, "ffn.input"},   {subject::activations, "ffn.output"},
                                   {subject::activations, "head.output"}, {subject::local, "head"}};
static_assert(check(good) == hp::sharding_plan_status{});
static_assert(hp::detail::entry_of_parameter(good, 6, "up.weight") == 0 &&
              hp::detail::entry_of_parameter(good, 6, "down.weight") == 1);
static_assert(hp::detail::entry_of_parameter(good, 6, "norm.scale") == -1);
static_assert(hp::detail::entry_of_activations(good, 6, "ffn", ".output") == 3);
static_assert(hp::detail::entry_of_activations(good, 6, "head", ".input") == -1);
static_assert(hp::detail::has_local_results(good, 6, "head") && !hp::detail::has_local_results(good, 6, "ffn"));

constexpr hp::sharding_plan_status refused(subject s, const char* key) {
  const hp::plan_entry entries[] = {{subject::parameter, "*"}, {s, key}};
  return check(entries);
}
static_assert(refused(subject::parameter, "*.bias") ==
              hp::sharding_plan_status{hp::sharding_plan_code::pattern_matches_nothing, 1});
static_assert(refused(subject::parameter, "*") ==
              hp::sharding_plan_status{hp::sharding_plan_code::pattern_is_overridden, 0});
static_assert(refused(subject::activations, "ffn.inputs").code ==
              hp::sharding_plan_code::key_ends_neither_in_input_nor_output);
static_assert(refused(subject::activations, ".input").code ==
              hp::sharding_plan_code::key_ends_neither_in_input_nor_output);
static_assert(refused(subject::activations, "mlp.input").code == hp::sharding_plan_code::function_is_unknown);
static_assert(refused(subject::local, "mlp").code == hp::sharding_plan_code::function_is_unknown);
constexpr hp::plan_entry twice[] = {{subject::activations, "ffn.input"}, {subject::activations, "ffn.input"}};
static_assert(check(twice) == hp::sharding_plan_status{hp::sharding_plan_code::key_is_planned_twice, 1});

TEST(sharding_plan, codes_have_names) {
  EXPECT_STREQ(hp::name_of(hp::sharding_plan_code::pattern_matches_nothing), "pattern_matches_nothing");
  EXPECT_STREQ(hp::name_of(hp::sharding_plan_code::key_is_planned_twice), "key_is_planned_twice");
}

// 0 edits are a match, over random patterns and names; a known few are counted by hand.
TEST(edits_to_match, is_nothing_where_the_pattern_matches) {
  std::mt19937 random(5);
  const auto text_of = [&](const char* letters, unsigned kinds) {
    std::string text(random() % 7, ' ');
    for (char& c : text) c = letters[random() % kinds];
    return text;
  };
  int matches = 0;
  for (int i = 0; i < 4000; ++i) {
    const std::string pattern = text_of("ab*?", 4), name = text_of("ab", 2);
    const bool match = hp::detail::name_matches(pattern.c_str(), name.c_str());
    matches += match ? 1 : 0;
    EXPECT_EQ(hp::detail::edits_to_match(pattern.c_str(), name.c_str()) == 0, match) << pattern << " " << name;
  }
  EXPECT_GT(matches, 300);
}

// Without wildcards it is the distance of two texts; `*` is the least over what it may stand for.
TEST(edits_to_match, is_the_least_over_what_a_run_stands_for) {
  std::vector<std::string> words{""};
  for (std::size_t w = 0; w < words.size() && words[w].size() < 4; ++w)
    for (const char c : {'a', 'b'}) words.push_back(words[w] + c);
  for (const std::string& head : words)
    for (const std::string& tail : words) {
      if (head.size() + tail.size() > 4) continue;
      for (const std::string& name : words) {
        int least = 9;
        for (std::size_t from = 0; from <= name.size(); ++from)
          for (std::size_t to = from; to <= name.size(); ++to)
            least = std::min(least, hp::detail::characters_that_differ(head.c_str(), name.substr(0, from).c_str()) +
                                        hp::detail::characters_that_differ(tail.c_str(), name.substr(to).c_str()));
        EXPECT_EQ(hp::detail::edits_to_match((head + "*" + tail).c_str(), name.c_str()), least)
            << head << "*" << tail << " " << name;
        EXPECT_EQ(hp::detail::edits_to_match(head.c_str(), name.c_str()),
                  hp::detail::characters_that_differ(head.c_str(), name.c_str()));
      }
    }
}

TEST(edits_to_match, counts_characters) {
  EXPECT_EQ(hp::detail::edits_to_match("*.quary", "layers.0.attention.query"), 1);
  EXPECT_EQ(hp::detail::edits_to_match("*.key", "layers.0.attention.query"), 3);
  EXPECT_EQ(hp::detail::edits_to_match("abc", ""), 3);
  EXPECT_EQ(hp::detail::edits_to_match("", "abc"), 3);
  EXPECT_EQ(hp::detail::edits_to_match("*", "abc"), 0);
  EXPECT_EQ(hp::detail::edits_to_match("a?c", "ac"), 1);
  EXPECT_EQ(hp::detail::edits_to_match("*.qeury", "layers.0.attention.query"), 1);  // neighbours swapped
  EXPECT_EQ(hp::detail::edits_to_match("*.qeuyr", "layers.0.attention.query"), 2);
}

}  // namespace
