// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/lowering/offloading_code.hpp>

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace hp = hyperparallel;

namespace {

TEST(OffloadingCode, EachHasItsOwnText) {
  std::set<std::string> texts;
  const int codes = static_cast<int>(hp::offloading_code::addresses_do_not_fit) + 1;
  for (int c = 0; c < codes; ++c) texts.insert(hp::to_text(static_cast<hp::offloading_code>(c)));
  EXPECT_EQ(texts.size(), static_cast<std::size_t>(codes));
}

}  // namespace
