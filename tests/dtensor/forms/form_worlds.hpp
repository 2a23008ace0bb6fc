// SPDX-License-Identifier: Apache-2.0
#pragma once
// Worlds for the distributed forms: meshes, random layouts and numbers, and what counted traffic must agree with.

#include <hyperparallel/dtensor/conversion.hpp>
#include <hyperparallel/dtensor/forms/collectives.hpp>
#include <hyperparallel/layout.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace form_worlds {

namespace hp = hyperparallel;
namespace hpd = hyperparallel::distributed;

inline const std::vector<hp::mesh_shape>& meshes() {
  static const std::vector<hp::mesh_shape> list{{1, {2}},    {1, {4}},       {2, {2, 2}},
                                                {2, {4, 2}}, {3, {2, 2, 2}}, {2, {2, 3}}};
  return list;
}

class dice {
 public:
  explicit dice(unsigned seed) : engine_(seed) {}
  /// From low to high, both included.
  int roll(int low, int high) { return low + static_cast<int>(engine_() % static_cast<unsigned>(high - low + 1)); }

  /// Each axis unused or at a random place; `likely` is a dim that gets half of them.
  hp::layout_value layout(const hp::mesh_shape& m, int rank, int likely) {
    std::vector<std::vector<int>> dims(static_cast<std::size_t>(rank));
    for (int a = 0; a < m.axis_count; ++a) {
      const int d = roll(0, 1) == 0 ? likely : roll(-1, rank - 1);
      if (d < 0) continue;
      std::vector<int>& list = dims[static_cast<std::size_t>(d)];
      list.insert(list.begin() + roll(0, static_cast<int>(list.size())), a);
    }
    hp::layout_value l = hp::replicated(m, rank);
    for (int d = 0; d < rank; ++d)
      for (const int a : dims[static_cast<std::size_t>(d)]) hp::append_cut(l, {d, a, 1, m.size[a]});
    return l;
  }

  /// Extents that the layout divides, up to `most` times.
  hp::shape shape(const hp::layout_value& l, int most) {
    hp::shape s;
    for (int d = 0; d < l.rank; ++d) s.extent[s.rank++] = hp::shards_of(l, d) * roll(1, most);
    return s;
  }

  /// Whole numbers from -bound to bound, divided by `divisor`.
  template <class T>
  std::vector<T> numbers(const hp::shape& s, int bound, double divisor = 1) {
    std::vector<T> v;
    for (hp::extent_t i = 0; i < hp::element_count(s).value; ++i)
      v.push_back(hp::kernels::store<T>(static_cast<hp::kernels::computing<T>>(roll(-bound, bound) / divisor)));
    return v;
  }

 private:
  std::mt19937 engine_;
};

template <class T>
hp::dynamic_dtensor spread(const hp::rank_group& group, const hp::shape& s, const hp::layout_value& l,
                           const std::vector<T>& v) {
  return hp::distribute<T>(group, s, l, v);
}

template <class T>
hp::const_view<T> view(const std::vector<T>& v, const hp::shape& s) {
  return {v.data(), s};
}
template <class T>
hp::tensor_view<T> view(std::vector<T>& v, const hp::shape& s) {
  return {v.data(), s};
}

/// Each within `tolerance` of its fellow, absolute up to 1 and relative above; NaN matches NaN alone.
template <class T>
void expect_near(const std::vector<T>& got, const std::vector<T>& wanted, double tolerance) {
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double g = static_cast<double>(hp::kernels::load(got[i])),
                 w = static_cast<double>(hp::kernels::load(wanted[i]));
    if (std::isnan(w) || std::isinf(w)) {
      EXPECT_TRUE(std::isnan(w) ? std::isnan(g) : g == w) << i;
      continue;
    }
    EXPECT_NEAR(g, w, tolerance * std::fmax(1.0, std::fabs(w))) << i;
  }
}

/// Calls `test(group, mesh, dice)` `rounds` times in every mesh; the rank group is reused.
template <class Test>
void in_every_world(int rounds, const Test& test) {
  for (const hp::mesh_shape& m : meshes()) {
    const hp::rank_group group(hp::position_count(m), {.threads = 2, .pin = false});
    for (int round = 0; round < rounds; ++round) {
      SCOPED_TRACE("devices " + std::to_string(hp::position_count(m)) + ", axes " + std::to_string(m.axis_count) +
                   ", round " + std::to_string(round));
      dice d(static_cast<unsigned>(1000 * hp::position_count(m) + 100 * m.axis_count + round));
      test(group, m, d);
      if (testing::Test::HasFailure()) return;
    }
  }
}

}  // namespace form_worlds
