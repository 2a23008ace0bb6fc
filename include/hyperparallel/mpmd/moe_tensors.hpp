// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tensors of a MoE layer's chain, and the two spaces that it repeats over: tokens by router tile, row blocks by
// expert. What forward leaves for backward has one slot in both passes.
//
// Law: a tensor exists if and only if a stage of the plan's pass and scope uses it or hands it on. Sizes are those of
// full capacity; a block that is put carries a header with the rows that it really has.

#include <hyperparallel/mpmd/moe_plan.hpp>
#include <hyperparallel/mpmd/tile_chain.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Numbers of the chain's tensors; -1 where the plan has none.
struct moe_tensors {
  int tokens = -1, scores = -1, routes = -1, arranged = -1, received = -1, gate_up = -1, act = -1, result = -1;
  int returns = -1, output = -1, router_weight = -1;
  int gate_up_weight = -1, down_weight = -1, gate_up_source = -1, down_source = -1;
  int output_gradient = -1, received_gradient = -1, act_gradient = -1, gate_up_gradient = -1, result_gradient = -1;
  int returned_gradient = -1, input_gradient = -1, probability_gradient = -1;
  int gate_up_weight_gradient = -1, down_weight_gradient = -1;
};

struct moe_chain {
  tile_chain chain{};
  moe_tensors tensor{};
};

inline constexpr int max_moe_ranks = max_chain_ranks;

/// Bytes of the header that travels with a block: its row count.
inline constexpr extent_t block_header_bytes = 64;

/// Tiers as `device_value` lists them: kernels work in the first, weights wait in the second.
inline constexpr int fast_tier = 0;
inline constexpr int slow_tier = 1;

/// Spaces of every MoE chain.
inline constexpr int moe_tokens_space = 0;
inline constexpr int moe_blocks_space = 1;

namespace detail {

struct moe_declarer {
  const moe_plan& p;
  moe_chain& m;

  constexpr int by_token(extent_t bytes) { return add_tensor(m.chain, moe_tokens_space, grain::whole, bytes); }
  constexpr int by_block(extent_t bytes) { return add_tensor(m.chain, moe_blocks_space, grain::item, bytes); }
  constexpr int by_expert(extent_t bytes, int tier = fast_tier) {
    return add_tensor(m.chain, moe_blocks_space, grain::group, bytes, tier);
  }

  constexpr void spaces() {
    m.chain.devices = p.devices;
    m.chain.ranks = p.ranks;
    m.chain.rotation = p.rotation;
    add_space(m.chain, route_tiles(p), route_tiles(p));
    add_space(m.chain, blocks_per_rank(p), blocks_per_expert(p));
    if (!p.weights.windowed) return;
    m.chain.window.buffers = p.weights.buffers;
    for (int e = 0; e < local_experts(p); ++e) {
      m.chain.window.buffer[e] = p.weights.buffer[e];
      m.chain.window.previous[e] = p.weights.previous[e];
    }
  }

  constexpr void tensors() {
    const moe_layer& l = p.layer;
    const extent_t rows = p.tiling.row_block, h = l.hidden, i = l.intermediate, n = p.element_bytes;
    const extent_t group_rows = blocks_per_expert(p) * rows, tokens = local_tokens(p);
    moe_tensors& t = m.tensor;
    t.tokens = by_token(tokens * h * n);
    if (p.scope == moe_scope::layer) t.scores = by_token(tokens * l.experts * 4);
    t.routes = by_token(tokens * l.top_k * 16 + extent_t{l.experts} * 8);
    t.received = by_block(rows * h * n + block_header_bytes);
    t.gate_up = by_block(rows * 2 * i * n);
    t.act = by_block(rows * i * n);
    t.result = by_block(rows * h * n);
    t.returns = by_expert(group_rows * h * n);
    if (p.scope == moe_scope::layer) {
      t.output = by_token(tokens * h * 4);
      t.router_weight = by_token(h * l.experts * n);
    }
    t.gate_up_weight = by_expert(gate_up_elements(l) * n);
    t.down_weight = by_expert(down_elements(l) * n);
    m.chain.tensor[t.gate_up_weight].windowed = m.chain.tensor[t.down_weight].windowed = p.weights.windowed;
    if (p.weights.windowed) {
      t.gate_up_source = by_expert(gate_up_elements(l) * n, slow_tier);
      t.down_source = by_expert(down_elements(l) * n, slow_tier);
    }
    if (p.pass == moe_pass::forward) return;
    t.output_gradient = by_token(tokens * h * 4);
    t.received_gradient = by_block(rows * h * n + block_header_bytes);
    t.act_gradient = by_block(rows * i * n);
    t.gate_up_gradient = by_block(rows * 2 * i * n);
    t.result_gradient = by_block(rows * h * n);
    t.returned_gradient = by_expert(group_rows * h * n);
    t.gate_up_weight_gradient = by_expert(gate_up_elements(l) * 4);
    t.down_weight_gradient = by_expert(down_elements(l) * 4);
    t.probability_gradient = by_token(tokens * l.top_k * 4);
    if (p.scope == moe_scope::layer) t.input_gradient = by_token(tokens * h * 4);
  }
};

}  // namespace detail

/// Spaces, window and tensors of `p`, without stages. O(experts).
constexpr moe_chain declare_moe(const moe_plan& p) {
  moe_chain m;
  detail::moe_declarer d{p, m};
  d.spaces();
  d.tensors();
  return m;
}

}}  // namespace hyperparallel::v0_2
