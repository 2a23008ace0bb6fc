// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/step/refusal_text.hpp>

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace hp = hyperparallel;

namespace {

TEST(RefusalText, KeepsTheEndOfWhatIsTooLong) {
  for (int length = 0; length <= 3 * hp::most_refusal_text; ++length) {
    std::string name;
    for (int i = 0; i < length; ++i) name += static_cast<char>('a' + i % 26);
    const hp::refusal_text kept(name.c_str());
    const std::size_t most = hp::most_refusal_text;
    EXPECT_EQ(std::string(kept.text), name.size() <= most ? name : name.substr(name.size() - most));
    EXPECT_EQ(kept.length, static_cast<int>(std::string(kept.text).size()));
  }
}

constexpr hp::refusal_text constant("layers.0-31.feed_forward");
static_assert(constant.length == 24 && constant == hp::refusal_text("layers.0-31.feed_forward"));
static_assert(constant != hp::refusal_text("layers.0-31.feed_forwarx"));

template <int Length>
struct first_letters {
  static constexpr const char* text = "layers.0-31.attention.with_a_long_name.query.weight";
  static constexpr int length = Length;
};
template <int Length>
void expect_both_ends() {
  const std::string name(first_letters<Length>::text, static_cast<std::size_t>(Length));
  EXPECT_EQ(hp::detail::quoted_text<first_letters<Length>>().text, name);
  const std::string kept = hp::detail::quoted_name<first_letters<Length>>().text;
  if (Length <= hp::detail::most_quoted_text) {
    EXPECT_EQ(kept, name);
    return;
  }
  EXPECT_EQ(kept.size(), static_cast<std::size_t>(hp::detail::most_quoted_text));
  const std::size_t dots = kept.find("...");
  ASSERT_NE(dots, std::string::npos);
  const std::string end = kept.substr(dots + 3);
  EXPECT_EQ(kept.substr(0, dots), name.substr(0, dots));
  EXPECT_EQ(end, name.substr(name.size() - end.size()));
  EXPECT_GT(end.size(), dots);
}
template <int... Lengths>
void expect_both_ends_of(std::integer_sequence<int, Lengths...>) {
  (expect_both_ends<Lengths>(), ...);
}

TEST(RefusalText, AQuotedNameIsWholeOrKeepsItsEnds) { expect_both_ends_of(std::make_integer_sequence<int, 51>{}); }

}  // namespace
