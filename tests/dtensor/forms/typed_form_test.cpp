// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/dtensor/forms/typed_form.hpp>

#include <gtest/gtest.h>

#include <hyperparallel/dtensor/creation.hpp>

#include "dtensor/forms/weighted_rows.hpp"

namespace {

using namespace form_worlds;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 2}> {};
template <class E, class L>
using tensor = hp::dtensor<std::int32_t, E, L>;

using rows = hp::layout<mesh, "dp", "tp">;
using weights = tensor<hp::extents<8>, hp::layout<mesh, "dp">>;
static_assert(hpd::applies_form<weighted_rows{}, tensor<hp::extents<4, 8>, rows>, weights>);
static_assert(!hpd::applies_form<weighted_rows{}, tensor<hp::extents<4, 6>, rows>, weights>);  // 6 rows, 8 weights
static_assert(!hpd::applies_form<weighted_rows{}, tensor<hp::extents<4, 8>, rows>>);           // no weights
static_assert(!hpd::applies_form<weighted_rows{}, hp::dtensor<float, hp::extents<4, 8>, rows>,
                                 hp::dtensor<float, hp::extents<8>, hp::layout<mesh, "dp">>>);  // no kernel for floats
static_assert(
    !hpd::applies_form<weighted_rows{}, tensor<hp::extents<4, 8>, hp::layout<mesh, "dp", hp::none, hp::partial("tp")>>,
                       weights>);

TEST(typed_form, results_have_the_layout_of_the_run_time_face) {
  const hp::rank_group group(4, {.threads = 2, .pin = false});
  using x_type = tensor<hp::extents<4, 8>, hp::layout<mesh, "dp", "tp">>;
  const auto x = hp::arange<x_type>(group);
  const auto w = hp::ones<tensor<hp::extents<8>, hp::layout<mesh, hp::axes("tp", "dp")>>>(group);
  const auto z = hpd::apply_form<weighted_rows{}>(x, w);
  static_assert(std::is_same_v<decltype(z), const x_type>);
  EXPECT_EQ(z.full_tensor()[31], 32);
  EXPECT_TRUE(hpd::apply_form(weighted_rows{}, x.dynamic(), w.dynamic()).layout() == x_type::layout::value);
}

}  // namespace
