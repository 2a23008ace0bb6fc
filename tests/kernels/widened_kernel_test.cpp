// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/kernels/widened_kernel.hpp>

#include <hyperparallel/kernels/ops/builtin_kernels.hpp>

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace {

namespace hp = hyperparallel;
using hp::data_type;
using hp::extent_t;

struct call_of_norm {
  hp::operator_attributes attributes{.real = {1e-5}};
  hp::factor_rule rule = hp::rule_from("rms_norm", hp::ops::rms_norm::text, {}, {2, {2, 1}}).rule;
  hp::operator_call call;
  call_of_norm(extent_t rows, extent_t width) {
    call.attributes = &attributes;
    call.rule = &rule;
    call.loop[0] = {0, rows, rows};
    call.loop[1] = {0, width, width};
  }
};

template <class Storage>
std::vector<Storage> stored(const std::vector<float>& x) {
  std::vector<Storage> y;
  for (const float v : x) y.push_back(hp::kernels::store<Storage>(v));
  return y;
}

// Operands are loaded exactly, the kernel works in float, results are rounded once.
template <class Storage>
void check_law(data_type type) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  std::vector<float> x(5 * 33), weight(33);
  for (float& v : x) v = normal(random);
  for (float& v : weight) v = normal(random);
  const std::vector<Storage> narrow_x = stored<Storage>(x), narrow_weight = stored<Storage>(weight);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = hp::detail::to_float(narrow_x[i]);
  for (std::size_t i = 0; i < weight.size(); ++i) weight[i] = hp::detail::to_float(narrow_weight[i]);
  call_of_norm c(5, 33);
  std::vector<float> wide(x.size());
  c.call.operand[0] = x.data();
  c.call.operand[1] = weight.data();
  c.call.result[0] = wide.data();
  hp::kernel_of<float>(hp::id_of<hp::ops::rms_norm>)(c.call);
  std::vector<Storage> narrow(x.size());
  c.call.operand[0] = narrow_x.data();
  c.call.operand[1] = narrow_weight.data();
  c.call.result[0] = narrow.data();
  hp::detail::run_widened<float>(hp::kernel_of<float>(hp::id_of<hp::ops::rms_norm>), c.call, {{type, type}, {type}});
  for (std::size_t i = 0; i < wide.size(); ++i)
    ASSERT_EQ(narrow[i].bits, hp::kernels::store<Storage>(wide[i]).bits) << i;
  // In place, and beside an operand of the kernel's own type.
  std::vector<Storage> in_place = narrow_x;
  c.call.operand[0] = in_place.data();
  c.call.operand[1] = weight.data();
  c.call.result[0] = in_place.data();
  hp::detail::run_widened<float>(hp::kernel_of<float>(hp::id_of<hp::ops::rms_norm>), c.call,
                                 {{type, data_type::f32}, {type}});
  for (std::size_t i = 0; i < wide.size(); ++i) ASSERT_EQ(in_place[i].bits, narrow[i].bits) << i;
}

TEST(WidenedKernel, GivesTheResultsOfTheLoadedOperandsStored) {
  check_law<hp::bf16_bits>(data_type::bf16);
  check_law<hp::f16_bits>(data_type::f16);
}

TEST(WidenedKernel, TellsWhatItTakes) {
  EXPECT_TRUE(hp::detail::widens_to<float>(data_type::f32) && hp::detail::widens_to<float>(data_type::bf16) &&
              hp::detail::widens_to<float>(data_type::f16) && hp::detail::widens_to<float>(data_type::i32));
  EXPECT_FALSE(hp::detail::widens_to<float>(data_type::f64) || hp::detail::widens_to<float>(data_type::i64));
  EXPECT_TRUE(hp::detail::widens_to<double>(data_type::f64) && hp::detail::widens_to<double>(data_type::i32));
  EXPECT_FALSE(hp::detail::widens_to<double>(data_type::f32) || hp::detail::widens_to<double>(data_type::bf16));
}

}  // namespace
