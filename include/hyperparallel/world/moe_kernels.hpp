// SPDX-License-Identifier: Apache-2.0
#pragma once
// What each operation of a MoE taskflow's forward pass does to the memory of the ranks. One function per
// `moe_operation`; moe_gradient_kernels.hpp has those of the backward pass.
//
// A dispatched block carries its row count in a header, so a receiver computes what has arrived and no more: blocks
// with few rows or none run the same tasks. Law: a row's result depends on the row alone and its sum on rising expert
// number alone, so the layer's output is bit-equal for every number of devices, threads and tile sizes.

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>

#include <hyperparallel/exec/kernel.hpp>
#include <hyperparallel/kernels/accumulate.hpp>
#include <hyperparallel/kernels/choice.hpp>
#include <hyperparallel/kernels/elementwise_functions.hpp>
#include <hyperparallel/kernels/exact.hpp>
#include <hyperparallel/kernels/gemm.hpp>
#include <hyperparallel/kernels/swiglu.hpp>
#include <hyperparallel/world/moe_rank_view.hpp>

HYPERPARALLEL_EXACT_BEGIN

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// Puts the rows of one block, or of one piece of it, into `tensor` of their receiver: `fill(rows, list, to)` writes
/// them. The first task of a block tells the receiver how many there are.
template <class Fill>
void put_rows(const moe_rank_view& v, int item, int tensor, const Fill& fill) {
  const moe_block b = block_at(v.p, item / put_pieces(v.p));
  const moe_rank_view to(v.c, receiver_of(v.p, v.rank, b.rotation));
  const moe_routes routes = v.routes();
  const int expert = b.expert * v.p.devices + to.rank, start = routes.offset[expert];
  const auto [first, last] = rows_of_chunk(v.p, routes.offset[expert + 1] - start, b.chunk);
  const put_share share(v.p, item, last - first);
  if (share.piece == 0) *to.header(tensor, share.number) = last - first;
  fill(share.last - share.first, routes.row + start + first + share.first,
       to.arrived(tensor, share.number) + extent_t{share.first} * v.p.layer.hidden);
}

/// Puts a block's rows of `from`, or a piece of them, into `to` of the device that sent them; `arrived` has their
/// count.
inline void return_rows(const moe_rank_view& v, int item, int arrived, int from, int to) {
  const int block = item / put_pieces(v.p), h = v.p.layer.hidden;
  const put_share share(v.p, item, *v.header(arrived, block));
  const moe_rank_view source(v.c, source_of(v.p, v.rank, share.block.rotation));
  const extent_t place = extent_t{block % blocks_per_expert(v.p)} * v.p.tiling.row_block;
  std::memcpy(source.data<float>(to, share.block.expert) + (place + share.first) * h,
              v.data<float>(from, block) + extent_t{share.first} * h,
              static_cast<std::size_t>(share.last - share.first) * static_cast<std::size_t>(h) * sizeof(float));
}

/// Calls `each(expert, rows, from, list)` for what came back from local expert `e` of the ranks 0, 1, …, that is, in
/// rising expert number: rows that lie one after the other, and what they belong to.
template <class Each>
void for_returned(const moe_rank_view& v, int tensor, int e, const Each& each) {
  const moe_routes routes = v.routes();
  for (int owner = 0; owner < v.p.devices; ++owner) {
    const int expert = e * v.p.devices + owner, start = routes.offset[expert];
    for (int chunk = 0; chunk < chunks_per_pair(v.p); ++chunk) {
      const auto [first, last] = rows_of_chunk(v.p, routes.offset[expert + 1] - start, chunk);
      const extent_t place = block_of(v.p, owner, 0, chunk, v.rank);
      each(expert, last - first, v.data<float>(tensor, e) + place * v.p.tiling.row_block * v.p.layer.hidden,
           routes.row + start + first);
    }
  }
}

/// Adds, with `add(rows, width, from, pitch, list, to, pitch)`, what came back into one column piece of `sum`: of one
/// local expert, or of all where operators are serialized.
template <class Add>
void merge_returned(const moe_rank_view& v, int item, int returned, int sum, const Add& add) {
  const int pieces = v.p.tiling.merge_pieces, h = v.p.layer.hidden;
  const column_tile columns(h, static_cast<int>(ceil_divide(h, pieces)), item % pieces);
  float* const out = v.data<float>(sum) + columns.first;
  const int begin = item / pieces, end = v.p.serialized ? local_experts(v.p) : begin + 1;
  if (begin == 0)
    for (int t = 0; t < local_tokens(v.p); ++t) std::fill_n(out + extent_t{t} * h, columns.count, 0.0F);
  for (int e = begin; e < end; ++e)
    for_returned(v, returned, e, [&](int, int rows, const float* from, const routed_row* row) {
      add(rows, columns.count, from + columns.first, h, row, out, h);
    });
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
  const auto [first, last] = detail::tile_tokens(v, call.item);
  const int h = v.p.layer.hidden, experts = v.p.layer.experts;
  gemm(last - first, experts, h, v.data<float>(v.t.tokens) + extent_t{first} * h, h, v.data<float>(v.t.router_weight),
       experts, v.data<float>(v.t.scores) + extent_t{first} * experts, experts);
}

inline void run_route_top_k(const kernel_call& call) {
  const detail::moe_rank_view v = detail::view(call);
  const auto [first, last] = detail::tile_tokens(v, call.item);
  const int experts = v.p.layer.experts, k = v.p.layer.top_k;
  const detail::moe_routes routes = v.routes();
  for (int t = first; t < last; ++t) {
    float* const score = v.data<float>(v.t.scores) + extent_t{t} * experts;
    for (int e = 0; e < experts; ++e) score[e] = kernels::functions::sigmoid::of(score[e]);
    int* const choice = routes.choice + t * k;
    float* const weight = routes.weight + t * k;
    kernels::top_k(experts, k, score, choice, weight);
    kernels::weigh_choice(k, score, choice, true, 1.0F, weight);
  }
}

/// Counting sort of the rank's choices by expert; rows of one expert stay in token order.
inline void run_arrange(const kernel_call& call) {
  const detail::moe_rank_view v = detail::view(call);
  const detail::moe_routes routes = v.routes();
  const int experts = v.p.layer.experts, k = v.p.layer.top_k, rows = v.valid_tokens() * k;
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

inline void run_dispatch(const kernel_call& call) {
  const detail::moe_rank_view v = detail::view(call);
  const int h = v.p.layer.hidden;
  const float* const tokens = v.data<float>(v.t.tokens);
  detail::put_rows(v, call.item, v.t.received, [&](int rows, const routed_row* row, float* to) {
    for (int i = 0; i < rows; ++i)
      std::memcpy(to + extent_t{i} * h, tokens + extent_t{row[i].token} * h,
                  static_cast<std::size_t>(h) * sizeof(float));
  });
}

inline void run_gate_up(const kernel_call& call) {
  const detail::moe_rank_view v = detail::view(call);
  const int block = call.item / gate_up_tiles(v.p), h = v.p.layer.hidden, width = 2 * v.p.layer.intermediate;
  const detail::column_tile columns(width, v.p.tiling.gate_up_columns, call.item % gate_up_tiles(v.p));
  const float* weight = v.data<float>(v.t.gate_up_weight, block_at(v.p, block).expert);
  gemm(*v.header(v.t.received, block), columns.count, h, v.arrived(v.t.received, block), h, weight + columns.first,
       width, v.data<float>(v.t.gate_up, block) + columns.first, width);
}

inline void run_swiglu(const kernel_call& call) {
  const detail::moe_rank_view v = detail::view(call);
  const int block = call.item / swiglu_pieces(v.p), width = v.p.layer.intermediate;
  const detail::row_piece rows(v, v.t.received, block, call.item % swiglu_pieces(v.p));
  swiglu(rows.count, width, v.data<float>(v.t.gate_up, block) + rows.first * 2 * width, 2 * width,
         v.data<float>(v.t.act, block) + rows.first * width, width);
}

inline void run_down(const kernel_call& call) {
  const detail::moe_rank_view v = detail::view(call);
  const int block = call.item / down_tiles(v.p), h = v.p.layer.hidden, depth = v.p.layer.intermediate;
  const detail::column_tile columns(h, v.p.tiling.down_columns, call.item % down_tiles(v.p));
  const float* weight = v.data<float>(v.t.down_weight, block_at(v.p, block).expert);
  gemm(*v.header(v.t.received, block), columns.count, depth, v.data<float>(v.t.act, block), depth,
       weight + columns.first, h, v.data<float>(v.t.result, block) + columns.first, h);
}

inline void run_combine(const kernel_call& call) {
  const detail::moe_rank_view v = detail::view(call);
  detail::return_rows(v, call.item, v.t.received, v.t.result, v.t.returns);
}

inline void run_merge(const kernel_call& call) {
  const detail::moe_rank_view v = detail::view(call);
  detail::merge_returned(v, call.item, v.t.returns, v.t.output, accumulate_rows);
}

/// By `moe_operation`, those of the forward pass.
inline constexpr kernel moe_kernels[moe_forward_operation_count] = {
    run_prefetch_gate_up, run_prefetch_down, run_route_logits, run_route_top_k, run_arrange, run_dispatch,
    run_gate_up,          run_swiglu,        run_down,         run_combine,     run_merge};

}}  // namespace hyperparallel::v0_2

HYPERPARALLEL_EXACT_END
