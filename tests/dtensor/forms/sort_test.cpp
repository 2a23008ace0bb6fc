// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/dtensor/forms/sort.hpp>

#include <gtest/gtest.h>

#include <limits>

#include <hyperparallel/dtensor/creation.hpp>

#include "dtensor/forms/form_worlds.hpp"

namespace {

using namespace form_worlds;

template <class T>
void expect_sorted(const hp::rank_group& group, const hp::mesh_shape& m, dice& d, bool padded, int& chosen) {
  const int rank = d.roll(1, 3), dim = d.roll(0, rank - 1);
  hp::layout_value l = d.layout(m, rank, dim);
  hp::shape s = d.shape(l, 5);
  if (padded) {
    l.padded = 1u << dim;
    s.extent[dim] = d.roll(1, 13);
  }
  std::vector<T> x = d.numbers<T>(s, d.roll(0, 1) == 0 ? 1 : 99);  // many ties, or few
  if constexpr (std::floating_point<T>)
    for (T& v : x) {
      const int r = d.roll(0, 20);
      if (r == 0) v = std::numeric_limits<T>::quiet_NaN();
      if (r == 1) v = d.roll(0, 1) == 0 ? T(-0.0) : -std::numeric_limits<T>::infinity();
    }
  std::vector<T> value(x.size());
  std::vector<std::int64_t> index(x.size());
  hp::kernels::sort(view(std::as_const(x), s), view(value, s), view(index, s), dim);
  for (const auto way : {hpd::sort_way::split, hpd::sort_way::gather, hpd::sort_way::cheapest}) {
    hpd::traffic counted(group.ranks());
    const auto y = hpd::apply_form_all(hpd::forms::sort{{dim}, way}, std::array{spread(group, s, l, x)}, &counted);
    EXPECT_TRUE(y[0].layout() == l && y[1].layout() == l);
    expect_near(hp::full_tensor<T>(y[0]), value, 0);
    EXPECT_EQ(hp::full_tensor<std::int64_t>(y[1]), index);
    EXPECT_TRUE(hp::replicas_agree(y[0]) && hp::replicas_agree(y[1]));
    const hp::extent_t split = hpd::sort_price<T>(l, s, dim, hpd::sort_way::split);
    const hp::extent_t gather = hpd::sort_price<T>(l, s, dim, hpd::sort_way::gather);
    if (way == hpd::sort_way::gather) {
      EXPECT_EQ(counted.busiest_bytes(), gather);
    } else {
      EXPECT_LE(counted.busiest_bytes(), way == hpd::sort_way::split ? split : hp::smaller(split, gather));
    }
    chosen += way == hpd::sort_way::cheapest && split < gather ? 1 : 0;
  }
}

TEST(forms_sort, is_the_single_device_s_stable_sort) {
  int chosen = 0;
  in_every_world(12, [&](const auto& group, const auto& m, dice& d) {
    expect_sorted<float>(group, m, d, false, chosen);
    expect_sorted<std::int32_t>(group, m, d, false, chosen);
    expect_sorted<hp::bf16_bits>(group, m, d, false, chosen);
  });
}

TEST(forms_sort, takes_uneven_and_empty_blocks) {
  int chosen = 0;
  in_every_world(8, [&](const auto& group, const auto& m, dice& d) {
    expect_sorted<double>(group, m, d, true, chosen);
    expect_sorted<std::int64_t>(group, m, d, true, chosen);
  });
}

TEST(forms_sort, long_rows_are_split_and_each_device_receives_one_block) {
  const hp::rank_group group(4, {.threads = 2, .pin = false});
  hp::layout_value l = hp::replicated({1, {4}}, 1);
  hp::append_cut(l, {0, 0, 1, 4});
  const hp::shape s{4096};
  dice d(5);
  const std::vector<float> x = d.numbers<float>(s, 1 << 20);
  std::vector<float> wanted = x;
  std::sort(wanted.begin(), wanted.end());
  hpd::traffic counted(4);
  const auto y = hpd::apply_form_all(hpd::forms::sort{}, std::array{spread(group, s, l, x)}, &counted);
  EXPECT_EQ(hp::full_tensor<float>(y[0]), wanted);
  EXPECT_LT(counted.busiest_bytes(), hpd::sort_price<float>(l, s, 0, hpd::sort_way::gather));
  EXPECT_LE(counted.busiest_bytes(), 8 * 1024 + 8 * (32 * 5 + 18));  // a block, 32 counts of 3 splitters, their ends
}

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 2}> {};

TEST(forms_sort, has_typed_faces) {
  const hp::rank_group group(4, {.threads = 1});
  using tensor = hp::dtensor<std::int32_t, hp::extents<8>, hp::layout<mesh, hp::axes("tp", "dp")>>;
  const tensor x = hp::generate<tensor>(group, [](hp::extent_t i) { return static_cast<std::int32_t>(i * 5 % 8); });
  static_assert(hpd::sort_price<std::int32_t>(tensor::layout::value, hp::shape{8}, 0, hpd::sort_way::gather) ==
                3 * 2 * 4);
  const auto [value, index] = hpd::sort(x);
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(value)>, tensor>);
  EXPECT_EQ(value.full_tensor(), (std::vector<std::int32_t>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(index.full_tensor(), hpd::argsort<0>(x).full_tensor());
  EXPECT_EQ(index.full_tensor()[1], 5);
}

}  // namespace
