// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/kernels/convolution.hpp>

#include <gtest/gtest.h>

#include <cmath>

#include "naive.hpp"

namespace {

namespace hp = hyperparallel;
namespace hk = hyperparallel::kernels;
using hp::extent_t;
using naive::array;
using naive::index;
using naive::noise;

/// The definition, with sums in the order of the law. `Sum` wider than the computing type makes it a reference.
template <class Sum, class T>
array<Sum> define(const array<T>& x, const array<T>& w, const std::type_identity_t<array<T>>* bias, const hp::shape& s,
                  const hk::convolution_options& o) {
  array<Sum> out(s);
  const extent_t group_size = w.extents.extent[0] / o.groups, channels = w.extents.extent[1];
  naive::for_each_index(s, [&](const index& i) {
    Sum sum{};
    hp::shape taps = w.extents;
    taps.extent[0] = 1;
    naive::for_each_index(taps, [&](index tap) {
      tap[0] = i[1];
      index from{i[0], i[1] / group_size * channels + tap[1]};
      for (std::size_t d = 2; d < i.size(); ++d) {
        from.push_back(i[d] * o.stride[d - 2] - o.padding[d - 2] + tap[d] * o.dilation[d - 2]);
        if (from[d] < 0 || from[d] >= x.extents.extent[d]) return;
      }
      volatile Sum term = static_cast<Sum>(hk::load(w.at(tap))) * static_cast<Sum>(hk::load(x.at(from)));
      sum += term;
    });
    out.at(i) = bias == nullptr ? sum : sum + static_cast<Sum>(hk::load((*bias)[i[1]]));
  });
  return out;
}

TEST(Convolution, OneTwoAndThreeDimsInIntegersAndFloats) {
  for (int dims = 1; dims <= 3; ++dims)
    for (const extent_t stride : {1, 2})
      for (const extent_t padding : {0, 2})
        for (const extent_t dilation : {1, 2})
          for (const extent_t groups : {1, 2})
            for (const bool biased : {false, true}) {
              hk::convolution_options o;
              o.groups = groups;
              hp::shape sx{2, 4}, sw{6, 4 / groups}, sy{2, 6};
              for (int d = 0; d < dims; ++d) {
                const extent_t extent = 5 - d, kernel = d == 1 ? 2 : 3;
                o.stride[d] = d == 0 ? stride : 1;
                o.padding[d] = padding;
                o.dilation[d] = d == dims - 1 ? dilation : 1;
                sx.extent[sx.rank++] = extent;
                sw.extent[sw.rank++] = kernel;
                sy.extent[sy.rank++] =
                    hk::detail::convolution_extent(extent, kernel, o.stride[d], padding, o.dilation[d]);
              }
              const auto x = noise<std::int64_t>(sx, 1), w = noise<std::int64_t>(sw, 2);
              const auto b = noise<std::int64_t>(hp::shape{6}, 3);
              const auto fx = noise<float>(sx, 1), fw = noise<float>(sw, 2), fb = noise<float>(hp::shape{6}, 3);
              array<std::int64_t> out(sy);
              array<float> real(sy);
              hk::convolution(x.view(), w.view(), biased ? b.view() : hp::const_view<std::int64_t>{}, out.view(), o);
              hk::convolution(fx.view(), fw.view(), biased ? fb.view() : hp::const_view<float>{}, real.view(), o);
              ASSERT_TRUE(naive::same(out, define<std::int64_t>(x, w, biased ? &b : nullptr, sy, o)));
              ASSERT_TRUE(naive::same(real, define<float>(fx, fw, biased ? &fb : nullptr, sy, o)));
            }
}

TEST(Convolution, LongRowsAndSixteenBitFloats) {
  const auto x = noise<hp::bf16_bits>(hp::shape{1, 3, 300}, 1), w = noise<hp::bf16_bits>(hp::shape{2, 3, 5}, 2);
  hk::convolution_options o;
  o.stride[0] = 2;
  o.padding[0] = 2;
  array<hp::bf16_bits> out(hp::shape{1, 2, hk::detail::convolution_extent(300, 5, 2, 2, 1)});
  hk::convolution(x.view(), w.view(), hp::const_view<hp::bf16_bits>{}, out.view(), o);
  const auto expected = define<float>(x, w, nullptr, out.extents, o);
  for (extent_t i = 0; i < out.count; ++i) ASSERT_EQ(out[i], hp::detail::to_bf16(expected[i]));
}

// Devices along the rows: each reads the rows of its outputs, and padding is left where x really ends.
TEST(Convolution, SlicesWithTheirHaloAreTheWholesToTheBit) {
  const auto x = noise<float>(hp::shape{1, 2, 12, 6}, 1), w = noise<float>(hp::shape{3, 2, 3, 3}, 2);
  hk::convolution_options o;
  o.padding[0] = o.padding[1] = 1;
  array<float> whole(hp::shape{1, 3, 12, 6});
  hk::convolution(x.view(), w.view(), hp::const_view<float>{}, whole.view(), o);
  for (extent_t begin = 0; begin < 12; begin += 4) {
    const extent_t first = begin == 0 ? 0 : begin - 1, last = begin + 4 == 12 ? 12 : begin + 5;
    const auto rows = naive::part(x, 2, first, last);
    hk::convolution_options part = o;
    part.padding[0] = begin == 0 ? 1 : 0;
    array<float> out(hp::shape{1, 3, 4, 6});
    hk::convolution(rows.view(), w.view(), hp::const_view<float>{}, out.view(), part);
    ASSERT_TRUE(naive::same(out, naive::part(whole, 2, begin, begin + 4)));
  }
}

TEST(Convolution, ChannelsAddUp) {
  const auto x = noise<std::int64_t>(hp::shape{2, 4, 9}, 1), w = noise<std::int64_t>(hp::shape{3, 4, 2}, 2);
  array<std::int64_t> whole(hp::shape{2, 3, 8}), sum(whole.extents), partial(whole.extents);
  const hp::const_view<std::int64_t> none{};
  hk::convolution(x.view(), w.view(), none, whole.view());
  for (extent_t c = 0; c < 4; c += 2) {
    hk::convolution(naive::part(x, 1, c, c + 2).view(), naive::part(w, 1, c, c + 2).view(), none, partial.view());
    for (extent_t i = 0; i < sum.count; ++i) sum[i] += partial[i];
  }
  EXPECT_TRUE(naive::same(sum, whole));
}

}  // namespace
