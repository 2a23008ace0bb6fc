// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/dtensor/operations/contraction.hpp>
#include <hyperparallel/dtensor/operations/normalization.hpp>
#include <hyperparallel/dtensor/operations/ordering.hpp>
#include <hyperparallel/dtensor/operations/reduction.hpp>

#include <gtest/gtest.h>

#include "properties/operator_cases.hpp"

namespace {

namespace hp = hyperparallel;
namespace op = hp::operations;
using namespace properties;
using worlds::numbers;

int below(int n) { return *rc::gen::inRange(0, n); }

/// Some dims of a tensor of `rank`, none for all.
hp::rules::dim_list some_dims(int rank) {
  hp::rules::dim_list dims;
  for (int d = 0; d < rank; ++d)
    if (below(2) != 0) dims.at[dims.count++] = below(2) != 0 ? d : d - rank;
  return dims;
}

template <class Description>
void expect_reduction(const char* name, hp::data_type type, const numbers& of) {
  EXPECT_TRUE(holds(name, [&] {
    const hp::shape s = any_dims(1 + below(3));
    return drawn<Description, 1>{{some_dims(s.rank), below(2) != 0}, {s}, {type}, {of}};
  })) << name;
}

TEST(dtensor_operators, reductions) {
  expect_reduction<op::sum>("sum", hp::i64, {});
  expect_reduction<op::mean>("mean", hp::f64, {.multiple = 24 * 24 * 24});
  expect_reduction<op::prod>("prod", hp::i64, {.low = -1, .high = 1});
  expect_reduction<op::max>("max", hp::i64, {});
  expect_reduction<op::min>("min", hp::f32, {});
  expect_reduction<op::all>("all", hp::i64, {.truths = true});
  expect_reduction<op::any>("any", hp::boolean, {.truths = true});
  EXPECT_TRUE(holds("argmax", [] {
    const hp::shape s = any_dims(1 + below(3));
    return drawn<op::argmax, 1>{{below(s.rank), below(2) != 0}, {s}, {hp::i64}};
  }));
  EXPECT_TRUE(holds("max_with_index", [] {
    const hp::shape s = any_dims(1 + below(3));
    return drawn<op::max_with_index, 1>{{below(s.rank), below(2) != 0}, {s}, {hp::f64}};
  }));
}

TEST(dtensor_operators, products) {
  EXPECT_TRUE(holds("matmul", [] {
    const bool ta = below(2) != 0, tb = below(2) != 0;
    const hp::extent_t m = any_extent(), k = any_extent(), n = any_extent();
    hp::shape a, b;
    const int batch = below(3);
    for (int d = 0; d < batch; ++d) a.extent[a.rank++] = any_extent();
    b = a;
    if (batch > 0 && below(3) == 0) (below(2) != 0 ? a : b).extent[below(batch)] = 1;
    if (batch > 0 && below(3) == 0) {  // one batch dim less on the left
      for (int d = 0; d + 1 < batch; ++d) b.extent[d] = b.extent[d + 1];
      --b.rank;
    }
    a.extent[a.rank++] = ta ? k : m;
    a.extent[a.rank++] = ta ? m : k;
    b.extent[b.rank++] = tb ? n : k;
    b.extent[b.rank++] = tb ? k : n;
    return drawn<op::matmul, 2>{{ta, tb}, {a, b}, {hp::f32, hp::f32}};
  }));
  EXPECT_TRUE(holds("matmul of vectors", [] {
    const hp::extent_t k = any_extent();
    const hp::shape vector{k}, matrix(k, any_extent());
    return drawn<op::matmul, 2>{{}, {vector, below(2) != 0 ? vector : matrix}, {hp::i64, hp::i64}};
  }));
  EXPECT_TRUE(holds("linear", [] {
    hp::shape x = any_dims(1 + below(3));
    const hp::shape w(any_extent(), x.extent[x.rank - 1]);
    return drawn<op::linear, 2>{{}, {x, w}, {hp::f32, hp::f32}};
  }));
  EXPECT_TRUE(holds("linear with bias", [] {
    hp::shape x = any_dims(1 + below(3));
    const hp::extent_t out = any_extent();
    return drawn<op::linear, 3>{
        {}, {x, hp::shape(out, x.extent[x.rank - 1]), hp::shape{out}}, {hp::i64, hp::i64, hp::i64}};
  }));
}

template <class Description>
void expect_along(const char* name, hp::data_type type, const numbers& of = {}) {
  EXPECT_TRUE(holds(name, [&] {
    const hp::shape s = any_dims(1 + below(3));
    return drawn<Description, 1>{{below(2 * s.rank) - s.rank}, {s}, {type}, {of}};
  })) << name;
}

TEST(dtensor_operators, normalizations) {
  expect_along<op::softmax>("softmax", hp::f32);
  expect_along<op::log_softmax>("log_softmax", hp::f64);
  const auto norm = [](auto description, auto count) {
    constexpr std::size_t operands = decltype(count)::value;
    const hp::shape x = any_dims(1 + below(3));
    hp::shape w;
    for (int d = below(x.rank); d < x.rank; ++d) w.extent[w.rank++] = x.extent[d];
    drawn<decltype(description), operands> r{description, {x, w}, {}};
    for (std::size_t o = 0; o < operands; ++o) r.types[o] = hp::f32;
    if constexpr (operands == 3) r.shapes[2] = w;
    return r;
  };
  EXPECT_TRUE(holds("layer_norm", [&] { return norm(op::layer_norm{}, std::integral_constant<std::size_t, 2>{}); }));
  EXPECT_TRUE(
      holds("layer_norm with bias", [&] { return norm(op::layer_norm{}, std::integral_constant<std::size_t, 3>{}); }));
  EXPECT_TRUE(holds("rms_norm", [&] { return norm(op::rms_norm{}, std::integral_constant<std::size_t, 2>{}); }));
  EXPECT_TRUE(
      holds("packed_swiglu", [] { return drawn<op::packed_swiglu, 1>{{}, {any_dims(1 + below(3))}, {hp::f32}}; }));
  EXPECT_TRUE(holds("cross_entropy", [] {
    const hp::shape logits = any_dims(1 + below(3));
    hp::shape targets = logits;
    --targets.rank;
    targets.extent[targets.rank] = 0;
    return drawn<op::cross_entropy, 2>{{}, {logits, targets}, {hp::f32, hp::i64}, {numbers{}, {.low = 0, .high = 3}}};
  }));
}

TEST(dtensor_operators, order_of_elements) {
  expect_along<op::cumsum>("cumsum", hp::i64);
  expect_along<op::cumprod>("cumprod", hp::i64, {.low = -1, .high = 1});
  expect_along<op::sort>("sort", hp::i64);
  expect_along<op::argsort>("argsort", hp::f32);
  EXPECT_TRUE(holds("topk", [] {
    const hp::shape s = any_dims(1 + below(3));
    return drawn<op::topk, 1>{{1 + below(4), below(s.rank)}, {s}, {hp::i64}};
  }));
}

}  // namespace
