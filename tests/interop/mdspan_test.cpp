// SPDX-License-Identifier: Apache-2.0
// Views and std::mdspan, the same elements by the same indices; where the standard library has none, strided views alone.

#include <hyperparallel/interop/mdspan.hpp>

#include <gtest/gtest.h>

#include <type_traits>

#include <support/error_of.hpp>

namespace hp = hyperparallel;
namespace interop = hyperparallel::interop;

TEST(Mdspan, LeavesStridedViewsWhereThereIsNone) {
  float numbers[6] = {0, 1, 2, 3, 4, 5};
  EXPECT_EQ(interop::strided_of(hp::tensor_view<float>{numbers, hp::shape{2, 3}})(1, 2), 5.0F);
}

#ifdef __cpp_lib_mdspan
TEST(Mdspan, IsTheViewItself) {
  float numbers[24] = {};
  for (int i = 0; i < 24; ++i) numbers[i] = static_cast<float>(i);
  const hp::tensor_view<float> block{numbers, hp::shape{4, 6}};
  const auto m = interop::as_mdspan<2>(block);
  EXPECT_EQ(m.data_handle(), numbers);
  EXPECT_EQ(m.extent(0), 4);
  EXPECT_EQ(m.stride(0), 6);
  EXPECT_EQ((&m[3, 5]), numbers + 23);
  const hp::tensor_view<float> back = interop::view_of(m);
  EXPECT_EQ(back.data, block.data);
  EXPECT_EQ(back.extents, block.extents);
  const auto read = interop::as_mdspan<2>(hp::const_view<float>(block));
  static_assert(std::is_same_v<decltype(read)::element_type, const float>);
  EXPECT_EQ(interop::as_mdspan<0>(hp::tensor_view<float>{numbers + 7, hp::shape{}}).size(), 1u);
  EXPECT_EQ(tested::error_of<interop::exchange_error>([&] { interop::as_mdspan<3>(block); }),
            "dims_differ: a view of 2 dims as an mdspan of 3");
}

TEST(Mdspan, KeepsStrides) {
  float numbers[24] = {};
  for (int i = 0; i < 24; ++i) numbers[i] = static_cast<float>(i);
  const interop::strided_view<float> even{numbers, hp::shape{4, 3}, {{6, 2}}};
  const auto m = interop::as_mdspan<2>(even);
  const interop::strided_view<float> back = interop::view_of(m);
  EXPECT_EQ(back.extents, even.extents);
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 3; ++j) {
      EXPECT_EQ((&m[i, j]), &even(i, j));
      EXPECT_EQ(&back(i, j), &even(i, j));
    }
  const std::mdspan<float, std::extents<int, 6, 4>, std::layout_left> turned(
      numbers);  // Fortran's order, static extents
  const interop::strided_view<float> columns = interop::view_of(turned);
  EXPECT_EQ(columns.extents, (hp::shape{6, 4}));
  EXPECT_EQ(columns(2, 3), numbers[20]);
  EXPECT_EQ(interop::view_of(std::mdspan<float, std::extents<int, 4, 6>>(numbers)).extents, (hp::shape{4, 6}));
}
#endif
