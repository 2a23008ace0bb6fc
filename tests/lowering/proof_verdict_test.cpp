// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/lowering/proof_verdict.hpp>

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace hp = hyperparallel;

namespace {

TEST(proof_verdict, each_code_has_its_own_words) {
  std::set<std::string> words;
  for (int c = 0; c <= static_cast<int>(hp::program_proof_code::block_is_larger_than_its_place); ++c)
    EXPECT_TRUE(words.insert(hp::to_text(static_cast<hp::program_proof_code>(c))).second) << c;
  EXPECT_EQ(words.count("unknown"), 0u);
}

}  // namespace
