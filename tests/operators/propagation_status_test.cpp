// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/operators/propagation_status.hpp>

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace {

namespace hp = hyperparallel;

/// Every code has a name of its own, and the name is the one that compile errors use.
TEST(PropagationStatus, CodesHaveTheirOwnNames) {
  std::set<std::string> names;
  for (int code = 0; code <= static_cast<int>(hp::propagation_code::result_has_too_many_cuts); ++code)
    EXPECT_TRUE(names.insert(hp::name_of(static_cast<hp::propagation_code>(code))).second) << code;
  EXPECT_EQ(names.count("ok"), 1u);
  EXPECT_STREQ(hp::name_of(hp::propagation_code::dim_must_be_whole), "dim_must_be_whole");
  EXPECT_STREQ(hp::name_of(hp::propagation_code::result_has_too_many_cuts), "result_has_too_many_cuts");
}

TEST(PropagationStatus, AFreshOneIsOkAndNotesNothing) {
  EXPECT_EQ(hp::propagation_status{}, (hp::propagation_status{hp::propagation_code::ok, 0, 0, 0}));
  EXPECT_NE(hp::propagation_status{}, (hp::propagation_status{hp::propagation_code::ok, 0, 0, 1}));
  EXPECT_EQ(hp::propagation_notes{}.sliced | hp::propagation_notes{}.filled, 0u);
}

}  // namespace
