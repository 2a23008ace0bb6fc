// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/offload/offload_event.hpp>

#include <hyperparallel/offload/offload_timeline.hpp>

#include <offload/random_offload_program.hpp>

#include <gtest/gtest.h>

#include <map>

namespace hp = hyperparallel;
using namespace offload_testing;

namespace {

using kind = hp::offload_event_kind;

TEST(offload_event, comes_in_the_order_of_a_gap) {
  draw d(1);
  int copies_seen = 0;
  for (int i = 0; i < 1500; ++i) {
    program_shape shape;
    shape.tiers = d.between(2, 3);
    shape.collectives = d.one_in(2);
    const hp::offload_program p = random_program(d, shape);
    const hp::offload_plan plan = random_plan(d, p);
    const hp::offload_timeline t = hp::timeline_of(p, plan);
    if (!t.feasible) continue;
    const hp::use_chains c = hp::chains_of(p);
    const auto copies = hp::copies_of(c, plan.gap.item);
    std::map<std::pair<kind, int>, int> place;
    for (int e = 0; e < t.sequence.size; ++e)
      EXPECT_TRUE(place.insert({{t.sequence[e].kind, t.sequence[e].index}, e}).second) << "nothing happens twice";
    const auto at = [&place](kind k, int index) {
      const auto found = place.find({k, index});
      return found == place.end() ? -1 : found->second;
    };
    for (int q = 0; q < p.op.size; ++q) EXPECT_GE(at(kind::compute, q), q > 0 ? at(kind::compute, q - 1) : 0);
    for (int g = 0; g < c.gap.size; ++g) {
      const int store = at(kind::store, g), detach = at(kind::detach, g), prefetch = at(kind::prefetch, g);
      const bool leaves = plan.gap[g].choice == hp::gap_choice::offload;
      EXPECT_EQ(store >= 0, leaves && copies[g].needs_store);
      EXPECT_EQ(prefetch >= 0, leaves);
      EXPECT_EQ(detach >= 0, plan.gap[g].choice != hp::gap_choice::keep);
      if (detach < 0) continue;
      ++copies_seen;
      EXPECT_LT(store, detach);
      EXPECT_GT(detach, at(kind::compute, c.gap[g].from)) << "it is read before it leaves";
      if (!leaves) continue;
      EXPECT_EQ(prefetch < detach, c.gap[g].wraps);
      EXPECT_LT(prefetch, at(kind::compute, c.gap[g].to)) << "it is back before it is read";
    }
    for (int s = 0; s < p.storage.size; ++s) EXPECT_EQ(at(kind::release, s) >= 0, !p.storage[s].persistent);
  }
  EXPECT_GT(copies_seen, 1000);
}

TEST(offload_event, has_a_word_for_every_kind) {
  EXPECT_STREQ(hp::to_text(kind::compute), "compute");
  EXPECT_STREQ(hp::to_text(kind::release), "release");
}

}  // namespace
