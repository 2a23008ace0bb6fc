// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/groups/actor_transition.hpp>

#include <gtest/gtest.h>

#include <hyperparallel/redistribution/relocation_certificate.hpp>

#include <algorithm>
#include <vector>

namespace hp = hyperparallel;
using code = hp::transition_code;

namespace {

constexpr hp::shape weights{2 * 3 * 4 * 8, 2 * 3 * 5 * 8};

/// Elements that the rank that receives most, and the one that receives least, gets by the plan.
struct received {
  hp::extent_t most = 0, least = 0, bound = 0;
};
received plan(const hp::tensor_side& from, const hp::tensor_side& to) {
  const hp::relocation r = hp::plan_relocation(from, to);
  EXPECT_EQ(r.code, hp::relocation_code::ok);
  std::vector<hp::extent_t> tally(static_cast<std::size_t>(hp::tally_size(r)), 0);
  const hp::relocation_certificate c = hp::certify(r, tally.data());
  const int ranks = from.ranks.count;
  EXPECT_EQ(c.received_total, c.least_total);
  return {c.received_maximum, c.received_total - (ranks - 1) * c.received_maximum, c.least_maximum};
}

static_assert(hp::transition_of({1, 8, 2}, 1, 2).received(80) == 80 / 2 - 80 / 8);
static_assert(hp::transition_of({4, 2, 1}, 3, 1).code == code::grouping_is_impossible);
static_assert(hp::transition_of({4, 2, 1}, 3, 1).training_parts == 4 &&
              hp::transition_of({4, 2, 1}, 3, 1).generation_parts == 3);
static_assert(hp::transition_of({4, 2, 1}, 1, 4).code == code::grouping_is_impossible, "more parts than in training");
static_assert(hp::transition_of({0, 2, 1}, 1, 1).code == code::sizes_are_not_positive);
static_assert(hp::transition_of({1, 2, 1}, 1, 0).code == code::sizes_are_not_positive);
static_assert(hp::transition_of({1 << 20, 1 << 10, 2}, 1, 1).code == code::ranks_are_too_many);
static_assert(hp::transition_of({1 << 16, 1 << 16, 1 << 16}, 1, 1).code == code::ranks_are_too_many);

TEST(actor_transition, the_planner_derives_the_published_traffic_of_every_setting) {
  int settings = 0, idle = 0;
  for (const int p : {1, 2, 3, 4})
    for (const int t : {1, 2, 3, 4, 6, 8})
      for (const int d : {1, 2})
        for (int pg = 1; pg <= p; ++pg)
          for (int tg = 1; tg <= t; ++tg) {
            const hp::actor_transition c = hp::transition_of({p, t, d}, pg, tg);
            ASSERT_EQ(c.ok(), p % pg == 0 && t % tg == 0);
            if (!c.ok()) continue;
            const received r = plan(c.training_side(weights), c.generation_side(weights));
            // HybridFlow, table 2: (tp - t_g p_g) / (t_g p_g t p) of the model on each device, and no redundancy.
            const hp::extent_t model = hp::element_count(weights).value;
            ASSERT_EQ(r.most * (tg * pg * t * p), (t * p - tg * pg) * model) << p << ' ' << t << ' ' << pg << ' ' << tg;
            ASSERT_EQ(r.least, r.most) << "every rank as much";
            ASSERT_EQ(r.bound, r.most) << "what each lacks, so no program moves less";
            ASSERT_EQ(r.most, c.received(model));
            ++settings;
            idle += r.most == 0;
          }
  std::printf("  %d settings\n", settings);
  EXPECT_GT(settings, 100);
  EXPECT_GT(idle, 10) << "where generation has the layout of training";
}

TEST(actor_transition, other_groupings_of_the_same_ranks_receive_more) {
  const hp::extent_t model = hp::element_count(weights).value;
  for (const int t : {4, 8})
    for (int tg = 2; tg < t; tg *= 2) {
      const hp::actor_transition c = hp::transition_of({1, t, 1}, 1, tg);
      // Neighbouring ranks as one generation group, as vLLM's own groups: minor part of the axis, not the major one.
      hp::layout_value neighbours = hp::replicated(c.training.mesh, 2);
      hp::append_cut(neighbours, {1, 2, t / tg, tg});
      const received r = plan(c.training_side(weights), {neighbours, weights, {t, 0}});
      ASSERT_GT(r.most, c.received(model));
      ASSERT_EQ(r.most, r.bound) << "which is the least of that layout";
    }
}

TEST(actor_transition, where_the_grouping_is_impossible_no_choice_of_ranks_reaches_the_formula) {
  // Training cuts layers by 4, generation wants features by 2: 4 parts to 2, but none is made of whole parts.
  ASSERT_EQ(hp::transition_of({4, 1, 1}, 1, 2).code, code::grouping_is_impossible);
  const hp::mesh_shape mesh{3, {4, 1, 1}};
  hp::layout_value training = hp::replicated(mesh, 2);
  hp::append_cut(training, {0, 0, 1, 4});
  const hp::extent_t model = hp::element_count(weights).value, formula = (4 - 2) * model / (2 * 4);
  int choices = 0;
  std::vector<int> ranks{0, 1, 2, 3};
  do {
    hp::layout_value generation = hp::replicated(mesh, 2);
    hp::append_cut(generation, {1, 0, 1, 2});
    const hp::relocation r = hp::plan_relocation({training, weights, {4, 0}}, {generation, weights, {4, ranks.data()}});
    std::vector<hp::extent_t> tally(static_cast<std::size_t>(hp::tally_size(r)), 0);
    const hp::relocation_certificate c = hp::certify(r, tally.data());
    EXPECT_GT(c.least_maximum, formula);
    EXPECT_EQ(c.least_maximum, model / 2 - model / 8);
    ++choices;
  } while (std::next_permutation(ranks.begin(), ranks.end()));
  EXPECT_EQ(choices, 24);
}

}  // namespace
