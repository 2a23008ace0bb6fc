// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/price/plan_prices.hpp>

#include <gtest/gtest.h>

#include <hyperparallel/price/step_estimate.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>

#include "search/search_models.hpp"

namespace {

namespace hp = hyperparallel;

// The law: without buckets, busy times of estimate_step are sums of prices.
TEST(PlanPrices, AddUpToBusyTimes) {
  std::mt19937 random(11);
  int compared = 0;
  for (int i = 0; i < 40; ++i) {
    const hp::graph g = searched::random_model(random, true).build();
    const hp::device_value device = searched::random_device(random);
    const hp::topology_value topology = searched::random_topology(random);
    hp::plan_prices prices(device, topology);
    for (int n = 0; n < hp::named_strategy_count; ++n) {
      hp::strategy_value s = hp::strategy_called(hp::named_strategy_at(n).name, 4).strategy;
      s.bucket_bytes = 0;
      hp::sharded_program p = hp::partition(g, s);
      if (p.status.code != hp::strategy_code::ok) continue;
      for (hp::program_move& m : p.move) m.bucket = -1;
      hp::extent_t compute = 0, communication = 0;
      const hp::interconnect net = hp::on_topology(topology);
      const hp::program_moves kinds = hp::kinds_of_moves(p, net);
      const hp::priced_program priced(p, prices);
      for (int k = 0; k < p.step.size; ++k) {
        (p.step[k].is_move ? communication : compute) += priced.of_step(k) * hp::times_of(p, p.step[k]);
      }
      const hp::step_times t = hp::estimate_step(p, kinds, hp::detail::loads_of_moves(p, kinds), device, net);
      EXPECT_EQ(compute, t.compute_busy) << s.name.text;
      EXPECT_EQ(communication, t.communication_busy) << s.name.text;
      ++compared;
    }
  }
  EXPECT_GT(compared, 300);
}

TEST(PlanPrices, TellsWhatCannotBePriced) {
  const hp::graph g = searched::small_model{}.build();
  const hp::sharded_program p = hp::partition(g, hp::strategy_called("dp", 4).strategy);
  hp::plan_prices prices(hp::ascend_910c_die::device, hp::ascend_910c_die::topology);  // joins two
  hp::priced_program(p, prices);
  EXPECT_EQ(prices.code(), hp::cost_code::ranks_are_not_connected);
}

}  // namespace
