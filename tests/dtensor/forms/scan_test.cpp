// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/dtensor/forms/scan.hpp>

#include <gtest/gtest.h>

#include <hyperparallel/dtensor/creation.hpp>

#include "dtensor/forms/form_worlds.hpp"

namespace {

using namespace form_worlds;

template <class T>
void expect_scan(const hp::rank_group& group, const hp::mesh_shape& m, dice& d, double tolerance, bool padded) {
  const int rank = d.roll(1, 3), dim = d.roll(0, rank - 1);
  hp::layout_value l = d.layout(m, rank, dim);
  hp::shape s = d.shape(l, 3);
  if (padded) {
    l.padded = 1u << dim;
    s.extent[dim] = d.roll(1, 11);
  }
  const bool whole = std::integral<T>;
  const std::vector<T> x = whole ? d.numbers<T>(s, 9) : d.numbers<T>(s, 40, 16);
  std::vector<T> factors = d.numbers<T>(s, 1);
  for (T& f : factors)  // -1, 2 and 1.25 or 1, so that products stay in range and differ by place
    f = hp::kernels::store<T>(static_cast<hp::kernels::computing<T>>(d.roll(0, 3) == 0              ? -1
                                                                     : (whole || d.roll(0, 1) == 0) ? 1
                                                                                                    : 1.25));
  std::vector<T> sums(x.size()), products(x.size());
  hp::kernels::cumsum(view(x, s), view(sums, s), dim);
  hp::kernels::cumprod(view(std::as_const(factors), s), view(products, s), dim);
  hpd::traffic counted(group.ranks());
  const auto y = hpd::apply_form_all(hpd::forms::cumsum{{dim}}, std::array{spread(group, s, l, x)}, &counted)[0];
  const auto z = hpd::apply_form(hpd::forms::cumprod{{dim - rank}}, spread(group, s, l, factors));
  EXPECT_TRUE(y.layout() == l && z.layout() == l);
  const double allowed = hp::shards_of(l, dim) == 1 ? 0 : tolerance;
  expect_near(hp::full_tensor<T>(y), sums, allowed);
  expect_near(hp::full_tensor<T>(z), products, allowed);
  EXPECT_TRUE(hp::replicas_agree(y) && hp::replicas_agree(z));
  if (!padded) {
    EXPECT_EQ(counted.busiest_elements(), hpd::detail::scan_price(l, s, dim));
    EXPECT_EQ(counted.busiest_bytes(),
              hpd::detail::scan_price(l, s, dim) * static_cast<std::int64_t>(sizeof(hp::kernels::computing<T>)));
  }
}

TEST(forms_scan, over_a_sharded_dim_is_the_single_device_s) {
  in_every_world(20, [](const auto& group, const auto& m, dice& d) {
    expect_scan<std::int32_t>(group, m, d, 0, false);
    expect_scan<std::int64_t>(group, m, d, 0, false);
    expect_scan<float>(group, m, d, 1e-5, false);
    expect_scan<hp::bf16_bits>(group, m, d, 8e-3, false);
  });
}

TEST(forms_scan, takes_uneven_and_empty_blocks) {
  in_every_world(15,
                 [](const auto& group, const auto& m, dice& d) { expect_scan<std::int64_t>(group, m, d, 0, true); });
}

TEST(forms_scan, follows_sub_axes) {
  const hp::mesh_shape m{1, {8}};
  const hp::rank_group group(8, {.threads = 2, .pin = false});
  hp::layout_value l = hp::replicated(m, 2);  // one axis as 2 × 2 × 2: the last part cuts rows, the first two columns
  hp::append_cut(l, {0, 0, 4, 2});
  hp::append_cut(l, {1, 0, 1, 4});
  const hp::shape s{4, 8};
  dice d(11);
  const std::vector<std::int32_t> x = d.numbers<std::int32_t>(s, 9);
  std::vector<std::int32_t> sums(x.size());
  hp::kernels::cumsum(view(x, s), view(sums, s), 1);
  hpd::traffic counted(8);
  const auto y = hpd::apply_form_all(hpd::forms::cumsum{{1}}, std::array{spread(group, s, l, x)}, &counted)[0];
  EXPECT_TRUE(y.layout() == l);
  EXPECT_EQ(hp::full_tensor<std::int32_t>(y), sums);
  EXPECT_EQ(counted.busiest_elements(), 3 * 2);
}

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 2}> {};

TEST(forms_scan, has_typed_faces) {
  const hp::rank_group group(4, {.threads = 1});
  using tensor = hp::dtensor<std::int32_t, hp::extents<8>, hp::layout<mesh, hp::axes("tp", "dp")>>;
  const tensor x = hp::arange<tensor>(group, 1);
  static_assert(hpd::detail::scan_price(tensor::layout::value, hp::shape{8}, 0) == 3);
  static_assert(std::is_same_v<decltype(hpd::cumsum(x)), tensor>);
  EXPECT_EQ(hpd::cumsum(x).full_tensor(), (std::vector<std::int32_t>{1, 3, 6, 10, 15, 21, 28, 36}));
  EXPECT_EQ(hpd::cumprod<0>(x).full_tensor(), (std::vector<std::int32_t>{1, 2, 6, 24, 120, 720, 5040, 40320}));
}

}  // namespace
