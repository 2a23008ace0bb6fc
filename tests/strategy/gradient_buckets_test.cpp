// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <hyperparallel/graph/gradient.hpp>
#include <hyperparallel/graph/optimizer.hpp>
#include <hyperparallel/strategy/gradient_buckets.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/strategy/partition.hpp>

#include "../../examples/models/small_moe.hpp"

namespace {

using namespace hyperparallel;

sharded_program trained(const char* name, bool unrolled) {
  model_builder m({.unrolled = unrolled});
  models::build_small_moe(m, {.query_heads = 16, .key_heads = 8});
  differentiate(m.graph);
  append_optimizer(m.graph, {});
  strategy_value s = strategy_called(name, 8).strategy;
  s.bucket_bytes = 0;  // every bucket would be of one move: none
  sharded_program p = partition(m.graph, s);
  EXPECT_EQ(p.buckets, 0);
  return p;
}

struct bucket_facts {
  int moves = 0;
  unsigned axes = 0;
  int segment = -1;
  graph_phase phase = graph_phase::forward;
  extent_t bytes = 0;
  int last = -1;  ///< step
};

/// Gathers the facts of each bucket and holds the laws that speak of one move.
std::vector<bucket_facts> facts_of(const sharded_program& p) {
  std::vector<bucket_facts> all(static_cast<std::size_t>(p.buckets));
  for (int i = 0; i < p.step.size; ++i) {
    if (!p.step[i].is_move) continue;
    const program_move& m = p.move[p.step[i].index];
    if (m.bucket < 0) continue;
    bucket_facts& b = all.at(static_cast<std::size_t>(m.bucket));
    const unsigned axes = detail::reduced_gradient_axes(p, m);
    EXPECT_NE(axes, 0U);
    if (b.moves++ > 0) {
      EXPECT_EQ(b.axes, axes);
      EXPECT_EQ(b.segment, p.step[i].segment);
      EXPECT_EQ(b.phase, p.step[i].phase);
    }
    b.axes = axes;
    b.segment = p.step[i].segment;
    b.phase = p.step[i].phase;
    b.bytes += local_bytes(p, m.source);
    b.last = i;
  }
  return all;
}

TEST(gradient_buckets, hold_their_laws_under_every_strategy) {
  for (const bool unrolled : {false, true}) {
    for (int i = 0; i < named_strategy_count; ++i) {
      sharded_program p = trained(named_strategy_at(i).name, unrolled);
      const growing_array<program_step> before = p.step;
      for (const extent_t bytes : {extent_t{1}, extent_t{4096}, extent_t{1} << 30}) {
        for (program_move& m : p.move) m.bucket = -1;
        p.buckets = 0;
        EXPECT_EQ(hyperparallel::detail::bucket_gradients(p, [&](int) { return bytes; }), p.buckets);
        const std::vector<bucket_facts> buckets = facts_of(p);
        for (const bucket_facts& b : buckets) {
          EXPECT_GT(b.moves, 1);
          EXPECT_GT(bytes, 1);  // a bucket of one byte is full with one gradient
        }
        // Nobody reads before the bucket's last move.
        for (int s = 0; s < p.step.size; ++s)
          hyperparallel::detail::visit_values(p, p.step[s], [&](int v, bool written) {
            for (const program_move& m : p.move)
              if (!written && m.target == v && m.bucket >= 0) {
                EXPECT_GT(s, buckets[static_cast<std::size_t>(m.bucket)].last);
              }
          });
      }
      ASSERT_EQ(before.size, p.step.size);
      for (int s = 0; s < before.size; ++s) EXPECT_EQ(before[s].index, p.step[s].index);
    }
  }
}

TEST(gradient_buckets, data_parallel_training_fills_few) {
  sharded_program p = trained("dp", true);
  int reductions = 0;
  for (const program_move& m : p.move) reductions += detail::reduced_gradient_axes(p, m) != 0 ? 1 : 0;
  EXPECT_GT(reductions, 40);
  EXPECT_EQ(hyperparallel::detail::bucket_gradients(p, [](int) { return extent_t{1} << 30; }), 1);
  EXPECT_EQ(facts_of(p).front().moves, reductions);
}

constexpr int buckets_of_two_layers() {
  model_builder m;
  models::build_small_moe(m, {.query_heads = 16, .key_heads = 8});
  differentiate(m.graph);
  return partition(m.graph, strategy_called("dp", 4).strategy).buckets;
}
static_assert(buckets_of_two_layers() >= 1);

}  // namespace
