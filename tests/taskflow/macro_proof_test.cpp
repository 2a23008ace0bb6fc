// SPDX-License-Identifier: Apache-2.0
// What is proved with macro tasks is safe when unrolled: random flows, and ten classes of mistakes, against the exact
// checker.

#include <gtest/gtest.h>

#include <cstdio>

#include "macro_worlds.hpp"

namespace {

using namespace taskflow_test;

struct tally {
  int programs = 0, accepted = 0, safe = 0, refused_safe = 0, accepted_unsafe = 0, verified = 0, instances = 0;
};

/// The proof against the truth about the unrolled flow.
hp::macro_status judge(macro_world& w, tally& n) {
  const hp::macro_status found = w.prove();
  const bool accepted = found.code == hp::macro_code::ok;
  macro_world::unrolled u(w);
  const bool safe =
      hp::check_exactly(u.flow, u.schedule, u.exact).code == hp::exact_code::safe && (u.complete || !accepted);
  ++n.programs;
  n.accepted += accepted;
  n.safe += safe;
  n.refused_safe += safe && !accepted;
  n.accepted_unsafe += accepted && !safe;
  n.instances += static_cast<int>(w.instance.size());
  if (!accepted) return found;
  hp::detail::owned_flow_scratch x(u.flow.size);
  EXPECT_EQ(hp::check_flow(u.flow, w.machine.ranks, &w.capacity, 1, x), hp::flow_status{});
  hp::detail::owned_verify_scratch v(u.flow.size, w.queues());
  n.verified += hp::verify(u.flow, u.schedule, v).code == hp::verify_code::ok;
  return found;
}

TEST(MacroProof, WhatIsAcceptedIsSafeWhenUnrolled) {
  std::mt19937 random(3);
  tally n;
  const int wanted = exhaustive() ? 20000 : 1000;
  for (int i = 0; i < wanted && !HasFailure(); ++i) {
    macro_world w(random);
    judge(w, n);
    EXPECT_EQ(n.accepted_unsafe, 0) << "program " << i;
  }
  std::printf("%d programs, %d instances: %d accepted, %d of them by verify unrolled; %d safe, %d safe and refused\n",
              n.programs, n.instances, n.accepted, n.verified, n.safe, n.refused_safe);
  EXPECT_GE(n.accepted, n.programs * 6 / 10);
  EXPECT_LT(n.safe, n.programs) << "no program is unsafe";
  EXPECT_EQ(n.verified, n.accepted);
  EXPECT_GE(n.instances, 2 * n.programs);
}

TEST(MacroProof, RefusesEveryUnsafeMutant) {
  std::mt19937 random(5);
  const int wanted = exhaustive() ? 300 : 30;
  std::printf("%-34s %8s %8s %11s %16s\n", "mutation", "mutants", "caught", "still safe", "unsafe accepted");
  for (int which = 0; which < macro_mutation_count && !HasFailure(); ++which) {
    SCOPED_TRACE(macro_mutation_names[which]);
    tally n;
    for (int turn = 0; n.programs - n.safe < wanted && turn < 4000 * wanted && !HasFailure(); ++turn) {
      macro_world w(random, static_cast<macro_mutation>(which));
      if (!w.applied || !w.schedule) continue;
      judge(w, n);
      EXPECT_EQ(n.accepted_unsafe, 0);
    }
    std::printf("%-34s %8d %8d %11d %16d\n", macro_mutation_names[which], n.programs,
                n.programs - n.safe - n.accepted_unsafe, n.safe, n.accepted_unsafe);
    EXPECT_GE(n.programs - n.safe, wanted);
  }
}

}  // namespace
