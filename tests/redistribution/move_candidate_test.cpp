// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/redistribution/move_candidate.hpp>

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace hp = hyperparallel;

namespace {

TEST(MoveCandidate, NamesAndTextsAreDistinct) {
  std::set<std::string> names, texts;
  for (int i = 0; i < hp::move_candidate_count; ++i) names.insert(hp::name_of(static_cast<hp::move_candidate>(i)));
  EXPECT_EQ(names.size(), static_cast<std::size_t>(hp::move_candidate_count));
  constexpr int codes = static_cast<int>(hp::candidate_code::exceeds_the_memory_limit) + 1;
  for (int i = 0; i < codes; ++i) texts.insert(hp::text_of(static_cast<hp::candidate_code>(i)));
  EXPECT_EQ(texts.size(), static_cast<std::size_t>(codes));
  EXPECT_EQ(hp::name_of(hp::move_candidate::halves), std::string("halves"));
  EXPECT_EQ(hp::text_of(hp::candidate_code::ok), std::string());
  EXPECT_EQ(hp::text_of(hp::candidate_code::exceeds_the_memory_limit), std::string("it exceeds the memory limit"));
}

}  // namespace
