// SPDX-License-Identifier: Apache-2.0
// Each kernel of the MoE taskflow called by itself on two small ranks, against plain loops. Numbers are small integers,
// so sums are exact and every comparison is for equal bits, except where an exponential is involved.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <hyperparallel/world/moe_kernels.hpp>

#include "moe_small_world.hpp"

namespace hp = hyperparallel;

namespace {

using namespace moe_test;

TEST(moe_kernels, the_table_is_in_the_order_of_the_operations) {
  const std::pair<operation, hp::kernel> listed[] = {{operation::prefetch_gate_up, hp::run_prefetch_gate_up},
                                                     {operation::prefetch_down, hp::run_prefetch_down},
                                                     {operation::route_logits, hp::run_route_logits},
                                                     {operation::route_top_k, hp::run_route_top_k},
                                                     {operation::arrange, hp::run_arrange},
                                                     {operation::dispatch, hp::run_dispatch},
                                                     {operation::gate_up, hp::run_gate_up},
                                                     {operation::swiglu, hp::run_swiglu},
                                                     {operation::down, hp::run_down},
                                                     {operation::combine, hp::run_combine},
                                                     {operation::merge, hp::run_merge}};
  ASSERT_EQ(std::size(listed), static_cast<std::size_t>(hp::moe_forward_operation_count));
  for (const auto& [o, kernel] : listed) EXPECT_EQ(hp::moe_kernels[static_cast<int>(o)], kernel);
}

TEST(moe_kernels, prefetch_copies_one_weight_of_one_expert_into_its_buffer) {
  const small_world w(true);
  std::mt19937 random(1);
  for (int rank = 0; rank < ranks; ++rank)
    for (int e = 0; e < experts / ranks; ++e) {
      const auto w1 = w.data(w.at(rank).gate_up_source + e), w2 = w.data(w.at(rank).down_source + e);
      fill_integers(w1, random);
      fill_integers(w2, random);
      const auto held = w.data(w.at(rank).gate_up_weight), held_down = w.data(w.at(rank).down_weight);
      std::fill(held_down.begin(), held_down.end(), untouched);
      w.call(operation::prefetch_gate_up, rank, e);
      EXPECT_TRUE(std::equal(w1.begin(), w1.end(), held.begin(), held.end()));
      EXPECT_EQ(std::count(held_down.begin(), held_down.end(), untouched), hidden * intermediate);
      w.call(operation::prefetch_down, rank, e);
      EXPECT_TRUE(std::equal(w2.begin(), w2.end(), held_down.begin(), held_down.end()));
    }
}

TEST(moe_kernels, the_router_scores_chooses_and_weighs_each_token_and_skips_padding) {
  small_world w;
  std::mt19937 random(2);
  for (int valid = 0; valid <= ranks * tokens; ++valid) {
    w.set_valid_tokens(valid);
    for (int rank = 0; rank < ranks; ++rank) {
      // Logits stay so small that no two different ones share a sigmoid.
      for (float& x : w.data(w.at(rank).tokens)) x = static_cast<float>(below(random, 3) - 1);
      for (float& x : w.data(w.at(rank).router_weight)) x = static_cast<float>(below(random, 3) - 1);
      const auto scores = w.data(w.at(rank).scores);
      std::fill(scores.begin(), scores.end(), untouched);
      std::fill_n(w.routes(rank).choice, tokens * top_k, -1);
    }
    EXPECT_EQ(w.call_all(operation::route_logits), ranks * 2);
    EXPECT_EQ(w.call_all(operation::route_top_k), ranks * 2);
    for (int rank = 0; rank < ranks; ++rank) {
      const auto x = w.data(w.at(rank).tokens), router = w.data(w.at(rank).router_weight);
      const auto scores = w.data(w.at(rank).scores);
      for (int t = 0; t < tokens; ++t) {
        const int* const chosen = w.routes(rank).choice + t * top_k;
        const float* const weight = w.routes(rank).weight + t * top_k;
        if (t >= valid_on(rank, valid)) {
          for (int e = 0; e < experts; ++e) ASSERT_EQ(scores[at(t, e, experts)], untouched);
          ASSERT_EQ(chosen[0], -1);
          continue;
        }
        float logit[experts] = {};
        std::vector<int> order;
        for (int e = 0; e < experts; ++e) {
          for (int i = 0; i < hidden; ++i) logit[e] += x[at(t, i, hidden)] * router[at(i, e, experts)];
          ASSERT_FLOAT_EQ(scores[at(t, e, experts)], 1.0F / (1.0F + std::exp(-logit[e])));
          order.push_back(e);
        }
        std::sort(order.begin(), order.end(),
                  [&](int a, int b) { return logit[a] > logit[b] || (logit[a] == logit[b] && a < b); });
        float sum = 0.0F;
        for (int k = 0; k < top_k; ++k) {
          ASSERT_EQ(chosen[k], order[static_cast<std::size_t>(k)]) << "ties go to the lowest expert";
          sum += scores[at(t, chosen[k], experts)];
        }
        for (int k = 0; k < top_k; ++k) ASSERT_FLOAT_EQ(weight[k], scores[at(t, chosen[k], experts)] / sum);
      }
    }
  }
}

TEST(moe_kernels, arrange_groups_rows_by_expert_in_token_order_and_routes_padding_nowhere) {
  small_world w;
  std::mt19937 random(3);
  for (int i = 0; i < 200 && !HasFatalFailure(); ++i) {
    const routing r = random_routing(random);
    const int valid = i % (ranks * tokens + 1);
    arrange(w, r, valid);
    for (int rank = 0; rank < ranks; ++rank) {
      const hp::detail::moe_routes routes = w.routes(rank);
      ASSERT_EQ(routes.offset[0], 0);
      ASSERT_EQ(routes.offset[experts], valid_on(rank, valid) * top_k);
      for (int e = 0; e < experts; ++e) {
        const std::vector<int> wanted = rows_for(r, rank, e, valid);
        ASSERT_EQ(routes.offset[e + 1] - routes.offset[e], static_cast<int>(wanted.size()));
        for (std::size_t k = 0; k < wanted.size(); ++k) {
          const hp::routed_row row = routes.row[routes.offset[e] + static_cast<int>(k)];
          ASSERT_EQ(row.token, wanted[k]);
          ASSERT_EQ(row.weight, weight_of(r, rank, row.token, e));
        }
      }
    }
  }
}

TEST(moe_kernels, more_rows_than_the_capacity_are_refused_with_expert_and_numbers) {
  // Experts 0 to 3 get 4, 4, 4 and 6 rows of rank 1.
  std::vector<std::vector<choice>> chosen(tokens);
  for (int t = 0; t < tokens; ++t)
    for (const int x : {3, t % 3, (t + 1) % 3}) chosen[static_cast<std::size_t>(t)].push_back({x, 1.0F});
  const auto refusal = [&](int room, int valid) -> std::string {
    small_world w;
    w.choose(1, chosen);
    w.set_room(room);
    w.set_valid_tokens(valid);
    try {
      w.call(operation::arrange, 1, 0);
    } catch (const std::length_error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(refusal(6, ranks * tokens), "");
  EXPECT_EQ(refusal(5, ranks * tokens), "expert 3 gets 6 rows from one device, the plan has room for 5");
  EXPECT_EQ(refusal(4, ranks * tokens), "expert 3 gets 6 rows from one device, the plan has room for 4");
  EXPECT_EQ(refusal(3, ranks * tokens), "expert 0 gets 4 rows from one device, the plan has room for 3");
  EXPECT_EQ(refusal(5, ranks * tokens - 1), "") << "padding takes no room";
}

TEST(moe_kernels, dispatch_puts_counts_and_rows_where_the_owner_of_the_expert_computes) {
  std::mt19937 random(4);
  for (int valid : {0, 1, 4, 7, 12})
    for (int i = 0; i < 20 && !HasFatalFailure(); ++i) {
      small_world w;
      const routing r = random_routing(random);
      arrange(w, r, valid);
      const int blocks = hp::blocks_per_rank(w.plan());
      ASSERT_EQ(blocks, 2 * 3 * 2) << "local experts, chunks of a pair, devices";
      for (int rank = 0; rank < ranks; ++rank) {
        fill_integers(w.data(w.at(rank).tokens), random);
        for (int b = 0; b < blocks; ++b) {
          w.header(rank, b) = -1;
          std::ranges::fill(w.received(rank, b), untouched);
        }
      }
      // A block from the other rank is one put, an own one two pieces.
      ASSERT_EQ(w.call_all(operation::dispatch), ranks * (blocks / 2 + blocks / 2 * 2));
      for (int rank = 0; rank < ranks; ++rank)
        for (int e = 0; e < experts / ranks; ++e)
          for (int chunk = 0; chunk < 3; ++chunk)
            for (int source = 0; source < ranks; ++source) {
              // Rotation 1, the other device's rows, comes first; the own rows, rotation 0, come last.
              const int block = (e * 3 + chunk) * ranks + (source == rank ? 1 : 0);
              const std::vector<int> rows = rows_for(r, source, e * ranks + rank, valid);
              const hp::row_range range = chunk_rows(static_cast<int>(rows.size()), chunk);
              const int first = range.begin, count = range.end - range.begin;
              ASSERT_EQ(w.header(rank, block), count) << rank << " expert " << e << " chunk " << chunk;
              const auto got = w.received(rank, block), sent = w.data(w.at(source).tokens);
              for (int i_row = 0; i_row < row_block; ++i_row)
                for (int c = 0; c < hidden; ++c)
                  ASSERT_EQ(
                      got[at(i_row, c, hidden)],
                      i_row < count ? sent[at(rows[static_cast<std::size_t>(first + i_row)], c, hidden)] : untouched);
            }
    }
}

TEST(moe_kernels, the_experts_matmuls_and_activation_compute_the_rows_that_arrived) {
  const small_world w;
  std::mt19937 random(5);
  const int blocks = hp::blocks_per_rank(w.plan());
  for (int rank = 0; rank < ranks; ++rank) {
    const hp::moe_tensors a = w.at(rank);
    for (int e = 0; e < experts / ranks; ++e) {
      fill_integers(w.data(a.gate_up_weight + e), random);
      fill_integers(w.data(a.down_weight + e), random);
    }
    for (int b = 0; b < blocks; ++b) {
      fill_integers(w.received(rank, b), random);
      w.header(rank, b) = below(random, row_block + 1);
      for (const int first : {a.gate_up, a.act, a.result}) std::ranges::fill(w.data(first + b), untouched);
    }
  }
  ASSERT_EQ(w.call_all(operation::gate_up), ranks * blocks * 3);
  ASSERT_EQ(w.call_all(operation::swiglu), ranks * blocks * 2);
  for (int rank = 0; rank < ranks; ++rank)
    for (int b = 0; b < blocks; ++b) {
      const int e = b / hp::blocks_per_expert(w.plan());
      const auto x = w.received(rank, b), weight = w.data(w.at(rank).gate_up_weight + e);
      const auto y = w.data(w.at(rank).gate_up + b), act = w.data(w.at(rank).act + b);
      for (int row = 0; row < row_block; ++row) {
        const bool came = row < w.header(rank, b);
        for (int c = 0; c < 2 * intermediate; ++c) {
          float sum = 0.0F;
          for (int k = 0; k < hidden; ++k) sum += x[at(row, k, hidden)] * weight[at(k, c, 2 * intermediate)];
          ASSERT_EQ(y[at(row, c, 2 * intermediate)], came ? sum : untouched);
        }
        for (int c = 0; c < intermediate; ++c) {
          const float gate = y[at(row, c, 2 * intermediate)], up = y[at(row, intermediate + c, 2 * intermediate)];
          ASSERT_FLOAT_EQ(act[at(row, c, intermediate)], came ? gate / (1.0F + std::exp(-gate)) * up : untouched);
        }
      }
      fill_integers(act, random);
    }
  ASSERT_EQ(w.call_all(operation::down), ranks * blocks * 2);
  for (int rank = 0; rank < ranks; ++rank)
    for (int b = 0; b < blocks; ++b) {
      const auto act = w.data(w.at(rank).act + b), result = w.data(w.at(rank).result + b);
      const auto weight = w.data(w.at(rank).down_weight + b / hp::blocks_per_expert(w.plan()));
      for (int row = 0; row < row_block; ++row)
        for (int c = 0; c < hidden; ++c) {
          float sum = 0.0F;
          for (int k = 0; k < intermediate; ++k) sum += act[at(row, k, intermediate)] * weight[at(k, c, hidden)];
          ASSERT_EQ(result[at(row, c, hidden)], row < w.header(rank, b) ? sum : untouched);
        }
    }
}

TEST(moe_kernels, combine_puts_each_blocks_rows_at_its_place_on_the_rank_that_sent_them) {
  const small_world w;
  std::mt19937 random(6);
  const int blocks = hp::blocks_per_rank(w.plan()), per_expert = hp::blocks_per_expert(w.plan());
  for (int rank = 0; rank < ranks; ++rank) {
    for (int b = 0; b < blocks; ++b) {
      w.header(rank, b) = below(random, row_block + 1);
      fill_integers(w.data(w.at(rank).result + b), random);
    }
    for (int e = 0; e < experts / ranks; ++e) std::ranges::fill(w.data(w.at(rank).returns + e), untouched);
  }
  ASSERT_EQ(w.call_all(operation::combine), ranks * (blocks / 2 + blocks / 2 * 2));
  for (int source = 0; source < ranks; ++source)
    for (int e = 0; e < experts / ranks; ++e) {
      const auto returned = w.data(w.at(source).returns + e);
      ASSERT_EQ(returned.size(), static_cast<std::size_t>(per_expert * row_block * hidden));
      for (int place = 0; place < per_expert; ++place) {
        // Even places came back from the other rank, odd ones never left.
        const int owner = place % 2 == 0 ? 1 - source : source, block = e * per_expert + place;
        const auto result = w.data(w.at(owner).result + block);
        for (int row = 0; row < row_block; ++row)
          for (int c = 0; c < hidden; ++c)
            ASSERT_EQ(returned[at(place * row_block + row, c, hidden)],
                      row < w.header(owner, block) ? result[at(row, c, hidden)] : untouched)
                << "rank " << source << " expert " << e << " place " << place;
      }
    }
}

TEST(moe_kernels, a_task_writes_only_the_slots_and_the_part_that_its_accesses_declare) {
  small_world w;
  std::mt19937 random(8);
  const int blocks = hp::blocks_per_rank(w.plan());
  for (int rank = 0; rank < ranks; ++rank) {
    const hp::moe_tensors a = w.at(rank);
    const auto fill = [&](int first, int count) {
      for (int i = 0; i < count; ++i) fill_integers(w.data(first + i), random);
    };
    for (const int slot : {a.tokens, a.scores, a.router_weight}) fill(slot, 1);
    for (const int first : {a.received, a.gate_up, a.act, a.result}) fill(first, blocks);
    for (const int first : {a.returns, a.gate_up_weight, a.down_weight}) fill(first, experts / ranks);
    for (int b = 0; b < blocks; ++b) w.header(rank, b) = row_block;
  }
  arrange(w, random_routing(random), ranks * tokens);

  int tasks_that_wrote = 0;
  // Arrange and top-k work in place, so their slots cannot be marked: choices become rows, logits become scores.
  check_declared_writes(
      w, [](operation o) { return o != operation::arrange && o != operation::route_top_k; }, tasks_that_wrote);
  EXPECT_GT(tasks_that_wrote, w.flow().size.tasks / 2);
}

TEST(moe_kernels, merge_sums_what_came_back_and_leaves_padding_zero) {
  std::mt19937 random(7);
  for (int valid : {0, 3, 6, 8, 12})
    for (int i = 0; i < 20 && !HasFatalFailure(); ++i) {
      small_world w;
      const routing r = random_routing(random);
      arrange(w, r, valid);
      for (int rank = 0; rank < ranks; ++rank) {
        for (int e = 0; e < experts / ranks; ++e) fill_integers(w.data(w.at(rank).returns + e), random);
        std::ranges::fill(w.data(w.at(rank).output), untouched);
      }
      ASSERT_EQ(w.call_all(operation::merge), ranks * (experts / ranks) * 4);
      for (int rank = 0; rank < ranks; ++rank) {
        std::vector<float> wanted(static_cast<std::size_t>(tokens * hidden));
        for (int x = 0; x < experts; ++x) {
          const int e = x / ranks, owner = x % ranks;
          const std::vector<int> rows = rows_for(r, rank, x, valid);
          const auto returned = w.data(w.at(rank).returns + e);
          for (std::size_t k = 0; k < rows.size(); ++k) {
            const row_place in = place_of_row(static_cast<int>(rows.size()), static_cast<int>(k));
            const int row = (in.chunk * ranks + (owner == rank ? 1 : 0)) * row_block + in.row;
            for (int c = 0; c < hidden; ++c)
              wanted[at(rows[k], c, hidden)] += weight_of(r, rank, rows[k], x) * returned[at(row, c, hidden)];
          }
        }
        const auto output = w.data(w.at(rank).output);
        ASSERT_TRUE(std::equal(wanted.begin(), wanted.end(), output.begin(), output.end())) << valid << " tokens";
      }
    }
}

TEST(moe_kernels, merge_adds_in_rising_expert_number) {
  // In float, 1 + 1 + 2^24 is 2^24 + 2, and 2^24 + 1 + 1 is 2^24.
  constexpr float large = 16777216.0F;
  const auto sum_with_large_from = [&](int large_expert) {
    small_world w;
    w.choose(0, {{{3, 1.0F}, {0, 1.0F}, {2, 1.0F}}});
    w.set_valid_tokens(1);
    w.call(operation::arrange, 0, 0);
    for (const int x : {0, 2, 3}) {
      const int place = place_of_row(1, 0).chunk * ranks + (x % ranks == 0 ? 1 : 0);
      w.data(w.at(0).returns + x / ranks)[at(place * row_block, 0, hidden)] = x == large_expert ? large : 1.0F;
    }
    w.call_all(operation::merge);
    return w.data(w.at(0).output)[0];
  };
  EXPECT_EQ(sum_with_large_from(3), large + 2.0F);
  EXPECT_EQ(sum_with_large_from(2), large);
  EXPECT_EQ(sum_with_large_from(0), large);
}

}  // namespace
