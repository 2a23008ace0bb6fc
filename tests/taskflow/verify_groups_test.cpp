// SPDX-License-Identifier: Apache-2.0
// What passes groups, or pairs behind them, follows what it conflicts with: of macro tasks, heads what is before, and
// what is behind the tails.

#include <hyperparallel/taskflow/verify_groups.hpp>

#include <gtest/gtest.h>

#include "macro_worlds.hpp"

namespace {

using namespace taskflow_test;

bool conflict(const hp::dynamic_taskflow& f, int a, int b) {
  const hp::task &k = f.task[a], &o = f.task[b];
  for (int u = k.access_begin; u < k.access_end; ++u)
    for (int v = o.access_begin; v < o.access_end; ++v)
      if (f.access[u].slot == f.access[v].slot && hp::detail::conflict(k, f.access[u], o, f.access[v])) return true;
  return false;
}

TEST(VerifyGroups, HeadsFollowWhatIsBeforeAndTheRestFollowsTails) {
  std::mt19937 random(23);
  int accepted = 0, refused = 0, pairs = 0;
  for (int turn = 0; turn < 6000; ++turn) {
    macro_world w(random, turn % 2 == 0   ? macro_mutation::none
                          : turn % 4 == 1 ? macro_mutation::dropped_head_wait
                                          : macro_mutation::tail_not_awaited);
    if (!w.schedule) continue;
    hp::detail::owned_verify_scratch x(w.flow.size, w.queues());
    if (hp::verify(w.flow, *w.schedule, x).code != hp::verify_code::ok) {
      ++refused;
      continue;
    }
    ++accepted;
    hp::detail::owned_exact_scratch exact(w.flow.size, w.queues());
    for (int a = 0; a < w.flow.size.tasks; ++a) {
      if (w.flow.task[a].instance < 0) continue;
      hp::detail::run_greedily(w.flow, *w.schedule, a, exact, [](int) {});
      for (int b = a + 1; b < w.flow.size.tasks; ++b) {
        if (w.flow.task[b].instance > 0 || !conflict(w.flow, a, b)) continue;
        ASSERT_FALSE(exact.begun[b]) << b << " begins before " << a << " has ended";
        ++pairs;
      }
    }
  }
  EXPECT_GT(accepted, 500);
  EXPECT_GT(refused, 100);
  EXPECT_GT(pairs, 5000);
}

TEST(VerifyGroups, MembersOfAMacroTaskStandTogether) {
  std::mt19937 random(29);
  int judged = 0;
  while (judged < 50) {
    macro_world w(random);
    if (w.instance.size() < 2 || w.prove().code != hp::macro_code::ok) continue;
    ++judged;
    const hp::verify_code wrong = hp::verify_code::instance_is_not_together;
    const auto judge = [&](int task, int instance) {
      const int was = w.flow.task[task].instance;
      w.flow.task[task].instance = instance;
      hp::detail::owned_verify_scratch x(w.flow.size, w.queues());
      const hp::verify_code found = hp::verify(w.flow, *w.schedule, x).code;
      w.flow.task[task].instance = was;
      return found;
    };
    const int second = w.instance[1].first_task;
    EXPECT_EQ(judge(second, -1), wrong) << "the first one's number again";
    EXPECT_EQ(judge(w.instance[0].first_task, 1), wrong) << "a tail without a head before it";
    EXPECT_EQ(judge(second, -2), hp::verify_code::ok);
  }
}

}  // namespace
