// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/dtensor/forms/normalization.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include <hyperparallel/dtensor/creation.hpp>

#include "dtensor/forms/form_worlds.hpp"

namespace {

using namespace form_worlds;

/// Bits of every block of both, so that runs can be compared.
bool same_bits(const hp::dynamic_dtensor& a, const hp::dynamic_dtensor& b) {
  bool same = a.layout() == b.layout();
  for (int p = 0; same && p < a.ranks(); ++p)
    same = std::memcmp(a.data(p), b.data(p),
                       static_cast<std::size_t>(hp::block_bytes(a.description(), a.local_box(p)))) == 0;
  return same;
}

template <class T>
void expect_softmax(const hp::rank_group& group, const hp::mesh_shape& m, dice& d, double tolerance) {
  const int rank = d.roll(1, 3), dim = d.roll(0, rank - 1);
  const hp::layout_value l = d.layout(m, rank, dim);
  const hp::shape s = d.shape(l, 4);
  std::vector<T> x = d.numbers<T>(s, 40, 4);
  if (d.roll(0, 2) == 0) x[0] = hp::kernels::store<T>(-std::numeric_limits<float>::infinity());
  std::vector<T> soft(x.size()), logs(x.size());
  hp::kernels::softmax(view(std::as_const(x), s), view(soft, s), dim);
  hp::kernels::log_softmax(view(std::as_const(x), s), view(logs, s), dim);
  const auto tensor = spread(group, s, l, x);
  hpd::traffic counted(group.ranks());
  const auto y = hpd::apply_form_all(hpd::forms::softmax{{dim - rank}}, std::array{tensor}, &counted)[0];
  const auto z = hpd::apply_form(hpd::forms::log_softmax{{dim}}, tensor);
  EXPECT_TRUE(y.layout() == l && z.layout() == l);
  expect_near(hp::full_tensor<T>(y), soft, tolerance);
  expect_near(hp::full_tensor<T>(z), logs, tolerance);
  EXPECT_TRUE(hp::replicas_agree(y) && hp::replicas_agree(z));
  EXPECT_EQ(counted.busiest_elements(), hpd::softmax_price(l, s, 1u << dim));
  EXPECT_EQ(counted.busiest_bytes(),
            counted.busiest_elements() * static_cast<std::int64_t>(sizeof(hp::kernels::computing<T>)));
  const hp::rank_group alone(group.ranks(), {.threads = 1});
  EXPECT_TRUE(same_bits(y, hpd::apply_form(hpd::forms::softmax{{dim}}, spread(alone, s, l, x))));
  if (hp::shards_of(l, dim) == 1) {
    expect_near(hp::full_tensor<T>(y), soft, 0);
    expect_near(hp::full_tensor<T>(z), logs, 0);
  }
}

TEST(forms_normalization, softmax_over_a_sharded_dim_is_the_single_device_s) {
  in_every_world(15, [](const auto& group, const auto& m, dice& d) {
    expect_softmax<float>(group, m, d, 1e-5);
    expect_softmax<double>(group, m, d, 1e-13);
    expect_softmax<hp::bf16_bits>(group, m, d, 8e-3);
  });
}

TEST(forms_normalization, softmax_takes_blocks_that_see_nothing_and_rows_of_nothing) {
  const hp::mesh_shape m{1, {4}};
  const hp::rank_group group(4, {.threads = 2, .pin = false});
  hp::layout_value l = hp::replicated(m, 2);
  hp::append_cut(l, {1, 0, 1, 4});
  const float none = -std::numeric_limits<float>::infinity();
  std::vector<float> x(16, none);
  x[5] = 1;
  x[6] = 1;
  x[12] = 1000;
  x[15] = 1000;
  const std::vector<float> y =
      hp::full_tensor<float>(hpd::apply_form(hpd::forms::softmax{}, spread(group, {2, 8}, l, x)));
  EXPECT_EQ(y, (std::vector<float>{0, 0, 0, 0, 0, 0.5F, 0.5F, 0, 0, 0, 0, 0, 0.5F, 0, 0, 0.5F}));
  l.padded = 2u;  // 5 over 4 devices: blocks of 2, 2, 1 and 0
  const std::vector<float> z = hp::full_tensor<float>(
      hpd::apply_form(hpd::forms::softmax{}, spread(group, {1, 5}, l, std::vector<float>(5, 3))));
  EXPECT_EQ(z, std::vector<float>(5, 0.2F));
}

TEST(forms_normalization, norms_over_sharded_dims_are_the_single_device_s) {
  in_every_world(35, [](const hp::rank_group& group, const hp::mesh_shape& m, dice& d) {
    const int rank = d.roll(1, 3), normalized = d.roll(1, rank);
    const hp::layout_value l = d.layout(m, rank, rank - d.roll(1, normalized));
    const hp::shape s = d.shape(l, 4);
    hp::shape ws;
    for (int e = rank - normalized; e < rank; ++e) ws.extent[ws.rank++] = s.extent[e];
    // A large common offset, which one pass over squares would not survive.
    std::vector<double> x = d.numbers<double>(s, 40, 4);
    for (double& v : x) v += 1e6;
    const std::vector<double> w = d.numbers<double>(ws, 20, 4), b = d.numbers<double>(ws, 20, 4);
    std::vector<double> ln(x.size()), plain(x.size()), rms(x.size());
    const hp::extent_t rows = static_cast<hp::extent_t>(x.size() / w.size());
    std::vector<double> root(static_cast<std::size_t>(rows));
    hp::kernels::layer_norm(view(x, s), view(w, ws), view(b, ws), view(ln, s), 1e-5);
    hp::kernels::layer_norm(view(x, s), view(w, ws), {}, view(plain, s), 1e-5);
    hp::kernels::rms_norm(view(x, s), view(w, ws), view(rms, s), 1e-6, root.data());

    const unsigned dims = ((1u << rank) - 1u) & ~((1u << (rank - normalized)) - 1u);
    const auto tx = spread(group, s, l, x);
    const auto tw = spread(group, ws, hp::replicated(m, normalized), w),
               tb = spread(group, ws, hp::replicated(m, normalized), b);
    hpd::traffic counted(group.ranks()), counted_rms(group.ranks());
    const auto y = hpd::apply_form_all(hpd::forms::layer_norm{{1e-5}}, std::array{tx, tw, tb}, &counted)[0];
    const auto z = hpd::apply_form_all(hpd::forms::rms_norm{{1e-6}}, std::array{tx, tw}, &counted_rms);
    expect_near(hp::full_tensor<double>(y), ln, 1e-8);
    expect_near(hp::full_tensor<double>(hpd::apply_form(hpd::forms::layer_norm{{1e-5}}, tx, tw)), plain, 1e-8);
    expect_near(hp::full_tensor<double>(z[0]), rms, 1e-12);
    expect_near(hp::full_tensor<double>(z[1]), root, 1e-12);
    EXPECT_TRUE(y.layout() == l && z[0].layout() == l);
    EXPECT_EQ(hpd::axes_of(z[1].layout(), dims), 0u);
    EXPECT_TRUE(hp::replicas_agree(y) && hp::replicas_agree(z[1]));
    EXPECT_EQ(counted.busiest_elements(), hpd::detail::layer_norm_price(l, s, dims));
    EXPECT_EQ(counted_rms.busiest_bytes(), 8 * hpd::detail::rms_norm_price(l, s, dims));
    if (hpd::group_over(l, dims).size == 1) {
      EXPECT_EQ(hp::full_tensor<double>(y), ln);
      EXPECT_EQ(hp::full_tensor<double>(z[0]), rms);
    }
  });
}

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};

TEST(forms_normalization, typed_faces_keep_the_operand_s_type) {
  const hp::rank_group group(8, {.threads = 2, .pin = false});
  using tensor = hp::dtensor<float, hp::extents<4, 8>, hp::layout<mesh, "dp", "tp">>;
  const tensor x = hp::ones<tensor>(group);
  const auto w = hp::ones<hp::dtensor<float, hp::extents<8>, hp::layout<mesh, "dp">>>(group);
  static_assert(hpd::softmax_price(tensor::layout::value, hp::shape{4, 8}, 0b10u) ==
                2 * hpd::detail::all_reduce_price(4, 2));
  static_assert(std::is_same_v<decltype(hpd::softmax(x)), tensor>);
  static_assert(std::is_same_v<decltype(hpd::softmax<0>(x)), tensor>);
  static_assert(std::is_same_v<decltype(hpd::layer_norm(x, w, w)), tensor>);
  static_assert(std::is_same_v<decltype(hpd::rms_norm(x, w)), tensor>);
  EXPECT_EQ(hpd::softmax(x).full_tensor(), std::vector<float>(32, 0.125F));
  EXPECT_EQ(hpd::log_softmax<0>(x).full_tensor(), std::vector<float>(32, -std::log(4.0F)));
  EXPECT_EQ(hpd::layer_norm(x, w).full_tensor(), std::vector<float>(32, 0.0F));
  EXPECT_EQ(hpd::layer_norm(x, w, w).full_tensor(), std::vector<float>(32, 1.0F));
  EXPECT_NEAR(hpd::rms_norm(x, w).full_tensor()[0], 1, 1e-5);
}

}  // namespace
