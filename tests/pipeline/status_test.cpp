// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/pipeline/status.hpp>

#include <hyperparallel/support/refusal_words.hpp>

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace hp = hyperparallel;

namespace {

TEST(pipeline_status, each_code_but_ok_has_a_name_and_words) {
  std::set<std::string> names;
  for (int c = 0; c <= static_cast<int>(hp::pipeline_code::waits_in_a_circle); ++c) {
    const std::string name = hp::name_of(static_cast<hp::pipeline_code>(c));
    EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_EQ(hp::detail::find_refusal(("pipeline_code::" + name).c_str()) == nullptr, c == 0) << name;
  }
  EXPECT_STREQ(hp::name_of(static_cast<hp::pipeline_code>(99)), "unknown");
}

}  // namespace
