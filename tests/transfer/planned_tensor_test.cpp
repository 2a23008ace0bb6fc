// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/transfer/planned_tensor.hpp>

#include <gtest/gtest.h>

#include <vector>

#include <hyperparallel/layout/tensor_map.hpp>

namespace {

namespace hp = hyperparallel;

constexpr hp::mesh_shape mesh{2, {2, 4}};

hp::layout_value terms(unsigned axes, hp::reduce_op op) {
  hp::layout_value l = hp::replicated(mesh, 1);
  for (int a = 0; a < 2; ++a)
    if ((axes >> a & 1u) != 0) l.partial[a] = op;
  return l;
}

TEST(planned_tensor, a_move_between_equal_layouts_is_one_step_on_own_blocks) {
  const hp::planned_tensor x(terms(1, hp::reduce_op::sum), terms(1, hp::reduce_op::sum), hp::shape{8}, sizeof(float));
  ASSERT_EQ(x.plan().step_count, 1);
  EXPECT_EQ(x.stages(), 2);
  EXPECT_FALSE(x.needs_type());
  for (int p = 0; p < x.positions(0); ++p) {
    const hp::step_receiver r = hp::receiver_of(x.plan().step[0], x.plan().shape, p);
    ASSERT_EQ(r.transfers, 1);
    EXPECT_EQ(hp::transfer_at(x.plan().step[0], r, 0).sender, p);
  }
}

TEST(planned_tensor, folds_and_fills_with_ones_need_a_type_and_copies_do_not) {
  using op = hp::reduce_op;
  const auto needs = [](const hp::layout_value& a, const hp::layout_value& b) {
    return hp::planned_tensor(a, b, hp::shape{8}, sizeof(float)).needs_type();
  };
  const hp::layout_value whole = terms(0, op::none);
  EXPECT_TRUE(needs(terms(2, op::sum), whole));
  EXPECT_TRUE(needs(whole, terms(2, op::prod)));
  EXPECT_FALSE(needs(whole, terms(2, op::sum)));
  EXPECT_FALSE(needs(whole, terms(2, op::max)));
}

TEST(planned_tensor, values_of_a_step_name_the_operation_the_divisor_and_the_identity) {
  using op = hp::reduce_op;
  const hp::move_plan p = hp::plan_move(terms(3, op::avg), terms(1, op::prod), hp::shape{8});
  const hp::detail::step_values first = hp::detail::values_of(p.step[0], hp::data_type::f32);
  const hp::detail::step_values last = hp::detail::values_of(p.step[p.step_count - 1], hp::data_type::f32);
  EXPECT_EQ(first.fold.op, op::avg);
  EXPECT_EQ(first.fold.divisor, 8);
  EXPECT_EQ(last.fill, op::prod);
  std::vector<float> block(3);
  hp::detail::write_identity(op::prod, hp::data_type::f32, 2, reinterpret_cast<std::byte*>(block.data()));
  EXPECT_EQ(block, (std::vector<float>{1, 1, 0}));
  hp::detail::write_identity(op::sum, hp::data_type::f32, 2, reinterpret_cast<std::byte*>(block.data()));
  EXPECT_EQ(block[0], 1);  // zero is what a fresh block reads as; nothing is written
}

}  // namespace
