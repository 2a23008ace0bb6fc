// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/exec/cores.hpp>

#include <gtest/gtest.h>

#include <vector>

namespace {

namespace hp = hyperparallel;

TEST(Cores, APinHoldsWhileItLivesAndIsGivenBack) {
  const std::vector<int> before = hp::allowed_cores();
#ifdef __linux__
  ASSERT_FALSE(before.empty());
#endif
  for (const int core : before) {
    const hp::scoped_pin pin(core);
    if (pin.pinned()) {
      EXPECT_EQ(hp::allowed_cores(), std::vector<int>{core});
    }
  }
  EXPECT_EQ(hp::allowed_cores(), before);
}

TEST(Cores, NoCoreAndAnImpossibleCoreLeaveTheThreadAlone) {
  const std::vector<int> before = hp::allowed_cores();
  for (const int core : {-1, 1 << 20}) {
    const hp::scoped_pin pin(core);
    EXPECT_FALSE(pin.pinned());
    EXPECT_EQ(hp::allowed_cores(), before);
  }
}

TEST(Cores, AThreadThatWasBoundMayMoveFreelyAgain) {
  const std::vector<int> before = hp::allowed_cores();
  if (before.empty()) GTEST_SKIP() << "the system does not tell";
  const hp::scoped_pin pin(before.front());
  hp::detail::move_freely(before);
  EXPECT_EQ(hp::allowed_cores(), before);
  hp::detail::move_freely({&before.back(), 1});
  EXPECT_EQ(hp::allowed_cores(), std::vector<int>{before.back()});
  hp::detail::move_freely({});
  EXPECT_EQ(hp::allowed_cores(), std::vector<int>{before.back()}) << "none: as it was";
}

TEST(Cores, ThereIsAlwaysOne) {
  EXPECT_GE(hp::allowed_core_count({}), 1);
  EXPECT_EQ(hp::allowed_core_count({3, 5, 9}), 3);
}

}  // namespace
