// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/support/fixed_string.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace hp = hyperparallel;

template <hp::fixed_string Name>
struct named {
  static constexpr int length = Name.size();
};

static_assert(named<"tokens">::length == 6 && named<"">::length == 0);
static_assert(hp::fixed_string("ab") == hp::fixed_string("ab") && !(hp::fixed_string("ab") == hp::fixed_string("ac")));

// FNV-1a's published values.
static_assert(hp::detail::hash_of_text("") == 0xcbf29ce484222325U &&
              hp::detail::hash_of_text("a") == 0xaf63dc4c8601ec8cU);
static_assert(hp::detail::hash_of_text("foobar") == 0x85944171f73967e8U);

TEST(short_text, keeps_up_to_its_capacity_and_cuts_the_rest) {
  char text[40] = {};
  for (int length = 0; length < 39; ++length) {
    for (int i = 0; i < 40; ++i) text[i] = i < length ? static_cast<char>('a' + i % 26) : '\0';
    const hp::short_text kept(text);
    EXPECT_EQ(hp::fits(text), length <= hp::short_text::capacity);
    EXPECT_EQ(hp::detail::text_length(kept.text),
              length <= hp::short_text::capacity ? length : hp::short_text::capacity);
    EXPECT_EQ(hp::detail::same_text(kept.text, text), hp::fits(text));
  }
}

// The nearest, the first of equals; long names are compared to their ends.
TEST(nearest_name_of, is_the_name_of_fewest_edits) {
  const std::string scope = "gradient(layers.0.attention.with_a_long_name.";
  const std::string names[] = {scope + "key.weight)", scope + "query.weight)", "tokens", "labels"};
  const auto nearest = [&](const std::string& name) {
    return hp::detail::nearest_name_of(4, [&](int i) { return names[i].c_str(); }, name.c_str());
  };
  EXPECT_EQ(nearest(scope + "quary.weight)"), 1);
  EXPECT_EQ(nearest("tokns"), 2);
  EXPECT_EQ(nearest("label"), 3);
  EXPECT_EQ(hp::detail::nearest_name_of(0, [](int) { return ""; }, "x"), -1);
}

// Two neighbours swapped are one edit, wherever they stand, and at compile time.
static_assert(hp::detail::characters_that_differ("pt", "tp") == 1 &&
              hp::detail::characters_that_differ("ca", "abc") == 3);
TEST(nearest_name_of, counts_two_neighbours_swapped_as_one_edit) {
  const char* const axes[] = {"dp", "cp", "tp"};
  EXPECT_EQ(hp::detail::nearest_of(axes, 3, "pt"), 2);
  const std::string name = "layers.0.attention.query";
  for (std::size_t i = 0; i + 1 < name.size(); ++i) {
    std::string other = name;
    std::swap(other[i], other[i + 1]);
    EXPECT_EQ(hp::detail::characters_that_differ(name.c_str(), other.c_str()), name[i] == name[i + 1] ? 0 : 1) << other;
  }
}

// -1 of none, the first of equals.
TEST(first_of_least, is_the_first_number_of_least_cost) {
  for (unsigned word = 0; word < 256; ++word) {
    const auto cost_of = [&](int i) { return static_cast<int>(word >> 2 * i & 3); };
    for (int count = 0; count <= 4; ++count) {
      const int found = hp::detail::first_of_least(count, cost_of);
      EXPECT_EQ(found >= 0, count > 0);
      for (int i = 0; i < count; ++i) {
        EXPECT_LE(cost_of(found), cost_of(i));
        EXPECT_TRUE(i >= found || cost_of(i) > cost_of(found));
      }
    }
  }
}

// Each number once, by edits, equals in order.
TEST(visit_by_likeness, goes_from_the_most_alike_to_the_least) {
  const std::string names[] = {"zero1", "dp", "tp", "dp-tp", "zero3-tp", "2d", ""};
  for (const std::string& name : names)
    for (int count = 0; count <= 7; ++count) {
      std::vector<std::pair<int, int>> visited, expected;
      const auto edits = [&](int i) { return hp::detail::characters_that_differ(names[i].c_str(), name.c_str()); };
      for (int i = 0; i < count; ++i) expected.emplace_back(edits(i), i);
      std::sort(expected.begin(), expected.end());
      hp::detail::visit_by_likeness(
          count, [&](int i) { return names[i].c_str(); }, name.c_str(),
          [&](int i) { visited.emplace_back(edits(i), i); });
      EXPECT_EQ(visited, expected);
    }
}

TEST(same_text, compares_whole_texts_and_ranges) {
  const char* words[] = {"", "d", "dp", "dp2", "tp", "d,p"};
  for (const char* a : words)
    for (const char* b : words) {
      EXPECT_EQ(hp::detail::same_text(a, b), a == b) << a << ' ' << b;
      EXPECT_EQ(hp::detail::same_text(a, b, b + hp::detail::text_length(b)), a == b) << a << ' ' << b;
    }
  const char* list = "dp,tp";
  EXPECT_TRUE(hp::detail::same_text("dp", list, list + 2));
  EXPECT_FALSE(hp::detail::same_text("dp,", list, list + 2));
  EXPECT_FALSE(hp::detail::same_text("d", list, list + 2));
}

}  // namespace
