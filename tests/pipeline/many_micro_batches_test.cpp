// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/pipeline/many_micro_batches.hpp>

#include <hyperparallel/pipeline/pipeline.hpp>

#include <gtest/gtest.h>

#include <random>

#include "pipeline/periodic_schedules.hpp"

namespace hp = hyperparallel;

namespace {

// 1 572 864 actions, of which 49 536 are replayed.
using large = hp::pipeline<hp::zero_bubble_v, hp::stages<128>, hp::micro_batches<4096>>;
static_assert(large::makespan == 6 * 4096 + 63 && large::bubble_of_span == 0 && large::peak_activations == 128);
static_assert(large::account.rank[63].busy == 6 * 4096);

/// Stages that differ.
struct uneven_stages {
  static constexpr void apply(hp::pipeline_request& p) {
    for (int s = 0; s < p.stages; ++s) p.costs.times.push({2 + s % 3, 3, 1 + s % 2});
    p.costs.latency = 2;
  }
};

template <class Account>
void expect_same(const Account& a, const hp::pipeline_account& b) {
  ASSERT_EQ(a.status.code, b.status.code);
  EXPECT_EQ(a.makespan, b.makespan);
  EXPECT_EQ(a.longest_rank_span, b.longest_rank_span);
  EXPECT_EQ(a.ideal, b.ideal);
  ASSERT_EQ(a.rank.size, b.rank.size);
  for (int r = 0; r < b.rank.size; ++r) {
    EXPECT_EQ(a.rank[r].busy, b.rank[r].busy);
    EXPECT_EQ(a.rank[r].first_start, b.rank[r].first_start);
    EXPECT_EQ(a.rank[r].last_end, b.rank[r].last_end);
    EXPECT_EQ(a.rank[r].peak_until_weight_gradient, b.rank[r].peak_until_weight_gradient);
    EXPECT_EQ(a.rank[r].peak_until_input_gradient, b.rank[r].peak_until_input_gradient);
    EXPECT_EQ(a.rank[r].peak_bytes, b.rank[r].peak_bytes);
  }
}

TEST(many_micro_batches, the_type_says_what_a_full_replay_says) {
  using waits = hp::pipeline<hp::one_forward_one_backward, hp::stages<4>, hp::micro_batches<301>,
                             hp::equal_times<1, 1, 1, 3>, hp::activation_bytes<3, 4>>;
  hp::pipeline_costs c = hp::equal_stages({1, 1, 1}, 3);
  c.bytes.push({3, 4});
  expect_same(waits::account, hp::replay(hp::generate<hp::one_forward_one_backward>({4, 1, 301}), c));
  using uneven = hp::pipeline<hp::zero_bubble_h1, hp::stages<4>, hp::micro_batches<300>, uneven_stages>;
  hp::pipeline_request asked;
  asked.stages = 4;
  uneven_stages::apply(asked);
  expect_same(uneven::account, hp::replay(hp::generate<hp::zero_bubble_h1>({4, 1, 300}), asked.costs));
  EXPECT_EQ(waits::make().action.size, 2 * 4 * 301);
}

/// Times of one stage, of all, latency, pairs and bytes, each at random; F and I take time.
hp::pipeline_costs any_costs(std::mt19937& random, int stages) {
  const auto below = [&](unsigned n) { return static_cast<int>(random() % n); };
  hp::pipeline_costs c;
  const int lengths[] = {0, 1, stages}, length = lengths[below(3)];
  for (int i = 0; i < length; ++i) c.times.push({1 + below(9), 1 + below(9), below(9)});
  for (int i = 0; i < lengths[below(3)]; ++i) c.bytes.push({below(9), below(9)});
  if (c.bytes.size != 1 && c.bytes.size != stages) c.bytes.clear();
  c.latency = below(2) * below(5);
  c.overlapped_pair = below(2) == 0 ? -1 : 1 + below(20);
  return c;
}

TEST(many_micro_batches, every_member_is_that_of_the_full_replay) {
  std::mt19937 random(1);
  periodic_schedules::for_each([&](auto one) {
    using schedule = typename decltype(one)::type;
    int asked = 0, told = 0;
    const int most = schedule::placement == hp::stage_placement::v && !requires { schedule::row; } ? 90 : 400;
    for (int i = 0; i < 500; ++i) {
      hp::pipeline_shape n{1 + static_cast<int>(random() % 8), 1 + static_cast<int>(random() % 3),
                           1 + static_cast<int>(random() % static_cast<unsigned>(most))};
      if (i % 2 == 0) n.micro_batches += (n.ranks - n.micro_batches % n.ranks) % n.ranks;
      if (!hp::check_shape_of<schedule>(n).ok()) continue;
      const hp::pipeline_costs c = any_costs(random, n.stages());
      int replayed = 0;
      expect_same(hp::replay_many<schedule>(n, c, &replayed), hp::replay(hp::generate<schedule>(n), c));
      if (::testing::Test::HasFailure()) FAIL() << schedule::name << ' ' << n.ranks << ' ' << n.micro_batches;
      EXPECT_LE(replayed, n.micro_batches);
      asked += hp::detail::shape_to_replay<schedule>(n, hp::detail::bodies_at_first(c, n)) != n;
      told += replayed < n.micro_batches;
    }
    EXPECT_GT(asked, 50) << schedule::name;
    EXPECT_GT(told * 10, asked * 8) << schedule::name << ": " << told << " of " << asked;
  });
}

TEST(many_micro_batches, what_is_replayed_does_not_grow_with_them) {
  periodic_schedules::for_each([&](auto one) {
    using schedule = typename decltype(one)::type;
    const int chunks = schedule::placement == hp::stage_placement::v ? 2 : 1;
    for (int ranks = 1; ranks <= 6; ++ranks)
      for (const std::int64_t latency : {0, 3}) {
        const hp::pipeline_shape n{ranks, chunks, 60 * 12000};
        const hp::pipeline_costs c = hp::equal_stages({2, 3, 1}, latency);
        int replayed = 0;
        const hp::pipeline_account a = hp::replay_many<schedule>(n, c, &replayed);
        EXPECT_EQ(a.ideal, std::int64_t{6} * n.chunks * n.micro_batches);
        EXPECT_LE(replayed, 60 * schedule::period(n).micro_batches) << schedule::name << ' ' << ranks << ' ' << latency;
      }
  });
}

/// GPipe that declares a period which it has not.
struct false_period : hp::gpipe {
  static constexpr hp::pipeline_period period(const hp::pipeline_shape&) { return {1, 1}; }
};
/// 1F1B whose first stage runs a W of a micro-batch before its I: no micro-batches make it safe.
struct never_ends : hp::one_forward_one_backward {
  static constexpr void row(auto& out, const hp::pipeline_shape& n, int rank) {
    for (int k = 0; k < n.micro_batches; ++k) {
      out.forward(rank, k);
      out.weight_gradient(rank, k);
      out.input_gradient(rank, k);
    }
  }
};

TEST(many_micro_batches, what_is_not_told_is_replayed_in_full) {
  int replayed = 0;
  const auto expect_full = [&]<class Schedule>(Schedule, const hp::pipeline_shape& n, const hp::pipeline_costs& c) {
    expect_same(hp::replay_many<Schedule>(n, c, &replayed), hp::replay(hp::generate<Schedule>(n), c));
    EXPECT_EQ(replayed, n.micro_batches);
  };
  expect_full(hp::gpipe{}, {4, 1, 300}, {});
  expect_full(false_period{}, {4, 1, 300}, {});
  expect_full(never_ends{}, {4, 1, 300}, {});
  expect_full(hp::zero_bubble_h1{}, {4, 1, 300}, hp::equal_stages({0, 2, 1}));
  expect_full(hp::zero_bubble_h1{}, {4, 1, 300}, hp::equal_stages({1, 0, 1}));
  expect_full(hp::zero_bubble_h1{}, {4, 1, 300}, hp::equal_stages({1, 1, -1}));
  hp::pipeline_costs by_micro_batch;
  for (int i = 0; i < 4 * 300; ++i) by_micro_batch.times.push({1 + i % 7, 2, 1});
  expect_full(hp::zero_bubble_h1{}, {4, 1, 300}, by_micro_batch);
  expect_full(hp::zero_bubble_h1{}, {4, 1, 10}, {});
  EXPECT_EQ(hp::replay_many<hp::zero_bubble_h1>({4, 1, 300}, {}, &replayed).makespan, 3 * 300 + 3);
  EXPECT_LT(replayed, 20);
}

}  // namespace
