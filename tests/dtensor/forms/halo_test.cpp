// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/dtensor/forms/halo.hpp>

#include <gtest/gtest.h>

#include <hyperparallel/dtensor/creation.hpp>

#include "dtensor/forms/form_worlds.hpp"

namespace {

using namespace form_worlds;

/// The form on the operands is the operator on replicated ones, and receives what its price says.
template <class T, class Form, class Strict, std::size_t Count>
void expect_form(const Form& form, const Strict& strict, const std::array<hp::dynamic_dtensor, Count>& operands) {
  std::array<hp::dynamic_dtensor, Count> whole = operands;
  const hp::layout_value* layouts[Count];
  hp::shape shapes[Count];
  for (std::size_t o = 0; o < Count; ++o) {
    whole[o] = hp::redistribute(operands[o], hp::replicated(operands[o].layout().mesh, operands[o].shape().rank));
    layouts[o] = &operands[o].layout();
    shapes[o] = operands[o].shape();
  }
  hpd::traffic counted(operands[0].ranks());
  const hp::dynamic_dtensor y = hpd::apply_form_all(form, operands, &counted)[0];
  const hp::dynamic_dtensor z = hp::detail::apply_all(strict, whole)[0];
  EXPECT_EQ(y.shape(), z.shape());
  EXPECT_EQ(hp::full_tensor<T>(y), hp::full_tensor<T>(z));
  EXPECT_TRUE(hp::replicas_agree(y));
  EXPECT_EQ(counted.busiest_elements(), hpd::detail::halo_price(form, layouts, shapes, static_cast<int>(Count)));
}

/// Makes the dim uneven where its shards do not divide the result's extent.
void pad_unless_divides(hp::layout_value& l, int dim, hp::extent_t result) {
  if (result % hp::shards_of(l, dim) != 0) l.padded |= 1u << dim;
}

TEST(forms_halo, roll_takes_elements_from_where_they_lie) {
  in_every_world(35, [](const hp::rank_group& group, const hp::mesh_shape& m, dice& d) {
    const int rank = d.roll(1, 3), dim = d.roll(0, rank - 1);
    hp::layout_value l = d.layout(m, rank, dim);
    hp::shape s = d.shape(l, 4);
    if (d.roll(0, 2) == 0) {
      l.padded = 1u << dim;
      s.extent[dim] = d.roll(1, 11);
    }
    const hp::extent_t by = d.roll(-20, 20);
    expect_form<std::int32_t>(hpd::forms::roll{{dim - rank, by}}, hp::operations::roll{dim, by},
                              std::array{spread(group, s, l, d.numbers<std::int32_t>(s, 99))});
  });
}

TEST(forms_halo, pad_and_slice_move_borders) {
  in_every_world(35, [](const hp::rank_group& group, const hp::mesh_shape& m, dice& d) {
    const int rank = d.roll(1, 3), dim = d.roll(0, rank - 1);
    const hp::layout_value l = d.layout(m, rank, dim);
    const hp::shape s = d.shape(l, 4);
    const std::vector<float> x = d.numbers<float>(s, 99);
    hp::operations::pad pad;
    pad.before.rank = pad.after.rank = rank;
    hp::layout_value padded = l;
    for (int e = 0; e < rank; ++e) {
      if (d.roll(0, 1) == 0) continue;
      pad.before.extent[e] = d.roll(0, 5);
      pad.after.extent[e] = d.roll(0, 5);
      pad_unless_divides(padded, e, s.extent[e] + pad.before.extent[e] + pad.after.extent[e]);
    }
    // A margin of nothing along a padded dim keeps that dim as it is.
    for (int e = 0; e < rank; ++e)
      if (pad.before.extent[e] + pad.after.extent[e] == 0) padded.padded &= ~(1u << e);
    expect_form<float>(hpd::forms::pad{pad}, pad, std::array{spread(group, s, padded, x)});

    const hp::extent_t n = s.extent[dim], begin = d.roll(0, static_cast<int>(n) - 1);
    const hp::extent_t end = d.roll(static_cast<int>(begin) + 1, static_cast<int>(n)), step = d.roll(1, 3);
    hp::layout_value sliced = l;
    pad_unless_divides(sliced, dim, hp::ceil_divide(end - begin, step));
    const hp::operations::slice_dim slice{dim, begin, end, step};
    expect_form<float>(hpd::forms::slice_dim{slice}, slice, std::array{spread(group, s, sliced, x)});
  });
}

TEST(forms_halo, convolution_over_sharded_space_is_the_single_device_s) {
  int worked = 0;
  in_every_world(45, [&](const hp::rank_group& group, const hp::mesh_shape& m, dice& d) {
    const int space = d.roll(1, 2), rank = 2 + space;
    hp::layout_value l = d.layout(m, rank, 2);
    l = hpd::detail::without_dims(l, 0b10u);  // weights are whole here
    hp::operations::convolution form;
    hp::shape s = d.shape(l, 2), ws = s;
    s.extent[1] = 2 * d.roll(1, 2);
    const hp::extent_t groups = d.roll(1, 2);
    form.options.groups = groups;
    ws.extent[0] = 2 * d.roll(1, 2);
    ws.extent[1] = s.extent[1] / groups;
    for (int e = 2; e < rank; ++e) {
      hp::rules::convolution_window& w = form.options.window[e - 2];
      s.extent[e] = hp::shards_of(l, e) * d.roll(1, 3) + 4;
      ws.extent[e] = d.roll(1, 3);
      w = {d.roll(1, 2), d.roll(0, 2), d.roll(0, 2), d.roll(1, 2)};
      pad_unless_divides(l, e, s.extent[e]);
      pad_unless_divides(l, e, hp::rules::places_of(w, s.extent[e], ws.extent[e]));
    }
    const auto tx = spread(group, s, l, d.numbers<float>(s, 9));
    const auto tw = spread(group, ws, hp::replicated(m, rank), d.numbers<float>(ws, 9));
    const auto tb =
        spread(group, hp::shape{ws.extent[0]}, hp::replicated(m, 1), d.numbers<float>(hp::shape{ws.extent[0]}, 9));
    const auto strict = hp::propagate_fully(form.rule(std::array{s, ws}.data(), 2).rule,
                                            std::array{&tx.layout(), &tw.layout()}.data(), 2);
    if (strict.status.code == hp::propagation_code::ok) return;  // nothing for a form to do
    ++worked;
    expect_form<float>(hpd::forms::convolution{form}, form, std::array{tx, tw});
    expect_form<float>(hpd::forms::convolution{form}, form, std::array{tx, tw, tb});
  });
  EXPECT_GT(worked, 100);
}

TEST(forms_halo, borders_are_all_that_moves) {
  hp::layout_value l = hp::replicated({1, {4}}, 3);
  hp::append_cut(l, {2, 0, 1, 4});
  const hp::layout_value w = hp::replicated({1, {4}}, 3);
  const hp::layout_value* const list[] = {&l, &w};
  hpd::forms::convolution form;
  form.options.window[0] = {1, 2, 2, 1};
  const hp::shape shapes[] = {{2, 3, 32}, {4, 3, 5}};
  EXPECT_EQ(hpd::detail::halo_price(form, list, shapes, 2), 2 * 3 * 4);  // dilation · (window − 1) of 6 rows
  EXPECT_EQ(hpd::detail::halo_price(hpd::forms::roll{{2, 3}}, list, shapes, 1), 6 * 3);
  EXPECT_EQ(hpd::detail::halo_price(hpd::forms::roll{{2, 19}}, list, shapes, 1), 6 * 8);  // no more than a block
}

TEST(forms_halo, results_that_do_not_divide_are_refused) {
  const hp::rank_group group(4, {.threads = 1});
  hp::layout_value l = hp::replicated({1, {4}}, 1);
  hp::append_cut(l, {0, 0, 1, 4});
  const auto x = spread(group, hp::shape{8}, l, std::vector<float>(8));
  EXPECT_THROW(hpd::apply_form(hpd::forms::slice_dim{{0, 1, 8}}, x), hp::layout_error);
  EXPECT_EQ(hpd::apply_form(hpd::forms::slice_dim{{0, 2, 6}}, x).shape(), hp::shape{4});
}

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"sp", 2}> {};

constexpr hp::extent_t rolled = [] {
  const hp::layout_value* const list[] = {&hp::layout<mesh, hp::axes("dp", "sp")>::value};
  const hp::shape s[] = {hp::shape{8}};
  return hpd::detail::halo_price(hpd::forms::roll{{0, 3}}, list, s, 1);
}();

TEST(forms_halo, has_typed_faces) {
  const hp::rank_group group(4, {.threads = 1});
  using tensor = hp::dtensor<std::int32_t, hp::extents<8>, hp::layout<mesh, hp::axes("dp", "sp")>>;
  const tensor x = hp::arange<tensor>(group);
  static_assert(rolled == 2);
  EXPECT_EQ(hpd::roll<0>(x, 3).full_tensor(), (std::vector<std::int32_t>{5, 6, 7, 0, 1, 2, 3, 4}));
  const auto sliced = hpd::slice_dim<0, 2, 6>(x);
  static_assert(std::is_same_v<decltype(sliced)::extents, hp::extents<4>>);
  EXPECT_EQ(sliced.full_tensor(), (std::vector<std::int32_t>{2, 3, 4, 5}));
  EXPECT_EQ((hpd::pad<hp::shape{1}, hp::shape{3}>(x).full_tensor()),
            (std::vector<std::int32_t>{0, 0, 1, 2, 3, 4, 5, 6, 7, 0, 0, 0}));
  using image = hp::dtensor<float, hp::extents<2, 1, 8>, hp::layout<mesh, "dp", hp::none, "sp">>;
  using taps = hp::dtensor<float, hp::extents<1, 1, 3>, hp::layout<mesh, hp::none, hp::none, hp::none>>;
  constexpr hp::rules::convolution_options same{.window = {{1, 1, 1, 1}}};
  const auto y = hpd::convolution<same>(hp::ones<image>(group), hp::ones<taps>(group));
  static_assert(std::is_same_v<decltype(y), const image>);
  EXPECT_EQ(y.full_tensor()[0], 2.0F);
  EXPECT_EQ(y.full_tensor()[4], 3.0F);
}

}  // namespace
