// SPDX-License-Identifier: Apache-2.0
#pragma once
// What each operation of a MoE taskflow's backward pass does to the memory of the ranks. One function per
// `moe_operation`, from the loss on. With p a row's weight, for the rows of expert e:
//
//   dispatch gradient        p · dY, to where the expert is; a header with the row count goes along, as forward
//   act, input gradient      dAct = dY · W2[e]ᵀ, dX = dGU · W1[e]ᵀ
//   weight gradients         dW2[e] = actᵀ · dY, dW1[e] = xᵀ · dGU, a tile of the weight a task
//   router gradient          ⟨dY, y⟩, on the device that has both, at the place of the token's choice
//
// Law: a row's gradient depends on the row alone; a token's is summed in rising expert number, a weight's in rising
// source device and, within it, in rising token: the order of the whole batch. So every gradient is bit-equal for every
// number of devices, threads and tile sizes. An expert without rows has a gradient of zeros.

#include <algorithm>
#include <span>

#include <hyperparallel/kernels/exact.hpp>
#include <hyperparallel/kernels/row_products.hpp>
#include <hyperparallel/kernels/swiglu_gradient.hpp>
#include <hyperparallel/kernels/transposed_gemm.hpp>
#include <hyperparallel/world/moe_kernels.hpp>

HYPERPARALLEL_EXACT_BEGIN

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// One tile of leftᵀ · right, height × width, over all rows of a local expert. `left(block)` and `right(block)` are its
/// operands' rows, `height` and `width` long; `arrived` has their count.
template <class Left, class Right>
void sum_weight_gradient(const moe_rank_view& v, int item, int height, int width, int arrived, const Left& left,
                         const Right& right, int result) {
  const moe_tiling& tiling = v.p.tiling;
  const int across = tiles_of(width, tiling.weight_columns), tiles = tiles_of(height, tiling.weight_rows) * across;
  const int e = item / tiles, tile = item % tiles;
  const column_tile lines(height, tiling.weight_rows, tile / across);
  const column_tile columns(width, tiling.weight_columns, tile % across);
  float* const out = v.data<float>(result, e) + extent_t{lines.first} * width + columns.first;
  constexpr int room = 64;
  row_segment segment[room];
  int waiting = 0;
  gemm_mode mode = gemm_mode::overwrite;
  const auto multiply = [&] {
    gemm_tn(lines.count, columns.count, segment, waiting, height, width, out, width, mode);
    waiting = 0;
    mode = gemm_mode::accumulate;
  };
  for (int source = 0; source < v.p.devices; ++source)
    for (int chunk = 0; chunk < chunks_per_pair(v.p); ++chunk) {
      const int block = block_of(v.p, v.rank, e, chunk, source), rows = *v.header(arrived, block);
      if (rows == 0) continue;
      if (waiting == room) multiply();
      segment[waiting++] = {left(block) + lines.first, right(block) + columns.first, rows};
    }
  if (waiting > 0 || mode == gemm_mode::overwrite) multiply();
}

}  // namespace detail

inline void run_loss(const kernel_call& call) {
  const detail::moe_rank_view v = detail::view(call);
  const auto [first, last] = detail::tile_tokens(v, call.item);
  if (first == last) return;
  const std::size_t h = static_cast<std::size_t>(v.p.layer.hidden), count = static_cast<std::size_t>(last - first) * h;
  const std::size_t begin = static_cast<std::size_t>(first) * h;
  (*v.c.loss)(call.rank* local_tokens(v.p) + first, std::span(v.data<float>(v.t.output) + begin, count),
              std::span(v.data<float>(v.t.output_gradient) + begin, count));
}

inline void run_dispatch_gradient(const kernel_call& call) {
  const detail::moe_rank_view v = detail::view(call);
  const int h = v.p.layer.hidden;
  detail::put_rows(v, call.item, v.t.received_gradient, [&](int rows, const routed_row* row, float* to) {
    scale_rows(rows, h, v.data<float>(v.t.output_gradient), h, row, to, h);
  });
}

inline void run_act_gradient(const kernel_call& call) {
  const detail::moe_rank_view v = detail::view(call);
  const int block = call.item / act_gradient_tiles(v.p), h = v.p.layer.hidden, width = v.p.layer.intermediate;
  const detail::column_tile columns(width, v.p.tiling.down_columns, call.item % act_gradient_tiles(v.p));
  const float* weight = v.data<float>(v.t.down_weight, block_at(v.p, block).expert);
  gemm_nt(*v.header(v.t.received_gradient, block), columns.count, h, v.arrived(v.t.received_gradient, block), h,
          weight + extent_t{columns.first} * h, h, v.data<float>(v.t.act_gradient, block) + columns.first, width);
}

inline void run_swiglu_gradient(const kernel_call& call) {
  const detail::moe_rank_view v = detail::view(call);
  const int block = call.item / swiglu_pieces(v.p), width = v.p.layer.intermediate;
  const detail::row_piece rows(v, v.t.received_gradient, block, call.item % swiglu_pieces(v.p));
  swiglu_gradient(rows.count, width, v.data<float>(v.t.gate_up, block) + rows.first * 2 * width, 2 * width,
                  v.data<float>(v.t.act_gradient, block) + rows.first * width, width,
                  v.data<float>(v.t.gate_up_gradient, block) + rows.first * 2 * width, 2 * width);
}

inline void run_input_gradient(const kernel_call& call) {
  const detail::moe_rank_view v = detail::view(call);
  const int block = call.item / input_gradient_tiles(v.p), h = v.p.layer.hidden, width = 2 * v.p.layer.intermediate;
  const detail::column_tile columns(h, v.p.tiling.down_columns, call.item % input_gradient_tiles(v.p));
  const float* weight = v.data<float>(v.t.gate_up_weight, block_at(v.p, block).expert);
  gemm_nt(*v.header(v.t.received_gradient, block), columns.count, width, v.data<float>(v.t.gate_up_gradient, block),
          width, weight + extent_t{columns.first} * width, width,
          v.data<float>(v.t.result_gradient, block) + columns.first, h);
}

inline void run_down_weight_gradient(const kernel_call& call) {
  const detail::moe_rank_view v = detail::view(call);
  detail::sum_weight_gradient(
      v, call.item, v.p.layer.intermediate, v.p.layer.hidden, v.t.received_gradient,
      [&](int b) { return v.data<float>(v.t.act, b); }, [&](int b) { return v.arrived(v.t.received_gradient, b); },
      v.t.down_weight_gradient);
}

inline void run_gate_up_weight_gradient(const kernel_call& call) {
  const detail::moe_rank_view v = detail::view(call);
  detail::sum_weight_gradient(
      v, call.item, v.p.layer.hidden, 2 * v.p.layer.intermediate, v.t.received,
      [&](int b) { return v.arrived(v.t.received, b); }, [&](int b) { return v.data<float>(v.t.gate_up_gradient, b); },
      v.t.gate_up_weight_gradient);
}

inline void run_combine_gradient(const kernel_call& call) {
  const detail::moe_rank_view v = detail::view(call);
  detail::return_rows(v, call.item, v.t.received_gradient, v.t.result_gradient, v.t.returned_gradient);
}

/// Piece q of an expert group's rows, counted as they came back; each number goes to the choice that it belongs to.
inline void run_router_gradient(const kernel_call& call) {
  const detail::moe_rank_view v = detail::view(call);
  const int pieces = v.p.tiling.merge_pieces, e = call.item / pieces, h = v.p.layer.hidden, k = v.p.layer.top_k;
  const detail::moe_routes routes = v.routes();
  const int all = routes.offset[(e + 1) * v.p.devices] - routes.offset[e * v.p.devices];
  const detail::column_tile own(all, static_cast<int>(ceil_divide(all, pieces)), call.item % pieces);
  float* const out = v.data<float>(v.t.probability_gradient);
  int begin = 0;
  detail::for_returned(v, v.t.returns, e, [&](int expert, int rows, const float* from, const routed_row* row) {
    const int last = std::min(rows, own.first + own.count - begin);
    constexpr int together = 64;
    float product[together];
    for (int at = std::max(0, own.first - begin); at < last; at += together) {
      const int count = std::min(together, last - at);
      dot_rows(count, h, v.data<float>(v.t.output_gradient), h, row + at, from + extent_t{at} * h, h, product);
      for (int i = 0; i < count; ++i) {
        const int* const choice = routes.choice + row[at + i].token * k;
        out[row[at + i].token * k + static_cast<int>(std::find(choice, choice + k, expert) - choice)] = product[i];
      }
    }
    begin += rows;
  });
}

inline void run_merge_gradient(const kernel_call& call) {
  const detail::moe_rank_view v = detail::view(call);
  detail::merge_returned(v, call.item, v.t.returned_gradient, v.t.input_gradient, add_rows);
}

/// By `moe_operation`, those after the forward pass.
inline constexpr kernel moe_gradient_kernels[moe_operation_count - moe_forward_operation_count] = {
    run_loss,
    run_dispatch_gradient,
    run_act_gradient,
    run_swiglu_gradient,
    run_input_gradient,
    run_down_weight_gradient,
    run_gate_up_weight_gradient,
    run_combine_gradient,
    run_router_gradient,
    run_merge_gradient};

}}  // namespace hyperparallel::v0_2

HYPERPARALLEL_EXACT_END
