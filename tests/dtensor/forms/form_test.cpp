// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/dtensor/forms/form.hpp>

#include <gtest/gtest.h>

#include "dtensor/forms/form_worlds.hpp"
#include "dtensor/forms/weighted_rows.hpp"

namespace {

using namespace form_worlds;

TEST(form, brings_later_operands_to_the_cuts_of_the_first) {
  in_every_world(20, [](const hp::rank_group& group, const hp::mesh_shape& m, dice& d) {
    const hp::layout_value l = d.layout(m, 2, 1), w = d.layout(m, 1, 0);
    const hp::shape s{24, 24}, row{24};
    const std::vector<std::int32_t> x = d.numbers<std::int32_t>(s, 99), y = d.numbers<std::int32_t>(row, 99);
    const auto z = hpd::apply_form(weighted_rows{}, spread(group, s, l, x), spread(group, row, w, y));
    EXPECT_TRUE(z.layout() == l);
    const std::vector<std::int32_t> got = hp::full_tensor<std::int32_t>(z);
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i], x[i] + y[i % 24]);
  });
}

TEST(form, refuses_what_the_operator_refuses_in_its_words) {
  const hp::mesh_shape m{1, {2}};
  const hp::rank_group group(2, {.threads = 2, .pin = false}), other(2, {.threads = 1});
  hp::layout_value partial = hp::replicated(m, 2);
  partial.partial[0] = hp::reduce_op::sum;
  const hp::shape s{4, 4}, row{4};
  const std::vector<std::int32_t> x(16), y(4);
  const auto of = [&](const hp::layout_value& l) { return spread(group, s, l, x); };
  const auto weight = spread(group, row, hp::replicated(m, 1), y);
  try {
    hpd::apply_form(weighted_rows{}, of(partial), weight);
    FAIL();
  } catch (const hp::operator_error& e) {
    EXPECT_EQ(e.layouts.code, hp::propagation_code::partial_operand_is_refused);
  }
  const auto long_weight = spread(group, hp::shape{6}, hp::replicated(m, 1), std::vector<std::int32_t>(6));
  EXPECT_THROW(hpd::apply_form(weighted_rows{}, of(hp::replicated(m, 2)), long_weight), hp::operator_error);
  EXPECT_THROW(hpd::apply_form(weighted_rows{}, of(hp::replicated(m, 2)), spread(other, row, hp::replicated(m, 1), y)),
               hp::dtensor_error);
  const auto floats = spread(group, s, hp::replicated(m, 2), std::vector<float>(16));
  EXPECT_THROW(
      hpd::apply_form(weighted_rows{}, floats, spread(group, row, hp::replicated(m, 1), std::vector<float>(4))),
      hp::dtensor_error);  // no kernel for floats
}

}  // namespace
