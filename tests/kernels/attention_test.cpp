// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/kernels/attention.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "naive.hpp"

namespace {

namespace hp = hyperparallel;
namespace hk = hyperparallel::kernels;
using hp::extent_t;
using naive::array;
using naive::index;
using naive::noise;

/// The definition, in double.
template <class T>
void define(const array<T>& q, const array<T>& k, const array<T>& v, const hk::attention_options& o, array<double>& out,
            array<double>& lse) {
  const extent_t dim = q.extents.extent[3], keys = k.extents.extent[2];
  const double scale = o.scale != 0 ? o.scale : 1 / std::sqrt(static_cast<double>(dim));
  const extent_t group = q.extents.extent[1] / k.extents.extent[1];
  naive::for_each_index(lse.extents, [&](const index& i) {
    std::vector<double> weight(static_cast<std::size_t>(keys));
    double sum = 0;
    for (extent_t j = 0; j < keys; ++j) {
      const extent_t away = i[2] + o.query_offset - (j + o.key_offset);
      if (o.causal && away < 0) continue;
      if (o.window > 0 && std::abs(away) >= o.window) continue;
      double score = 0;
      const T* const query = &q[q.offset({i[0], i[1], i[2], 0})];
      const T* const key = &k[k.offset({i[0], i[1] / group, j, 0})];
      for (extent_t d = 0; d < dim; ++d)
        score += static_cast<double>(hk::load(query[d])) * static_cast<double>(hk::load(key[d]));
      weight[static_cast<std::size_t>(j)] = std::exp(score * scale);
      sum += weight[static_cast<std::size_t>(j)];
    }
    lse.at(i) = std::log(sum);
    for (extent_t d = 0; d < v.extents.extent[3]; ++d) {
      double value = 0;
      const extent_t first = v.offset({i[0], i[1] / group, 0, d}), pitch = v.extents.extent[3];
      for (extent_t j = 0; j < keys; ++j)
        value += weight[static_cast<std::size_t>(j)] * static_cast<double>(hk::load(v[first + j * pitch]));
      out.at({i[0], i[1], i[2], d}) = sum > 0 ? value / sum : 0;
    }
  });
}

struct sizes {
  extent_t heads, key_heads, queries, keys, dim, value_dim;
};

template <class T>
void check(const sizes& s, const hk::attention_options& o, double tolerance) {
  using C = hk::computing<T>;
  const auto q = noise<T>(hp::shape{2, s.heads, s.queries, s.dim}, 1);
  const auto k = noise<T>(hp::shape{2, s.key_heads, s.keys, s.dim}, 2);
  const auto v = noise<T>(hp::shape{2, s.key_heads, s.keys, s.value_dim}, 3);
  array<T> out(hp::shape{2, s.heads, s.queries, s.value_dim});
  array<C> lse(hp::shape{2, s.heads, s.queries});
  array<double> expected(out.extents), expected_lse(lse.extents);
  define(q, k, v, o, expected, expected_lse);
  hk::attention(q.view(), k.view(), v.view(), out.view(), lse.element.get(), o);
  ASSERT_LE(naive::distance(out, expected), tolerance);
  ASSERT_LE(naive::distance(lse, expected_lse), tolerance);
  array<T> alone(out.extents);
  hk::attention(q.view(), k.view(), v.view(), alone.view(), nullptr, o);
  ASSERT_TRUE(naive::same(alone, out));
}

TEST(Attention, AgreesWithItsDefinitionUnderEveryMask) {
  for (const sizes& s : {sizes{1, 1, 1, 1, 1, 1}, sizes{4, 2, 3, 5, 4, 6}, sizes{2, 1, 37, 70, 65, 3},
                         sizes{1, 1, 17, 33, 8, 300}, sizes{3, 3, 5, 0, 4, 4}, sizes{6, 2, 40, 40, 16, 16}})
    for (const bool causal : {false, true})
      for (const extent_t window : {0, 1, 3, 40})
        for (const extent_t query_offset : {0, 7})
          for (const extent_t key_offset : {0, 20}) {
            const hk::attention_options o{window == 3 ? 0.7 : 0, causal, window, query_offset, key_offset};
            check<float>(s, o, 2e-5);
            check<double>(s, o, 1e-12);
            check<hp::bf16_bits>(s, o, 1.0 / 64);
          }
}

// The ring: every split of the keys in two or three blocks, masked by positions, merged in every order.
TEST(Attention, AnySplitOfTheKeysMergesToTheWhole) {
  const extent_t keys = 9, first_key = 3;
  const auto q = noise<float>(hp::shape{1, 2, 8, 4}, 1);
  const auto k = noise<float>(hp::shape{1, 1, keys, 4}, 2), v = noise<float>(hp::shape{1, 1, keys, 5}, 3);
  struct partial {
    array<float> out{hp::shape{1, 2, 8, 5}}, lse{hp::shape{1, 2, 8}};
  };
  for (const extent_t window : {0, 4})
    for (const bool causal : {false, true}) {
      const hk::attention_options o{0, causal, window, 2, first_key};
      const auto block = [&](extent_t begin, extent_t end) {
        partial p;
        hk::attention_options part = o;
        part.key_offset += begin;
        const auto keys_part = naive::part(k, 2, begin, end), values_part = naive::part(v, 2, begin, end);
        hk::attention(q.view(), keys_part.view(), values_part.view(), p.out.view(), p.lse.element.get(), part);
        return p;
      };
      const auto merge = [](const partial& a, const partial& b) {
        partial p;
        hk::merge_attention(a.out.view(), a.lse.element.get(), b.out.view(), b.lse.element.get(), p.out.view(),
                            p.lse.element.get());
        return p;
      };
      const partial whole = block(0, keys);
      for (extent_t first = 0; first <= keys; ++first)
        for (extent_t second = first; second <= keys; ++second) {
          const partial a = block(0, first), b = block(first, second), c = block(second, keys);
          for (const partial& merged : {merge(merge(a, b), c), merge(a, merge(b, c)), merge(merge(c, a), b)}) {
            ASSERT_LE(naive::distance(merged.out, whole.out), 1e-5) << first << " " << second;
            ASSERT_LE(naive::distance(merged.lse, whole.lse), 1e-5);
          }
          const partial ab = merge(a, b), ba = merge(b, a);
          ASSERT_TRUE(naive::same(ab.out, ba.out) && naive::same(ab.lse, ba.lse));
        }
    }
}

TEST(Attention, TheMergeMayBeInPlace) {
  const auto a = noise<float>(hp::shape{3, 4}, 1), b = noise<float>(hp::shape{3, 4}, 2);
  const auto lse_a = noise<float>(hp::shape{3}, 3), lse_b = noise<float>(hp::shape{3}, 4);
  array<float> out(a.extents), lse(lse_a.extents), in_place = a, lse_in_place = lse_a;
  hk::merge_attention(a.view(), lse_a.element.get(), b.view(), lse_b.element.get(), out.view(), lse.element.get());
  hk::merge_attention(in_place.view(), lse_in_place.element.get(), b.view(), lse_b.element.get(), in_place.view(),
                      lse_in_place.element.get());
  EXPECT_TRUE(naive::same(in_place, out) && naive::same(lse_in_place, lse));
}

TEST(Attention, PartsOfTheQueriesAndHeadsAreThoseOfTheWholeToTheBit) {
  const auto q = noise<float>(hp::shape{2, 4, 120, 8}, 1);
  const auto k = noise<float>(hp::shape{2, 2, 120, 8}, 2), v = noise<float>(hp::shape{2, 2, 120, 8}, 3);
  for (const extent_t window : {0, 40}) {
    hk::attention_options o{0, true, window, 0, 0};
    array<float> whole(q.extents);
    hk::attention(q.view(), k.view(), v.view(), whole.view(), nullptr, o);
    for (const extent_t length : {1, 7, 10, 25})
      for (extent_t begin = 0; begin < 120; begin += length) {
        const extent_t end = begin + length < 120 ? begin + length : 120;
        const auto queries = naive::part(q, 2, begin, end);
        array<float> out(queries.extents);
        o.query_offset = begin;
        hk::attention(queries.view(), k.view(), v.view(), out.view(), nullptr, o);
        ASSERT_TRUE(naive::same(out, naive::part(whole, 2, begin, end)));
      }
    o.query_offset = 0;
    for (extent_t head = 0; head < 2; ++head) {
      const auto heads = naive::part(q, 1, 2 * head, 2 * head + 2);
      array<float> out(heads.extents);
      hk::attention(heads.view(), naive::part(k, 1, head, head + 1).view(), naive::part(v, 1, head, head + 1).view(),
                    out.view(), nullptr, o);
      ASSERT_TRUE(naive::same(out, naive::part(whole, 1, 2 * head, 2 * head + 2)));
    }
  }
}

}  // namespace
