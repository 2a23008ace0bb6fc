// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/dtensor/creation.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

namespace hp = hyperparallel;

namespace {

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"cp", 3}, hp::axis{"tp", 2}> {};
template <class T, class Layout>
using tensor = hp::dtensor<T, hp::extents<12, 24>, Layout>;

using whole = hp::layout<mesh, hp::none, hp::none>;
using tiles = hp::layout<mesh, hp::axes("tp", "cp"), "dp">;
using terms = hp::layout<mesh, "cp", hp::none, hp::partial("dp"), hp::partial("tp")>;

template <class T, class Make>
void expect_same_under_every_layout(const Make& make) {
  const hp::rank_group ranks(12, {.threads = 2, .pin = false});
  const std::vector<T> expected = make(static_cast<tensor<T, whole>*>(nullptr), ranks).full_tensor();
  EXPECT_EQ(make(static_cast<tensor<T, tiles>*>(nullptr), ranks).full_tensor(), expected);
  EXPECT_EQ(make(static_cast<tensor<T, terms>*>(nullptr), ranks).full_tensor(), expected);
}

TEST(creation, the_same_numbers_under_every_layout) {
  expect_same_under_every_layout<float>(
      []<class Tensor>(Tensor*, const hp::rank_group& ranks) { return hp::rand<Tensor>(ranks, {.seed = 3}); });
  expect_same_under_every_layout<double>(
      []<class Tensor>(Tensor*, const hp::rank_group& ranks) { return hp::randn<Tensor>(ranks, {.seed = 3}); });
  expect_same_under_every_layout<int>(
      []<class Tensor>(Tensor*, const hp::rank_group& ranks) { return hp::arange<Tensor>(ranks, 5, -2); });
  expect_same_under_every_layout<hp::bf16_bits>(
      []<class Tensor>(Tensor*, const hp::rank_group& ranks) { return hp::ones<Tensor>(ranks); });
}

TEST(creation, keys_make_independent_numbers_of_the_right_moments) {
  const hp::rank_group ranks(12, {.threads = 1});
  using large = hp::dtensor<double, hp::extents<120, 240>, tiles>;
  const double n = 120 * 240;
  const auto moments = [n](const std::vector<double>& v, double& mean, double& variance) {
    mean = variance = 0;
    for (const double x : v) mean += x / n;
    for (const double x : v) variance += (x - mean) * (x - mean) / n;
  };
  double mean = 0, variance = 0;
  const std::vector<double> uniform = hp::rand<large>(ranks, {.seed = 1}).full_tensor();
  moments(uniform, mean, variance);
  EXPECT_NEAR(mean, 0.5, 0.01);
  EXPECT_NEAR(variance, 1.0 / 12, 0.005);
  for (const double x : uniform) EXPECT_TRUE(x >= 0 && x < 1);
  const std::vector<double> normal = hp::randn<large>(ranks, {.seed = 1}).full_tensor();
  moments(normal, mean, variance);
  EXPECT_NEAR(mean, 0, 0.03);
  EXPECT_NEAR(variance, 1, 0.05);
  const std::vector<double> other = hp::randn<large>(ranks, {.seed = 1, .stream = 1}).full_tensor();
  double product = 0;
  for (std::size_t i = 0; i < normal.size(); ++i) product += normal[i] * other[i] / n;
  EXPECT_NEAR(product, 0, 0.03);
}

TEST(creation, constants_and_functions_of_the_number) {
  const hp::rank_group ranks(12, {.threads = 1});
  for (const float x : hp::zeros<tensor<float, tiles>>(ranks).full_tensor()) EXPECT_EQ(x, 0.0F);
  for (const float x : hp::full<tensor<float, terms>>(ranks, 2.5F).full_tensor()) EXPECT_EQ(x, 2.5F);
  const auto squares = hp::generate<tensor<long, tiles>>(ranks, [](hp::extent_t i) { return i * i; }).full_tensor();
  for (std::size_t i = 0; i < squares.size(); ++i) EXPECT_EQ(squares[i], static_cast<long>(i * i));
}

TEST(creation, from_data) {
  const hp::rank_group ranks(12, {.threads = 1});
  std::vector<float> numbers(12 * 24);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i);
  const auto x = hp::distribute<tensor<float, tiles>>(ranks, numbers);
  EXPECT_EQ(x.full_tensor(), numbers);
  std::vector<std::vector<float>> blocks;
  for (int r = 0; r < 12; ++r) blocks.emplace_back(x.to_local(r).begin(), x.to_local(r).end());
  EXPECT_EQ((hp::from_local<tensor<float, tiles>>(ranks, blocks).full_tensor()), numbers);
  blocks[3].pop_back();
  EXPECT_THROW((hp::from_local<tensor<float, tiles>>(ranks, blocks)), hp::dtensor_error);
  using open = hp::dtensor<float, hp::extents<hp::dyn, 24>, tiles>;
  EXPECT_EQ(hp::distribute<open>(ranks, hp::shape(12, 24), numbers).full_tensor(), numbers);
  EXPECT_THROW(hp::zeros<open>(ranks, hp::shape(12, 12)), hp::dtensor_error);
}

}  // namespace
