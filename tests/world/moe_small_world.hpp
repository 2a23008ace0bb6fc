// SPDX-License-Identifier: Apache-2.0
#pragma once
// Two small ranks of a MoE layer whose kernels a test calls one by one, on numbers that it sees and sets.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include <hyperparallel/taskflow/builder.hpp>
#include <hyperparallel/taskflow/owned.hpp>
#include <hyperparallel/world/moe_gradient_kernels.hpp>

#include "taskflow/flows.hpp"

namespace moe_test {

namespace hp = hyperparallel;
using operation = hp::moe_operation;
using taskflow_test::below;

constexpr int hidden = 6, intermediate = 4, experts = 4, top_k = 3, ranks = 2, tokens = 6, row_block = 2;
constexpr float untouched = -77.0F;

/// Most extents end in a smaller tile: 6 tokens by 4, 8 columns by 3, 6 by 4; 6 columns in 4 pieces leave one empty;
/// weights of 6 × 8 and 4 × 6 by 3 × 5.
inline hp::moe_plan small_plan(bool windowed, hp::moe_pass pass) {
  hp::moe_plan p;
  p.layer = {hidden, intermediate, experts, top_k, ranks * tokens};
  p.tiling = {row_block, 3, 4, 1, 1, 4, 4, 2, 3, 5};
  p.devices = p.ranks = ranks;
  p.rows_per_pair = tokens;
  p.element_bytes = sizeof(float);
  p.pass = pass;
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

/// Of `count` rows of a pair, those that its chunk `chunk` holds, and where row k stands.
inline hp::row_range chunk_rows(int count, int chunk) {
  return hp::rows_of_chunk(small_plan(false, hp::moe_pass::forward), count, chunk);
}
struct row_place {
  int chunk, row;
};
inline row_place place_of_row(int count, int k) {
  int chunk = 0;
  while (chunk_rows(count, chunk).end <= k) ++chunk;
  return {chunk, k - chunk_rows(count, chunk).begin};
}

/// The taskflow's slots on two ranks and the context that the kernels read, without queues or threads.
class small_world {
 public:
  explicit small_world(bool windowed = false, hp::moe_pass pass = hp::moe_pass::forward)
      : context_(std::make_unique<hp::moe_context>()), flow_(hp::measure(hp::moe_builder{small_plan(windowed, pass)})) {
    context_->plan = small_plan(windowed, pass);
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
    for (int t::* const tensor : {&t::tokens,
                                  &t::scores,
                                  &t::routes,
                                  &t::received,
                                  &t::gate_up,
                                  &t::act,
                                  &t::result,
                                  &t::returns,
                                  &t::output,
                                  &t::router_weight,
                                  &t::gate_up_weight,
                                  &t::down_weight,
                                  &t::gate_up_source,
                                  &t::down_source,
                                  &t::output_gradient,
                                  &t::received_gradient,
                                  &t::act_gradient,
                                  &t::gate_up_gradient,
                                  &t::result_gradient,
                                  &t::returned_gradient,
                                  &t::input_gradient,
                                  &t::probability_gradient,
                                  &t::gate_up_weight_gradient,
                                  &t::down_weight_gradient})
      if (slots.*tensor >= 0)
        slots.*tensor = context_->places.slot[slots.*tensor] + rank * context_->places.slots_per_rank;
    return slots;
  }
  void set_valid_tokens(int count) { context_->valid_tokens = count; }
  void set_loss(const hp::moe_loss* loss) { context_->loss = loss; }
  /// Less room for the rows of a (source, expert) pair than the slots have.
  void set_room(int rows) { context_->plan.rows_per_pair = rows; }

  std::span<float> data(int slot) const { return arenas_.span<float>(flow_.slot[slot]); }
  const hp::moe_tensors& tensor() const { return context_->layout.tensor; }
  hp::detail::moe_rank_view view(int rank) const { return {*context_, rank}; }
  hp::detail::moe_routes routes(int rank) const { return view(rank).routes(); }
  /// Row count of the block in a slot, and the rows behind it.
  int& header(int slot) const { return *arenas_.span<int>(flow_.slot[slot]).data(); }
  std::span<float> rows(int slot) const { return data(slot).subspan(hp::block_header_bytes / sizeof(float)); }
  int& header(int rank, int block) const { return header(at(rank).received + block); }
  std::span<float> received(int rank, int block) const { return rows(at(rank).received + block); }

  void call(operation o, int rank, int item) const {
    const int number = static_cast<int>(o);
    const hp::kernel run = number < hp::moe_forward_operation_count
                               ? hp::moe_kernels[number]
                               : hp::moe_gradient_kernels[number - hp::moe_forward_operation_count];
    run({rank, 0, number, item, context_.get()});
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

inline void fill_integers(std::span<float> to, std::mt19937& random) {
  for (float& x : to) x = static_cast<float>(below(random, 7) - 3);
}

/// Different experts for each token, in any order, with weights 1 to 4.
inline routing random_routing(std::mt19937& random) {
  routing r(ranks, std::vector<std::vector<choice>>(tokens));
  for (auto& rank : r)
    for (auto& token : rank) {
      std::vector<int> order{0, 1, 2, 3};
      std::shuffle(order.begin(), order.end(), random);
      for (std::size_t k = 0; k < top_k; ++k) token.push_back({order[k], static_cast<float>(1 + below(random, 4))});
    }
  return r;
}

inline int valid_on(int rank, int valid) { return std::clamp(valid - rank * tokens, 0, tokens); }

/// Tokens of `rank` that go to `expert`, in token order.
inline std::vector<int> rows_for(const routing& r, int rank, int expert, int valid) {
  std::vector<int> rows;
  for (int t = 0; t < valid_on(rank, valid); ++t)
    for (const choice& c : r[static_cast<std::size_t>(rank)][static_cast<std::size_t>(t)])
      if (c.expert == expert) rows.push_back(t);
  return rows;
}

inline float weight_of(const routing& r, int rank, int token, int expert) {
  for (const choice& c : r[static_cast<std::size_t>(rank)][static_cast<std::size_t>(token)])
    if (c.expert == expert) return c.weight;
  return 0.0F;
}

/// Lets every rank group the choices of `r`, of which the first `valid` tokens over both ranks count.
inline void arrange(small_world& w, const routing& r, int valid) {
  w.set_valid_tokens(valid);
  for (int rank = 0; rank < ranks; ++rank) w.choose(rank, r[static_cast<std::size_t>(rank)]);
  ASSERT_EQ(w.call_all(operation::arrange), ranks);
}

inline std::size_t at(int row, int column, int width) { return static_cast<std::size_t>(row * width + column); }

/// Runs each task of the operations that are `meant` and holds what it writes against its first declared write: tasks
/// that declare different parts of a slot may run at the same time, so their words must be different ones. Counts the
/// tasks that wrote something.
template <class Meant>
void check_declared_writes(const small_world& w, const Meant& meant, int& wrote_any) {
  constexpr std::uint32_t marked = 0xDEADBEEF;
  const hp::owned_taskflow& f = w.flow();
  std::map<std::pair<int, std::size_t>, int> part_of;  // (rank, word) -> the part whose task wrote it
  for (int t = 0; t < f.size.tasks; ++t) {
    const hp::task& k = f.task[t];
    const auto o = static_cast<operation>(k.operation);
    if (!meant(o)) continue;
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
    wrote_any += wrote;
    for (int rank = 0; rank < ranks; ++rank) std::ranges::copy(kept[rank], w.words(rank).begin());
  }
}

}  // namespace moe_test
