// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/support/version.hpp>

#include <gtest/gtest.h>

namespace {

namespace hp = hyperparallel;

static_assert(hp::version == hp::version_number{HYPERPARALLEL_VERSION_MAJOR, HYPERPARALLEL_VERSION_MINOR,
                                                HYPERPARALLEL_VERSION_PATCH});

TEST(version, numbers_are_not_negative) {
  EXPECT_GE(hp::version.major_number, 0);
  EXPECT_GE(hp::version.minor_number, 0);
  EXPECT_GE(hp::version.patch_number, 0);
}

}  // namespace
