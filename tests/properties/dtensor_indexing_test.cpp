// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/dtensor/operations/attention.hpp>
#include <hyperparallel/dtensor/operations/convolution.hpp>
#include <hyperparallel/dtensor/operations/indexing.hpp>

#include <gtest/gtest.h>

#include "properties/operator_cases.hpp"

namespace {

namespace hp = hyperparallel;
namespace op = hp::operations;
using namespace properties;
using worlds::numbers;

int below(int n) { return *rc::gen::inRange(0, n); }

constexpr numbers places{.low = 0, .high = 3};

TEST(dtensor_indexing, reading_by_index) {
  EXPECT_TRUE(holds("embedding", [] {
    return drawn<op::embedding, 2>{{}, {any_dims(below(3)), any_dims(2)}, {hp::i32, hp::i64}, {places, {}}};
  }));
  EXPECT_TRUE(holds("gather", [] {
    const hp::shape s = any_dims(1 + below(3));
    hp::shape index = s;
    const int dim = below(s.rank);
    index.extent[dim] = any_extent();
    return drawn<op::gather, 2>{{dim}, {s, index}, {hp::i64, hp::i64}, {numbers{}, places}};
  }));
  EXPECT_TRUE(holds("index_select", [] {
    const hp::shape s = any_dims(1 + below(3));
    return drawn<op::index_select, 2>{
        {below(s.rank)}, {s, any_dims(below(3))}, {hp::i64, hp::i32}, {numbers{}, places}};
  }));
  EXPECT_TRUE(holds("gather_nd", [] {
    const hp::shape s = any_dims(2 + below(2));
    hp::shape index = any_dims(1 + below(2));
    index.extent[index.rank - 1] = 1 + below(2);
    return drawn<op::gather_nd, 2>{{}, {s, index}, {hp::i64, hp::i64}, {numbers{}, places}};
  }));
  EXPECT_TRUE(holds("one_hot",
                    [] { return drawn<op::one_hot, 1>{{1 + below(6)}, {any_dims(below(3))}, {hp::i64}, {places}}; }));
  EXPECT_TRUE(holds("isin", [] {
    return drawn<op::isin, 2>{
        {}, {any_dims(below(3)), any_dims(1 + below(2))}, {hp::i64, hp::i64}, {numbers{}, places}};
  }));
}

TEST(dtensor_indexing, writing_by_index) {
  const auto draw = [](auto description) {
    const hp::shape s = any_dims(1 + below(3));
    hp::shape index = s;
    description.dim = below(s.rank);
    index.extent[description.dim] = any_extent();
    return drawn<decltype(description), 3>{
        description, {s, index, index}, {hp::i64, hp::i64, hp::i64}, {numbers{}, places, {}}};
  };
  EXPECT_TRUE(holds("scatter", [&] { return draw(op::scatter{}); }));
  EXPECT_TRUE(holds("scatter_add", [&] { return draw(op::scatter_add{}); }));
  EXPECT_TRUE(holds("masked_scatter", [] {
    const hp::shape s = any_dims(1 + below(2));
    return drawn<op::masked_scatter, 3>{
        {}, {s, s, s}, {hp::i64, hp::boolean, hp::i64}, {numbers{}, {.truths = true}, {}}};
  }));
  EXPECT_TRUE(holds("scatter_update", [] {
    const hp::shape s = any_dims(1 + below(3)), index = any_dims(below(2));
    hp::shape updates = index;
    for (int d = 1; d < s.rank; ++d) updates.extent[updates.rank++] = s.extent[d];
    return drawn<op::scatter_update, 3>{{}, {s, index, updates}, {hp::i64, hp::i32, hp::i64}, {numbers{}, places, {}}};
  }));
}

TEST(dtensor_indexing, attention) {
  EXPECT_TRUE(holds("rope", [] {
    hp::shape x = any_dims(2 + below(2));
    return drawn<op::rope, 1>{{below(x.rank - 1)}, {x}, {hp::f64}, {}, 1e-9};
  }));
  EXPECT_TRUE(holds("attention", [] {
    const int key_heads = *rc::gen::element(2, 4), shared = *rc::gen::element(1, 2);
    const hp::extent_t batch = *rc::gen::element(2, 4), keys = any_extent(), width = *rc::gen::element(2, 8);
    const hp::shape q(batch, key_heads * shared, any_extent(), width), k(batch, key_heads, keys, width);
    // A partial sum passes in the values.
    return drawn<op::attention, 3>{{below(2) != 0, 0}, {q, k, k}, {hp::f64, hp::f64, hp::f64}, {}, 1e-9};
  }));
}

TEST(dtensor_indexing, convolutions) {
  EXPECT_TRUE(holds("convolution with bias", [] {
    const int groups = *rc::gen::element(1, 2, 4), space = 1 + below(2);
    hp::rules::convolution_options o;
    o.groups = groups;
    hp::shape x(hp::extent_t{2}, groups * *rc::gen::element<hp::extent_t>(2, 4)), w;
    const hp::extent_t out = groups * *rc::gen::element<hp::extent_t>(2, 4);
    w = hp::shape(out, x.extent[1] / groups);
    for (int d = 0; d < space; ++d) {
      const hp::extent_t window = 1 + below(3);
      o.window[d] = {1 + below(2), below(2), below(2), window < 3 ? 1 + below(2) : 1};
      if (below(2) != 0) o.window[d] = {window, 0, 0, 1};  // side by side, where it divides
      x.extent[x.rank++] = any_extent();
      w.extent[w.rank++] = window;
    }
    return drawn<op::convolution, 3>{{o}, {x, w, hp::shape{out}}, {hp::i64, hp::i64, hp::i64}};
  }));
}

}  // namespace
