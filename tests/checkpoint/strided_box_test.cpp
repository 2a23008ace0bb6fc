// SPDX-License-Identifier: Apache-2.0
// Refining and cutting boxes keeps every element at its place.

#include <hyperparallel/checkpoint/strided_box.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <random>
#include <vector>

namespace rs = hyperparallel::reshard;

namespace {

/// Place of each element, by its number in the factored dims.
std::map<std::int64_t, std::int64_t> places(const std::vector<rs::placed_box>& all,
                                            const std::vector<std::int64_t>& dims) {
  std::map<std::int64_t, std::int64_t> out;
  for (const rs::placed_box& p : all) {
    std::vector<std::int64_t> i;
    for (const rs::index_range& r : p.box) i.push_back(r.begin);
    for (std::int64_t n = rs::detail::volume_of(p.box); n > 0; --n) {
      std::int64_t number = 0, place = p.offset;
      for (std::size_t d = 0; d < dims.size(); ++d) {
        number = number * dims[d] + i[d];
        place += (i[d] - p.box[d].begin) * p.stride[d];
      }
      EXPECT_TRUE(out.emplace(number, place).second);
      for (std::size_t d = dims.size(); d-- > 0;) {
        if (++i[d] < p.box[d].end) break;
        i[d] = p.box[d].begin;
      }
    }
  }
  return out;
}

std::vector<std::int64_t> flat(const rs::factored_dims& v) {
  std::vector<std::int64_t> all;
  for (const auto& f : v) all.insert(all.end(), f.begin(), f.end());
  return all;
}

TEST(StridedBox, RefiningKeepsEveryPlace) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 3000; ++round) {
    rs::factored_dims from, to;
    rs::placed_box p{{}, static_cast<std::int64_t>(random() % 50), {}};
    for (std::size_t d = 1 + random() % 2; d > 0; --d) {
      std::vector<std::int64_t> coarse, fine;
      for (std::size_t f = 1 + random() % 3; f > 0; --f) {
        const std::int64_t outer = 1 + static_cast<std::int64_t>(random() % 3),
                           inner = 1 + static_cast<std::int64_t>(random() % 3);
        coarse.push_back(outer * inner);
        fine.push_back(outer);
        fine.push_back(inner);
      }
      const auto refined = rs::refined(coarse, fine);
      if (!refined) continue;
      from.push_back(coarse);
      to.push_back(*refined);
      for (const std::int64_t c : coarse) {
        const std::int64_t begin = static_cast<std::int64_t>(random()) & 7, b = begin % c;
        p.box.push_back({b, b + 1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(c - b))});
        p.stride.push_back(static_cast<std::int64_t>(random() % 100));
      }
    }
    EXPECT_EQ(places(rs::detail::refine_box(p, from, to), flat(to)), places({p}, flat(from)));
  }
}

TEST(StridedBox, FactorsThatDoNotDivideHaveNoRefinement) {
  EXPECT_EQ(rs::refined({4, 6}, {2, 12}), (std::vector<std::int64_t>{2, 2, 6}));
  EXPECT_EQ(rs::refined({1}, {1, 1}), (std::vector<std::int64_t>{1}));
  EXPECT_FALSE(rs::refined({4, 6}, {6, 4}));
}

TEST(StridedBox, ADifferenceAndAnIntersectionAreTheWhole) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 2000; ++round) {
    const auto draw = [&] {
      rs::index_box b;
      for (int d = 0; d < 3; ++d) {
        const std::int64_t begin = static_cast<std::int64_t>(random() % 4);
        b.push_back({begin, begin + 1 + static_cast<std::int64_t>(random() % 4)});
      }
      return b;
    };
    const rs::index_box a = draw(), b = draw();
    std::vector<rs::placed_box> parts;
    if (const auto both = rs::detail::intersection_of(a, b)) {
      std::vector<rs::index_box> rest;
      rs::detail::append_difference(rest, a, *both);
      rest.push_back(*both);
      for (const rs::index_box& r : rest) parts.push_back(rs::placed_box{a, 5, {100, 10, 1}}.part(r));
      EXPECT_EQ(places(parts, {8, 8, 8}), places({{a, 5, {100, 10, 1}}}, {8, 8, 8}));
    }
  }
}

}  // namespace
