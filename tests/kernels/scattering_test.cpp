// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/kernels/scattering.hpp>

#include <gtest/gtest.h>

#include "naive.hpp"

namespace {

namespace hp = hyperparallel;
namespace hk = hyperparallel::kernels;
using hp::extent_t;
using naive::array;
using naive::index;
using naive::noise;

std::size_t at(int d) { return static_cast<std::size_t>(d); }

constexpr hk::scatter_mode modes[] = {hk::scatter_mode::overwrite, hk::scatter_mode::add};

void apply(hk::scatter_mode mode, int& to, int from) { to = mode == hk::scatter_mode::add ? to + from : from; }

TEST(Scattering, ScattersAlongEveryDimAndWindowsAreSlices) {
  naive::for_each_shape(1, 3, 1, 3, [](const hp::shape& s) {
    const auto before = noise<int>(s, 1);
    for (int axis = 0; axis < s.rank; ++axis)
      for (const hk::scatter_mode mode : modes) {
        hp::shape chosen = s;
        chosen.extent[axis] = 4;  // some places are named twice
        for (int d = 0; d < s.rank; ++d)
          if (d != axis && s.extent[d] == 3) chosen.extent[d] = 2;
        const auto rows = naive::choices<std::int64_t>(chosen, s.extent[axis], 2);
        const auto source = noise<int>(chosen, 3);
        array<int> expected = before, out = before;
        naive::for_each_index(chosen, [&](const index& i) {
          index to = i;
          to[at(axis)] = rows.at(i);
          apply(mode, expected.at(to), source.at(i));
        });
        hk::scatter(rows.view(), source.view(), out.view(), axis, mode);
        ASSERT_TRUE(naive::same(out, expected));
        for (extent_t begin = 0; begin < s.extent[axis]; ++begin) {
          auto window = naive::part(before, axis, begin, begin + 1);
          hk::scatter(rows.view(), source.view(), window.view(), axis, mode, begin);
          ASSERT_TRUE(naive::same(window, naive::part(expected, axis, begin, begin + 1)));
        }
      }
  });
}

TEST(Scattering, UpdatesRowsAndWindowsAreSlices) {
  naive::for_each_shape(1, 3, 1, 3, [](const hp::shape& s) {
    const auto before = noise<int>(s, 1);
    const auto rows = naive::choices<std::int32_t>(hp::shape{4}, s.extent[0], 2);
    hp::shape updates = s;
    updates.extent[0] = 4;
    const auto source = noise<int>(updates, 3);
    array<int> expected = before, out = before;
    naive::for_each_index(updates, [&](const index& i) {
      index to = i;
      to[0] = rows[i[0]];
      expected.at(to) = source.at(i);
    });
    hk::scatter_update(rows.view(), source.view(), out.view());
    ASSERT_TRUE(naive::same(out, expected));
    for (extent_t begin = 0; begin < s.extent[0]; ++begin) {
      auto window = naive::part(before, 0, begin, begin + 1);
      hk::scatter_update(rows.view(), source.view(), window.view(), begin);
      ASSERT_TRUE(naive::same(window, naive::part(expected, 0, begin, begin + 1)));
    }
  });
}

TEST(Scattering, ScatterUpdateTakesIndicesOfAnyRank) {
  const auto before = noise<int>(hp::shape{9, 2}, 1), source = noise<int>(hp::shape{2, 3, 2}, 2);
  const auto rows = naive::choices<std::int64_t>(hp::shape{2, 3}, 9, 3);
  array<int> out = before, expected = before;
  naive::for_each_index(source.extents,
                        [&](const index& i) { expected.at({rows.at({i[0], i[1]}), i[2]}) = source.at(i); });
  hk::scatter_update(rows.view(), source.view(), out.view());
  EXPECT_TRUE(naive::same(out, expected));
}

TEST(Scattering, SixteenBitFloatsAddInFloat) {
  array<hp::bf16_bits> target(hp::shape{1}, hp::detail::to_bf16(1.0F));
  const array<std::int64_t> rows(hp::shape{2});
  const array<hp::bf16_bits> source(hp::shape{2}, hp::detail::to_bf16(0.0078125F));
  hk::scatter(rows.view(), source.view(), target.view(), 0, hk::scatter_mode::add);
  EXPECT_EQ(hp::detail::to_float(target[0]), 1.015625F);
}

TEST(Scattering, MaskedScatterOfPartsContinues) {
  const auto before = noise<int>(hp::shape{4, 5}, 1), source = noise<int>(hp::shape{20}, 2);
  const auto mask = noise<bool>(hp::shape{4, 5}, 3);
  array<int> whole = before, expected = before;
  extent_t next = 0;
  for (extent_t i = 0; i < 20; ++i)
    if (mask[i]) expected[i] = source[next++];
  EXPECT_EQ(hk::masked_scatter(mask.view(), source.view(), whole.view()), next);
  EXPECT_TRUE(naive::same(whole, expected));
  extent_t taken = 0;
  for (extent_t row = 0; row < 4; ++row) {
    auto part = naive::part(before, 0, row, row + 1);
    const auto part_mask = naive::part(mask, 0, row, row + 1);
    taken = hk::masked_scatter(part_mask.view(), source.view(), part.view(), taken);
    EXPECT_TRUE(naive::same(part, naive::part(expected, 0, row, row + 1)));
  }
  EXPECT_EQ(taken, next);
}

}  // namespace
