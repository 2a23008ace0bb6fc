// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/redistribution/busiest_receiver.hpp>

#include <gtest/gtest.h>

#include <vector>

#include "support/all_layouts.hpp"

namespace {

namespace hp = hyperparallel;

void expect_counted(const hp::mesh_shape& m, const hp::shape& s, hp::reduce_op op, unsigned padded = 0,
                    std::size_t stride = 1) {
  const std::vector<hp::layout_value> all = worlds::partial_layouts(m, s.rank, {op}, padded);
  std::vector<hp::extent_t> tally(static_cast<std::size_t>(3 * hp::position_count(m)));
  for (std::size_t k = 0; k < all.size() * all.size(); k += stride) {
    const hp::move_plan p = hp::plan_move(all[k / all.size()], all[k % all.size()], s);
    if (p.code != hp::move_code::ok) continue;
    tally.assign(tally.size(), 0);
    ASSERT_EQ(hp::most_received(p), hp::certify(p, tally.data()).received_maximum)
        << "pair " << k << ", " << hp::name_of(p.kind);
  }
}

TEST(busiest_receiver, closed_forms_are_what_the_transfers_add_up_to) {
  for (const hp::reduce_op op : {hp::reduce_op::sum, hp::reduce_op::max}) {
    expect_counted({2, {2, 2}}, {16, 16}, op);
    expect_counted({2, {2, 4}}, {64, 64}, op);
    expect_counted({2, {2, 3}}, {36, 36}, op);
  }
  expect_counted({3, {2, 2, 2}}, {64, 64}, hp::reduce_op::sum, 0, 3);
  expect_counted({3, {4, 2, 2}}, {64, 64}, hp::reduce_op::sum, 0, 11);
}

TEST(busiest_receiver, so_are_those_of_uneven_shares_and_padded_dims) {
  expect_counted({3, {2, 2, 2}}, {4, 8}, hp::reduce_op::sum, 0, 5);  // shares that do not divide the cells
  expect_counted({3, {2, 2, 2}}, {12, 4}, hp::reduce_op::sum, 0, 3);
  expect_counted({2, {2, 3}}, {6, 6}, hp::reduce_op::sum);
  expect_counted({2, {4, 4}}, {20, 4}, hp::reduce_op::sum);
  expect_counted({2, {4, 3}}, hp::shape(24), hp::reduce_op::sum);
  expect_counted({2, {2, 3}}, {7, 5}, hp::reduce_op::sum, 3);
  expect_counted({2, {2, 4}}, {7, 6}, hp::reduce_op::sum, 3);
  expect_counted({2, {5, 2}}, {3, 8}, hp::reduce_op::sum, 3);
  expect_counted({2, {4, 3}}, hp::shape(10), hp::reduce_op::sum, 1);
  expect_counted({2, {3, 3}}, {10, 9}, hp::reduce_op::max, 3);
  expect_counted({3, {2, 3, 2}}, {13, 4}, hp::reduce_op::sum, 3, 7);
  expect_counted({2, {2, 2}}, {0, 4}, hp::reduce_op::sum);
}

// A share of 12 rows by 8 devices: six have 2, two have none. By enumeration this takes hours.
TEST(busiest_receiver, tells_uneven_shares_of_many_ranks) {
  const hp::mesh_shape m{2, {2048, 8}};
  hp::layout_value terms = hp::replicated(m, 1), rows = terms;
  terms.partial[0] = terms.partial[1] = hp::reduce_op::sum;
  hp::append_cut(rows, {0, 0, 1, 2048});
  // Each first reducer takes the 16383 other terms of 2 rows, and all but these of its 12 rows.
  EXPECT_EQ(hp::most_received(hp::plan_move(terms, rows, hp::shape{12 * 2048})), 16383 * 2 + 12 - 2);
}

TEST(busiest_receiver, tells_tens_of_thousands_of_ranks_from_digits) {
  const hp::mesh_shape m{2, {176, 176}};
  hp::layout_value terms = hp::replicated(m, 1), rows = terms;
  terms.partial[1] = hp::reduce_op::sum;
  hp::append_cut(rows, {0, 1, 1, 176});
  const hp::extent_t n = 176 * 176;
  // Each rank reduces one element, 175 other terms of it, and gathers the rest of its 176 over the replicas.
  EXPECT_EQ(hp::most_received(hp::plan_move(terms, rows, hp::shape{n})), 175 + 176 - 1);
}

}  // namespace
