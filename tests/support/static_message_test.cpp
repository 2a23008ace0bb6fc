// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/support/static_message.hpp>

#include <gtest/gtest.h>

#include <string>

namespace hp = hyperparallel;

namespace {

/// Slots a and b have the texts given, others none.
std::string filled(const char* pattern, const std::string& a, const std::string& b = "") {
  hp::detail::static_message m;
  hp::detail::fill_pattern(m, pattern, [&](hp::detail::static_message& to, const char* begin, const char* end) {
    const std::string name(begin, end);
    if (name == "a") to.add(a.c_str());
    if (name == "b") to.add(b.c_str());
  });
  return m.text;
}

TEST(static_message, slots_are_filled_and_the_rest_stands_as_it_is) {
  EXPECT_EQ(filled("", "x"), "");
  EXPECT_EQ(filled("plain, text.", "x"), "plain, text.");
  EXPECT_EQ(filled("{a}", "x"), "x");
  EXPECT_EQ(filled("dim {a} of {b}, {a}!", "3", "y"), "dim 3 of y, 3!");
  EXPECT_EQ(filled("dim {a} of {b}, {a}!", "3", ""), "dim 3 of , 3!");
}

TEST(static_message, of_alternatives_the_first_stands_whose_slots_have_a_text) {
  const char* const pattern = "<[ both {a} and {b}| a {a}| b {b}]>";
  EXPECT_EQ(filled(pattern, "1", "2"), "< both 1 and 2>");
  EXPECT_EQ(filled(pattern, "1", ""), "< a 1>");
  EXPECT_EQ(filled(pattern, "", "2"), "< b 2>");
  EXPECT_EQ(filled(pattern, "", ""), "<>");
  EXPECT_EQ(filled("[{a}|nothing]", ""), "nothing");
  EXPECT_EQ(filled("[{a}][{b}]", "", "2"), "2");
  EXPECT_EQ(filled("[kept]", ""), "kept");
}

TEST(static_message, a_text_that_is_too_long_ends_in_dots) {
  constexpr int most = hp::detail::static_message::capacity;
  for (int length = most - 2; length <= most + 5; ++length) {
    const std::string whole(static_cast<std::size_t>(length), 'x');
    const std::string kept(static_cast<std::size_t>(length < most ? length : most), 'x');
    hp::detail::static_message m;
    m.add(whole.c_str());
    EXPECT_EQ(m.text, length > most ? kept + "..." : kept) << length;
    EXPECT_EQ(m.length, static_cast<int>(std::string(m.text).size()));
  }
}

constexpr hp::detail::static_message constant() {
  hp::detail::static_message m;
  hp::detail::fill_pattern(m, "[{a}|b] c", [](hp::detail::static_message&, const char*, const char*) {});
  return m;
}
static_assert(constant().length == 3 && constant().text[0] == 'b');

}  // namespace
