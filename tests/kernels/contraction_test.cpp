// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/kernels/contraction.hpp>

#include <gtest/gtest.h>

#include <utility>

#include "naive.hpp"

namespace {

namespace hp = hyperparallel;
namespace hk = hyperparallel::kernels;
using hp::extent_t;
using naive::array;
using naive::index;
using naive::noise;

index swapped(index i) {
  std::swap(i[i.size() - 1], i[i.size() - 2]);
  return i;
}

/// a with its last two dims swapped.
template <class T>
array<T> transpose(const array<T>& a) {
  array<T> t(naive::shape_of(swapped(naive::extents_of(a.extents))));
  naive::for_each_index(a.extents, [&](const index& i) { t.at(swapped(i)) = a.at(i); });
  return t;
}

/// The definition: rounded products added from the left, in the computing type.
template <class R, class A, class B>
array<R> product(const array<A>& a, const array<B>& b) {
  array<R> out(hk::detail::matmul_shape(a.extents, b.extents));
  const extent_t k = a.extents.extent[a.extents.rank - 1];
  naive::for_each_index(out.extents, [&](const index& i) {
    hk::computing<R> sum{};
    index in_a = i, in_b = i;
    for (extent_t p = 0; p < k; ++p) {
      in_a.back() = p;
      in_b[in_b.size() - 2] = p;
      // volatile: rounded by itself. The matrix dims of an operand are never broadcast here: a unit one is read at 0.
      volatile auto term = static_cast<hk::computing<R>>(hk::load(a.broadcast(in_a)) * hk::load(b.broadcast(in_b)));
      sum += term;
    }
    out.at(i) = hk::store<R>(sum);
  });
  return out;
}

template <class T, class R = T>
void check_every_transposition(const hp::shape& sa, const hp::shape& sb) {
  const auto a = noise<T>(sa, 1), b = noise<T>(sb, 2);
  const auto expected = product<R>(a, b);
  for (const bool turn_a : {false, true})
    for (const bool turn_b : {false, true}) {
      const auto left = turn_a ? transpose(a) : a, right = turn_b ? transpose(b) : b;
      const hk::transposition t{turn_a, turn_b};
      ASSERT_EQ(hk::detail::matmul_shape(left.extents, right.extents, t), expected.extents);
      array<R> out(expected.extents, hk::store<R>(77));
      hk::matmul(left.view(), right.view(), out.view(), t);
      ASSERT_TRUE(naive::same(out, expected)) << turn_a << turn_b;
    }
}

TEST(Contraction, IsTheLeftToRightSumForEveryTypeAndTransposition) {
  for (const extent_t m : {0, 1, 3, 33})
    for (const extent_t n : {0, 1, 9, 40})
      for (const extent_t k : {0, 1, 2, 130}) {
        check_every_transposition<float>({m, k}, {k, n});
        check_every_transposition<double>({m, k}, {k, n});
        check_every_transposition<std::int64_t>({m, k}, {k, n});
        check_every_transposition<hp::bf16_bits>({m, k}, {k, n});
        check_every_transposition<hp::f16_bits, float>({m, k}, {k, n});
      }
}

TEST(Contraction, BroadcastsBatchDims) {
  naive::for_each_shape(0, 2, 1, 2, [](const hp::shape& batch_a) {
    naive::for_each_shape(0, 2, 1, 2, [&](const hp::shape& batch_b) {
      for (int d = 1; d <= batch_a.rank && d <= batch_b.rank; ++d) {
        const extent_t in_a = batch_a.extent[batch_a.rank - d], in_b = batch_b.extent[batch_b.rank - d];
        if (in_a != in_b && in_a != 1 && in_b != 1) return;
      }
      hp::shape a = batch_a, b = batch_b;
      for (const extent_t n : {3, 5}) a.extent[a.rank++] = n;
      for (const extent_t n : {5, 4}) b.extent[b.rank++] = n;
      check_every_transposition<std::int32_t>(a, b);
      check_every_transposition<float>(a, b);
    });
  });
  check_every_transposition<std::int32_t>({0, 2, 3}, {3, 2});
  check_every_transposition<std::int32_t>({3, 0, 2, 3}, {3, 1, 3, 2});
}

// What a device of a sharded product computes: parts of m and n to the bit, parts of k as partial sums.
TEST(Contraction, PartsMakeTheWhole) {
  const auto a = noise<float>(hp::shape{2, 6, 8}, 1), b = noise<float>(hp::shape{8, 4}, 2);
  array<float> whole(hp::shape{2, 6, 4});
  hk::matmul(a.view(), b.view(), whole.view());
  for (extent_t m = 0; m < 6; m += 2) {
    const auto rows = naive::part(a, 1, m, m + 2);
    array<float> out(hp::shape{2, 2, 4});
    hk::matmul(rows.view(), b.view(), out.view());
    ASSERT_TRUE(naive::same(out, naive::part(whole, 1, m, m + 2)));
  }
  const auto ia = noise<std::int64_t>(a.extents, 3), ib = noise<std::int64_t>(b.extents, 4);
  array<std::int64_t> sum(whole.extents);
  for (extent_t k = 0; k < 8; k += 4) {
    array<std::int64_t> partial(whole.extents);
    hk::matmul(naive::part(ia, 2, k, k + 4).view(), naive::part(ib, 0, k, k + 4).view(), partial.view());
    for (extent_t i = 0; i < sum.count; ++i) sum[i] += partial[i];
  }
  ASSERT_TRUE(naive::same(sum, product<std::int64_t>(ia, ib)));
}

template <class T>
void check_linear() {
  for (const hp::shape& leading : {hp::shape{}, hp::shape{5}, hp::shape{2, 19}}) {
    const extent_t in = 131, out_features = 35;
    hp::shape sx = leading, sy = leading;
    sx.extent[sx.rank++] = in;
    sy.extent[sy.rank++] = out_features;
    const auto x = noise<T>(sx, 1), w = noise<T>(hp::shape{out_features, in}, 2),
               bias = noise<T>(hp::shape{out_features}, 3);
    array<T> plain(sy), biased(sy);
    hk::linear(x.view(), w.view(), hp::const_view<T>{}, plain.view());
    hk::linear(x.view(), w.view(), bias.view(), biased.view());
    naive::for_each_index(sy, [&](const index& i) {
      hk::computing<T> sum{};
      for (extent_t p = 0; p < in; ++p) {
        index at = i;
        at.back() = p;
        volatile auto term = hk::load(x.at(at)) * hk::load(w.at({i.back(), p}));
        sum += term;
      }
      ASSERT_EQ(plain.at(i), hk::store<T>(sum));
      ASSERT_EQ(biased.at(i), hk::store<T>(sum + hk::load(bias.at({i.back()}))));
    });
  }
}

TEST(Contraction, LinearReadsWeightsByRowAndAddsTheBiasLast) {
  check_linear<float>();
  check_linear<std::int64_t>();
  check_linear<hp::bf16_bits>();
}

}  // namespace
