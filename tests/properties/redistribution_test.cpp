// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/redistribution/plan.hpp>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <hyperparallel/layout/unify.hpp>

#include "properties/random_layouts.hpp"
#include "replay/exchange_replay.hpp"

namespace {

namespace hp = hyperparallel;
using namespace properties;

TEST(redistribution_properties, every_plan_is_right_and_at_its_bound_on_every_rank) {
  EXPECT_TRUE(rc::check("plans meet their bounds", [] {
    const hp::mesh_shape m = random_mesh(48);
    const int rank = random_rank();
    hp::layout_value a = random_layout(m, rank), b = random_layout(m, rank);
    hp::shape s = common_shape(a, b);
    if (*rc::gen::inRange(0, 3) == 0) {
      a.padded = b.padded = 7;
      s = any_shape(rank);
    }
    RC_PRE(hp::element_count(s).value < 100000);
    const hp::redistribution_plan p = hp::plan_redistribution(a, b, s);
    RC_ASSERT(p.status.code == hp::plan_code::ok);
    RC_ASSERT(replay::replay_exchange(a, b, s, p).trouble == "");
    RC_ASSERT(p.lower_bound == hp::enumerate_bound(a, b, s).maximum);
  }));
}

TEST(redistribution_properties, a_detour_never_receives_less) {
  EXPECT_TRUE(rc::check("triangle inequality of bytes", [] {
    const hp::mesh_shape m = random_mesh();
    const int rank = random_rank();
    const hp::layout_value l[3] = {random_layout(m, rank), random_layout(m, rank), random_layout(m, rank)};
    hp::shape s = common_shape(l[0], l[1]);
    for (int d = 0; d < rank; ++d) s.extent[d] *= hp::shards_of(l[2], d);
    const auto received = [&s](const hp::layout_value& a, const hp::layout_value& b) {
      return hp::plan_redistribution(a, b, s).received_maximum;
    };
    RC_ASSERT(received(l[0], l[2]) <= received(l[0], l[1]) + received(l[1], l[2]));
  }));
}

TEST(redistribution_properties, moves_between_meshes_are_planned_through_their_refinement) {
  EXPECT_TRUE(rc::check("cross-mesh moves", [] {
    const hp::mesh_shape m = random_mesh(48);
    // The same devices, their axes in another order: sizes often have no common refinement.
    hp::mesh_shape turned = m;
    for (int a = 0; a < m.axis_count; ++a) turned.size[a] = m.size[m.axis_count - 1 - a];
    const int rank = random_rank();
    const hp::layout_value a = random_layout(m, rank), b = random_layout(turned, rank);
    const hp::shape s = common_shape(a, b);
    RC_PRE(hp::element_count(s).value < 100000);
    const hp::unified_layouts u = hp::unify(a, s, b, s);
    RC_ASSERT(u.status.code == hp::refinement_code::ok);
    for (int p = 0; p < hp::position_count(m); ++p) {
      RC_ASSERT(hp::slice_of(u.source, u.shape, p).box == hp::slice_of(a, s, p).box);
      RC_ASSERT(hp::slice_of(u.target, u.shape, p).box == hp::slice_of(b, s, p).box);
    }
    const hp::redistribution_plan p = hp::plan_redistribution(u.source, u.target, u.shape);
    RC_ASSERT(p.status.code == hp::plan_code::ok);
    RC_ASSERT(replay::replay_exchange(u.source, u.target, u.shape, p).trouble == "");
  }));
}

}  // namespace
