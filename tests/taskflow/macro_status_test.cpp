// SPDX-License-Identifier: Apache-2.0
// Each code says something of its own.

#include <hyperparallel/taskflow/macro_status.hpp>

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace {

namespace hp = hyperparallel;

TEST(MacroStatus, EveryCodeHasATextOfItsOwn) {
  std::set<std::string> texts;
  for (int c = 0; c <= static_cast<int>(hp::macro_code::task_between_head_and_tail); ++c)
    texts.insert(hp::to_text(static_cast<hp::macro_code>(c)));
  EXPECT_EQ(texts.size(), static_cast<std::size_t>(hp::macro_code::task_between_head_and_tail) + 1);
}

}  // namespace
