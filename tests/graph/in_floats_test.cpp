// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/graph/in_floats.hpp>

#include <models/stacked_model.hpp>

#include <gtest/gtest.h>

namespace {

namespace hp = hyperparallel;
using hp::data_type;

constexpr bool same_tensors(const hp::graph& a, const hp::graph& b) {
  if (a.tensor.size != b.tensor.size || a.op.size != b.op.size) return false;
  for (int t = 0; t < a.tensor.size; ++t)
    if (a.tensor[t] != b.tensor[t]) return false;
  return true;
}

constexpr hp::graph step(data_type type) {
  programs::stacked_model m;
  m.type = type;
  m.dense_layers = 1;
  return m.build();
}

static_assert(same_tensors(hp::in_floats(step(data_type::f32), data_type::f64), step(data_type::f64)));

TEST(InFloats, ChangesTheTypesOfFloatsAlone) {
  const data_type floats[] = {data_type::f16, data_type::bf16, data_type::f32, data_type::f64};
  for (const data_type from : floats) {
    const hp::graph g = step(from);
    int numbers = 0;
    for (const data_type to : floats) {
      hp::graph other = hp::in_floats(g, to);
      for (int t = 0; t < g.tensor.size; ++t) {
        const data_type type = g.tensor[t].type;
        EXPECT_EQ(other.tensor[t].type, hp::detail::is_float(type) ? to : type);
        numbers += hp::detail::is_float(type) ? 0 : 1;
        other.tensor[t].type = type;
      }
      EXPECT_TRUE(same_tensors(other, g));
      for (const data_type last : floats)
        EXPECT_TRUE(same_tensors(hp::in_floats(hp::in_floats(g, to), last), hp::in_floats(g, last)));
    }
    EXPECT_GT(numbers, 0) << "tokens and labels";
  }
}

}  // namespace
