// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/dtensor/slots.hpp>

#include <gtest/gtest.h>

namespace hp = hyperparallel;

namespace {

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 2}> {};
struct other : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 2}> {};
using rows = hp::layout<mesh, "dp", hp::none>;
using tiles = hp::layout<mesh, "dp", "tp">;
using matrix = hp::dtensor<float, hp::extents<4, 6>, rows>;
constexpr hp::mismatch redistribute = hp::mismatch::redistribute, refuse = hp::mismatch::refuse;

static_assert(hp::detail::fits_inputs<hp::inputs<tiles, hp::unplaced>, redistribute, matrix, float>);
static_assert(!hp::detail::fits_inputs<hp::inputs<tiles, hp::unplaced>, refuse, matrix, float>);
static_assert(hp::detail::fits_inputs<hp::inputs<rows, hp::unplaced>, refuse, matrix, float>);
static_assert(!hp::detail::fits_inputs<hp::inputs<tiles>, redistribute, matrix, float>);  // two for one slot
static_assert(
    !hp::detail::fits_inputs<hp::inputs<hp::unplaced, tiles>, redistribute, matrix, float>);  // the other way round
static_assert(!hp::detail::fits_inputs<hp::inputs<hp::unplaced>, redistribute, float>);       // nobody tells the ranks
static_assert(!hp::detail::fits_inputs<hp::inputs<hp::layout<other, "dp", hp::none>>, redistribute, matrix>);
static_assert(hp::detail::fits_inputs<hp::inputs<hp::placed<hp::extents<4, 6>, tiles>>, redistribute, matrix>);

TEST(local_tensor, reads_as_zero_and_is_shared_by_its_copies) {
  const hp::local_tensor<float> x(hp::shape(2, 3));
  EXPECT_EQ(x.extents(), hp::shape(2, 3));
  for (int i = 0; i < 6; ++i) EXPECT_EQ(x.data()[i], 0.0F);
  const hp::local_tensor<float> y = x;
  y.data()[4] = 2.0F;
  EXPECT_EQ(x.view().data[4], 2.0F);
}

}  // namespace
