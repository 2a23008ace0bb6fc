// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/tiles/step_accesses.hpp>

#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/strategy/partition.hpp>

#include <models/trained_models.hpp>

#include <gtest/gtest.h>

#include <set>

namespace {

namespace hp = hyperparallel;

// Runs of steps of a program against sets of numbers; the sets are used again and again.
TEST(StepAccesses, MeetsWhatWritesOrIsWritten) {
  const hp::sharded_program p =
      hp::partition(programs::moe_graph({.unrolled = true}), hp::strategy_called("zero3-tp", 4).strategy);
  hp::detail::step_accesses before(p.storage.size);
  int met = 0, free = 0;
  for (int first = 0; first < p.step.size; first += 7) {
    before.clear();
    std::set<int> read, written;
    for (int i = first; i < first + 5 && i < p.step.size; ++i) {
      before.add(p, p.step[i]);
      hp::detail::visit_values(p, p.step[i],
                               [&](int v, bool writes) { (writes ? written : read).insert(p.value[v].storage); });
    }
    for (int i = first + 5; i < p.step.size; ++i) {
      bool expected = false;
      hp::detail::visit_values(p, p.step[i], [&](int v, bool writes) {
        const int s = p.value[v].storage;
        expected = expected || written.count(s) > 0 || (writes && read.count(s) > 0);
      });
      EXPECT_EQ(before.meets(p, p.step[i]), expected);
      (expected ? met : free) += 1;
    }
  }
  EXPECT_GT(met, 100);
  EXPECT_GT(free, 1000);
}

}  // namespace
