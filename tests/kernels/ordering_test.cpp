// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/kernels/ordering.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "naive.hpp"

namespace {

namespace hp = hyperparallel;
namespace hk = hyperparallel::kernels;
using hp::extent_t;
using naive::array;
using naive::index;
using naive::noise;

std::size_t at(int d) { return static_cast<std::size_t>(d); }

TEST(Ordering, RunningSumsAndProductsOfEveryDim) {
  naive::for_each_shape(1, 3, 0, 4, [](const hp::shape& s) {
    const auto x = noise<std::int64_t>(s, 1);
    for (int axis = 0; axis < s.rank; ++axis) {
      array<std::int64_t> sums(s), products(s), in_place = x;
      hk::cumsum(x.view(), sums.view(), axis);
      hk::cumprod(x.view(), products.view(), axis);
      hk::cumsum(in_place.view(), in_place.view(), axis);
      ASSERT_TRUE(naive::same(in_place, sums));
      naive::for_each_index(s, [&](const index& i) {
        std::int64_t sum = 0, product = 1;
        index j = i;
        for (j[at(axis)] = 0; j[at(axis)] <= i[at(axis)]; ++j[at(axis)]) {
          sum += x.at(j);
          product *= x.at(j);
        }
        ASSERT_EQ(sums.at(i), sum);
        ASSERT_EQ(products.at(i), product);
      });
    }
  });
}

TEST(Ordering, RunningSumsOfOnesCount) {
  const array<hp::bf16_bits> ones(hp::shape{300, 100}, hp::detail::to_bf16(1.0F));
  array<float> out(ones.extents);
  array<hp::bf16_bits> narrow(ones.extents);
  hk::cumsum(ones.view(), out.view(), 0);
  hk::cumsum(ones.view(), narrow.view(), 0);
  for (extent_t i = 0; i < 300; ++i) {
    ASSERT_EQ(out[i * 100 + 99], static_cast<float>(i + 1));
    ASSERT_EQ(narrow[i * 100 + 99], hp::detail::to_bf16(i + 1)) << "rounded once, not at every step";
  }
}

/// Whether element a of the row belongs before b: NaN above all, ties by place.
bool before(float a, float b, extent_t place_a, extent_t place_b, hk::sort_order order) {
  const double x = std::isnan(a) ? 2e38 : static_cast<double>(a), y = std::isnan(b) ? 2e38 : static_cast<double>(b);
  if (x != y) return (x < y) == (order == hk::sort_order::ascending);
  return place_a < place_b;
}

template <class T>
void check_order(const array<T>& x, int axis) {
  const hp::shape& s = x.extents;
  const extent_t n = s.extent[axis];
  for (const hk::sort_order order : {hk::sort_order::ascending, hk::sort_order::descending}) {
    array<T> sorted(s);
    array<std::int64_t> place(s), again(s);
    hk::sort(x.view(), sorted.view(), place.view(), axis, order);
    hk::argsort(x.view(), again.view(), axis, order);
    ASSERT_TRUE(naive::same(again, place));
    const hk::detail::axis_split split = hk::detail::split_at(s, axis);
    for (extent_t o = 0; o < split.outer; ++o)
      for (extent_t i = 0; i < split.inner; ++i) {
        const auto in_row = [&](extent_t m) { return (o * n + m) * split.inner + i; };
        std::vector<bool> met(static_cast<std::size_t>(n));
        for (extent_t m = 0; m < n; ++m) {
          const extent_t p = place[in_row(m)];
          ASSERT_TRUE(p >= 0 && p < n && !met[static_cast<std::size_t>(p)]) << "not a permutation";
          met[static_cast<std::size_t>(p)] = true;
          const auto value = hk::load(x[in_row(p)]), found = hk::load(sorted[in_row(m)]);
          ASSERT_TRUE(value == found || (value != value && found != found));
          if (m > 0) {
            const extent_t q = place[in_row(m - 1)];
            ASSERT_TRUE(before(static_cast<float>(hk::load(x[in_row(q)])), static_cast<float>(value), q, p, order));
          }
        }
      }
    for (extent_t k = 0; k <= n; ++k) {
      hp::shape best = s;
      best.extent[axis] = k;
      array<T> value(best);
      array<std::int32_t> where(best);
      hk::topk(x.view(), value.view(), where.view(), axis, order);
      ASSERT_TRUE(naive::same(where, naive::part(place, axis, 0, k)));
      ASSERT_TRUE(naive::same(value, naive::part(sorted, axis, 0, k)));
    }
  }
}

// Rows over three values and NaN: every pattern of ties up to five elements; then larger ones of every dim.
TEST(Ordering, SortsStablyAndTheBestAreTheFirst) {
  for (int n = 0; n <= 5; ++n) {
    array<float> x(hp::shape{1 << (2 * n), n});
    for (extent_t pattern = 0; pattern < x.extents.extent[0]; ++pattern)
      for (int i = 0; i < n; ++i) {
        const extent_t digit = pattern >> (2 * i) & 3;
        x.at({pattern, i}) = digit == 3 ? NAN : static_cast<float>(digit) - 1;
      }
    check_order(x, 1);
  }
  naive::for_each_shape(1, 3, 0, 4, [](const hp::shape& s) {
    for (int axis = 0; axis < s.rank; ++axis) check_order(naive::choices<std::int32_t>(s, 3, 1), axis);
  });
  check_order(noise<float>(hp::shape{2, 200, 3}, 1), 1);
  check_order(noise<hp::f16_bits>(hp::shape{2, 40}, 1), 1);
}

}  // namespace
