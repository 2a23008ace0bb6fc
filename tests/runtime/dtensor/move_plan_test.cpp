// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/runtime/dtensor/move_plan.hpp>

#include <gtest/gtest.h>

#include "runtime/dtensor/worlds.hpp"

namespace hp = hyperparallel;
using namespace worlds;

namespace {

constexpr hp::mesh_shape mesh{2, {2, 4}};

/// One dim by the axes of a list; partial along `terms`.
constexpr hp::layout_value one_dim(std::initializer_list<int> axes, unsigned terms = 0,
                                   hp::reduce_op op = hp::reduce_op::sum) {
  hp::layout_value l = hp::replicated(mesh, 1);
  for (const int a : axes) hp::append_cut(l, {0, a, 1, mesh.size[a]});
  for (int a = 0; a < 2; ++a)
    if ((terms >> a & 1u) != 0) l.partial[a] = op;
  return l;
}

// A device reduces only what it keeps, where the target shards the axis and the tensor divides.
constexpr hp::move_plan scatter = hp::plan_move(one_dim({}, 2), one_dim({1}), hp::shape{8});
static_assert(scatter.code == hp::move_code::ok && scatter.reduced == 2 && scatter.filled == 0);
static_assert(scatter.between == one_dim({1}) && scatter.exchange.kind == hp::plan_kind::no_op);

constexpr hp::move_plan below = hp::plan_move(one_dim({0}, 2), one_dim({0, 1}), hp::shape{8});
static_assert(below.between == one_dim({0, 1}) && below.exchange.kind == hp::plan_kind::no_op);

// The other order: the part that is reduced lies elsewhere, so it moves afterwards.
constexpr hp::move_plan turned = hp::plan_move(one_dim({0}, 2), one_dim({1, 0}), hp::shape{8});
static_assert(turned.between == one_dim({0, 1}) && turned.exchange.steps == 1);

// An axis that the target does not shard: everybody reduces all.
constexpr hp::move_plan all = hp::plan_move(one_dim({0}, 2), one_dim({0}), hp::shape{8});
static_assert(all.reduced == 2 && all.between == one_dim({0}) && all.exchange.kind == hp::plan_kind::no_op);

// Both sides partial alike: the terms stay, even where slices move.
constexpr hp::move_plan kept = hp::plan_move(one_dim({0}, 2), one_dim({}, 2), hp::shape{8});
static_assert(kept.reduced == 0 && kept.filled == 0 && kept.between == one_dim({0}, 2));
static_assert(kept.exchanged == one_dim({}, 2) && kept.exchange.kind == hp::plan_kind::all_gather);

// Another operation: reduced, then filled.
constexpr hp::move_plan other = hp::plan_move(one_dim({}, 2), one_dim({}, 2, hp::reduce_op::max), hp::shape{8});
static_assert(other.reduced == 2 && other.filled == 2 && other.between == one_dim({}) &&
              other.exchanged == one_dim({}));

static_assert(hp::plan_move(one_dim({1}), one_dim({0}), hp::shape{6}).code == hp::move_code::source_is_refused);
static_assert(hp::plan_move(one_dim({0}), one_dim({1}), hp::shape{6}).code == hp::move_code::target_is_refused);
static_assert(hp::plan_move(one_dim({0}), one_dim({1}), hp::shape{6}).layout.shards == 4);
static_assert(hp::plan_move(one_dim({}), hp::replicated({1, {2}}, 1), hp::shape{4}).code ==
              hp::move_code::layouts_are_on_different_meshes);

TEST(move_plan, every_pair_is_planned_and_partial_states_add_up) {
  for (const hp::mesh_shape& m : small_meshes()) {
    const std::vector<hp::layout_value> layouts = partial_layouts(m, 1, {hp::reduce_op::sum, hp::reduce_op::avg});
    for (const hp::layout_value& from : layouts)
      for (const hp::layout_value& to : layouts) {
        const hp::move_plan p = hp::plan_move(from, to, divisible_shape(m, 1));
        ASSERT_EQ(p.code, hp::move_code::ok);
        ASSERT_EQ(p.exchange.status.code, hp::plan_code::ok);
        for (int a = 0; a < m.axis_count; ++a) {
          const bool changes = from.partial[a] != to.partial[a];
          ASSERT_EQ((p.reduced >> a & 1u) != 0, changes && from.partial[a] != hp::reduce_op::none);
          ASSERT_EQ((p.filled >> a & 1u) != 0, changes && to.partial[a] != hp::reduce_op::none);
          const hp::reduce_op stays = changes ? hp::reduce_op::none : from.partial[a];
          ASSERT_EQ(p.between.partial[a], stays);
          ASSERT_EQ(p.exchanged.partial[a], stays);
        }
      }
  }
}

}  // namespace
