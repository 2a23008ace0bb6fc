// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/price/stage_balance.hpp>

#include <gtest/gtest.h>

#include <string>

#include <hyperparallel/pipeline/replay.hpp>
#include <hyperparallel/pipeline/schedules/one_forward_one_backward.hpp>
#include <hyperparallel/price/plan_evaluation.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>

#include "search/search_models.hpp"

namespace {

namespace hp = hyperparallel;

/// Of 1F1B, stages with these rounds.
hp::extent_t replayed(const hp::stage_balance& b, int stages, int micro_batches, hp::extent_t forward,
                      hp::extent_t backward) {
  hp::pipeline_costs costs;
  for (int s = 0; s < stages; ++s) {
    const hp::outer_pass own = b.of(s, stages);
    costs.times.push(
        {.forward = forward + own.forward, .input_gradient = backward + own.backward, .weight_gradient = 0});
  }
  const hp::pipeline_shape shape{.ranks = stages, .micro_batches = micro_batches};
  return hp::replay(hp::generate<hp::one_forward_one_backward>(shape), costs).makespan;
}

// By brute force: where only the last stage has more, the replay takes as much longer than that of equal shares; where the first
// one has more, too, no longer than that.
TEST(StageBalance, IsWhatAReplayWaits) {
  int worlds = 0;
  for (int stages = 2; stages <= 6; ++stages)
    for (int micro_batches = 1; micro_batches <= 9; ++micro_batches)
      for (const hp::extent_t head : {0, 60, 240, 600})
        for (const hp::extent_t embedding : {0, 60, 300}) {
          const hp::stage_balance b{.first = {embedding, embedding}, .last = {head, 2 * head}};
          const hp::outer_pass share = b.shared(stages);
          hp::graph g;
          g.micro_batches = micro_batches;
          const hp::pipeline_form form(g, stages);
          const hp::extent_t equal = (micro_batches + stages - 1) * (300 + share.round()), waited = b.waited(form);
          EXPECT_GE(waited, 0);
          const hp::extent_t found = replayed(b, stages, micro_batches, 100, 200);
          if (b.last.round() >= b.first.round() && embedding == 0) {
            EXPECT_EQ(equal + waited, found) << stages << ' ' << micro_batches << ' ' << head;
          } else {
            EXPECT_GE(equal + waited, found) << stages << ' ' << micro_batches << ' ' << head << ' ' << embedding;
          }
          ++worlds;
        }
  EXPECT_EQ(worlds, 5 * 9 * 4 * 3);
}

TEST(StageBalance, OneStageOrOneMicroBatchWaitsForNobody) {
  const hp::stage_balance b{.first = {3, 6}, .last = {30, 60}};
  hp::graph g;
  g.micro_batches = 8;
  EXPECT_EQ(b.waited(hp::pipeline_form(g, 1)), 0);
  EXPECT_EQ(b.waited(hp::pipeline_form(g, 3)), 7 * (90 - 33));
  g.micro_batches = 1;
  EXPECT_EQ(b.waited(hp::pipeline_form(g, 3)), 0);
}

// All computing of a micro-batch is a layer's, the first stage's or the last one's; the head is the last one's, with the sums of
// its gradients.
TEST(StageBalance, DealsAllThatIsInNoLayer) {
  int programs = 0;
  hp::plan_prices prices(hp::generic_host::device, hp::generic_host::topology);
  for (int n = 0; n < hp::named_strategy_count; ++n)
    for (const int micro_batches : {1, 4}) {
      SCOPED_TRACE(hp::named_strategy_at(n).name);
      const hp::graph g = searched::small_model{.layers = 4, .micro_batches = micro_batches}.build();
      const hp::sharded_program p = hp::partition(g, hp::strategy_called(hp::named_strategy_at(n).name, 4).strategy);
      if (p.status.code != hp::strategy_code::ok) continue;
      const hp::priced_program priced(p, prices);
      hp::extent_t outside = 0, head = 0, embedding = 0;
      for (int i = 0; i < p.step.size; ++i) {
        if (p.step[i].is_move || p.step[i].segment >= 0 || p.step[i].phase > hp::graph_phase::accumulate) continue;
        outside += priced.of_step(i);
        const std::string name = p.graph.name_of_op(p.compute[p.step[i].index].op);
        if (name.find("head.logits") != std::string::npos) head += priced.of_step(i);
        if (name.find("embedding") != std::string::npos) embedding += priced.of_step(i);
      }
      const hp::stage_balance b = hp::balance_of(p, [&](int step) { return priced.of_step(step); });
      EXPECT_EQ(b.first.round() + b.last.round(), outside);
      EXPECT_GE(b.last.round(), head);
      EXPECT_GE(b.first.round(), embedding);
      EXPECT_GT(head, 0);
      ++programs;
    }
  EXPECT_GE(programs, 20);
}

static_assert(hp::stage_balance{.first = {6, 6}, .last = {60, 60}}.shared(4) == hp::outer_pass{16, 16});

}  // namespace
