// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/program/refusal_text.hpp>

#include <gtest/gtest.h>

#include <string>

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

}  // namespace
