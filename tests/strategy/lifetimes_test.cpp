// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/strategy/lifetimes.hpp>

#include <models/one_device_program.hpp>
#include <models/random_program.hpp>

#include <hyperparallel/graph/model_builder.hpp>

#include <gtest/gtest.h>

namespace hp = hyperparallel;

namespace {

bool uses(const hp::sharded_program& p, const hp::program_step& s, int storage) {
  if (s.is_move)
    return p.value[p.move[s.index].source].storage == storage || p.value[p.move[s.index].target].storage == storage;
  const hp::program_compute& c = p.compute[s.index];
  for (int i = 0; i < p.graph.op[c.op].operand_count; ++i)
    if (p.value[c.operand[i]].storage == storage) return true;
  for (int r = 0; r < p.graph.op[c.op].result_count; ++r)
    if (p.value[c.result[r]].storage == storage) return true;
  return false;
}

TEST(lifetimes, reach_from_the_first_step_that_uses_a_storage_to_the_last) {
  std::mt19937 random(11);
  for (int round = 0; round < 200; ++round) {
    const hp::sharded_program p = programs::random_program(random);
    const hp::growing_array<hp::storage_lifetime> lives = hp::lifetimes_of(p);
    ASSERT_EQ(lives.size, p.storage.size);
    for (int s = 0; s < p.storage.size; ++s) {
      bool shown = false;
      for (int v = 0; v < p.value.size; ++v)
        shown = shown || (p.value[v].storage == s && hp::detail::is_shown(p.graph, p.value[v].tensor));
      if (p.storage[s].home || shown) {
        EXPECT_EQ(lives[s], (hp::storage_lifetime{0, p.step.size - 1, true}));
        continue;
      }
      hp::storage_lifetime expected;
      for (int i = p.step.size - 1; i >= 0; --i) {
        if (!uses(p, p.step[i], s)) continue;
        expected.first = i;
        if (expected.last < 0) expected.last = i;
      }
      EXPECT_EQ(lives[s], expected) << "storage " << s << " in round " << round;
    }
  }
}

TEST(lifetimes, are_together_where_some_step_is_in_both) {
  for (int a = 0; a < 5; ++a)
    for (int b = a - 1; b < 5; ++b)
      for (int c = 0; c < 5; ++c)
        for (int d = c; d < 5; ++d) {
          bool together = false;
          for (int step = 0; step < 5; ++step)
            together = together || (a <= step && step <= b && c <= step && step <= d);
          if (a <= b) {
            EXPECT_EQ(hp::detail::alive_together({a, b}, {c, d}), together);
          }
        }
}

constexpr hp::storage_lifetime of_hidden_tensor() {
  hp::model_builder m;
  const int batch = m.dim("batch", 8), hidden = m.dim("hidden", 4);
  const int x = m.input("x", {batch, hidden}), w = m.parameter("w", {hidden, m.dim("out", 6)});
  const int h = m.contract("first", "*k,kn->*n", x, w);
  const int y = m.sum("second", h, h);
  m.sum("third", y, y);
  const hp::sharded_program p = programs::one_device_program(m.graph);
  return hp::lifetimes_of(p)[p.value[h].storage];
}
static_assert(of_hidden_tensor() == hp::storage_lifetime{0, 1, false});

}  // namespace
