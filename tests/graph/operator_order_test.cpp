// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/graph/operator_order.hpp>

#include <gtest/gtest.h>

#include <hyperparallel/graph/check_graph.hpp>
#include <hyperparallel/graph/gradient.hpp>

#include "models/random_graph.hpp"

namespace {

using namespace hyperparallel;

TEST(operator_order, moves_numbers_and_nothing_else) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    test::random_model r(seed);
    graph g = r.build(8);
    differentiate(g);
    growing_array<int> order, back;
    back.resize(g.op.size);
    for (int o = 0; o < g.op.size; ++o) order.push(o);
    for (int o = g.op.size - 1; o > 0; --o) {
      const int other = r.below(o + 1), kept = order[o];
      order[o] = order[other];
      order[other] = kept;
    }
    for (int i = 0; i < order.size; ++i) back[order[i]] = i;
    graph moved = g;
    hyperparallel::detail::arrange_operators(moved, order);
    for (int i = 0; i < order.size; ++i) {
      const graph_operator &was = g.op[order[i]], &is = moved.op[i];
      EXPECT_EQ(is.name, was.name);
      EXPECT_EQ(is.forward < 0, was.forward < 0);
      EXPECT_TRUE(is.forward < 0 || moved.op[is.forward].name == g.op[was.forward].name);
      for (int n = 0; n < is.result_count; ++n) EXPECT_EQ(moved.tensor[is.result[n]].producer, i);
    }
    hyperparallel::detail::arrange_operators(moved, back);
    EXPECT_EQ(check_graph(moved), graph_status{});
    EXPECT_TRUE(moved.tensor == g.tensor);
  }
}

}  // namespace
