// SPDX-License-Identifier: Apache-2.0
#pragma once
// What each operation of a MoE taskflow does to the memory of the ranks. One function per `moe_operation`.
//
// A dispatched block carries its row count in a header, so a receiver computes what has arrived and no more: blocks
// with few rows or none run the same tasks. Law: a row's result depends on the row alone and its sum on rising expert
// number alone, so the layer's output is bit-equal for every number of devices, threads and tile sizes.

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

#include <hyperparallel/mpmd/moe_chain.hpp>
#include <hyperparallel/runtime/arena.hpp>
#include <hyperparallel/runtime/kernel.hpp>
#include <hyperparallel/runtime/kernels/accumulate.hpp>
#include <hyperparallel/runtime/kernels/gemm.hpp>
#include <hyperparallel/runtime/kernels/router.hpp>
#include <hyperparallel/runtime/kernels/swiglu.hpp>
#include <hyperparallel/taskflow/storage.hpp>

namespace hyperparallel {

/// What the kernels read besides the arenas. It outlives the runs; kernels never write it.
struct moe_context {
  moe_plan plan{};
  moe_chain layout{};
  chain_places places{};
  const slot* slots = nullptr;
  const arena_set* arenas = nullptr;
  int valid_tokens = 0;  ///< of this step, counted over all devices; the rest are padding and are routed nowhere
};

namespace detail {

/// The `routes` slot of a rank: counts and offsets by expert, choices by token, then rows grouped by expert.
struct moe_routes {
  int* offset;      ///< [experts + 1], rows of expert x are [offset[x], offset[x + 1])
  int* choice;      ///< [tokens · top_k]
  float* weight;    ///< [tokens · top_k]
  routed_row* row;  ///< [tokens · top_k]
};

struct moe_rank_view {
  const moe_context& c;
  const moe_plan& p;
  const moe_tensors& t;
  int rank;

  moe_rank_view(const moe_context& context, int number)
      : c(context), p(context.plan), t(context.layout.tensor), rank(number) {}

  /// The slot of a tensor's block or local expert, or of all of it.
  template <class T>
  T* data(int tensor, int unit = 0) const {
    return reinterpret_cast<T*>(c.arenas->address(c.slots[slot_of(c.layout.chain, c.places, rank, tensor, unit)]));
  }
  moe_routes routes() const {
    std::byte* base = data<std::byte>(t.routes);
    const std::size_t rows = static_cast<std::size_t>(local_tokens(p)) * static_cast<std::size_t>(p.layer.top_k);
    const std::size_t head = static_cast<std::size_t>(p.layer.experts + 1) * sizeof(int);
    return {reinterpret_cast<int*>(base), reinterpret_cast<int*>(base + head),
            reinterpret_cast<float*>(base + head + rows * sizeof(int)),
            reinterpret_cast<routed_row*>(base + head + rows * (sizeof(int) + sizeof(float)))};
  }
  /// Rows of chunk `chunk` among `count` rows, as [first, last).
  std::pair<int, int> rows_of(int count, int chunk) const {
    const int first = std::min(count, chunk * p.tiling.row_block);
    return {first, std::min(count, first + p.tiling.row_block)};
  }
  int* header(int block) const { return data<int>(t.received, block); }
  float* received(int block) const {
    return reinterpret_cast<float*>(data<std::byte>(t.received, block) + block_header_bytes);
  }
};

inline moe_rank_view view(const kernel_call& call) { return {*static_cast<const moe_context*>(call.user), call.rank}; }

/// Tokens of a router tile that are not padding, as [first, last) of the rank's own tokens.
inline std::pair<int, int> tile_tokens(const moe_rank_view& v, int rank, int tile) {
  const int tokens = local_tokens(v.p), valid = std::clamp(v.c.valid_tokens - rank * tokens, 0, tokens);
  const int first = std::min(valid, tile * v.p.tiling.route_rows);
  return {first, std::min(valid, first + v.p.tiling.route_rows)};
}

inline void copy_weight(const kernel_call& call, int moe_tensors::* source, int moe_tensors::* buffer,
                        extent_t elements) {
  const moe_rank_view v = view(call);
  std::memcpy(v.data<float>(v.t.*buffer, call.item), v.data<float>(v.t.*source, call.item),
              static_cast<std::size_t>(elements) * sizeof(float));
}

}  // namespace detail

inline void run_prefetch_gate_up(const kernel_call& call) {
  detail::copy_weight(call, &moe_tensors::gate_up_source, &moe_tensors::gate_up_weight,
                      gate_up_elements(detail::view(call).p.layer));
}

inline void run_prefetch_down(const kernel_call& call) {
  detail::copy_weight(call, &moe_tensors::down_source, &moe_tensors::down_weight,
                      down_elements(detail::view(call).p.layer));
}

inline void run_route_logits(const kernel_call& call) {
  const detail::moe_rank_view v = detail::view(call);
  const auto [first, last] = detail::tile_tokens(v, call.rank, call.item);
  const int h = v.p.layer.hidden, experts = v.p.layer.experts;
  gemm(last - first, experts, h, v.data<float>(v.t.tokens) + extent_t{first} * h, h, v.data<float>(v.t.router_weight),
       experts, v.data<float>(v.t.scores) + extent_t{first} * experts, experts);
}

inline void run_route_top_k(const kernel_call& call) {
  const detail::moe_rank_view v = detail::view(call);
  const auto [first, last] = detail::tile_tokens(v, call.rank, call.item);
  const router_settings settings{v.p.layer.experts, v.p.layer.top_k};
  const detail::moe_routes routes = v.routes();
  for (int t = first; t < last; ++t) {
    float* const score = v.data<float>(v.t.scores) + extent_t{t} * settings.experts;
    int* const choice = routes.choice + t * settings.chosen;
    float* const weight = routes.weight + t * settings.chosen;
    detail::score_row(settings.experts, settings.scores, score);
    top_k(settings.experts, settings.chosen, score, choice, weight);
    detail::weigh_choice(settings, score, choice, weight);
  }
}

/// Counting sort of the rank's choices by expert; rows of one expert stay in token order.
inline void run_arrange(const kernel_call& call) {
  const detail::moe_rank_view v = detail::view(call);
  const detail::moe_routes routes = v.routes();
  const int experts = v.p.layer.experts, k = v.p.layer.top_k, tokens = local_tokens(v.p);
  const int rows = std::clamp(v.c.valid_tokens - call.rank * tokens, 0, tokens) * k;
  std::fill(routes.offset, routes.offset + experts + 1, 0);
  for (int i = 0; i < rows; ++i) ++routes.offset[routes.choice[i] + 1];
  for (int x = 0; x < experts; ++x) {
    if (routes.offset[x + 1] > v.p.rows_per_pair)
      throw std::length_error("expert " + std::to_string(x) + " gets " + std::to_string(routes.offset[x + 1]) +
                              " rows from one device, the plan has room for " + std::to_string(v.p.rows_per_pair));
    routes.offset[x + 1] += routes.offset[x];
  }
  for (int i = 0; i < rows; ++i) routes.row[routes.offset[routes.choice[i]]++] = {i / k, routes.weight[i]};
  for (int x = experts; x > 0; --x) routes.offset[x] = routes.offset[x - 1];
  routes.offset[0] = 0;
}

/// Puts the rows of one block, or of one piece of it, into the receiver's memory.
inline void run_dispatch(const kernel_call& call) {
  const detail::moe_rank_view v = detail::view(call);
  const int block = call.item / copy_pieces(v.p), piece = call.item % copy_pieces(v.p), h = v.p.layer.hidden;
  const moe_block b = block_at(v.p, block);
  const int owner = receiver_of(v.p, call.rank, b.rotation);
  const detail::moe_rank_view to(v.c, owner);
  const detail::moe_routes routes = v.routes();
  const int expert = b.expert * v.p.devices + owner, start = routes.offset[expert];
  const auto [first, last] = v.rows_of(routes.offset[expert + 1] - start, b.chunk);
  const bool whole = b.rotation != 0;
  if (piece == 0) *to.header(block) = last - first;
  const int from = whole ? first : std::min(last, first + piece * v.p.tiling.copy_rows);
  const int until = whole ? last : std::min(last, from + v.p.tiling.copy_rows);
  for (int i = from; i < until; ++i)
    std::memcpy(to.received(block) + extent_t{i - first} * h,
                v.data<float>(v.t.tokens) + extent_t{routes.row[start + i].token} * h,
                static_cast<std::size_t>(h) * sizeof(float));
}

inline void run_gate_up(const kernel_call& call) {
  const detail::moe_rank_view v = detail::view(call);
  const int block = call.item / gate_up_tiles(v.p),
            column = call.item % gate_up_tiles(v.p) * v.p.tiling.gate_up_columns;
  const int h = v.p.layer.hidden, width = 2 * v.p.layer.intermediate, e = block_at(v.p, block).expert;
  const int columns = std::min(v.p.tiling.gate_up_columns, width - column);
  const float* weight = v.data<float>(v.t.gate_up_weight, e);
  gemm(*v.header(block), columns, h, v.received(block), h, weight + column, width,
       v.data<float>(v.t.gate_up, block) + column, width);
}

inline void run_swiglu(const kernel_call& call) {
  const detail::moe_rank_view v = detail::view(call);
  const int block = call.item / swiglu_pieces(v.p), width = v.p.layer.intermediate, rows = *v.header(block);
  const int first = std::min(rows, call.item % swiglu_pieces(v.p) * v.p.tiling.vector_rows);
  const int count = std::min(rows - first, v.p.tiling.vector_rows);
  swiglu(count, width, v.data<float>(v.t.gate_up, block) + extent_t{first} * 2 * width, 2 * width,
         v.data<float>(v.t.act, block) + extent_t{first} * width, width);
}

inline void run_down(const kernel_call& call) {
  const detail::moe_rank_view v = detail::view(call);
  const int block = call.item / down_tiles(v.p), column = call.item % down_tiles(v.p) * v.p.tiling.down_columns;
  const int h = v.p.layer.hidden, depth = v.p.layer.intermediate, e = block_at(v.p, block).expert;
  const int columns = std::min(v.p.tiling.down_columns, h - column);
  const float* weight = v.data<float>(v.t.down_weight, e);
  gemm(*v.header(block), columns, depth, v.data<float>(v.t.act, block), depth, weight + column, h,
       v.data<float>(v.t.result, block) + column, h);
}

/// Puts a block's results, or a piece of them, back into the memory of the device that sent the rows.
inline void run_combine(const kernel_call& call) {
  const detail::moe_rank_view v = detail::view(call);
  const int block = call.item / copy_pieces(v.p), piece = call.item % copy_pieces(v.p), h = v.p.layer.hidden;
  const moe_block b = block_at(v.p, block);
  const detail::moe_rank_view to(v.c, source_of(v.p, call.rank, b.rotation));
  const int rows = *v.header(block), first = b.rotation != 0 ? 0 : std::min(rows, piece * v.p.tiling.copy_rows);
  const int last = b.rotation != 0 ? rows : std::min(rows, first + v.p.tiling.copy_rows);
  const extent_t place = extent_t{block % blocks_per_expert(v.p)} * v.p.tiling.row_block;
  std::memcpy(to.data<float>(to.t.returns, b.expert) + (place + first) * h,
              v.data<float>(v.t.result, block) + extent_t{first} * h,
              static_cast<std::size_t>(last - first) * static_cast<std::size_t>(h) * sizeof(float));
}

/// Adds what the experts (e, device 0), (e, device 1), … returned, that is, in rising expert number.
inline void run_merge(const kernel_call& call) {
  const detail::moe_rank_view v = detail::view(call);
  const int pieces = v.p.tiling.merge_pieces, e = call.item / pieces, q = call.item % pieces, h = v.p.layer.hidden;
  const int columns = static_cast<int>(ceil_divide(h, pieces)), column = std::min(h, q * columns);
  const int width = std::min(columns, h - column);
  float* const out = v.data<float>(v.t.output) + column;
  if (e == 0)
    for (int t = 0; t < local_tokens(v.p); ++t) std::fill_n(out + extent_t{t} * h, width, 0.0F);
  const detail::moe_routes routes = v.routes();
  for (int owner = 0; owner < v.p.devices; ++owner) {
    const int expert = e * v.p.devices + owner, start = routes.offset[expert];
    for (int chunk = 0; chunk < chunks_per_pair(v.p); ++chunk) {
      const auto [first, last] = v.rows_of(routes.offset[expert + 1] - start, chunk);
      const extent_t place = block_of(v.p, owner, 0, chunk, call.rank);
      accumulate_rows(last - first, width, v.data<float>(v.t.returns, e) + place * v.p.tiling.row_block * h + column, h,
                      routes.row + start + first, out, h);
    }
  }
}

/// By `moe_operation`, those of the forward pass.
inline constexpr kernel moe_kernels[moe_forward_operation_count] = {
    run_prefetch_gate_up, run_prefetch_down, run_route_logits, run_route_top_k, run_arrange, run_dispatch,
    run_gate_up,          run_swiglu,        run_down,         run_combine,     run_merge};

}  // namespace hyperparallel
