// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/kernels/movement.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "naive.hpp"

namespace {

namespace hp = hyperparallel;
namespace hk = hyperparallel::kernels;
using hp::extent_t;
using naive::array;
using naive::index;

/// Every element its own number, so that a wrong move shows.
array<int> counted(const hp::shape& s, int from = 1) {
  array<int> a(s);
  for (extent_t i = 0; i < a.count; ++i) a[i] = from + static_cast<int>(i);
  return a;
}

std::size_t at(int d) { return static_cast<std::size_t>(d); }

TEST(Movement, EveryPermutationOfEverySmallShapeAndItsInverse) {
  naive::for_each_shape(0, 4, 0, 3, [](const hp::shape& s) {
    const auto x = counted(s);
    std::vector<int> order(at(s.rank));
    std::iota(order.begin(), order.end(), 0);
    do {
      hp::shape turned = s;
      std::vector<int> inverse(order.size());
      for (int d = 0; d < s.rank; ++d) {
        turned.extent[d] = s.extent[order[at(d)]];
        inverse[at(order[at(d)])] = d;
      }
      array<int> out(turned), back(s);
      hk::permute(x.view(), out.view(), order.data());
      naive::for_each_index(turned, [&](const index& i) {
        index from(i.size());
        for (int d = 0; d < s.rank; ++d) from[at(order[at(d)])] = i[at(d)];
        ASSERT_EQ(out.at(i), x.at(from));
      });
      hk::permute(out.view(), back.view(), inverse.data());
      ASSERT_TRUE(naive::same(back, x));
    } while (std::next_permutation(order.begin(), order.end()));
  });
}

TEST(Movement, EverySliceOfARowAndOfAMatrix) {
  const auto row = counted(hp::shape{7});
  for (extent_t begin = 0; begin < 7; ++begin)
    for (extent_t end = -1; end <= 7; ++end)
      for (extent_t step = -8; step <= 8; ++step) {
        if (step == 0) continue;
        std::vector<int> expected;
        for (extent_t i = begin; step > 0 ? i < end : i > end; i += step) expected.push_back(row[i]);
        const extent_t n = static_cast<extent_t>(expected.size());
        array<int> out(hp::shape{n});
        hk::slice(row.view(), out.view(), &begin, &step);
        for (extent_t i = 0; i < n; ++i) ASSERT_EQ(out[i], expected[static_cast<std::size_t>(i)]);
      }
  const auto x = counted(hp::shape{5, 3, 6});
  const extent_t begin[3] = {4, 1, 0}, step[3] = {-2, 1, 3};
  array<int> out(hp::shape{2, 2, 2});
  hk::slice(x.view(), out.view(), begin, step);
  naive::for_each_index(out.extents,
                        [&](const index& i) { ASSERT_EQ(out.at(i), x.at({4 - 2 * i[0], 1 + i[1], 3 * i[2]})); });
}

TEST(Movement, FlipsEverySetOfDims) {
  naive::for_each_shape(1, 3, 0, 3, [](const hp::shape& s) {
    const auto x = counted(s);
    for (unsigned dims = 0; dims < 1u << s.rank; ++dims) {
      array<int> out(s), back(s);
      hk::flip(x.view(), out.view(), dims);
      naive::for_each_index(s, [&](const index& i) {
        index from = i;
        for (int d = 0; d < s.rank; ++d)
          if ((dims >> d & 1u) != 0) from[at(d)] = s.extent[d] - 1 - i[at(d)];
        ASSERT_EQ(out.at(i), x.at(from));
      });
      hk::flip(out.view(), back.view(), dims);
      ASSERT_TRUE(naive::same(back, x));
    }
  });
}

TEST(Movement, ConcatenatedPartsAreTheWhole) {
  naive::for_each_shape(1, 3, 0, 4, [](const hp::shape& s) {
    const auto x = counted(s);
    for (int axis = 0; axis < s.rank; ++axis)
      for (extent_t first = 0; first <= s.extent[axis]; ++first)
        for (extent_t second = first; second <= s.extent[axis]; ++second) {
          const array<int> parts[3] = {naive::part(x, axis, 0, first), naive::part(x, axis, first, second),
                                       naive::part(x, axis, second, s.extent[axis])};
          const hp::const_view<int> views[3] = {parts[0].view(), parts[1].view(), parts[2].view()};
          array<int> out(s, -1);
          hk::concat(views, 3, out.view(), axis);
          ASSERT_TRUE(naive::same(out, x));
        }
  });
}

TEST(Movement, StacksAlongEveryNewDim) {
  naive::for_each_shape(0, 3, 0, 3, [](const hp::shape& s) {
    const array<int> parts[2] = {counted(s), counted(s, 1000)};
    const hp::const_view<int> views[2] = {parts[0].view(), parts[1].view()};
    for (int axis = 0; axis <= s.rank; ++axis) {
      index extents = naive::extents_of(s);
      extents.insert(extents.begin() + axis, 2);
      array<int> out(naive::shape_of(extents));
      hk::stack(views, 2, out.view(), axis);
      naive::for_each_index(out.extents, [&](const index& i) {
        index from = i;
        from.erase(from.begin() + axis);
        ASSERT_EQ(out.at(i), parts[i[at(axis)]].at(from));
      });
    }
  });
}

TEST(Movement, PadsOnEverySide) {
  naive::for_each_shape(0, 3, 0, 2, [](const hp::shape& s) {
    const auto x = counted(s);
    const extent_t before[3] = {1, 0, 2}, after[3] = {0, 2, 1};
    hp::shape padded = s;
    for (int d = 0; d < s.rank; ++d) padded.extent[d] += before[d] + after[d];
    array<int> out(padded);
    hk::pad(x.view(), out.view(), before, -5);
    naive::for_each_index(padded, [&](const index& i) {
      index from = i;
      bool inside = true;
      for (int d = 0; d < s.rank; ++d) {
        from[at(d)] -= before[d];
        inside = inside && from[at(d)] >= 0 && from[at(d)] < s.extent[d];
      }
      ASSERT_EQ(out.at(i), inside ? x.at(from) : -5);
    });
  });
}

TEST(Movement, ExpandsAsBroadcastingReads) {
  const hp::shape whole{2, 3, 4};
  for (const hp::shape& s : {hp::shape{}, hp::shape{4}, hp::shape{1}, hp::shape{3, 1}, hp::shape{2, 1, 4}, whole}) {
    const auto x = counted(s);
    array<int> out(whole);
    hk::expand(x.view(), out.view());
    naive::for_each_index(whole, [&](const index& i) { ASSERT_EQ(out.at(i), x.broadcast(i)); });
  }
}

TEST(Movement, RepeatsRowsInPlace) {
  const auto x = counted(hp::shape{2, 3, 2});
  for (int axis = 0; axis < 3; ++axis) {
    const extent_t times[3] = {2, 0, 3};
    for (const bool uniform : {false, true}) {
      std::vector<extent_t> row;
      for (extent_t m = 0; m < x.extents.extent[axis]; ++m)
        row.insert(row.end(), static_cast<std::size_t>(times[uniform ? 0 : m]), m);
      hp::shape s = x.extents;
      s.extent[axis] = static_cast<extent_t>(row.size());
      array<int> out(s);
      hk::repeat_interleave(x.view(), out.view(), axis, times, uniform);
      naive::for_each_index(s, [&](const index& i) {
        index from = i;
        from[at(axis)] = row[static_cast<std::size_t>(i[at(axis)])];
        ASSERT_EQ(out.at(i), x.at(from));
      });
    }
  }
}

TEST(Movement, RollsAroundTheEnd) {
  naive::for_each_shape(1, 3, 0, 4, [](const hp::shape& s) {
    const auto x = counted(s);
    for (int axis = 0; axis < s.rank; ++axis)
      for (extent_t shift = -9; shift <= 9; ++shift) {
        array<int> out(s);
        hk::roll(x.view(), out.view(), axis, shift);
        naive::for_each_index(s, [&](const index& i) {
          index to = i;
          const extent_t n = s.extent[axis];
          to[at(axis)] = ((i[at(axis)] + shift) % n + n) % n;
          ASSERT_EQ(out.at(to), x.at(i));
        });
      }
  });
}

TEST(Movement, TheLowerTriangleOfAPartIsThePartOfTheWhole) {
  const auto x = counted(hp::shape{2, 5, 6});
  for (extent_t diagonal = -7; diagonal <= 7; ++diagonal) {
    array<int> whole(x.extents);
    hk::tril(x.view(), whole.view(), diagonal);
    naive::for_each_index(x.extents,
                          [&](const index& i) { ASSERT_EQ(whole.at(i), i[2] - i[1] <= diagonal ? x.at(i) : 0); });
    for (extent_t row = 0; row < 5; ++row)
      for (extent_t column = 0; column < 6; column += 2) {
        auto piece = naive::part(naive::part(x, 1, row, row + 1), 2, column, column + 2);
        hk::tril(piece.view(), piece.view(), diagonal + row - column);
        ASSERT_TRUE(naive::same(piece, naive::part(naive::part(whole, 1, row, row + 1), 2, column, column + 2)));
      }
  }
}

}  // namespace
