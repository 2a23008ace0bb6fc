// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/layout/unify.hpp>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <set>
#include <tuple>
#include <vector>

#include "properties/random_layouts.hpp"

namespace {

namespace hp = hyperparallel;
using namespace properties;

/// Whether the boxes are disjoint or equal, equally often each, and fill the tensor.
bool slices_tile(const hp::layout_value& l, const hp::shape& s) {
  std::vector<hp::box> distinct;
  std::vector<int> times;
  for (int p = 0; p < hp::position_count(l.mesh); ++p) {
    const hp::box b = hp::slice_of(l, s, p).box;
    bool known = false;
    for (std::size_t i = 0; i < distinct.size(); ++i) {
      if (distinct[i] == b) {
        ++times[i];
        known = true;
      } else if (hp::volume(hp::intersection(distinct[i], b)) > 0) {
        return false;
      }
    }
    if (known) continue;
    distinct.push_back(b);
    times.push_back(1);
  }
  hp::extent_t filled = 0;
  int replicas = 0;
  for (std::size_t i = 0; i < distinct.size(); ++i) {
    filled += hp::volume(distinct[i]);
    if (hp::volume(distinct[i]) == 0) continue;
    if (replicas == 0) replicas = times[i];
    if (times[i] != replicas) return false;
  }
  return filled == hp::element_count(s).value;
}

TEST(layout_properties, slices_tile_even_and_padded_tensors) {
  EXPECT_TRUE(rc::check("slices tile", [] {
    const hp::mesh_shape m = random_mesh();
    hp::layout_value l = random_layout(m, random_rank());
    RC_ASSERT(slices_tile(l, common_shape(l, l)));
    l.padded = 7;
    RC_ASSERT(slices_tile(l, any_shape(l.rank)));
  }));
}

TEST(layout_properties, numeric_and_placement_forms_round_trip) {
  EXPECT_TRUE(rc::check("forms round trip", [] {
    const hp::mesh_shape m = random_mesh();
    hp::layout_value l = random_layout(m, random_rank());
    hp::numeric_entry numbers[hp::max_dims];
    for (int d = 0; d < l.rank; ++d) numbers[d] = hp::numeric_of(l, d);
    RC_ASSERT(hp::layout_from_numeric(m, numbers, l.rank).layout == l);
    for (int a = 0; a < m.axis_count; ++a) hp::set_partial(l, a, static_cast<hp::reduce_op>(*rc::gen::inRange(0, 8)));
    const hp::placement_list p = hp::placements_of(l);
    RC_ASSERT(hp::layout_from_placements(m, p.at, m.axis_count, l.rank).layout == l);
  }));
}

TEST(layout_properties, refined_meshes_keep_every_slice) {
  EXPECT_TRUE(rc::check("refined meshes keep slices", [] {
    const hp::mesh_shape m = random_mesh();
    const hp::layout_value l = random_layout(m, random_rank());
    const hp::shape s = common_shape(l, l);
    hp::mesh_shape finer;
    for (int a = 0; a < m.axis_count; ++a) {
      const bool split = m.size[a] % 2 == 0 && m.size[a] > 2 && m.axis_count - a + finer.axis_count < hp::max_axes &&
                         *rc::gen::arbitrary<bool>();
      if (split) finer.size[finer.axis_count++] = 2;
      if (m.size[a] > 1) finer.size[finer.axis_count++] = split ? m.size[a] / 2 : m.size[a];
    }
    for (const hp::refined_layout& r : {hp::on_refined_mesh(l, finer), hp::on_flat_mesh(l), hp::with_whole_axes(l)}) {
      RC_ASSERT(r.status.code == hp::refinement_code::ok);
      for (int p = 0; p < hp::position_count(m); ++p)
        RC_ASSERT(hp::slice_of(l, s, p).box == hp::slice_of(r.layout, s, p).box);
    }
  }));
}

}  // namespace
