// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <hyperparallel/layout/layout.hpp>
#include <hyperparallel/redistribution/candidates.hpp>
#include <hyperparallel/redistribution/certificate.hpp>
#include <hyperparallel/redistribution/lower_move.hpp>
#include <hyperparallel/taskflow/list_schedule.hpp>
#include <hyperparallel/taskflow/simulate.hpp>
#include <hyperparallel/taskflow/verify.hpp>

#include <algorithm>
#include <vector>

#include <hyperparallel/lowering/planned_flow.hpp>

#include "support/all_layouts.hpp"

namespace hp = hyperparallel;

namespace {

struct mesh : hp::device_matrix<hp::axis{"x", 2}, hp::axis{"y", 2}> {};
using rows = hp::layout<mesh, hp::axes("x", "y"), hp::none>;
using columns = hp::layout<mesh, hp::none, hp::axes("y", "x")>;
using terms = hp::layout<mesh, "x", hp::none, hp::partial("y")>;
using whole = hp::layout<mesh, "x", hp::none>;

constexpr hp::shape shape{8, 12};
constexpr hp::machine_shape machine{4, {0, 0, 1, 0, 0}};

/// One step: every receiver reads its senders.
constexpr hp::move_flow exchange{hp::plan_move(rows::value, columns::value, shape), 2, 5};
constexpr auto exchange_size = hp::measure(exchange);
constexpr auto exchange_flow = hp::build_fixed<exchange_size>(exchange);
static_assert(exchange_size.tasks == 4 && exchange_size.slots == 8 && exchange_size.events == 0);
static_assert(hp::verify(exchange_flow, hp::schedule_fixed<4>(exchange_flow, machine)).code == hp::verify_code::ok);

/// Two steps: what is passed on waits for what is reduced.
constexpr hp::move_flow all_reduce{hp::plan_move(terms::value, whole::value, shape), 2, 5};
constexpr auto size = hp::measure(all_reduce);
constexpr auto flow = hp::build_fixed<size>(all_reduce);
static_assert(size.tasks == 8 && size.slots == 12 && size.events == 4);
static_assert(hp::verify(flow, hp::schedule_fixed<4>(flow, machine)).code == hp::verify_code::ok);

TEST(lower_move, a_receiver_reads_each_of_its_senders_and_writes_its_own_block) {
  for (int p = 0; p < 4; ++p) {
    const hp::task& t = exchange_flow.task[p];
    EXPECT_EQ(t.rank, p);
    EXPECT_EQ(t.access_end - t.access_begin, 5);  // four senders, itself included, and the target
    EXPECT_EQ(exchange_flow.access[t.access_end - 1].slot, 4 + p);
    EXPECT_EQ(t.duration, 18 * 2 * 5);  // 18 of its 24 elements come from others
  }
}

TEST(lower_move, blocks_of_one_rank_do_not_overlap) {
  for (int p = 0; p < 4; ++p)
    for (int b = 0; b + 1 < all_reduce.blocks(); ++b) {
      const hp::slot &one = flow.slot[all_reduce.first_slot(b) + p],
                     &next = flow.slot[all_reduce.first_slot(b + 1) + p];
      EXPECT_EQ(one.rank, next.rank);
      EXPECT_GE(next.offset, one.offset + one.bytes);
    }
}

/// Every pair of a small world, partial states included, is safe; its tasks carry what the certificate says.
TEST(lower_move, every_pair_is_safe_and_carries_what_the_certificate_says) {
  const hp::mesh_shape m{2, {2, 2}};
  const std::vector<hp::layout_value> all = worlds::partial_layouts(m, 2, {hp::reduce_op::sum});
  int passed_on = 0;
  for (const hp::layout_value& a : all)
    for (const hp::layout_value& b : all) {
      const hp::move_flow f{hp::plan_move(a, b, {8, 8}), 4, 1};
      if (f.plan.step_count == 0) continue;
      hp::planned_flow planned(f, machine, {});
      ASSERT_EQ(planned.verify().code, hp::verify_code::ok);
      hp::extent_t tally[12] = {};
      const hp::move_certificate c = hp::certify(f.plan, tally);
      std::int64_t carried = 0;
      for (int t = 0; t < planned.flow().size.tasks; ++t) carried += planned.flow().task[t].duration;
      ASSERT_EQ(carried, 4 * c.received_total);
      const std::int64_t makespan = planned.simulate().result.makespan;
      ASSERT_GE(makespan, 4 * c.received_maximum);
      passed_on += f.plan.step_count > 1;
    }
  EXPECT_EQ(passed_on, 43);
}

struct lowered_counts {
  int moves = 0, passed_on = 0, unproved = 0;
};

/// Lowers a plan and has it proved with whatever order the list schedule gives the tasks of a link.
void expect_proved(const hp::move_plan& p, lowered_counts& n) {
  if (p.step_count == 0) return;
  const hp::move_flow f{p, 4, 1};
  int ranks = 0;
  for (int b = 0; b < f.blocks(); ++b)
    for (int q = 0; q < hp::position_count(f.mesh_of(b)); ++q) ranks = std::max(ranks, f.rank_of(b, q) + 1);
  hp::machine_shape m;
  m.ranks = ranks;
  m.queues[static_cast<int>(hp::resource::link)] = 1;
  hp::planned_flow planned(f, m, {});
  const hp::verify_status v = planned.verify();
  ++n.moves;
  n.passed_on += p.step_count > 1;
  if (v.code != hp::verify_code::ok && ++n.unproved < 4)
    ADD_FAILURE() << hp::to_text(v.code) << ", task " << v.task << " other " << v.other << " slot " << v.slot;
}

/// Padded dims that do not divide, one-place dims, terms on either side: blocks of all sizes, empty ones among them.
TEST(lower_move, every_planned_move_of_uneven_worlds_is_proved) {
  struct world {
    hp::mesh_shape mesh;
    hp::shape shape;
    unsigned padded;
    std::size_t stride;
  };
  lowered_counts n;
  for (const world& w : {world{{2, {2, 3}}, {5, 4}, 3, 1}, world{{2, {2, 5}}, {10, 2, 3, 1}, 15, 31},
                         world{{3, {2, 2, 2}}, {3, 7}, 3, 97}, world{{2, {4, 2}}, {5, 1}, 3, 1}}) {
    const std::vector<hp::layout_value> all =
        worlds::partial_layouts(w.mesh, w.shape.rank, {hp::reduce_op::sum, hp::reduce_op::min}, w.padded);
    for (std::size_t k = 0; k < all.size() * all.size(); k += w.stride) {
      const hp::move_plan p = hp::plan_move(all[k / all.size()], all[k % all.size()], w.shape);
      if (p.code == hp::move_code::ok) expect_proved(p, n);
    }
  }
  EXPECT_EQ(n.unproved, 0) << "of " << n.moves;
  EXPECT_GT(n.passed_on, 200);
}

/// Moves in up to eight steps.
TEST(lower_move, every_candidate_of_a_move_is_proved) {
  lowered_counts n;
  const hp::mesh_shape m{2, {2, 4}};
  const hp::link_level along[2] = {{"x", hp::unbounded_group, 1000, 5}, {"y", hp::unbounded_group, 100, 50}};
  const std::vector<hp::layout_value> all = worlds::partial_layouts(m, 2, {hp::reduce_op::sum});
  for (std::size_t k = 0; k < all.size() * all.size(); ++k) {
    const hp::candidate_source c =
        hp::candidates_of(all[k / all.size()], all[k % all.size()], hp::shape(16, 16), hp::on_full_mesh(m, along));
    for (int i = 0; i < hp::move_candidate_count; ++i) {
      const hp::candidate_result built = hp::build_candidate(c, static_cast<hp::move_candidate>(i));
      for (int part = 0; part < built.parts.count; ++part) expect_proved(built.parts.part[part], n);
    }
  }
  EXPECT_EQ(n.unproved, 0) << "of " << n.moves;
  EXPECT_GT(n.passed_on, 200);
}

/// Other meshes over other ranks, some on both sides.
TEST(lower_move, every_move_between_meshes_is_proved) {
  lowered_counts n;
  const hp::mesh_shape a{2, {2, 2}}, b{2, {3, 2}};
  const std::vector<hp::layout_value> from = worlds::partial_layouts(a, 2, {hp::reduce_op::sum}, 3),
                                      to = worlds::partial_layouts(b, 2, {hp::reduce_op::sum}, 3);
  for (const int first : {0, 2, 6})
    for (std::size_t k = 0; k < from.size() * to.size(); ++k) {
      const hp::tensor_side source{from[k / to.size()], hp::shape(5, 4), {4, first}};
      const hp::relocation r = hp::plan_relocation(source, {to[k % to.size()], hp::shape(5, 4), {6, 0}});
      ASSERT_EQ(r.code, hp::relocation_code::ok);
      if (r.form != hp::relocation_form::runs) expect_proved(r.plan, n);
    }
  EXPECT_EQ(n.unproved, 0) << "of " << n.moves;
  EXPECT_GT(n.passed_on, 50);
}

}  // namespace
