// SPDX-License-Identifier: Apache-2.0
#include "world_strategies.hpp"

namespace {

TEST(WorldStrategies1, HaveTheBitsOfAPlanMadeAtStartAndOfDelayedRuns) {
  world_strategies::expect_the_same_bits_in_row<0>();
}

}  // namespace
