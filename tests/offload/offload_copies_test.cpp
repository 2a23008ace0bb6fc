// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/offload/offload_copies.hpp>

#include <offload/random_offload_program.hpp>

#include <gtest/gtest.h>

namespace hp = hyperparallel;
using namespace offload_testing;

namespace {

/// Follows the versions of a storage through three periods: a store is needed exactly where the tier does not hold the
/// current version, room is taken and given back in turns, and periods look alike.
void expect_versions(const hp::offload_program& p, const hp::use_chains& c, const hp::offload_plan& plan, int s) {
  const auto copies = hp::copies_of(c, plan.gap.item);
  const unsigned home = hp::detail::home_tiers(c, plan.gap.item, s);
  bool never_written = true;
  for (int a = 0; a < p.storage[s].access_count; ++a)
    never_written = never_written && !p.access[p.storage[s].first_access + a].writes;
  int version = 1, held[hp::most_tiers] = {};  // the version that each tier holds, 0: no room
  for (int t = 1; t < p.tier.size; ++t)
    if ((home >> t & 1u) != 0) held[t] = 1;
  for (int period = 0; period < 3; ++period) {
    if (!p.storage[s].persistent) ++version;
    for (int a = 0; a < p.storage[s].access_count; ++a) {
      if (p.access[p.storage[s].first_access + a].writes) ++version;
      for (int g = c.first_gap[s]; g < c.first_gap[s + 1]; ++g) {
        const hp::gap_decision& d = plan.gap[g];
        if (c.gap[g].access != a || d.choice != hp::gap_choice::offload) continue;
        const bool at_home = (home >> d.tier & 1u) != 0;
        EXPECT_EQ(copies[g].needs_store, held[d.tier] != version);
        EXPECT_EQ(copies[g].takes_room, held[d.tier] == 0);
        held[d.tier] = version;
        EXPECT_FALSE(at_home && copies[g].frees_room);
        if (copies[g].frees_room) held[d.tier] = 0;
      }
    }
    for (int t = 1; t < p.tier.size; ++t) EXPECT_EQ(held[t] != 0, (home >> t & 1u) != 0) << "rooms at the end";
    for (int g = c.first_gap[s]; g < c.first_gap[s + 1]; ++g)
      EXPECT_FALSE(never_written && home != 0 && copies[g].needs_store);
  }
}

TEST(offload_copies, follow_versions_over_periods) {
  draw d(1);
  int stores = 0, clean = 0;
  for (int i = 0; i < 3000; ++i) {
    program_shape shape;
    shape.tiers = d.between(2, 4);
    shape.most_gaps = 30;
    shape.accesses = 5;
    const hp::offload_program p = random_program(d, shape);
    const hp::use_chains c = hp::chains_of(p);
    const hp::offload_plan plan = random_plan(d, p);
    for (int s = 0; s < p.storage.size; ++s) expect_versions(p, c, plan, s);
    const auto copies = hp::copies_of(c, plan.gap.item);
    for (int g = 0; g < c.gap.size; ++g) {
      if (plan.gap[g].choice != hp::gap_choice::offload) {
        EXPECT_EQ(copies[g], hp::gap_copies{});
        continue;
      }
      (copies[g].needs_store ? stores : clean) += 1;
      EXPECT_TRUE(!c.gap[g].wraps || hp::detail::starts_away(c, plan.gap.item, c.gap[g].storage));
    }
  }
  EXPECT_GT(stores, 1000);
  EXPECT_GT(clean, 1000);
}

}  // namespace
