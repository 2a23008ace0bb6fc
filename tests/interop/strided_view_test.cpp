// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/interop/strided_view.hpp>

#include <gtest/gtest.h>

#include <support/error_of.hpp>

namespace hp = hyperparallel;
namespace interop = hyperparallel::interop;

TEST(StridedView, FindsEveryElement) {
  float numbers[24];
  for (int i = 0; i < 24; ++i) numbers[i] = static_cast<float>(i);
  const interop::strided_view<float> rows = interop::strided_of(hp::tensor_view<float>{numbers, hp::shape{4, 6}});
  const interop::strided_view<const float> turned{numbers, hp::shape{6, 4}, {{1, 6}}};
  const interop::strided_view<float> even{numbers, hp::shape{4, 3}, {{6, 2}}};
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 6; ++j) {
      EXPECT_EQ(rows(i, j), static_cast<float>(6 * i + j));
      EXPECT_EQ(&turned(j, i), &rows(i, j));
      EXPECT_EQ(&even(i, j / 2), &rows(i, j - j % 2));
    }
  rows(3, 5) = -1;
  EXPECT_EQ(numbers[23], -1.0F);
  EXPECT_EQ((interop::strided_view<float>{numbers + 7, hp::shape{}, {}}()), 7.0F);
}

TEST(StridedView, IsOfKernelsWhereNothingLiesBetween) {
  float numbers[24] = {};
  const hp::tensor_view<float> block{numbers, hp::shape{4, 6}};
  const hp::tensor_view<float> back = interop::tensor_of(interop::strided_of(block));
  EXPECT_EQ(back.data, block.data);
  EXPECT_EQ(back.extents, block.extents);
  EXPECT_TRUE(interop::detail::is_row_major(hp::shape{4, 1, 6}, {{6, 99, 1}}));
  EXPECT_TRUE(interop::detail::is_row_major(hp::shape{4, 0}, {{7, 7}}));
  EXPECT_EQ(tested::error_of<interop::exchange_error>(
                [&] { interop::tensor_of(interop::strided_view<float>{numbers, hp::shape{6, 4}, {{1, 6}}}); }),
            "strides_leave_gaps: strides (1, 6) of extents (6, 4); expected (4, 1): copy it into a block first");
}
