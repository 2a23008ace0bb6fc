// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/kernels/rope.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <complex>

#include "naive.hpp"

namespace {

namespace hp = hyperparallel;
namespace hk = hyperparallel::kernels;
using hp::extent_t;
using naive::array;
using naive::index;
using naive::noise;

/// The definition: pair i is a complex number, turned by its angle.
template <class T>
array<double> define(const array<T>& x, int axis, const hk::rope_options& o) {
  array<double> out(x.extents);
  const extent_t width = x.extents.extent[x.extents.rank - 1], pairs = width / 2;
  naive::for_each_index(x.extents, [&](const index& i) { out.at(i) = static_cast<double>(hk::load(x.at(i))); });
  naive::for_each_index(x.extents, [&](index i) {
    if (i.back() != 0) return;
    for (extent_t p = 0; p < pairs; ++p) {
      const auto position = static_cast<double>(o.first_position + i[static_cast<std::size_t>(axis)]);
      const double angle =
          (o.back ? -position : position) / std::pow(o.base, static_cast<double>(p) / static_cast<double>(pairs));
      i.back() = p;
      double& real = out.at(i);
      i.back() = p + pairs;
      double& imaginary = out.at(i);
      const auto turned = std::complex(real, imaginary) * std::polar(1.0, angle);
      real = turned.real();
      imaginary = turned.imag();
    }
  });
  return out;
}

template <class T>
void check(double tolerance) {
  for (const hp::shape& s : {hp::shape{5, 2}, hp::shape{2, 3, 5, 6}, hp::shape{2, 5, 3, 140}})
    for (int axis = 0; axis + 1 < s.rank; ++axis)
      for (const bool back : {false, true}) {
        const hk::rope_options o{100, 11, back};
        const auto x = noise<T>(s, 1);
        array<T> out(s), in_place = x;
        hk::rope(x.view(), out.view(), axis, o);
        ASSERT_LE(naive::distance(out, define(x, axis, o)), tolerance);
        hk::rope(in_place.view(), in_place.view(), axis, o);
        ASSERT_TRUE(naive::same(in_place, out));
      }
}

TEST(Rope, TurnsPairsAsComplexNumbers) {
  check<double>(1e-13);
  check<float>(1e-6);
  check<hp::bf16_bits>(1.0 / 128);
}

TEST(Rope, SlicesAtTheirPositionsAreTheWholesToTheBit) {
  const auto x = noise<float>(hp::shape{2, 12, 8}, 1);
  array<float> whole(x.extents);
  hk::rope(x.view(), whole.view(), 1);
  for (extent_t begin = 0; begin < 12; begin += 4) {
    const auto slice = naive::part(x, 1, begin, begin + 4);
    array<float> out(slice.extents);
    hk::rope_options o;
    o.first_position = begin;
    hk::rope(slice.view(), out.view(), 1, o);
    ASSERT_TRUE(naive::same(out, naive::part(whole, 1, begin, begin + 4)));
  }
}

TEST(Rope, ProductsDependOnTheDistanceAlone) {
  const auto q = noise<double>(hp::shape{1, 16}, 1), k = noise<double>(hp::shape{1, 16}, 2);
  const auto product = [&](extent_t at_q, extent_t at_k) {
    array<double> a(q.extents), b(k.extents);
    hk::rope(q.view(), a.view(), 0, {10000, at_q});
    hk::rope(k.view(), b.view(), 0, {10000, at_k});
    double sum = 0;
    for (extent_t i = 0; i < 16; ++i) sum += a[i] * b[i];
    return sum;
  };
  for (extent_t distance = -5; distance <= 5; ++distance)
    EXPECT_NEAR(product(10 + distance, 10), product(1000 + distance, 1000), 1e-11);
}

}  // namespace
