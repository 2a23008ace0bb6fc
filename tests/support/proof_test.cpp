// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/support/proof.hpp>

#include <gtest/gtest.h>

#include <type_traits>

namespace hp = hyperparallel;

namespace {

static_assert(!std::is_convertible_v<hp::proof, bool> && !std::is_convertible_v<hp::proof, int>);
static_assert(!std::is_convertible_v<bool, hp::proof>);

TEST(proof, only_proved_is_true) {
  for (const auto state : {hp::proof_state::not_asked, hp::proof_state::proved, hp::proof_state::refused})
    EXPECT_EQ(static_cast<bool>(hp::proof{state}), state == hp::proof_state::proved);
  EXPECT_EQ(hp::proof{}.state, hp::proof_state::not_asked) << "nobody has asked yet";
  EXPECT_EQ(hp::detail::proved_if(true).state, hp::proof_state::proved);
  EXPECT_EQ(hp::detail::proved_if(false).state, hp::proof_state::refused);
}

TEST(proof, has_a_name) {
  EXPECT_STREQ(name_of(hp::proof{}), "not asked");
  EXPECT_STREQ(name_of(hp::detail::proved_if(true)), "proved");
  EXPECT_STREQ(name_of(hp::detail::proved_if(false)), "refused");
}

}  // namespace
