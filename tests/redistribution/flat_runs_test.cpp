// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/redistribution/flat_runs.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "replay/relocation_replay.hpp"
#include "support/all_layouts.hpp"

namespace {

namespace hp = hyperparallel;

TEST(flat_runs, runs_are_a_block_in_the_order_of_its_memory) {
  const hp::shape s{4, 3, 5};
  for (hp::extent_t a = 0; a <= 4; ++a)
    for (hp::extent_t b = a; b <= 4; ++b)
      for (hp::extent_t c = 0; c <= 3; ++c)
        for (hp::extent_t d = c; d <= 3; ++d)
          for (const hp::interval last : {hp::interval{0, 5}, hp::interval{1, 4}, hp::interval{2, 2}}) {
            const hp::box block{{a, b}, {c, d}, last};
            const hp::flat_block f = hp::runs_of(block, s);
            std::vector<hp::extent_t> found;
            for (hp::extent_t i = 0; i < f.runs; ++i)
              for (hp::extent_t k = 0; k < f.length; ++k) found.push_back(hp::detail::run_begin(f, i) + k);
            ASSERT_EQ(found, replay::detail::elements_in(block, s));
            for (hp::extent_t flat = 0; flat < 60; ++flat) {
              const hp::flat_place p = hp::place_of(f, flat);
              const auto at = std::find(found.begin(), found.end(), flat);
              ASSERT_EQ(p.inside, at != found.end());
              if (!p.inside) continue;
              ASSERT_EQ(p.offset, at - found.begin());
              ASSERT_EQ(p.left, f.length - p.offset % f.length);
            }
          }
}

TEST(flat_runs, runs_are_as_long_as_they_can_be) {
  EXPECT_EQ(hp::runs_of(hp::box{{2, 4}, {0, 3}, {0, 5}}, {4, 3, 5}).runs, 1);
  EXPECT_EQ(hp::runs_of(hp::box{{2, 4}, {1, 3}, {0, 5}}, {4, 3, 5}).runs, 2);
  EXPECT_EQ(hp::runs_of(hp::box{{2, 4}, {0, 3}, {0, 4}}, {4, 3, 5}).runs, 6);
  EXPECT_EQ(hp::runs_of(hp::box{}, {}).length, 1) << "a scalar is one run";
}

TEST(flat_runs, the_first_device_with_an_element_has_it) {
  for (const hp::mesh_shape& m : worlds::small_meshes())
    for (hp::layout_value l : worlds::all_layouts(m, 2)) {
      l.padded = 3;
      const hp::shape s{7, 5};
      for (hp::extent_t flat = 0; flat < 35; ++flat) {
        int first = 0;
        while (!hp::place_of(hp::runs_of(hp::slice_at(l, s, hp::coordinates_of(m, first)), s), flat).inside) ++first;
        ASSERT_EQ(hp::position_of(m, hp::detail::first_with(l, s, flat)), first);
      }
    }
}

static_assert(hp::detail::run_begin(hp::runs_of(hp::box{{1, 3}, {2, 4}}, {3, 4}), 1) == 10);

}  // namespace
