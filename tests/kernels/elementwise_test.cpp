// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/kernels/elementwise.hpp>

#include <gtest/gtest.h>

#include <hyperparallel/kernels/elementwise_functions.hpp>

#include "naive.hpp"

namespace {

namespace hp = hyperparallel;
namespace hk = hyperparallel::kernels;
namespace fn = hyperparallel::kernels::functions;
using hp::extent_t;
using naive::array;
using naive::index;
using naive::noise;

struct weigh {
  static auto of(auto a, auto b, auto c) { return a * 100 + b * 10 + c; }
};

/// Every operand shape that broadcasts to `whole`.
template <class Visit>
void for_each_operand(const hp::shape& whole, Visit visit) {
  for (int rank = 0; rank <= whole.rank; ++rank)
    for (unsigned unit = 0; unit < 1u << rank; ++unit) {
      hp::shape s;
      for (int d = 0; d < rank; ++d)
        s.extent[s.rank++] = (unit >> d & 1u) != 0 ? 1 : whole.extent[whole.rank - rank + d];
      visit(static_cast<const hp::shape&>(s));
    }
}

TEST(Elementwise, BroadcastsEveryPairOfShapes) {
  naive::for_each_shape(0, 3, 0, 3, [](const hp::shape& whole) {
    for_each_operand(whole, [&](const hp::shape& sa) {
      for_each_operand(whole, [&](const hp::shape& sb) {
        const auto a = noise<int>(sa, 1), b = noise<int>(sb, 2);
        array<int> out(whole), expected(whole);
        hk::detail::binary<fn::sub>(a.view(), b.view(), out.view());
        naive::for_each_index(whole, [&](const index& i) { expected.at(i) = a.broadcast(i) - b.broadcast(i); });
        ASSERT_TRUE(naive::same(out, expected));
      });
    });
  });
}

TEST(Elementwise, BroadcastsThreeOperands) {
  const hp::shape whole{2, 3, 2};
  for_each_operand(whole, [&](const hp::shape& sa) {
    for_each_operand(whole, [&](const hp::shape& sb) {
      for_each_operand(whole, [&](const hp::shape& sc) {
        const auto a = noise<int>(sa, 1), b = noise<int>(sb, 2), c = noise<int>(sc, 3);
        array<int> out(whole), expected(whole);
        hk::detail::ternary<weigh>(a.view(), b.view(), c.view(), out.view());
        naive::for_each_index(
            whole, [&](const index& i) { expected.at(i) = weigh::of(a.broadcast(i), b.broadcast(i), c.broadcast(i)); });
        ASSERT_TRUE(naive::same(out, expected));
      });
    });
  });
}

TEST(Elementwise, TheResultMayBeAnOperand) {
  const auto a = noise<float>(hp::shape{5, 7}, 1), b = noise<float>(hp::shape{7}, 2);
  array<float> expected(a.extents), out = a;
  hk::detail::binary<fn::mul>(a.view(), b.view(), expected.view());
  hk::detail::binary<fn::mul>(out.view(), b.view(), out.view());
  EXPECT_TRUE(naive::same(out, expected));
}

TEST(Elementwise, APartIsThePartOfTheWholeToTheBit) {
  const auto x = noise<float>(hp::shape{6, 37}, 1);
  array<float> whole(x.extents);
  hk::detail::unary<fn::gelu_tanh>(x.view(), whole.view());
  for (extent_t begin = 0; begin < 37; begin += 5) {
    const extent_t end = begin + 5 < 37 ? begin + 5 : 37;
    const auto piece = naive::part(x, 1, begin, end);
    array<float> out(piece.extents);
    hk::detail::unary<fn::gelu_tanh>(piece.view(), out.view());
    ASSERT_TRUE(naive::same(out, naive::part(whole, 1, begin, end)));
  }
}

TEST(Elementwise, SixteenBitFloatsAreComputedInFloatAndRoundedOnce) {
  const auto a = noise<hp::bf16_bits>(hp::shape{40}, 1), b = noise<hp::bf16_bits>(hp::shape{40}, 2);
  const auto c = noise<hp::bf16_bits>(hp::shape{40}, 3);
  array<hp::bf16_bits> out(a.extents);
  hk::detail::ternary<weigh>(a.view(), b.view(), c.view(), out.view());
  for (extent_t i = 0; i < 40; ++i)
    ASSERT_EQ(out[i], hp::detail::to_bf16(hp::detail::to_float(a[i]) * 100 + hp::detail::to_float(b[i]) * 10 +
                                          hp::detail::to_float(c[i])));
}

TEST(Elementwise, IdentityCastsBetweenElementTypes) {
  const auto x = noise<float>(hp::shape{9}, 1);
  array<hp::f16_bits> half(x.extents);
  array<double> wide(x.extents);
  array<std::int32_t> whole(x.extents);
  array<bool> truth(x.extents);
  hk::detail::unary<fn::identity>(x.view(), half.view());
  hk::detail::unary<fn::identity>(half.view(), wide.view());
  hk::detail::unary<fn::identity>(x.view(), whole.view());
  hk::detail::unary<fn::identity>(whole.view(), truth.view());
  for (extent_t i = 0; i < 9; ++i) {
    ASSERT_EQ(half[i], hp::detail::to_f16(x[i]));
    ASSERT_EQ(wide[i], static_cast<double>(hp::detail::to_float(hp::detail::to_f16(x[i]))));
    ASSERT_EQ(whole[i], static_cast<std::int32_t>(x[i]));
    ASSERT_EQ(truth[i], whole[i] != 0);
  }
}

TEST(Elementwise, ComparisonsWhereAndMaskedFill) {
  const auto a = noise<int>(hp::shape{50}, 1), b = noise<int>(hp::shape{50}, 2);
  const array<int> filler(hp::shape{}, 77);
  array<bool> less(a.extents);
  array<int> chosen(a.extents), filled(a.extents);
  hk::detail::binary<fn::less>(a.view(), b.view(), less.view());
  hk::detail::ternary<fn::where>(less.view(), a.view(), b.view(), chosen.view());
  hk::detail::ternary<fn::masked_fill>(a.view(), less.view(), filler.view(), filled.view());
  for (extent_t i = 0; i < 50; ++i) {
    ASSERT_EQ(less[i], a[i] < b[i]);
    ASSERT_EQ(chosen[i], a[i] < b[i] ? a[i] : b[i]);
    ASSERT_EQ(filled[i], a[i] < b[i] ? 77 : a[i]);
  }
}

}  // namespace
