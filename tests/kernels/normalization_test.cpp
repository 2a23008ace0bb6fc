// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/kernels/normalization.hpp>

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

std::size_t at(int d) { return static_cast<std::size_t>(d); }

/// In double: log-softmax along one dim.
template <class T>
array<double> log_softmax(const array<T>& x, int axis) {
  array<double> out(x.extents);
  naive::for_each_index(x.extents, [&](const index& i) {
    double sum = 0;
    index j = i;
    for (extent_t m = 0; m < x.extents.extent[axis]; ++m) {
      j[at(axis)] = m;
      sum += std::exp(static_cast<double>(hk::load(x.at(j))));
    }
    out.at(i) = static_cast<double>(hk::load(x.at(i))) - std::log(sum);
  });
  return out;
}

template <class T>
void check_softmax(double tolerance) {
  for (const hp::shape& s : {hp::shape{1}, hp::shape{7}, hp::shape{3, 50}, hp::shape{2, 5, 70}, hp::shape{2, 0, 3}})
    for (int axis = 0; axis < s.rank; ++axis) {
      const auto x = noise<T>(s, 1);
      array<T> soft(s), logarithm(s), in_place = x;
      hk::softmax(x.view(), soft.view(), axis);
      hk::log_softmax(x.view(), logarithm.view(), axis);
      array<double> expected = log_softmax(x, axis);
      ASSERT_LE(naive::distance(logarithm, expected), tolerance);
      for (extent_t i = 0; i < expected.count; ++i) expected[i] = std::exp(expected[i]);
      ASSERT_LE(naive::distance(soft, expected), tolerance);
      hk::softmax(in_place.view(), in_place.view(), axis);
      ASSERT_TRUE(naive::same(in_place, soft));
    }
}

TEST(Normalization, SoftmaxAgreesWithItsDefinition) {
  check_softmax<double>(1e-14);
  check_softmax<float>(2e-6);
  check_softmax<hp::bf16_bits>(1.0 / 128);
  check_softmax<hp::f16_bits>(1.0 / 1024);
}

TEST(Normalization, RowsOfSoftmaxSumToOneAndBearAnyShift) {
  const auto x = noise<float>(hp::shape{20, 300}, 1);
  array<float> shifted = x, out(x.extents), moved(x.extents);
  for (extent_t i = 0; i < x.count; ++i) shifted[i] += 1000.0F;
  hk::softmax(x.view(), out.view(), 1);
  hk::softmax(shifted.view(), moved.view(), 1);
  EXPECT_LE(naive::distance(moved, out), 1e-4);  // 1000 leaves 2^-14 of the operands
  array<double> sum(hp::shape{20});
  hk::sum(out.view(), sum.view(), 2);
  for (extent_t r = 0; r < 20; ++r) EXPECT_NEAR(sum[r], 1, 1e-5);
}

TEST(Normalization, APartIsThePartOfTheWholeToTheBit) {
  const auto x = noise<float>(hp::shape{6, 9, 70}, 1);
  array<float> whole(x.extents);
  hk::softmax(x.view(), whole.view(), 1);
  for (extent_t begin = 0; begin < 70; begin += 35) {
    const auto piece = naive::part(x, 2, begin, begin + 35);
    array<float> out(piece.extents);
    hk::softmax(piece.view(), out.view(), 1);
    ASSERT_TRUE(naive::same(out, naive::part(whole, 2, begin, begin + 35)));
  }
}

template <class T, class C>
void check_norms(double tolerance) {
  const double epsilon = 1e-3;
  const auto x = noise<T>(hp::shape{3, 4, 5, 6}, 1);
  for (int trailing = 0; trailing <= 4; ++trailing) {
    hp::shape s;
    for (int d = 4 - trailing; d < 4; ++d) s.extent[s.rank++] = x.extents.extent[d];
    const auto weight = noise<T>(s, 2), bias = noise<T>(s, 3);
    const extent_t width = weight.count, rows = x.count / width;
    for (const bool weighted : {false, true}) {
      array<T> layer(x.extents), rms(x.extents);
      std::vector<C> mean(static_cast<std::size_t>(rows)), deviation(mean.size()), reciprocal(mean.size());
      const hp::const_view<T> by{weighted ? weight.element.get() : nullptr, s};
      const hp::const_view<T> plus{weighted ? bias.element.get() : nullptr, s};
      hk::layer_norm(x.view(), by, plus, layer.view(), epsilon, mean.data(), deviation.data());
      hk::rms_norm(x.view(), by, rms.view(), epsilon, reciprocal.data());
      array<double> layer_expected(x.extents), rms_expected(x.extents);
      for (extent_t r = 0; r < rows; ++r) {
        double sum = 0, squares = 0, spread = 0;
        const auto value = [&](extent_t i) { return static_cast<double>(hk::load(x[r * width + i])); };
        for (extent_t i = 0; i < width; ++i) {
          sum += value(i);
          squares += value(i) * value(i);
        }
        const double n = static_cast<double>(width), middle = sum / n;
        for (extent_t i = 0; i < width; ++i) spread += (value(i) - middle) * (value(i) - middle);
        for (extent_t i = 0; i < width; ++i) {
          const double w = weighted ? static_cast<double>(hk::load(weight[i])) : 1;
          const double b = weighted ? static_cast<double>(hk::load(bias[i])) : 0;
          layer_expected[r * width + i] = (value(i) - middle) / std::sqrt(spread / n + epsilon) * w + b;
          rms_expected[r * width + i] = value(i) / std::sqrt(squares / n + epsilon) * w;
        }
        const auto row = static_cast<std::size_t>(r);
        ASSERT_NEAR(static_cast<double>(mean[row]), middle, 1e-6);
        ASSERT_NEAR(static_cast<double>(deviation[row]) * std::sqrt(spread / n + epsilon), 1, 1e-4);
        ASSERT_NEAR(static_cast<double>(reciprocal[row]) * std::sqrt(squares / n + epsilon), 1, 1e-4);
      }
      ASSERT_LE(naive::distance(layer, layer_expected), tolerance);
      ASSERT_LE(naive::distance(rms, rms_expected), tolerance);
    }
  }
}

TEST(Normalization, NormsAgreeWithTheirDefinitions) {
  check_norms<double, double>(1e-12);
  check_norms<float, float>(1e-5);
  check_norms<hp::bf16_bits, float>(1.0 / 128);
}

TEST(Normalization, NormsMayBeInPlaceAndWithoutStatistics) {
  const auto x = noise<float>(hp::shape{3, 8}, 1), weight = noise<float>(hp::shape{8}, 2);
  array<float> out(x.extents), in_place = x;
  hk::rms_norm(x.view(), weight.view(), out.view(), 1e-6);
  hk::rms_norm(in_place.view(), weight.view(), in_place.view(), 1e-6);
  EXPECT_TRUE(naive::same(in_place, out));
  in_place = x;
  hk::layer_norm(x.view(), weight.view(), weight.view(), out.view(), 1e-6);
  hk::layer_norm(in_place.view(), weight.view(), weight.view(), in_place.view(), 1e-6);
  EXPECT_TRUE(naive::same(in_place, out));
}

}  // namespace
