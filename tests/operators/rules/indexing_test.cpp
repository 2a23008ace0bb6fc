// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/operators/rules/indexing.hpp>

#include <hyperparallel/operators/ops/embed.hpp>

#include "laws.hpp"

namespace {

namespace hp = hyperparallel;
namespace rules = hp::rules;
using hp::reduce_op;
using hp::rule_code;
using hp::shape;
using laws::tensor;
using index = std::vector<std::int64_t>;

const hp::mesh_shape square = numeric::mesh_of({2, 2});

/// The listed operator, of which elements are moved as `embedding` of dtensors moves them.
constexpr hp::rule_result embedding(int rank) {
  return rules::written("embedding", hp::ops::embed::text, {reduce_op::sum, hp::moves_elements(0b10u)}, {2, {rank, 2}});
}

/// A look-up that takes zero for rows that are not there.
bool look_up(std::vector<tensor>& x, tensor& y) {
  y = laws::made(shape{x[0].shape.extent[0], x[1].shape.extent[1]}, [&](const index& at) {
    const std::int64_t row = x[0].at(at[0]);
    return row < 0 || row >= x[1].shape.extent[0] ? 0 : x[1].at(row, at[1]);
  });
  return true;
}

/// Rows counted from where a device's slice of the table begins.
void from_own_rows(std::size_t o, tensor& mine, const std::vector<hp::layout_value>& layout, const hp::coordinate& c) {
  if (o != 0) return;
  const hp::extent_t begin = hp::slice_at(layout[1], shape{8, 4}, c).dim[0].begin;
  for (std::int64_t& row : mine.element) row -= begin;
}

TEST(Indexing, AShardedVocabularyLeavesASum) {
  const std::vector<tensor> whole{laws::indices(shape(4), 8), laws::values(shape{8, 4}, false, 2)};
  for (const reduce_op op : {reduce_op::sum, reduce_op::avg}) {
    const laws::verdict v = laws::hold(embedding(1).rule, look_up, whole, square, op, ~0u, 0, from_own_rows);
    EXPECT_GT(v.accepted, 20);
  }
  hp::layout_value ids = hp::replicated(square, 1), table = hp::replicated(square, 2);
  hp::append_cut(table, {0, 0, 1, 2});
  hp::append_cut(table, {1, 1, 1, 2});
  const hp::layout_value* const operands[] = {&ids, &table};
  const hp::layout_value y = hp::propagate(embedding(1).rule, operands, 2).layout;
  EXPECT_EQ(y.partial[0], reduce_op::sum);
  EXPECT_EQ(hp::shards_of(y, 1), 2);
  table.partial[1] = reduce_op::max;  // a maximum of rows does not add up
  table.cut_count = 1;
  EXPECT_EQ(hp::propagate(embedding(1).rule, operands, 2).status.code, hp::propagation_code::reductions_do_not_commute);
}

TEST(Indexing, GatherHoldsOnNumbers) {
  const laws::compute run = [](std::vector<tensor>& x, tensor& y) {
    if (x[0].shape.extent[1] != 4 || x[0].shape.extent[0] != x[1].shape.extent[0]) return false;
    y = laws::made(x[1].shape, [&](const index& at) { return x[0].at(at[0], x[1].at(at[0], at[1])); });
    return true;
  };
  const auto make = [](bool truth) {
    return std::vector<tensor>{laws::values(shape{4, 4}, truth), laws::indices(shape{4, 4}, 4)};
  };
  EXPECT_GT(laws::hold_by_all(rules::gather(2, -1).rule, run, make, square, 0b01u).accepted, 7 * 10);
}

TEST(Indexing, SelectionHoldsOnNumbers) {
  const laws::compute run = [](std::vector<tensor>& x, tensor& y) {
    if (x[0].shape.extent[1] != 4) return false;
    y = laws::made(shape{x[0].shape.extent[0], x[1].shape.extent[0], x[1].shape.extent[1]},
                   [&](const index& at) { return x[0].at(at[0], x[1].at(at[1], at[2])); });
    return true;
  };
  const auto make = [](bool truth) {
    return std::vector<tensor>{laws::values(shape{4, 4}, truth), laws::indices(shape{2, 4}, 4)};
  };
  EXPECT_GT(laws::hold_by_all(rules::index_select(2, 1, 2).rule, run, make, square, 0b01u).accepted, 7 * 10);
  EXPECT_EQ(rules::index_select(2, 0).rule, rules::index_select(2, -2).rule);
}

TEST(Indexing, GatherNdHoldsOnNumbers) {
  const laws::compute run = [](std::vector<tensor>& x, tensor& y) {
    if (x[0].shape.extent[0] != 4 || x[1].shape.extent[1] != 1) return false;
    y = laws::made(shape{x[1].shape.extent[0], x[0].shape.extent[1]},
                   [&](const index& at) { return x[0].at(x[1].at(at[0], 0), at[1]); });
    return true;
  };
  const auto make = [](bool truth) {
    return std::vector<tensor>{laws::values(shape{4, 4}, truth), laws::indices(shape{4, 1}, 4)};
  };
  EXPECT_GT(laws::hold_by_all(rules::gather_nd(2, 2, 1).rule, run, make, square, 0b01u).accepted, 7 * 4);
}

TEST(Indexing, ClassesAndSetsHoldOnNumbers) {
  const laws::compute one_hot = [](std::vector<tensor>& x, tensor& y) {
    y = laws::made(shape{x[0].shape.extent[0], 5, x[0].shape.extent[1]},
                   [&](const index& at) { return x[0].at(at[0], at[2]) == at[1] ? 1 : 0; });
    return true;
  };
  EXPECT_GT(
      laws::hold(rules::one_hot(2, 1, 5).rule, one_hot, {laws::indices(shape{4, 4}, 5)}, square, reduce_op::sum, 0)
          .accepted,
      10);
  const laws::compute is_in = [](std::vector<tensor>& x, tensor& y) {
    y = laws::made(x[0].shape, [&](const index& at) {
      for (const std::int64_t e : x[1].element)
        if (e == laws::element(x[0], at)) return 1;
      return 0;
    });
    return true;
  };
  // An axis is on a dim of x, on the set, or on none; on one dim both have two orders.
  const std::vector<tensor> whole{laws::indices(shape{4, 4}, 9), laws::indices(shape(4), 9)};
  EXPECT_EQ(laws::hold(rules::isin(2, 1).rule, is_in, whole, square, reduce_op::sum, 0).accepted, 4 * 4 + 3);
}

TEST(Indexing, ValidForAllRanksThatFit) {
  for (int rank = 0; rank <= hp::max_dims; ++rank) {
    EXPECT_TRUE(laws::same(embedding(rank), rank < hp::max_dims ? rule_code::ok : rule_code::too_many_dims));
    for (int d = -rank; d < rank; ++d) {
      EXPECT_TRUE(laws::same(rules::gather(rank, d), rule_code::ok));
      EXPECT_TRUE(laws::same(rules::index_select(rank, d), rule_code::ok));
    }
  }
  EXPECT_TRUE(laws::same(rules::gather(2, 2), rule_code::axis_is_out_of_range));
  EXPECT_TRUE(laws::same(rules::index_select(2, -3), rule_code::axis_is_out_of_range));
  EXPECT_TRUE(laws::same(rules::index_select(6, 0, 4), rule_code::too_many_dims));
  EXPECT_TRUE(laws::same(rules::gather_nd(2, 2, 3), rule_code::axes_differ_from_rank));
  EXPECT_TRUE(laws::same(rules::gather_nd(2, 0, 1), rule_code::too_many_dims));
  EXPECT_TRUE(laws::same(rules::gather_nd(8, 3, 1), rule_code::too_many_dims));
  EXPECT_TRUE(laws::same(rules::one_hot(2, 3, 5), rule_code::axis_is_out_of_range));
  EXPECT_TRUE(laws::same(rules::one_hot(2, 0, -1), rule_code::attribute_is_invalid));
  EXPECT_TRUE(laws::same(rules::isin(2, 9), rule_code::too_many_dims));
}

static_assert(embedding(2).rule.factor[2].kind == hp::factor_kind::reduction);

}  // namespace
