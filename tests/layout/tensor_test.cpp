// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/layout/tensor.hpp>

#include <gtest/gtest.h>

namespace {

namespace hp = hyperparallel;

using tokens = hp::tensor<hp::bf16, 8, 4096, 7168>;
static_assert(tokens::bytes == 2 * tokens::elements && tokens::elements == hp::extent_t{8} * 4096 * 7168);
static_assert(tokens::shape == hp::shape{8, 4096, 7168});
static_assert(hp::tensor<hp::f32>::elements == 1 && hp::tensor<hp::f32>::bytes == 4 &&
              hp::tensor<hp::f32>::shape.rank == 0);
static_assert(hp::tensor<hp::i8, 0, 4>::elements == 0);
static_assert(hp::detail::at_least_f32(hp::bf16) == hp::f32 && hp::detail::at_least_f32(hp::f16) == hp::f32);
static_assert(hp::detail::at_least_f32(hp::f32) == hp::f32 && hp::detail::at_least_f32(hp::f64) == hp::f64);

TEST(tensor, every_element_type_has_a_size_and_a_name) {
  const int bytes[] = {1, 1, 2, 4, 8, 2, 2, 4, 8};
  const char* names[] = {"boolean", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64"};
  for (int t = 0; t < 9; ++t) {
    EXPECT_EQ(hp::bytes_of(static_cast<hp::data_type>(t)), bytes[t]);
    EXPECT_STREQ(hp::name_of(static_cast<hp::data_type>(t)), names[t]);
  }
}

}  // namespace
