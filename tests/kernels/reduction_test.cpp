// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/kernels/reduction.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "naive.hpp"

namespace {

namespace hp = hyperparallel;
namespace hk = hyperparallel::kernels;
using hp::extent_t;
using naive::array;
using naive::index;
using naive::noise;

constexpr hk::dim_set every_dim(const hp::shape& s) { return (1u << s.rank) - 1u; }

/// What `s` becomes when `dims` are folded; kept as 1 where `keep_dims`.
constexpr hp::shape folded_shape(const hp::shape& s, hk::dim_set dims, bool keep_dims) {
  hp::shape r;
  for (int d = 0; d < s.rank; ++d) {
    if ((dims >> d & 1u) == 0)
      r.extent[r.rank++] = s.extent[d];
    else if (keep_dims)
      r.extent[r.rank++] = 1;
  }
  return r;
}

/// The elements behind each result, in row-major order.
template <class T>
std::vector<std::vector<T>> groups_of(const array<T>& x, hk::dim_set dims) {
  const array<int> places(folded_shape(x.extents, dims, true));
  std::vector<std::vector<T>> groups(static_cast<std::size_t>(places.count));
  naive::for_each_index(x.extents, [&](index i) {
    const T value = x.at(i);
    for (int d = 0; d < x.extents.rank; ++d)
      if ((dims >> d & 1u) != 0) i[static_cast<std::size_t>(d)] = 0;
    groups[static_cast<std::size_t>(places.offset(i))].push_back(value);
  });
  return groups;
}

TEST(Reduction, FoldsEverySetOfDimsOfEverySmallShape) {
  naive::for_each_shape(0, 4, 0, 3, [](const hp::shape& s) {
    const auto x = noise<std::int64_t>(s, 1);
    for (hk::dim_set dims = 0; dims <= every_dim(s); ++dims) {
      const auto groups = groups_of(x, dims);
      const hp::shape folded = folded_shape(s, dims, dims % 2 == 0);
      array<std::int64_t> sum(folded), product(folded), largest(folded), smallest(folded);
      array<bool> every(folded), some(folded);
      array<double> mean(folded);
      hk::sum(x.view(), sum.view(), dims);
      hk::prod(x.view(), product.view(), dims);
      hk::max(x.view(), largest.view(), dims);
      hk::min(x.view(), smallest.view(), dims);
      hk::all(x.view(), every.view(), dims);
      hk::any(x.view(), some.view(), dims);
      hk::mean(x.view(), mean.view(), dims);
      ASSERT_EQ(static_cast<std::size_t>(sum.count), groups.size());
      for (std::size_t g = 0; g < groups.size(); ++g) {
        const auto at = static_cast<extent_t>(g);
        std::int64_t add = 0, multiply = 1, most = std::numeric_limits<std::int64_t>::min();
        std::int64_t least = std::numeric_limits<std::int64_t>::max();
        bool all = true, any = false;
        for (const std::int64_t value : groups[g]) {
          add += value;
          multiply *= value;
          most = value > most ? value : most;
          least = value < least ? value : least;
          all = all && value != 0;
          any = any || value != 0;
        }
        ASSERT_EQ(sum[at], add);
        ASSERT_EQ(product[at], multiply);
        ASSERT_EQ(largest[at], most);
        ASSERT_EQ(smallest[at], least);
        ASSERT_EQ(every[at], all);
        ASSERT_EQ(some[at], any);
        ASSERT_EQ(hk::detail::folded_count(s, dims), static_cast<extent_t>(groups[g].size()));
        if (groups[g].empty())
          ASSERT_TRUE(std::isnan(mean[at]));
        else
          ASSERT_EQ(mean[at], static_cast<double>(add) / static_cast<double>(groups[g].size()));
      }
    }
  });
}

TEST(Reduction, ASumIsTakenInDoubleOver256TermsAtATime) {
  for (const hp::shape& s : {hp::shape{3, 150, 5}, hp::shape{3, 5, 150}, hp::shape{600, 7}})
    for (hk::dim_set dims = 0; dims <= every_dim(s); ++dims) {
      const auto x = noise<hp::bf16_bits>(s, 1);
      const auto groups = groups_of(x, dims);
      array<hp::bf16_bits> sum(folded_shape(s, dims, false)), mean(sum.extents);
      array<float> wide(sum.extents);
      hk::sum(x.view(), sum.view(), dims);
      hk::sum(x.view(), wide.view(), dims);
      hk::mean(x.view(), mean.view(), dims);
      for (std::size_t g = 0; g < groups.size(); ++g) {
        double total = 0;
        for (std::size_t first = 0; first < groups[g].size(); first += 256) {
          double part = 0;
          for (std::size_t i = first; i < groups[g].size() && i < first + 256; ++i)
            part += static_cast<double>(hp::detail::to_float(groups[g][i]));
          total += part;
        }
        const float expected = static_cast<float>(total);
        ASSERT_EQ(wide[static_cast<extent_t>(g)], expected);
        ASSERT_EQ(sum[static_cast<extent_t>(g)], hp::detail::to_bf16(expected));
        ASSERT_EQ(mean[static_cast<extent_t>(g)], hp::detail::to_bf16(expected / static_cast<float>(groups[g].size())));
      }
    }
}

TEST(Reduction, FoldsOfFloatsHandOnANanAndStartAtInfinity) {
  const array<float> nothing(hp::shape{0});
  array<float> out(hp::shape{});
  hk::max(nothing.view(), out.view(), 1);
  EXPECT_EQ(out[0], -INFINITY);
  hk::min(nothing.view(), out.view(), 1);
  EXPECT_EQ(out[0], INFINITY);
  for (extent_t at = 0; at < 4; ++at) {
    array<float> x = noise<float>(hp::shape{4}, 1);
    x[at] = NAN;
    hk::max(x.view(), out.view(), 1);
    EXPECT_TRUE(std::isnan(out[0]));
    hk::min(x.view(), out.view(), 1);
    EXPECT_TRUE(std::isnan(out[0]));
  }
}

TEST(Reduction, TheFirstOfTheLargestIsFound) {
  naive::for_each_shape(1, 3, 1, 4, [](const hp::shape& s) {
    const auto x = naive::choices<int>(s, 3, 1);
    for (int axis = 0; axis < s.rank; ++axis) {
      const hp::shape folded = folded_shape(s, 1u << axis, true);
      array<int> value(folded);
      array<std::int64_t> place(folded), again(folded);
      hk::max_with_index(x.view(), value.view(), place.view(), axis, 10);
      hk::argmax(x.view(), again.view(), axis);
      naive::for_each_index(folded, [&](index i) {
        const index result = i;
        extent_t best = 0;
        int most = -1;
        for (extent_t m = 0; m < s.extent[axis]; ++m) {
          i[static_cast<std::size_t>(axis)] = m;
          if (x.at(i) > most) {
            most = x.at(i);
            best = m;
          }
        }
        ASSERT_EQ(value.at(result), most);
        ASSERT_EQ(place.at(result), 10 + best);
        ASSERT_EQ(again.at(result), best);
      });
    }
  });
  array<float> x(hp::shape{4}, 1.0F);
  array<std::int64_t> place(hp::shape{});
  x[2] = x[3] = NAN;
  hk::argmax(x.view(), place.view(), 0);
  EXPECT_EQ(place[0], 2);
}

}  // namespace
