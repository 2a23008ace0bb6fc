// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/tiles/tile_box.hpp>

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace {

namespace hp = hyperparallel;
using hp::extent_t;

/// A value of one tensor, dim d named d, whose first axes cut dims of their numbers in `cut`.
hp::sharded_program program_of(const hp::shape& s, const hp::mesh_shape& m, const std::vector<int>& cut) {
  hp::sharded_program p;
  hp::graph_tensor t;
  t.shape = s;
  t.type = hp::f64;
  for (int d = 0; d < s.rank; ++d) t.dim[d] = d;
  p.graph.tensor.push(t);
  p.mesh.shape = m;
  hp::layout_value l;
  l.mesh = m;
  l.rank = s.rank;
  for (int d = 0; d < s.rank; ++d)
    for (int a = 0; a < m.axis_count; ++a)
      if (cut[static_cast<std::size_t>(a)] == d) hp::append_cut(l, {d, a, 1, m.size[a]});
  p.value.push({0, l, {}, 0});
  p.storage.push({0, false, 0});
  return p;
}

/// Elements of the block at `position` that the law gives to the tile, one by one.
std::vector<bool> elements_of(const hp::sharded_program& p, int position, const hp::step_tile& t) {
  const hp::box own = hp::box_of(p, 0, position);
  std::vector<bool> in;
  for (extent_t e = 0; e < hp::volume(own); ++e) {
    extent_t rest = e;
    bool is = true;
    for (int d = own.rank - 1; d >= 0; --d) {
      const extent_t n = own.dim[d].end - own.dim[d].begin, x = own.dim[d].begin + rest % n;
      const hp::detail::tile_parts parts(t);
      for (const hp::step_tile& c : parts.cut)
        if (d == c.dim) is = is && x % c.shard / (c.shard / c.count) == c.index;
      rest /= n;
    }
    in.push_back(is);
  }
  return in;
}

// Random blocks, with an inner cut and without: the bytes are those of the elements, the same on every device, and the tiles
// partition the block.
TEST(TileBox, BytesAreThoseOfItsElementsOnEveryDevice) {
  std::mt19937 random(7);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  const auto parts_of = [&](extent_t shard) {
    int parts = 1;
    while (shard % (parts = 1 + below(static_cast<int>(shard))) != 0) continue;
    return parts;
  };
  int whole = 0, several = 0, both = 0;
  for (int round = 0; round < 6000; ++round) {
    const hp::mesh_shape m{2, {1 + below(3), 1 + below(3)}};
    const hp::shape s(extent_t{6} * (1 + below(2)), extent_t{6} * (1 + below(2)), extent_t{6} * (1 + below(2)));
    const std::vector<int> cut{below(4), below(4)};  // 3: the axis cuts nothing
    if (cut[0] == cut[1] && cut[0] < 3 && s.extent[cut[0]] % (m.size[0] * m.size[1]) != 0) continue;
    const hp::sharded_program p = program_of(s, m, cut);
    hp::step_tile t{below(4), extent_t{1 + below(12)}};
    if (below(2) == 0) t.inner = {(t.dim + 1 + below(3)) % 4, extent_t{1 + below(6)}};
    t.count = parts_of(t.shard);
    if (t.inner.dim >= 0) t.count *= t.inner.count = parts_of(t.inner.shard);
    const auto holds = [&](int dim, extent_t of) {
      return dim < 0 || dim == 3 || hp::detail::local_extent(p, 0, dim) % of == 0;
    };
    const bool whole_shards = holds(t.dim, t.shard) && holds(t.inner.dim, t.inner.shard);
    EXPECT_EQ(hp::detail::holds_whole_shards(p, 0, t), whole_shards);
    if (!whole_shards) continue;
    ++whole;
    std::vector<int> tiles(static_cast<std::size_t>(hp::local_elements(p, 0)), 0);
    for (t.index = 0; t.index < t.count; ++t.index) {
      std::vector<bool> bytes(tiles.size(), false);
      extent_t last = 0;
      int runs = 0;
      hp::detail::visit_bytes(p, 0, t, [&](extent_t begin, extent_t end) {
        ++runs;
        EXPECT_LE(last, begin);
        EXPECT_LT(begin, end);
        last = end;
        EXPECT_EQ(begin % 8 + end % 8, 0);
        for (extent_t e = begin / 8; e < end / 8; ++e) {
          bytes.at(static_cast<std::size_t>(e)) = true;
          ++tiles.at(static_cast<std::size_t>(e));
        }
      });
      several += runs > 1;
      both += t.inner.count > 1 && t.dim < 3 && t.inner.dim < 3;
      EXPECT_EQ(runs, hp::detail::runs_in(p, 0, t));
      for (int r = 0; r < hp::position_count(m); ++r) EXPECT_EQ(bytes, elements_of(p, r, t));
    }
    const hp::step_tile seen = hp::detail::tile_in(p.graph.tensor[0], t);
    for (const int n : tiles) EXPECT_EQ(n, t.count / seen.count);
  }
  EXPECT_GE(both, 500);
  EXPECT_GE(whole, 800);
  EXPECT_GE(several, 1000);
}

// Intervals are those of the global coordinate, wherever the box begins.
TEST(TileBox, IntervalsRepeatWithTheShard) {
  std::vector<extent_t> seen;
  const auto note = [&](extent_t from, extent_t to) {
    seen.push_back(from);
    seen.push_back(to);
  };
  hp::detail::visit_intervals({0, 6, 1, 3}, 3, 17, note);
  EXPECT_EQ(seen, (std::vector<extent_t>{3, 4, 8, 10, 14, 16}));
  seen.clear();
  hp::detail::visit_intervals({}, 3, 17, note);
  EXPECT_EQ(seen, (std::vector<extent_t>{3, 17}));
}

constexpr extent_t intervals_of(const hp::step_tile& t, extent_t end) {
  extent_t points = 0;
  hp::detail::visit_intervals(t, 0, end, [&](extent_t from, extent_t to) { points += to - from; });
  return points;
}
static_assert(intervals_of({0, 8, 3, 4}, 64) == 16);
static_assert(hp::detail::part_of_shard({0, 8, 3, 4}).begin == 6);

}  // namespace
