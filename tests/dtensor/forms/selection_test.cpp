// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/dtensor/forms/selection.hpp>

#include <gtest/gtest.h>

#include <limits>

#include <hyperparallel/dtensor/creation.hpp>

#include "dtensor/forms/form_worlds.hpp"

namespace {

using namespace form_worlds;

/// Few different values, so that ties cross blocks; NaN and infinities among floats.
template <class T>
std::vector<T> tied(dice& d, const hp::shape& s) {
  std::vector<T> v = d.numbers<T>(s, d.roll(0, 2));
  if constexpr (std::floating_point<T>)
    for (T& x : v) {
      const int r = d.roll(0, 30);
      if (r == 0) x = std::numeric_limits<T>::quiet_NaN();
      if (r == 1) x = -std::numeric_limits<T>::infinity();
    }
  return v;
}

template <class T>
void expect_selection(const hp::rank_group& group, const hp::mesh_shape& m, dice& d, bool padded) {
  const int rank = d.roll(1, 3), dim = d.roll(0, rank - 1);
  hp::layout_value l = d.layout(m, rank, dim);
  hp::shape s = d.shape(l, 4);
  if (padded) {  // uneven blocks, some of them empty
    l.padded = 1u << dim;
    s.extent[dim] = d.roll(1, 11);
  }
  const std::vector<T> x = tied<T>(d, s);
  hp::shape folded;
  for (int e = 0; e < rank; ++e)
    if (e != dim) folded.extent[folded.rank++] = s.extent[e];
  const std::size_t rows = static_cast<std::size_t>(hp::element_count(folded).value);
  std::vector<T> value(rows);
  std::vector<std::int64_t> index(rows);
  hp::kernels::max_with_index(view(x, s), view(value, folded), view(index, folded), dim);
  const auto tx = spread(group, s, l, x);
  hpd::traffic counted(group.ranks()), counted_k(group.ranks());
  const auto y = hpd::apply_form_all(hpd::forms::max_with_index{{.dim = dim}}, std::array{tx}, &counted);
  expect_near(hp::full_tensor<T>(y[0]), value, 0);
  EXPECT_EQ(hp::full_tensor<std::int64_t>(y[1]), index);
  EXPECT_TRUE(hp::replicas_agree(y[1]));
  EXPECT_EQ(counted.busiest_elements(), hpd::detail::max_with_index_price(l, s, dim));
  EXPECT_EQ(counted.busiest_bytes(), counted.busiest_elements() * static_cast<std::int64_t>(sizeof(hpd::candidate<T>)));

  const hp::extent_t k = d.roll(1, static_cast<int>(s.extent[dim]));
  hp::shape kept = s;
  kept.extent[dim] = k;
  std::vector<T> best(static_cast<std::size_t>(hp::element_count(kept).value));
  std::vector<std::int64_t> places(best.size());
  hp::kernels::topk(view(x, s), view(best, kept), view(places, kept), dim);
  const auto z = hpd::apply_form_all(hpd::forms::topk{{k, dim - rank}}, std::array{tx}, &counted_k);
  expect_near(hp::full_tensor<T>(z[0]), best, 0);
  EXPECT_EQ(hp::full_tensor<std::int64_t>(z[1]), places);
  EXPECT_TRUE(hp::replicas_agree(z[0]) && hp::replicas_agree(z[1]));
  if (padded)
    EXPECT_LE(counted_k.busiest_elements(), hpd::detail::topk_price(l, s, dim, k));
  else
    EXPECT_EQ(counted_k.busiest_elements(), hpd::detail::topk_price(l, s, dim, k));
}

TEST(forms_selection, finds_the_single_device_s_elements_and_places) {
  in_every_world(25, [](const auto& group, const auto& m, dice& d) {
    expect_selection<float>(group, m, d, false);
    expect_selection<std::int32_t>(group, m, d, false);
  });
}

TEST(forms_selection, takes_uneven_and_empty_blocks) {
  in_every_world(15, [](const auto& group, const auto& m, dice& d) {
    expect_selection<double>(group, m, d, true);
    expect_selection<std::int64_t>(group, m, d, true);
  });
}

TEST(forms_selection, the_lowest_place_wins_and_k_may_exceed_a_block) {
  const hp::rank_group group(4, {.threads = 2, .pin = false});
  hp::layout_value l = hp::replicated({1, {4}}, 1);
  hp::append_cut(l, {0, 0, 1, 4});
  const auto x = spread(group, hp::shape{8}, l, std::vector<float>{1, 2, 3, 2, 3, 1, 3, 0});
  EXPECT_EQ(hp::full_tensor<std::int64_t>(hpd::apply_form_all(hpd::forms::max_with_index{}, std::array{x})[1])[0], 2);
  const auto best = hpd::apply_form_all(hpd::forms::topk{{5, 0}}, std::array{x});
  EXPECT_EQ(hp::full_tensor<float>(best[0]), (std::vector<float>{3, 3, 3, 2, 2}));
  EXPECT_EQ(hp::full_tensor<std::int64_t>(best[1]), (std::vector<std::int64_t>{2, 4, 6, 1, 3}));
}

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 2}> {};

TEST(forms_selection, has_typed_faces) {
  const hp::rank_group group(4, {.threads = 1});
  const auto x = hp::arange<hp::dtensor<float, hp::extents<4, 8>, hp::layout<mesh, "dp", "tp">>>(group);
  using layout = decltype(x)::layout;
  static_assert(hpd::detail::max_with_index_price(layout::value, hp::shape{4, 8}, -1) ==
                hpd::detail::all_reduce_price(2, 2));
  static_assert(hpd::detail::topk_price(layout::value, hp::shape{4, 8}, -1, 3) == 1 * 3 * 2);
  const auto places = hpd::argmax(x);
  static_assert(
      std::is_same_v<decltype(places), const hp::dtensor<std::int64_t, hp::extents<4>, hp::layout<mesh, "dp">>>);
  EXPECT_EQ(places.full_tensor(), (std::vector<std::int64_t>{7, 7, 7, 7}));
  const auto [value, index] = hpd::topk<3>(x);
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(value)>,
                               hp::dtensor<float, hp::extents<4, 3>, hp::layout<mesh, "dp", hp::none>>>);
  EXPECT_EQ(value.full_tensor()[5], 13.0F);
  EXPECT_EQ(index.full_tensor()[5], 5);
}

}  // namespace
