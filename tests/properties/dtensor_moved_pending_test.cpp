// SPDX-License-Identifier: Apache-2.0
#include "dtensor/traced_moves.hpp"

namespace {

// Whatever is moved may wait for a sum; the gradient is that of the sum's value.
TEST(MovedPending, SumsPass) { traced_moves::expect_all_move<traced_moves::pending>(); }

}  // namespace
