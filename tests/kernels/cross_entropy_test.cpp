// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/kernels/cross_entropy.hpp>

#include <gtest/gtest.h>

#include <cmath>

#include "naive.hpp"

namespace {

namespace hp = hyperparallel;
namespace hk = hyperparallel::kernels;
using hp::extent_t;
using naive::array;
using naive::noise;

constexpr extent_t rows = 10, classes = 24;

array<std::int64_t> some_labels() {
  auto labels = naive::choices<std::int64_t>(hp::shape{2, 5}, classes, 2);
  labels[3] = hk::ignored_label;
  return labels;
}

template <class T>
void check_definition(double tolerance) {
  const auto logits = noise<T>(hp::shape{2, 5, classes}, 1);
  const auto labels = some_labels();
  array<float> loss(hp::shape{2, 5});
  array<double> expected(hp::shape{2, 5});
  hk::cross_entropy(logits.view(), labels.view(), loss.view());
  for (extent_t r = 0; r < rows; ++r) {
    if (labels[r] == hk::ignored_label) continue;
    double sum = 0;
    for (extent_t c = 0; c < classes; ++c) sum += std::exp(static_cast<double>(hk::load(logits[r * classes + c])));
    expected[r] = std::log(sum) - static_cast<double>(hk::load(logits[r * classes + labels[r]]));
  }
  EXPECT_EQ(loss[3], 0.0F);
  EXPECT_LE(naive::distance(loss, expected), tolerance);
}

TEST(CrossEntropy, AgreesWithItsDefinition) {
  check_definition<float>(1e-6);
  check_definition<hp::bf16_bits>(1e-6);
}

// Every division of the classes into equal windows; one window gives the bits of the whole.
TEST(CrossEntropy, WindowsOfTheClassesMakeTheWhole) {
  auto logits = noise<float>(hp::shape{2, 5, classes}, 1);
  for (extent_t i = 0; i < logits.count; ++i) logits[i] = logits[i] * 30 + 500;  // sums overflow without the maximum
  const auto labels = some_labels();
  const hp::shape s{2, 5};
  array<float> whole(s);
  hk::cross_entropy(logits.view(), labels.view(), whole.view());
  for (const extent_t devices : {1, 2, 3, 4, 6, 8, 12, 24}) {
    const extent_t width = classes / devices;
    array<float> largest(s, -INFINITY), total(s), picked(s), loss(s), one(s);
    for (extent_t d = 0; d < devices; ++d) {
      hk::detail::row_max(naive::part(logits, 2, d * width, (d + 1) * width).view(), one.view());
      for (extent_t r = 0; r < rows; ++r) largest[r] = std::fmax(largest[r], one[r]);
    }
    for (extent_t d = 0; d < devices; ++d) {
      const auto window = naive::part(logits, 2, d * width, (d + 1) * width);
      hk::detail::row_sum_exp(window.view(), largest.view(), one.view());
      for (extent_t r = 0; r < rows; ++r) total[r] += one[r];
      hk::detail::picked_logit(window.view(), labels.view(), one.view(), d * width);
      for (extent_t r = 0; r < rows; ++r) picked[r] += one[r];
    }
    hk::detail::cross_entropy_of_rows(largest.view(), total.view(), picked.view(), labels.view(), loss.view());
    ASSERT_TRUE(devices > 1 || naive::same(loss, whole));
    ASSERT_LE(naive::distance(loss, whole), 1e-6) << devices;
  }
}

}  // namespace
