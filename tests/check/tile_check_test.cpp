// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/check/tile_check.hpp>

#include <check/sampled_operator.hpp>

#include <gtest/gtest.h>

#include <string>

namespace {

namespace hp = hyperparallel;
using hp::const_view;
using hp::extent_t;
using hp::tensor_view;

using checked::loop_of;
using checked::says;

template <class Operator>
std::string complaint_of() {
  return checked::first_complaint<Operator>(
      {}, [](const hp::detail::operator_sample& sample, const auto&, hp::detail::sample_numbers& random) {
        return hp::detail::tile_check(sample, random).complaint_of(sample.run(sample.whole(), sample.operand));
      });
}

/// Sums squares row by row; in an order that depends on the extent: within any tolerance, but no tile has its bits.
template <bool ByExtent>
struct squares {
  static constexpr const char *name = "squares", *text = "ab->a";
  template <class T>
  static void run(const hp::operator_call& c, const_view<T> x, tensor_view<T> y) {
    const extent_t rows = loop_of(c, 'a').extent, width = loop_of(c, 'b').extent;
    for (extent_t i = 0; i < rows; ++i) {
      T sum = 0;
      for (extent_t j = 0; j < width; ++j) {
        const T one = x.data[i * width + (ByExtent && rows % 2 == 0 ? j : width - 1 - j)];
        sum += one * one;
      }
      y.data[i] = sum;
    }
  }
};
/// Right where one dim is cut.
struct corner {
  static constexpr const char *name = "corner", *text = "ab->ab";
  template <class T>
  static void run(const hp::operator_call& c, const_view<T> x, tensor_view<T> y) {
    const bool both = loop_of(c, 'a').begin > 0 && loop_of(c, 'b').begin > 0;
    for (extent_t i = 0; i < hp::volume(y); ++i) y.data[i] = both ? T(0) : x.data[i];
  }
};
/// A factor that a result lacks is no tile's.
struct total {
  static constexpr const char *name = "total", *text = "ab->ab,a";
  template <class T>
  static void run(const hp::operator_call& c, const_view<T> x, tensor_view<T> y, tensor_view<T> sum) {
    const extent_t width = loop_of(c, 'b').extent;
    for (extent_t i = 0; i < hp::volume(y); ++i) y.data[i] = x.data[i];
    for (extent_t i = 0; i < hp::volume(sum); ++i) {
      sum.data[i] = 0;
      for (extent_t j = 0; j < width; ++j) sum.data[i] += x.data[i * width + j];
    }
  }
};

TEST(TileCheck, HoldsTheBitsOfTiles) {
  EXPECT_EQ(complaint_of<squares<false>>(), "");
  EXPECT_TRUE(says(complaint_of<squares<true>>(), "of result 0, in a tile along factor 'a', is "));
  EXPECT_TRUE(says(complaint_of<corner>(), "of result 0, in a tile along factors 'a', 'b', is 0.0"));
  EXPECT_EQ(complaint_of<total>(), "");
}

/// Writes one element more than its box has.
struct writes_beyond {
  static constexpr const char *name = "writes_beyond", *text = "ab->ab";
  template <class T>
  static void run(const hp::operator_call& c, const_view<T> x, tensor_view<T> y) {
    const bool all = loop_of(c, 'a').extent == loop_of(c, 'a').whole;
    for (extent_t i = 0; i < hp::volume(y) + (all ? 0 : 1); ++i) y.data[i] = x.data[all ? i : 0];
    for (extent_t i = 0; i < hp::volume(y); ++i) y.data[i] = x.data[i];
  }
};

TEST(TileCheck, HoldsWhatLiesOutside) {
  EXPECT_TRUE(says(complaint_of<writes_beyond>(), "of result 0, outside a tile along factor"));
}

}  // namespace
