// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/dtensor/forms/sort_key.hpp>

#include <gtest/gtest.h>

#include <limits>

#include <hyperparallel/kernels/ordering.hpp>

namespace hp = hyperparallel;
namespace hpd = hyperparallel::distributed;

namespace {

/// Keys of all pairs agree with the order of the kernel.
template <class T>
void expect_order(const std::vector<T>& values) {
  for (const T& a : values) {
    for (const T& b : values) {
      const T pair[] = {a, b};
      std::int64_t place[2];
      hp::kernels::argsort(hp::const_view<T>{pair, hp::shape{2}}, hp::tensor_view<std::int64_t>{place, hp::shape{2}},
                           0);
      EXPECT_EQ(hpd::detail::sort_key(b) < hpd::detail::sort_key(a), place[0] == 1);
    }
    if constexpr (hpd::detail::sort_key_bits<T> < 64) {
      EXPECT_LT(hpd::detail::sort_key(a), std::uint64_t{1} << hpd::detail::sort_key_bits<T>);
    }
  }
}

template <class T>
std::vector<T> awkward() {
  using limits = std::numeric_limits<T>;
  if constexpr (std::is_floating_point_v<T>)
    return {-limits::infinity(),
            limits::lowest(),
            -2,
            -limits::denorm_min(),
            T(-0.0),
            T(0.0),
            limits::denorm_min(),
            3,
            limits::infinity(),
            limits::quiet_NaN(),
            -limits::quiet_NaN()};
  else
    return {limits::min(), static_cast<T>(limits::min() + 1), T(-1), T(0), T(1), limits::max()};
}

TEST(sort_key, orders_as_the_kernel_does) {
  expect_order(awkward<float>());
  expect_order(awkward<double>());
  expect_order(awkward<std::int8_t>());
  expect_order(awkward<std::int16_t>());
  expect_order(awkward<std::int32_t>());
  expect_order(awkward<std::int64_t>());
  std::vector<hp::bf16_bits> narrow;
  for (const float x : awkward<float>()) narrow.push_back(hp::kernels::store<hp::bf16_bits>(x));
  expect_order(narrow);
  EXPECT_LT(hpd::detail::sort_key(false), hpd::detail::sort_key(true));
}

TEST(sort_key, sorted_rows_count_below_and_up_to_a_key) {
  const hpd::detail::sorted_rows rows{4, {1, 3, 3, 7, 0, 0, 2, 9}, {0, 1, 2, 3, 0, 1, 2, 3}};
  EXPECT_EQ(rows.below(0, 3), 1);
  EXPECT_EQ(rows.up_to(0, 3), 3);
  EXPECT_EQ(rows.below(1, 1), 2);
  EXPECT_EQ(rows.up_to(1, 100), 4);
}

}  // namespace
