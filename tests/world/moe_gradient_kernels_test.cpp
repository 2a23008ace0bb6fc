// SPDX-License-Identifier: Apache-2.0
// Each kernel of the MoE taskflow's backward pass called by itself on two small ranks, against plain loops. Numbers are
// small integers, so sums are exact and every comparison is for equal bits, except where an exponential is involved.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include <hyperparallel/world/moe_gradient_kernels.hpp>

#include "moe_small_world.hpp"

namespace {

using namespace moe_test;

constexpr int chunks = tokens / row_block, blocks = experts / ranks * chunks * ranks, per_expert = chunks * ranks;

/// The number of the block of `source`'s rows: the other rank's come first.
int block_number(int rank, int local_expert, int chunk, int source) {
  return (local_expert * chunks + chunk) * ranks + (source == rank ? 1 : 0);
}

small_world training_world() { return small_world(false, hp::moe_pass::training); }

void fill_slots(const small_world& w, int first, int count, std::mt19937& random) {
  for (int i = 0; i < count; ++i) fill_integers(w.data(first + i), random);
}

/// Row counts as a dispatch leaves them: the blocks of a pair hold alike.
void write_headers(const small_world& w, int rank, std::mt19937& random) {
  for (int e = 0; e < experts / ranks; ++e)
    for (int source = 0; source < ranks; ++source) {
      const int count = below(random, tokens + 1);
      for (int chunk = 0; chunk < chunks; ++chunk) {
        const int block = block_number(rank, e, chunk, source);
        const hp::row_range range = chunk_rows(count, chunk);
        w.header(w.at(rank).received + block) = w.header(w.at(rank).received_gradient + block) =
            range.end - range.begin;
      }
    }
}

TEST(moe_gradient_kernels, the_table_is_in_the_order_of_the_operations) {
  const std::pair<operation, hp::kernel> listed[] = {
      {operation::loss, hp::run_loss},
      {operation::dispatch_gradient, hp::run_dispatch_gradient},
      {operation::act_gradient, hp::run_act_gradient},
      {operation::swiglu_gradient, hp::run_swiglu_gradient},
      {operation::input_gradient, hp::run_input_gradient},
      {operation::down_weight_gradient, hp::run_down_weight_gradient},
      {operation::gate_up_weight_gradient, hp::run_gate_up_weight_gradient},
      {operation::combine_gradient, hp::run_combine_gradient},
      {operation::router_gradient, hp::run_router_gradient},
      {operation::merge_gradient, hp::run_merge_gradient}};
  ASSERT_EQ(hp::moe_forward_operation_count + static_cast<int>(std::size(listed)), hp::moe_operation_count);
  for (const auto& [o, kernel] : listed)
    EXPECT_EQ(hp::moe_gradient_kernels[static_cast<int>(o) - hp::moe_forward_operation_count], kernel);
}

TEST(moe_gradient_kernels, the_loss_sees_each_token_of_the_step_once_and_no_padding) {
  for (int valid = 0; valid <= ranks * tokens; ++valid) {
    small_world w = training_world();
    w.set_valid_tokens(valid);
    std::vector<int> seen(ranks * tokens);
    const hp::moe_loss loss = [&](int first, std::span<const float> output, std::span<float> gradient) {
      ASSERT_EQ(output.size(), gradient.size());
      ASSERT_EQ(output.size() % hidden, 0U);
      for (std::size_t i = 0; i < output.size(); ++i) {
        ++seen[static_cast<std::size_t>(first) + i / hidden];
        gradient[i] = 2 * output[i];
      }
    };
    w.set_loss(&loss);
    std::mt19937 random(1);
    for (int rank = 0; rank < ranks; ++rank) {
      fill_integers(w.data(w.at(rank).output), random);
      std::ranges::fill(w.data(w.at(rank).output_gradient), untouched);
    }
    ASSERT_EQ(w.call_all(operation::loss), ranks * 2);
    for (int t = 0; t < ranks * tokens; ++t) ASSERT_EQ(seen[static_cast<std::size_t>(t)], t < valid ? hidden : 0);
    for (int rank = 0; rank < ranks; ++rank)
      for (int t = 0; t < tokens; ++t)
        for (int c = 0; c < hidden; ++c)
          ASSERT_EQ(w.data(w.at(rank).output_gradient)[at(t, c, hidden)],
                    t < valid_on(rank, valid) ? 2 * w.data(w.at(rank).output)[at(t, c, hidden)] : untouched);
  }
}

TEST(moe_gradient_kernels, dispatch_puts_counts_and_weighted_rows_where_the_owner_of_the_expert_computes) {
  std::mt19937 random(2);
  for (int valid : {0, 1, 4, 7, 12})
    for (int i = 0; i < 20 && !HasFatalFailure(); ++i) {
      small_world w = training_world();
      const routing r = random_routing(random);
      arrange(w, r, valid);
      for (int rank = 0; rank < ranks; ++rank) {
        fill_integers(w.data(w.at(rank).output_gradient), random);
        for (int b = 0; b < blocks; ++b) std::ranges::fill(w.rows(w.at(rank).received_gradient + b), untouched);
      }
      ASSERT_EQ(w.call_all(operation::dispatch_gradient), ranks * (blocks / 2 + blocks / 2 * 2));
      for (int rank = 0; rank < ranks; ++rank)
        for (int e = 0; e < experts / ranks; ++e)
          for (int chunk = 0; chunk < chunks; ++chunk)
            for (int source = 0; source < ranks; ++source) {
              const int slot = w.at(rank).received_gradient + block_number(rank, e, chunk, source);
              const std::vector<int> rows = rows_for(r, source, e * ranks + rank, valid);
              const hp::row_range range = chunk_rows(static_cast<int>(rows.size()), chunk);
              const int first = range.begin, count = range.end - range.begin;
              ASSERT_EQ(w.header(slot), count) << rank << " expert " << e << " chunk " << chunk;
              for (int row = 0; row < row_block; ++row)
                for (int c = 0; c < hidden; ++c) {
                  float wanted = untouched;
                  if (row < count) {
                    const int t = rows[static_cast<std::size_t>(first + row)];
                    wanted = weight_of(r, source, t, e * ranks + rank) *
                             w.data(w.at(source).output_gradient)[at(t, c, hidden)];
                  }
                  ASSERT_EQ(w.rows(slot)[at(row, c, hidden)], wanted);
                }
            }
    }
}

TEST(moe_gradient_kernels, gradients_of_activations_are_products_with_the_transposed_weights) {
  const small_world w = training_world();
  std::mt19937 random(3);
  for (int rank = 0; rank < ranks; ++rank) {
    const hp::moe_tensors a = w.at(rank);
    fill_slots(w, a.gate_up_weight, experts / ranks, random);
    fill_slots(w, a.down_weight, experts / ranks, random);
    fill_slots(w, a.gate_up, blocks, random);
    for (int b = 0; b < blocks; ++b) {
      fill_integers(w.rows(a.received_gradient + b), random);
      for (const int first : {a.act_gradient, a.gate_up_gradient, a.result_gradient})
        std::ranges::fill(w.data(first + b), untouched);
    }
    write_headers(w, rank, random);
  }
  ASSERT_EQ(w.call_all(operation::act_gradient), ranks * blocks);
  ASSERT_EQ(w.call_all(operation::swiglu_gradient), ranks * blocks * 2);
  for (int rank = 0; rank < ranks; ++rank)
    for (int b = 0; b < blocks; ++b) {
      const hp::moe_tensors a = w.at(rank);
      const auto dy = w.rows(a.received_gradient + b), weight = w.data(a.down_weight + b / per_expert);
      const auto to_act = w.data(a.act_gradient + b), to_gate_up = w.data(a.gate_up_gradient + b);
      for (int row = 0; row < row_block; ++row) {
        const bool came = row < w.header(a.received_gradient + b);
        for (int c = 0; c < intermediate; ++c) {
          float sum = 0.0F;
          for (int k = 0; k < hidden; ++k) sum += dy[at(row, k, hidden)] * weight[at(c, k, hidden)];
          ASSERT_EQ(to_act[at(row, c, intermediate)], came ? sum : untouched);
          const float gate = w.data(a.gate_up + b)[at(row, c, 2 * intermediate)];
          const float up = w.data(a.gate_up + b)[at(row, intermediate + c, 2 * intermediate)];
          const float s = 1.0F / (1.0F + std::exp(-gate));
          const float by_gate = sum * up * (s + gate * s * (1.0F - s)), by_up = sum * gate * s;
          ASSERT_NEAR(to_gate_up[at(row, c, 2 * intermediate)], came ? by_gate : untouched, 1e-4F);
          ASSERT_NEAR(to_gate_up[at(row, intermediate + c, 2 * intermediate)], came ? by_up : untouched, 1e-4F);
        }
      }
      fill_integers(to_gate_up, random);
    }
  ASSERT_EQ(w.call_all(operation::input_gradient), ranks * blocks * 2);
  for (int rank = 0; rank < ranks; ++rank)
    for (int b = 0; b < blocks; ++b) {
      const hp::moe_tensors a = w.at(rank);
      const auto from = w.data(a.gate_up_gradient + b), weight = w.data(a.gate_up_weight + b / per_expert);
      for (int row = 0; row < row_block; ++row)
        for (int c = 0; c < hidden; ++c) {
          float sum = 0.0F;
          for (int k = 0; k < 2 * intermediate; ++k)
            sum += from[at(row, k, 2 * intermediate)] * weight[at(c, k, 2 * intermediate)];
          ASSERT_EQ(w.data(a.result_gradient + b)[at(row, c, hidden)],
                    row < w.header(a.received_gradient + b) ? sum : untouched);
        }
    }
}

TEST(moe_gradient_kernels, gradients_of_weights_are_sums_over_the_rows_that_came_and_zeros_without_rows) {
  std::mt19937 random(4);
  int without_rows = 0;
  for (int i = 0; i < 40 && !HasFatalFailure(); ++i) {
    const small_world w = training_world();
    for (int rank = 0; rank < ranks; ++rank) {
      const hp::moe_tensors a = w.at(rank);
      fill_slots(w, a.act, blocks, random);
      fill_slots(w, a.gate_up_gradient, blocks, random);
      for (int b = 0; b < blocks; ++b) {
        fill_integers(w.rows(a.received + b), random);
        fill_integers(w.rows(a.received_gradient + b), random);
      }
      write_headers(w, rank, random);
      for (int b = 0; i < 5 && b < per_expert; ++b) w.header(a.received + b) = w.header(a.received_gradient + b) = 0;
      for (int e = 0; e < experts / ranks; ++e) {
        std::ranges::fill(w.data(a.gate_up_weight_gradient + e), untouched);
        std::ranges::fill(w.data(a.down_weight_gradient + e), untouched);
      }
    }
    ASSERT_EQ(w.call_all(operation::down_weight_gradient), experts * 2 * 2);
    ASSERT_EQ(w.call_all(operation::gate_up_weight_gradient), experts * 2 * 2);
    for (int rank = 0; rank < ranks; ++rank)
      for (int e = 0; e < experts / ranks; ++e) {
        const hp::moe_tensors a = w.at(rank);
        std::vector<float> w1(hidden * 2 * intermediate), w2(intermediate * hidden);
        int rows = 0;
        for (int b = e * per_expert; b < (e + 1) * per_expert; ++b)
          for (int row = 0; row < w.header(a.received + b); ++row, ++rows) {
            for (int x = 0; x < hidden; ++x)
              for (int y = 0; y < 2 * intermediate; ++y)
                w1[at(x, y, 2 * intermediate)] += w.rows(a.received + b)[at(row, x, hidden)] *
                                                  w.data(a.gate_up_gradient + b)[at(row, y, 2 * intermediate)];
            for (int x = 0; x < intermediate; ++x)
              for (int y = 0; y < hidden; ++y)
                w2[at(x, y, hidden)] +=
                    w.data(a.act + b)[at(row, x, intermediate)] * w.rows(a.received_gradient + b)[at(row, y, hidden)];
          }
        without_rows += rows == 0;
        ASSERT_TRUE(std::ranges::equal(w.data(a.gate_up_weight_gradient + e), w1));
        ASSERT_TRUE(std::ranges::equal(w.data(a.down_weight_gradient + e), w2));
      }
  }
  EXPECT_GE(without_rows, 10);
}

TEST(moe_gradient_kernels, a_weights_gradient_is_summed_in_rising_source_then_chunk_then_row) {
  // Sums of arbitrary numbers in float tell the order.
  std::mt19937 random(5);
  int told_apart = 0;
  for (int trial = 0; trial < 50; ++trial) {
    const int rank = trial % ranks;
    const small_world w = training_world();
    const hp::moe_tensors a = w.at(rank);
    std::vector<float> number(ranks * tokens);
    for (int i = 0; i < ranks * tokens; ++i) {
      const float x = number[static_cast<std::size_t>(i)] = std::uniform_real_distribution<float>(-1.0F, 1.0F)(random);
      const int block = block_number(rank, 0, i % tokens / row_block, i / tokens), row = i % row_block;
      w.header(a.received + block) = w.header(a.received_gradient + block) = row_block;
      w.rows(a.received + block)[at(row, 0, hidden)] = w.rows(a.received_gradient + block)[at(row, 0, hidden)] = x;
      w.data(a.gate_up_gradient + block)[at(row, 0, 2 * intermediate)] = 1.0F;
      w.data(a.act + block)[at(row, 0, intermediate)] = 1.0F;
    }
    w.call_all(operation::gate_up_weight_gradient);
    w.call_all(operation::down_weight_gradient);
    float wanted = 0.0F, sources_swapped = 0.0F;
    for (int i = 0; i < ranks * tokens; ++i) {
      wanted += number[static_cast<std::size_t>(i)];
      sources_swapped += number[static_cast<std::size_t>((i + tokens) % (ranks * tokens))];
    }
    told_apart += wanted != sources_swapped;
    EXPECT_EQ(w.data(a.gate_up_weight_gradient)[0], wanted);
    EXPECT_EQ(w.data(a.down_weight_gradient)[0], wanted);
  }
  EXPECT_GE(told_apart, 25);
}

TEST(moe_gradient_kernels, combine_puts_each_blocks_rows_at_its_place_on_the_rank_that_sent_them) {
  const small_world w = training_world();
  std::mt19937 random(6);
  for (int rank = 0; rank < ranks; ++rank) {
    write_headers(w, rank, random);
    fill_slots(w, w.at(rank).result_gradient, blocks, random);
    for (int e = 0; e < experts / ranks; ++e) std::ranges::fill(w.data(w.at(rank).returned_gradient + e), untouched);
  }
  ASSERT_EQ(w.call_all(operation::combine_gradient), ranks * (blocks / 2 + blocks / 2 * 2));
  for (int source = 0; source < ranks; ++source)
    for (int e = 0; e < experts / ranks; ++e)
      for (int place = 0; place < per_expert; ++place) {
        const int owner = place % 2 == 0 ? 1 - source : source, block = e * per_expert + place;
        const auto result = w.data(w.at(owner).result_gradient + block);
        for (int row = 0; row < row_block; ++row)
          for (int c = 0; c < hidden; ++c)
            ASSERT_EQ(w.data(w.at(source).returned_gradient + e)[at(place * row_block + row, c, hidden)],
                      row < w.header(w.at(owner).received_gradient + block) ? result[at(row, c, hidden)] : untouched)
                << "rank " << source << " expert " << e << " place " << place;
      }
}

/// Where the row of `token` for `expert` is among those that came back to `rank`; -1: it was not sent.
int returned_row(const routing& r, int rank, int expert, int token, int valid) {
  const std::vector<int> rows = rows_for(r, rank, expert, valid);
  const auto found = std::ranges::find(rows, token);
  if (found == rows.end()) return -1;
  const row_place in = place_of_row(static_cast<int>(rows.size()), static_cast<int>(found - rows.begin()));
  return (in.chunk * ranks + (expert % ranks == rank ? 1 : 0)) * row_block + in.row;
}

TEST(moe_gradient_kernels, merge_adds_rows_without_their_weights_and_leaves_padding_zero) {
  std::mt19937 random(7);
  for (int valid : {0, 3, 6, 8, 12})
    for (int i = 0; i < 20 && !HasFatalFailure(); ++i) {
      small_world w = training_world();
      const routing r = random_routing(random);
      arrange(w, r, valid);
      for (int rank = 0; rank < ranks; ++rank) {
        fill_slots(w, w.at(rank).returned_gradient, experts / ranks, random);
        std::ranges::fill(w.data(w.at(rank).input_gradient), untouched);
      }
      ASSERT_EQ(w.call_all(operation::merge_gradient), ranks * (experts / ranks) * 4);
      for (int rank = 0; rank < ranks; ++rank)
        for (int t = 0; t < tokens; ++t)
          for (int c = 0; c < hidden; ++c) {
            float wanted = 0.0F;
            for (int x = 0; x < experts; ++x)
              if (const int row = returned_row(r, rank, x, t, valid); row >= 0)
                wanted += w.data(w.at(rank).returned_gradient + x / ranks)[at(row, c, hidden)];
            ASSERT_EQ(w.data(w.at(rank).input_gradient)[at(t, c, hidden)], wanted) << valid << " tokens";
          }
    }
}

TEST(moe_gradient_kernels, the_routers_gradient_is_a_product_for_each_choice_in_the_tokens_order) {
  std::mt19937 random(8);
  for (int valid : {0, 1, 3, 6, 8, 12})
    for (int i = 0; i < 20 && !HasFatalFailure(); ++i) {
      small_world w = training_world();
      const routing r = random_routing(random);
      arrange(w, r, valid);
      for (int rank = 0; rank < ranks; ++rank) {
        fill_slots(w, w.at(rank).returns, experts / ranks, random);
        fill_integers(w.data(w.at(rank).output_gradient), random);
        std::ranges::fill(w.data(w.at(rank).probability_gradient), untouched);
      }
      ASSERT_EQ(w.call_all(operation::router_gradient), ranks * (experts / ranks) * 4);
      for (int rank = 0; rank < ranks; ++rank)
        for (int t = 0; t < tokens; ++t)
          for (int k = 0; k < top_k; ++k) {
            float wanted = untouched;
            if (t < valid_on(rank, valid)) {
              const int x =
                  r[static_cast<std::size_t>(rank)][static_cast<std::size_t>(t)][static_cast<std::size_t>(k)].expert;
              const int row = returned_row(r, rank, x, t, valid);
              wanted = 0.0F;
              for (int c = 0; c < hidden; ++c)
                wanted += w.data(w.at(rank).output_gradient)[at(t, c, hidden)] *
                          w.data(w.at(rank).returns + x / ranks)[at(row, c, hidden)];
            }
            ASSERT_EQ(w.data(w.at(rank).probability_gradient)[at(t, k, top_k)], wanted) << valid << " tokens";
          }
    }
}

TEST(moe_gradient_kernels, a_task_writes_only_the_slots_and_the_part_that_its_accesses_declare) {
  small_world w = training_world();
  std::mt19937 random(9);
  for (int rank = 0; rank < ranks; ++rank) {
    const hp::moe_tensors a = w.at(rank);
    for (const int slot : {a.output, a.output_gradient}) fill_slots(w, slot, 1, random);
    for (const int first :
         {a.received, a.received_gradient, a.gate_up, a.act, a.act_gradient, a.gate_up_gradient, a.result_gradient})
      fill_slots(w, first, blocks, random);
    for (const int first : {a.returns, a.returned_gradient, a.gate_up_weight, a.down_weight})
      fill_slots(w, first, experts / ranks, random);
    for (int b = 0; b < blocks; ++b) w.header(a.received + b) = w.header(a.received_gradient + b) = row_block;
  }
  arrange(w, random_routing(random), ranks * tokens);
  const hp::moe_loss loss = [](int, std::span<const float> output, std::span<float> gradient) {
    std::ranges::copy(output, gradient.begin());
  };
  w.set_loss(&loss);
  int tasks_that_wrote = 0, tasks = 0;
  for (int t = 0; t < w.flow().size.tasks; ++t) tasks += w.flow().task[t].operation >= hp::moe_forward_operation_count;
  check_declared_writes(
      w, [](operation o) { return static_cast<int>(o) >= hp::moe_forward_operation_count; }, tasks_that_wrote);
  EXPECT_GT(tasks_that_wrote, tasks / 2);
}

}  // namespace
