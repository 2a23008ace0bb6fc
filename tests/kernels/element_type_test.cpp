// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <hyperparallel/kernels/element_type.hpp>

namespace hp = hyperparallel;

namespace {

static_assert(std::is_same_v<hp::element_of<hp::f32>, float>);
static_assert(std::is_same_v<hp::element_of<hp::bf16>, hp::bf16_bits>);
static_assert(hp::detail::data_type_of<double> == hp::f64);
static_assert(hp::element_type<bool> && !hp::element_type<long double> && !hp::element_type<const float>);

TEST(element_type, every_data_type_is_stored_in_as_many_bytes_as_it_is_sent) {
  for (int i = 0; i < hp::detail::data_type_count; ++i) {
    const auto type = static_cast<hp::data_type>(i);
    const std::size_t bytes =
        hp::detail::visit_element_type(type, [](auto t) { return sizeof(typename decltype(t)::type); });
    EXPECT_EQ(bytes, static_cast<std::size_t>(hp::bytes_of(type))) << hp::name_of(type);
  }
}

TEST(element_type, the_way_there_and_back_is_the_identity) {
  for (int i = 0; i < hp::detail::data_type_count; ++i) {
    const auto type = static_cast<hp::data_type>(i);
    EXPECT_EQ(hp::detail::visit_element_type(
                  type, [](auto t) { return hp::detail::data_type_of<typename decltype(t)::type>; }),
              type);
  }
  EXPECT_EQ(static_cast<int>(hp::data_type::f64) + 1, hp::detail::data_type_count);
}

}  // namespace
