// SPDX-License-Identifier: Apache-2.0
// What pairs rest on: a witness is a proof, at any depth, and the history of a slot is complete.

#include <gtest/gtest.h>

#include "plans.hpp"

namespace {

using namespace taskflow_test;

/// A plan with all that a search for witnesses reads, filled as `verify` fills it. False if its order is none.
struct prepared {
  explicit prepared(const loose_plan& p) : at(p), x(at.flow.size, static_cast<int>(p.queue.size())) {
    ordered =
        hp::detail::verify_order(at.flow, at.schedule, x.run_end, x.queue_next, x.count).code == hp::verify_code::ok &&
        hp::detail::verify_partial_waits(at.flow, at.schedule, x, x.count).code == hp::verify_code::ok;
    if (!ordered) return;
    hp::detail::find_first_signallers(at.flow, at.schedule, x, x.run_end);
    excess = hp::detail::link_accesses(at.flow, at.schedule, x);
  }
  realised at;
  hp::detail::owned_verify_scratch x;
  bool ordered = false;
  int excess = -1;
};

TEST(VerifyPairs, AWitnessIsAProof) {
  std::mt19937 random(61);
  int found[hp::detail::witness_depth + 1] = {}, proved = 0;
  for (int i = 0; i < 1500; ++i) {
    loose_plan p = i % 2 == 0 ? random_real_plan(random) : random_plan(random, 3 + below(random, 20));
    if (i % 2 != 0) schedule_queues(p);
    prepared r(p);
    if (!r.ordered) continue;
    ASSERT_EQ(r.excess, -1);
    for (int a = 0; a < r.at.flow.size.tasks; ++a) {
      hp::detail::run_greedily(r.at.flow, r.at.schedule, a, r.at.exact, [](int) {});
      for (int t = 0; t < r.at.flow.size.tasks; ++t) {
        if (t == a) continue;
        bool shallower = false;
        for (int depth = 0; depth <= hp::detail::witness_depth; ++depth) {
          const bool follows = hp::detail::follows_task(r.at.flow, r.at.schedule, r.x, r.x.count, t, a, depth);
          ASSERT_FALSE(follows && r.at.exact.begun[t]) << t << " can begin before " << a << " has ended";
          ASSERT_TRUE(follows || !shallower) << "a deeper search finds what a shallower one does";
          found[depth] += follows;
          shallower = follows;
        }
        proved += !r.at.exact.begun[t];
      }
    }
  }
  for (int depth = 1; depth <= hp::detail::witness_depth; ++depth) EXPECT_GT(found[depth], found[depth - 1]);
  EXPECT_LE(found[hp::detail::witness_depth], proved);
}

TEST(VerifyPairs, TheHistoryOfASlotIsEveryEarlierUse) {
  std::mt19937 random(67);
  for (int i = 0; i < 300; ++i) {
    loose_plan p = random_real_plan(random);
    prepared r(p);
    ASSERT_TRUE(r.ordered);
    std::vector<std::vector<int>> users(static_cast<std::size_t>(p.slots));
    for (std::size_t t = 0; t < p.task.size(); ++t) {
      int use = r.x.access_use[t];
      for (const hp::access& a : p.task[t].accesses) {
        std::vector<int>& before = users[static_cast<std::size_t>(a.slot)];
        std::vector<int> chained;
        for (int b = r.x.previous[use]; b >= 0; b = r.x.previous[b]) chained.push_back(r.x.owner[b]);
        ASSERT_EQ(chained, std::vector<int>(before.rbegin(), before.rend()));
        ASSERT_EQ(r.x.owner[use++], static_cast<int>(t));
        before.push_back(static_cast<int>(t));
      }
    }
    // A use more than the size says has no place.
    if (r.at.flow.size.access_uses == 0) continue;
    --r.at.flow.size.access_uses;
    EXPECT_GE(hp::detail::link_accesses(r.at.flow, r.at.schedule, r.x), 0);
  }
}

TEST(VerifyPairs, TheWayBackEndsAtAWriterThatCoversTheRange) {
  using enum hp::access_mode;
  // 0 and 1 write halves; 2 overwrites both after them; 3 reads a half after 2 alone.
  loose_plan p;
  p.machine = {1, {1, 1, 1, 1, 0}};
  p.events = 3;
  p.slots = 1;
  p.task = {{hp::resource::aic, 0, 1, {}, {0}, {{0, 0, 4, write}}},
            {hp::resource::aiv, 0, 1, {}, {1}, {{0, 4, 8, write}}},
            {hp::resource::link, 0, 1, {{0, 1}, {1, 1}}, {2}, {{0, 0, 8, write}}},
            {hp::resource::copy_in, 0, 1, {{2, 1}}, {}, {{0, 2, 6, read}}}};
  p.queue = {{0}, {1}, {2}, {3}};
  const auto unordered = [&] {
    prepared r(p);
    EXPECT_TRUE(r.ordered);
    return hp::detail::unordered_pair(r.at.flow, r.at.schedule, r.x, r.x.count, 3, r.at.flow.task[3].access_begin);
  };
  EXPECT_EQ(unordered(), -1);
  p.task[2].accesses[0].end = 5;  // covers no more: what 1 wrote is met, and a witness two signals back is found
  EXPECT_EQ(unordered(), -1);
  p.task[2].waits.pop_back();
  EXPECT_EQ(unordered(), 1);
  p.task[3].accesses[0].end = 4;
  EXPECT_EQ(unordered(), -1) << "and what does not overlap does not count";
}

}  // namespace
