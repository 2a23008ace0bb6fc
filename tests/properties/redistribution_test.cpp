// SPDX-License-Identifier: Apache-2.0
// Random plans. A seeded loop checks many by their figures and by the boxes of a few receivers; RapidCheck executes
// fewer element by element and shrinks what fails. With HYPERPARALLEL_EXHAUSTIVE in the environment the loop makes a
// million plans.
#include <hyperparallel/redistribution/certificate.hpp>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <hyperparallel/layout/unify.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "properties/random_layouts.hpp"
#include "replay/exchange_replay.hpp"
#include "replay/move_replay.hpp"

namespace {

namespace hp = hyperparallel;
using namespace properties;

/// Seeded numbers: every run makes the same plans.
struct dice {
  std::uint64_t state;

  int below(int n) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return static_cast<int>((state >> 11) % static_cast<std::uint64_t>(n));
  }

  /// Up to six axes and `most` devices.
  hp::mesh_shape mesh(int most) {
    constexpr int sizes[] = {1, 2, 2, 2, 3, 4, 5, 6, 7, 8};
    hp::mesh_shape m;
    m.axis_count = 1 + below(6);
    int devices = 1;
    for (int a = 0; a < m.axis_count; ++a) {
      int size = sizes[below(10)];
      if (devices * size > most) size = 1;
      devices *= size;
      m.size[a] = size;
    }
    return m;
  }

  /// Each axis unused or on a random dim; axes in random order. Unused axes may wait for `op`.
  hp::layout_value layout(const hp::mesh_shape& m, int rank, hp::reduce_op op = hp::reduce_op::none) {
    int dim[hp::max_axes] = {}, order[hp::max_axes] = {};
    for (int a = 0; a < m.axis_count; ++a) {
      dim[a] = below(rank + 1) - 1;
      const int at = below(a + 1);
      for (int i = a; i > at; --i) order[i] = order[i - 1];
      order[at] = a;
    }
    hp::layout_value l = hp::replicated(m, rank);
    for (int d = 0; d < rank; ++d)
      for (int i = 0; i < m.axis_count; ++i)
        if (dim[order[i]] == d) hp::append_cut(l, {d, order[i], 1, m.size[order[i]]});
    for (int a = 0; a < m.axis_count; ++a)
      if (op != hp::reduce_op::none && m.size[a] > 1 && dim[a] < 0 && below(2) == 0) l.partial[a] = op;
    return l;
  }
};

long plans_to_make() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return 20000;
#else
  return std::getenv("HYPERPARALLEL_EXHAUSTIVE") != nullptr ? 1000000 : 100000;
#endif
}

hp::extent_t gcd_multiple(hp::extent_t a, hp::extent_t b) { return a / hp::greatest_common_divisor(a, b) * b; }

/// The plan, held against enumeration and against the boxes of one receiver.
hp::redistribution_plan checked_plan(const hp::layout_value& a, const hp::layout_value& b, const hp::shape& s,
                                     int receiver) {
  const hp::redistribution_plan p = hp::plan_redistribution(a, b, s);
  EXPECT_EQ(p.status.code, hp::plan_code::ok);
  const hp::received_bound bound = hp::enumerate_bound(a, b, s);
  EXPECT_EQ(p.received_maximum, bound.maximum);
  EXPECT_EQ(p.lower_bound, bound.maximum);
  EXPECT_EQ(p.messages, bound.messages);
  const hp::coordinate c = hp::coordinates_of(a.mesh, receiver);
  const hp::receiver r = hp::receiver_at(a, b, s, p.replicas, c);
  hp::extent_t pulled = 0, own = 0;
  for (hp::extent_t k = 0; k < r.boxes; ++k) {
    const hp::exchange_box x = hp::box_at(a, r, k);
    const hp::box held = hp::slice_at(a, s, hp::coordinates_of(a.mesh, x.sender));
    EXPECT_TRUE(hp::intersection(x.global, held) == x.global);
    EXPECT_TRUE(hp::intersection(x.global, r.wanted) == x.global);
    (x.sender == receiver ? own : pulled) += hp::volume(x.global);
    for (hp::extent_t j = 0; j < k && k < 64; ++j)
      EXPECT_EQ(hp::volume(hp::intersection(x.global, hp::box_at(a, r, j).global)), 0);
  }
  EXPECT_EQ(pulled + own, hp::volume(r.wanted));
  EXPECT_EQ(pulled, hp::least_received(a, b, s, c));
  return p;
}

TEST(redistribution_properties, plans_there_back_and_around) {
  dice d{0x9e3779b97f4a7c15u};
  long plans = 0, refined = 0, padded = 0, six_axes = 0, eight_dims = 0;
  while (plans < plans_to_make() && !HasFailure()) {
    const hp::mesh_shape m = d.mesh(d.below(16) == 0 ? 1024 : 48);
    const int rank = 1 + d.below(8);
    hp::layout_value l[3] = {d.layout(m, rank), d.layout(m, rank), d.layout(m, rank)};
    hp::shape s;
    if (d.below(4) == 0) {
      for (hp::layout_value& x : l) x.padded = (1u << rank) - 1u;
      for (int i = 0; i < rank; ++i) s.extent[s.rank++] = d.below(20);
      ++padded;
    } else {
      for (int i = 0; i < rank; ++i)
        s.extent[s.rank++] =
            gcd_multiple(gcd_multiple(hp::shards_of(l[0], i), hp::shards_of(l[1], i)), hp::shards_of(l[2], i)) *
            (1 + d.below(3));
    }
    if (hp::element_count(s).overflow) continue;
    const int p = d.below(hp::position_count(m));
    // Each way ends in the slices of its target, so there and back is the identity.
    const hp::redistribution_plan there = checked_plan(l[0], l[1], s, p), back = checked_plan(l[1], l[0], s, p);
    const hp::redistribution_plan on = checked_plan(l[1], l[2], s, p), direct = checked_plan(l[0], l[2], s, p);
    EXPECT_EQ(there.refined, back.refined);
    EXPECT_LE(direct.received_maximum, there.received_maximum + on.received_maximum);
    const hp::coordinate c = hp::coordinates_of(m, p);
    EXPECT_LE(hp::least_received(l[0], l[2], s, c),
              hp::least_received(l[0], l[1], s, c) + hp::least_received(l[1], l[2], s, c));
    plans += 4;
    refined += there.refined + back.refined + on.refined + direct.refined;
    six_axes += m.axis_count == 6;
    eight_dims += rank == 8;
  }
  std::printf("  %ld plans, %ld refined; %ld rounds padded, %ld of six axes, %ld of eight dims\n", plans, refined,
              padded, six_axes, eight_dims);
  EXPECT_GT(refined, plans / 4);
  EXPECT_GT(six_axes, plans / 100);
  EXPECT_GT(eight_dims, plans / 100);
}

TEST(redistribution_properties, moves_with_terms_receive_the_least) {
  dice d{0xd1342543de82ef95u};
  constexpr hp::reduce_op ops[] = {hp::reduce_op::sum, hp::reduce_op::max, hp::reduce_op::avg, hp::reduce_op::prod};
  long plans = 0, reductions = 0;
  std::vector<hp::extent_t> tally;
  while (plans < plans_to_make() / 10 && !HasFailure()) {
    const hp::mesh_shape m = d.mesh(24);
    const int rank = 1 + d.below(8);
    const hp::reduce_op op = ops[d.below(4)];
    const hp::layout_value a = d.layout(m, rank, op), b = d.layout(m, rank, op);
    hp::shape s;
    for (int i = 0; i < rank; ++i)
      s.extent[s.rank++] = gcd_multiple(hp::shards_of(a, i), hp::shards_of(b, i)) * (1 + d.below(2));
    const hp::move_plan p = hp::plan_move(a, b, s);
    EXPECT_EQ(p.code, hp::move_code::ok);
    tally.assign(static_cast<std::size_t>(3 * hp::position_count(m)), 0);
    const hp::move_certificate c = hp::certify(p, tally.data());
    EXPECT_EQ(c.received_total, c.least_total);
    ++plans;
    reductions += p.reduced != 0;
  }
  std::printf("  %ld plans, %ld reductions\n", plans, reductions);
  EXPECT_GT(reductions, plans / 8);
}

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

TEST(redistribution_properties, every_move_is_right_at_the_least_and_as_certified) {
  EXPECT_TRUE(rc::check("moves with partial states", [] {
    const hp::mesh_shape m = random_mesh(16);
    const int rank = random_rank(4);
    const hp::reduce_op op = *rc::gen::element(hp::reduce_op::sum, hp::reduce_op::max, hp::reduce_op::avg,
                                               hp::reduce_op::prod, hp::reduce_op::any);
    hp::layout_value a = random_state(m, rank, op), b = random_state(m, rank, op);
    hp::shape s = common_shape(a, b);
    if (*rc::gen::inRange(0, 3) == 0) {
      a.padded = b.padded = 15;
      for (int d = 0; d < rank; ++d) s.extent[d] = *rc::gen::inRange(0, 12);
    }
    RC_PRE(hp::element_count(s).value < 3000);
    const hp::move_plan there = hp::plan_move(a, b, s), back = hp::plan_move(b, a, s);
    RC_ASSERT(there.code == hp::move_code::ok && back.code == hp::move_code::ok);
    const replay::move_report r = replay::replay_move(a, b, there);
    RC_ASSERT(r.trouble == "");
    RC_ASSERT(replay::replay_move(b, a, back).trouble == "");
    RC_ASSERT(r.received_total == r.least_total);
    RC_ASSERT(r.every_rank_at_least);
    std::vector<hp::extent_t> tally(static_cast<std::size_t>(3 * hp::position_count(m)));
    const hp::move_certificate c = hp::certify(there, tally.data());
    RC_ASSERT(c.received_total == r.received_total && c.received_maximum == r.received_max);
    RC_ASSERT(c.sent_maximum == r.sent_max && c.least_total == r.least_total);
  }));
}

TEST(redistribution_properties, a_detour_never_receives_less) {
  EXPECT_TRUE(rc::check("triangle inequality of bytes", [] {
    const hp::mesh_shape m = random_mesh();
    const int rank = random_rank(8);
    const hp::layout_value l[3] = {random_layout(m, rank), random_layout(m, rank), random_layout(m, rank)};
    hp::shape s = common_shape(l[0], l[1]);
    for (int d = 0; d < rank; ++d) s.extent[d] *= hp::shards_of(l[2], d);
    const auto received = [&s](const hp::layout_value& a, const hp::layout_value& b) {
      return hp::plan_redistribution(a, b, s).received_maximum;
    };
    RC_ASSERT(received(l[0], l[2]) <= received(l[0], l[1]) + received(l[1], l[2]));
  }));
}

TEST(redistribution_properties, senders_share_what_replicas_can_share) {
  EXPECT_TRUE(rc::check("heaviest sender", [] {
    const hp::mesh_shape m = random_mesh(96);
    const int rank = random_rank(3);
    const hp::layout_value a = random_layout(m, rank), b = random_layout(m, rank);
    hp::shape s = common_shape(a, b);
    for (int d = 0; d < rank; ++d) s.extent[d] *= 60;
    const hp::redistribution_plan bare = hp::plan_redistribution(a, b, s);
    hp::move_plan p = hp::plan_move(a, b, s);
    RC_ASSERT(p.code == hp::move_code::ok);
    if (p.step_count == 0) return;
    hp::extent_t sent[96] = {};
    const hp::step_loads loads = hp::count_loads(p.step[0], s, sent);
    const hp::extent_t least = hp::detail::least_sent(p.step[0], sent);
    // Where a plan says that it is balanced, without any slack.
    RC_ASSERT(!bare.balanced || loads.sent <= loads.received);
    if (4 * least <= 5 * loads.received) RC_ASSERT(4 * loads.sent <= 5 * loads.received);
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
