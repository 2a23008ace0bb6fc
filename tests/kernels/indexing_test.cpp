// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/kernels/indexing.hpp>

#include <gtest/gtest.h>

#include <vector>

#include "naive.hpp"

namespace {

namespace hp = hyperparallel;
namespace hk = hyperparallel::kernels;
using hp::extent_t;
using naive::array;
using naive::index;
using naive::noise;

std::size_t at(int d) { return static_cast<std::size_t>(d); }

template <class T>
void add_to(array<T>& sum, const array<T>& term) {
  for (extent_t i = 0; i < sum.count; ++i) sum[i] = static_cast<T>(sum[i] + term[i]);
}

TEST(Indexing, SelectsRowsOfEveryDimAndWindowsAddUp) {
  naive::for_each_shape(1, 3, 1, 4, [](const hp::shape& s) {
    const auto x = noise<int>(s, 1);
    for (int axis = 0; axis < s.rank; ++axis) {
      const extent_t n = s.extent[axis];
      const auto rows = naive::choices<std::int32_t>(hp::shape{5}, n, 2);
      hp::shape chosen = s;
      chosen.extent[axis] = 5;
      array<int> out(chosen, 77);
      hk::index_select(x.view(), rows.view(), out.view(), axis);
      naive::for_each_index(chosen, [&](const index& i) {
        index from = i;
        from[at(axis)] = rows[i[at(axis)]];
        ASSERT_EQ(out.at(i), x.at(from));
      });
      for (extent_t cut = 0; cut <= n; ++cut) {
        array<int> low(chosen, 77), high(chosen, 77);
        hk::index_select(naive::part(x, axis, 0, cut).view(), rows.view(), low.view(), axis);
        hk::index_select(naive::part(x, axis, cut, n).view(), rows.view(), high.view(), axis, cut);
        add_to(low, high);
        ASSERT_TRUE(naive::same(low, out));
      }
    }
  });
}

TEST(Indexing, EmbeddingOverVocabularyWindows) {
  const extent_t vocabulary = 12, width = 3;
  const auto table = noise<float>(hp::shape{vocabulary, width}, 1);
  const auto ids = naive::choices<std::int64_t>(hp::shape{2, 7}, vocabulary, 2);
  array<float> whole(hp::shape{2, 7, width});
  hk::embedding(table.view(), ids.view(), whole.view());
  naive::for_each_index(whole.extents,
                        [&](const index& i) { ASSERT_EQ(whole.at(i), table.at({ids.at({i[0], i[1]}), i[2]})); });
  for (const extent_t devices : {1, 2, 3, 4, 6, 12}) {
    array<float> sum(whole.extents);
    const extent_t rows = vocabulary / devices;
    for (extent_t d = 0; d < devices; ++d) {
      array<float> partial(whole.extents, 77.0F);
      hk::embedding(naive::part(table, 0, d * rows, (d + 1) * rows).view(), ids.view(), partial.view(), d * rows);
      add_to(sum, partial);
    }
    ASSERT_TRUE(naive::same(sum, whole)) << devices;
  }
}

TEST(Indexing, GathersAlongEveryDimAndWindowsAddUp) {
  naive::for_each_shape(1, 3, 1, 3, [](const hp::shape& s) {
    const auto x = noise<int>(s, 1);
    for (int axis = 0; axis < s.rank; ++axis)
      for (const extent_t picked : {0, 1, 4}) {
        hp::shape chosen = s;
        chosen.extent[axis] = picked;
        // Where the other extents are smaller than x's, the leading corner is read.
        for (int d = 0; d < s.rank; ++d)
          if (d != axis && s.extent[d] == 3) chosen.extent[d] = 2;
        const auto rows = naive::choices<std::int64_t>(chosen, s.extent[axis], 2);
        array<int> out(chosen, 77);
        hk::gather(x.view(), rows.view(), out.view(), axis);
        naive::for_each_index(chosen, [&](const index& i) {
          index from = i;
          from[at(axis)] = rows.at(i);
          ASSERT_EQ(out.at(i), x.at(from));
        });
        for (extent_t cut = 0; cut <= s.extent[axis]; ++cut) {
          array<int> low(chosen, 77), high(chosen, 77);
          hk::gather(naive::part(x, axis, 0, cut).view(), rows.view(), low.view(), axis);
          hk::gather(naive::part(x, axis, cut, s.extent[axis]).view(), rows.view(), high.view(), axis, cut);
          add_to(low, high);
          ASSERT_TRUE(naive::same(low, out));
        }
      }
  });
}

TEST(Indexing, GathersPointsOfSeveralDims) {
  const auto x = noise<int>(hp::shape{3, 4, 2}, 1);
  for (extent_t k = 1; k <= 3; ++k) {
    array<std::int32_t> points(hp::shape{2, 5, k});
    for (extent_t d = 0; d < k; ++d) {
      const auto along = naive::choices<std::int32_t>(hp::shape{2, 5}, x.extents.extent[d], static_cast<unsigned>(d));
      for (extent_t p = 0; p < 10; ++p) points[p * k + d] = along[p];
    }
    hp::shape s{2, 5};
    for (int d = static_cast<int>(k); d < 3; ++d) s.extent[s.rank++] = x.extents.extent[d];
    array<int> out(s), sum(s);
    hk::gather_nd(x.view(), points.view(), out.view());
    naive::for_each_index(s, [&](const index& i) {
      index from;
      for (extent_t d = 0; d < k; ++d) from.push_back(points.at({i[0], i[1], d}));
      from.insert(from.end(), i.begin() + 2, i.end());
      ASSERT_EQ(out.at(i), x.at(from));
    });
    for (const extent_t half : {0, 2}) {  // windows of dim 1, or of dim 0 where it alone is indexed
      const int axis = k > 1 ? 1 : 0;
      const extent_t end = half == 0 ? 2 : x.extents.extent[axis];
      const extent_t begin[3] = {axis == 0 ? half : 0, axis == 1 ? half : 0, 0};
      array<int> partial(s, 77);
      hk::gather_nd(naive::part(x, axis, half, end).view(), points.view(), partial.view(), begin);
      add_to(sum, partial);
    }
    ASSERT_TRUE(naive::same(sum, out));
  }
}

TEST(Indexing, OneHotWindowsAreSlices) {
  const auto labels = naive::choices<std::int64_t>(hp::shape{2, 5}, 6, 1);
  array<float> whole(hp::shape{2, 5, 6});
  hk::one_hot(labels.view(), whole.view(), 2.0F, -1.0F);
  naive::for_each_index(
      whole.extents, [&](const index& i) { ASSERT_EQ(whole.at(i), labels.at({i[0], i[1]}) == i[2] ? 2.0F : -1.0F); });
  for (extent_t begin = 0; begin < 6; begin += 2) {
    array<float> out(hp::shape{2, 5, 2});
    hk::one_hot(labels.view(), out.view(), 2.0F, -1.0F, begin);
    ASSERT_TRUE(naive::same(out, naive::part(whole, 2, begin, begin + 2)));
  }
}

TEST(Indexing, FindsMembersOfASet) {
  for (extent_t n = 0; n <= 12; ++n) {
    const auto x = noise<int>(hp::shape{3, 10}, 1), set = noise<int>(hp::shape{n}, static_cast<unsigned>(n));
    std::vector<int> scratch(static_cast<std::size_t>(n) + 1);
    array<bool> out(x.extents);
    hk::isin(x.view(), set.view(), out.view(), scratch.data());
    for (extent_t i = 0; i < x.count; ++i) {
      bool found = false;
      for (extent_t j = 0; j < n; ++j) found = found || set[j] == x[i];
      ASSERT_EQ(out[i], found);
    }
  }
  array<float> x(hp::shape{2});
  x[0] = NAN;
  array<float> set(hp::shape{2}, 1.0F), scratch(hp::shape{2});
  array<bool> out(x.extents);
  hk::isin(x.view(), set.view(), out.view(), scratch.element.get());
  EXPECT_FALSE(out[0]);
  EXPECT_FALSE(out[1]);
}

}  // namespace
