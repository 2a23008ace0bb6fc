// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/lowering/stage_work.hpp>

#include <gtest/gtest.h>

#include <vector>

#include "models/piped_model.hpp"

namespace {

using namespace hyperparallel;

sharded_program program_of(const char* strategy, int ranks, const char* recomputed) {
  const graph g = programs::piped_graph(6, 2, recomputed);
  program_stages s;
  s.cut = cut_evenly(g, 3);
  s.parts = 3;
  for (int i = 0; i < 3; ++i) s.part_of_stage.push(i);
  return partition(g, programs::strategy_of_parts(strategy, ranks), s);
}

/// Whether some backward step of another stage reads what the step leads to, by following readers one by one.
bool leads_out(const sharded_program& p, int from, const std::vector<std::vector<int>>& readers) {
  std::vector<int> open{from};
  std::vector<bool> seen(static_cast<std::size_t>(p.step.size), false);
  while (!open.empty()) {
    const int i = open.back();
    open.pop_back();
    for (const int r : readers[static_cast<std::size_t>(i)]) {
      if (p.step[r].phase != graph_phase::backward || seen[static_cast<std::size_t>(r)]) continue;
      if (p.step[r].stage != p.step[from].stage) return true;
      seen[static_cast<std::size_t>(r)] = true;
      open.push_back(r);
    }
  }
  return false;
}

TEST(stage_work, is_what_the_gradient_of_a_stages_input_needs) {
  for (const char* strategy : {"single", "tp-sp", "zero3"})
    for (const char* recomputed : {static_cast<const char*>(nullptr), "layers.*"}) {
      const sharded_program p = program_of(strategy, std::string(strategy) == "single" ? 1 : 2, recomputed);
      ASSERT_EQ(p.status.code, strategy_code::ok);
      std::vector<std::vector<int>> readers(static_cast<std::size_t>(p.step.size));
      std::vector<int> writer(static_cast<std::size_t>(p.value.size), -1);
      for (int i = 0; i < p.step.size; ++i)
        hyperparallel::detail::visit_values(p, p.step[i], [&](int v, bool written) {
          if (written)
            writer[static_cast<std::size_t>(v)] = i;
          else if (const int w = writer[static_cast<std::size_t>(v)]; w >= 0)
            readers[static_cast<std::size_t>(w)].push_back(i);
        });
      const growing_array<stage_work> work = work_of_steps(p);
      int counted[3][4] = {};
      for (int i = 0; i < p.step.size; ++i) {
        const program_step& s = p.step[i];
        const stage_work expected = is_in(s.phase, update_phases)     ? stage_work::update
                                    : s.phase == graph_phase::forward ? stage_work::forward
                                    : s.phase == graph_phase::backward && leads_out(p, i, readers)
                                        ? stage_work::input_gradient
                                        : stage_work::weight_gradient;
        EXPECT_EQ(work[i], expected) << strategy << ", step " << i;
        ++counted[s.stage][static_cast<int>(work[i])];
        if (work[i] != stage_work::weight_gradient) continue;
        for (const int r : readers[static_cast<std::size_t>(i)])  // I reads nothing that W makes
          EXPECT_FALSE(work[r] == stage_work::input_gradient && p.step[r].stage == s.stage);
      }
      constexpr int i = static_cast<int>(stage_work::input_gradient), w = static_cast<int>(stage_work::weight_gradient);
      EXPECT_EQ(counted[0][i], 0);  // the first stage hands nothing back
      EXPECT_GT(counted[1][i], counted[1][w]);
      EXPECT_GT(counted[2][w], 0);
    }
}

/// Of stages in a line, forward reads the one before, its gradient the one behind, and W what F and I have made.
TEST(stage_work, of_stages_reads_its_neighbours) {
  const sharded_program p = program_of("tp-sp", 2, nullptr);
  const growing_array<bool> reads = hyperparallel::detail::reads_of_works(p, work_of_steps(p), 3);
  const auto is_read = [&](int stage, stage_work reader, int other, stage_work made) {
    return reads[(stage * hyperparallel::detail::micro_works + static_cast<int>(reader)) * 3 *
                     hyperparallel::detail::micro_works +
                 other * hyperparallel::detail::micro_works + static_cast<int>(made)];
  };
  constexpr stage_work f = stage_work::forward, in = stage_work::input_gradient, w = stage_work::weight_gradient;
  for (int t = 0; t < 3; ++t)
    for (int u = 0; u < 3; ++u) {
      if (t != u) {
        EXPECT_EQ(is_read(t, f, u, f), u + 1 == t || (t == 2 && u < t)) << t << u << ", the loss takes all balances";
      }
      EXPECT_FALSE(is_read(t, f, u, in) || is_read(t, f, u, w));
      EXPECT_FALSE(is_read(t, in, u, w)) << "I reads nothing that W makes";
    }
  EXPECT_TRUE(is_read(1, in, 2, in) && is_read(0, w, 1, in));
  EXPECT_TRUE(is_read(1, w, 1, f) && is_read(1, w, 1, in));
}

}  // namespace
