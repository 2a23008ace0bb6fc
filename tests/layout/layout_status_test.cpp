// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/layout/layout_status.hpp>

#include <hyperparallel/support/refusal_words.hpp>

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace hp = hyperparallel;

namespace {

TEST(layout_status, each_code_has_a_name_and_words) {
  constexpr int last = static_cast<int>(hp::layout_code::rank_is_outside_the_mesh);
  std::set<std::string> names;
  for (int c = 0; c <= last; ++c) {
    const std::string name = name_of(static_cast<hp::layout_code>(c));
    EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_EQ(hp::detail::find_refusal(name.c_str()) == nullptr, c == 0) << name;
  }
}

}  // namespace
