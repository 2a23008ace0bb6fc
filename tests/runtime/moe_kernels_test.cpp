// SPDX-License-Identifier: Apache-2.0
// Each kernel of the MoE taskflow called by itself on two small ranks, against plain loops. Numbers are small integers,
// so sums are exact and every comparison is for equal bits, except where an exponential is involved.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <hyperparallel/runtime/moe_kernels.hpp>
#include <hyperparallel/taskflow/builder.hpp>
#include <hyperparallel/taskflow/owned.hpp>

#include "taskflow/flows.hpp"

namespace hp = hyperparallel;

namespace {

using operation = hp::moe_operation;
using taskflow_test::below;

constexpr int hidden = 6, intermediate = 4, experts = 4, top_k = 3, ranks = 2, tokens = 6, row_block = 2;
constexpr float untouched = -77.0F;

/// Most extents end in a smaller tile: 6 tokens by 4, 8 columns by 3, 6 by 4; 6 columns in 4 pieces leave one empty.
hp::moe_plan small_plan(bool windowed) {
  hp::moe_plan p;
  p.layer = {hidden, intermediate, experts, top_k, ranks * tokens};
  p.tiling = {row_block, 3, 4, 1, 1, 4, 4, 2};
  p.devices = p.ranks = ranks;
  p.rows_per_pair = tokens;
  p.element_bytes = sizeof(float);
  if (windowed) {
    p.weights.windowed = true;
    p.weights.buffers = 1;
    p.weights.previous[0] = -1;
    p.weights.previous[1] = 0;
  }
  return p;
}

struct choice {
  int expert;
  float weight;
};

/// The taskflow's slots on two ranks and the context that the kernels read, without queues or threads.
class small_world {
 public:
  explicit small_world(bool windowed = false)
      : context_(std::make_unique<hp::moe_context>()), flow_(hp::measure(hp::moe_builder{small_plan(windowed)})) {
    context_->plan = small_plan(windowed);
    context_->layout = hp::describe_moe(context_->plan);
    context_->places = hp::lower_chain(context_->layout.chain, flow_);
    hp::seal(flow_);
    std::int64_t bytes[2] = {};
    for (int s = 0; s < flow_.size.slots; ++s) {
      std::int64_t& tier = bytes[flow_.slot[s].tier];
      tier = std::max(tier, flow_.slot[s].offset + flow_.slot[s].bytes);
    }
    arenas_ = hp::arena_set(ranks, bytes);
    context_->slots = flow_.slot;
    context_->arenas = &arenas_;
    context_->valid_tokens = ranks * tokens;
  }

  const hp::moe_plan& plan() const { return context_->plan; }
  /// The first slot of each tensor on `rank`.
  hp::moe_tensors at(int rank) const {
    using t = hp::moe_tensors;
    t slots = context_->layout.tensor;
    for (int t::* const tensor :
         {&t::tokens, &t::scores, &t::routes, &t::received, &t::gate_up, &t::act, &t::result, &t::returns, &t::output,
          &t::router_weight, &t::gate_up_weight, &t::down_weight, &t::gate_up_source, &t::down_source})
      if (slots.*tensor >= 0)
        slots.*tensor = context_->places.slot[slots.*tensor] + rank * context_->places.slots_per_rank;
    return slots;
  }
  void set_valid_tokens(int count) { context_->valid_tokens = count; }
  /// Less room for the rows of a (source, expert) pair than the slots have.
  void set_room(int rows) { context_->plan.rows_per_pair = rows; }

  std::span<float> data(int slot) const { return arenas_.span<float>(flow_.slot[slot]); }
  hp::detail::moe_routes routes(int rank) const { return hp::detail::moe_rank_view(*context_, rank).routes(); }
  int& header(int rank, int block) const { return *arenas_.span<int>(flow_.slot[at(rank).received + block]).data(); }
  /// The rows behind a block's header.
  std::span<float> received(int rank, int block) const {
    return data(at(rank).received + block).subspan(hp::block_header_bytes / sizeof(float));
  }

  void call(operation o, int rank, int item) const {
    const int number = static_cast<int>(o);
    hp::moe_kernels[number]({rank, 0, number, item, context_.get()});
  }
  /// Calls the kernel for every task of the flow with that operation, in reference order; returns how many there were.
  int call_all(operation o) const {
    int calls = 0;
    for (int t = 0; t < flow_.size.tasks; ++t) {
      if (flow_.task[t].operation != static_cast<int>(o)) continue;
      call(o, flow_.task[t].rank, flow_.task[t].item);
      ++calls;
    }
    return calls;
  }

  const hp::owned_taskflow& flow() const { return flow_; }
  /// The words of a rank's fast tier.
  std::span<std::uint32_t> words(int rank) const {
    return arenas_.span<std::uint32_t>(rank, hp::fast_tier, 0, arenas_.bytes(rank, hp::fast_tier) / 4);
  }

  /// Writes what the router would: `chosen[rank][token]` lists a token's choices.
  void choose(int rank, const std::vector<std::vector<choice>>& chosen) const {
    const hp::detail::moe_routes to = routes(rank);
    for (std::size_t t = 0; t < chosen.size(); ++t)
      for (std::size_t k = 0; k < chosen[t].size(); ++k) {
        to.choice[t * top_k + k] = chosen[t][k].expert;
        to.weight[t * top_k + k] = chosen[t][k].weight;
      }
  }

 private:
  std::unique_ptr<hp::moe_context> context_;
  hp::owned_taskflow flow_;
  hp::arena_set arenas_;
};

using routing = std::vector<std::vector<std::vector<choice>>>;  // rank, token, choice

void fill_integers(std::span<float> to, std::mt19937& random) {
  for (float& x : to) x = static_cast<float>(below(random, 7) - 3);
}

/// Different experts for each token, in any order, with weights 1 to 4.
routing random_routing(std::mt19937& random) {
  routing r(ranks, std::vector<std::vector<choice>>(tokens));
  for (auto& rank : r)
    for (auto& token : rank) {
      std::vector<int> order{0, 1, 2, 3};
      std::shuffle(order.begin(), order.end(), random);
      for (std::size_t k = 0; k < top_k; ++k) token.push_back({order[k], static_cast<float>(1 + below(random, 4))});
    }
  return r;
}

int valid_on(int rank, int valid) { return std::clamp(valid - rank * tokens, 0, tokens); }

/// Tokens of `rank` that go to `expert`, in token order.
std::vector<int> rows_for(const routing& r, int rank, int expert, int valid) {
  std::vector<int> rows;
  for (int t = 0; t < valid_on(rank, valid); ++t)
    for (const choice& c : r[static_cast<std::size_t>(rank)][static_cast<std::size_t>(t)])
      if (c.expert == expert) rows.push_back(t);
  return rows;
}

float weight_of(const routing& r, int rank, int token, int expert) {
  for (const choice& c : r[static_cast<std::size_t>(rank)][static_cast<std::size_t>(token)])
    if (c.expert == expert) return c.weight;
  return 0.0F;
}

/// Lets every rank group the choices of `r`, of which the first `valid` tokens over both ranks count.
void arrange(small_world& w, const routing& r, int valid) {
  w.set_valid_tokens(valid);
  for (int rank = 0; rank < ranks; ++rank) w.choose(rank, r[static_cast<std::size_t>(rank)]);
  ASSERT_EQ(w.call_all(operation::arrange), ranks);
}

std::size_t at(int row, int column, int width) { return static_cast<std::size_t>(row * width + column); }

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
              const int first = std::min(static_cast<int>(rows.size()), chunk * row_block);
              const int count = std::min(static_cast<int>(rows.size()) - first, row_block);
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
  // Tasks that declare different parts of a slot may run at the same time, so their words must be different ones.
  constexpr std::uint32_t marked = 0xDEADBEEF;
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

  const hp::owned_taskflow& f = w.flow();
  std::map<std::pair<int, std::size_t>, int> part_of;  // (rank, word) -> the part whose task wrote it
  int tasks_that_wrote = 0;
  for (int t = 0; t < f.size.tasks; ++t) {
    const hp::task& k = f.task[t];
    // These two work in place, so their slots cannot be marked: choices become rows, logits become scores.
    const auto o = static_cast<operation>(k.operation);
    if (o == operation::arrange || o == operation::route_top_k) continue;
    std::vector<std::uint32_t> kept[ranks];
    for (int rank = 0; rank < ranks; ++rank) kept[rank].assign(w.words(rank).begin(), w.words(rank).end());
    const hp::access *const begin = f.access + k.access_begin, *const end = f.access + k.access_end;
    const hp::access* const write =
        std::find_if(begin, end, [](const hp::access& a) { return a.mode == hp::access_mode::write; });
    ASSERT_NE(write, end);
    const hp::slot_interval used = hp::interval_of(k, *write);
    const hp::slot& slot = f.slot[write->slot];
    const auto first = static_cast<std::size_t>(slot.offset / 4),
               last = first + static_cast<std::size_t>(slot.bytes / 4);
    std::ranges::fill(w.words(slot.rank).subspan(first, last - first), marked);
    w.call(o, k.rank, k.item);
    bool wrote = false;
    for (int rank = 0; rank < ranks; ++rank)
      for (std::size_t i = 0; i < kept[rank].size(); ++i) {
        const bool inside = rank == slot.rank && first <= i && i < last;
        if (w.words(rank)[i] == (inside ? marked : kept[rank][i])) continue;
        ASSERT_TRUE(inside) << "task " << t << " writes outside its slot";
        const int part = part_of.try_emplace({rank, i}, used.begin).first->second;
        ASSERT_EQ(part, used.begin) << "task " << t << " writes a word of another part";
        wrote = true;
      }
    tasks_that_wrote += wrote;
    for (int rank = 0; rank < ranks; ++rank) std::ranges::copy(kept[rank], w.words(rank).begin());
  }
  EXPECT_GT(tasks_that_wrote, f.size.tasks / 2);
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
            const int chunk = static_cast<int>(k) / row_block, place = chunk * ranks + (owner == rank ? 1 : 0);
            const int row = place * row_block + static_cast<int>(k) % row_block;
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
      const int place = x % ranks == 0 ? 1 : 0;
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
