// SPDX-License-Identifier: Apache-2.0
#pragma once
// The memory of the ranks as the kernels of a MoE layer see it: tensors by name and unit instead of slots by number,
// and which rows and columns a task's number means.
//
// Law: the parts that the tasks of one operation name are disjoint and cover what there is: columns of a result, rows
// of an activation, rows of a put.

#include <algorithm>
#include <cstddef>
#include <functional>
#include <span>
#include <utility>

#include <hyperparallel/exec/arena.hpp>
#include <hyperparallel/exec/kernel.hpp>
#include <hyperparallel/kernels/accumulate.hpp>
#include <hyperparallel/mpmd/moe_chain.hpp>
#include <hyperparallel/taskflow/storage.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// The gradient of a loss for some consecutive tokens, of which `first` counts over all devices: rows of the output,
/// and as many rows to write. Called once for each router tile, from any thread and several at a time.
using moe_loss = std::function<void(int first, std::span<const float> output, std::span<float> gradient)>;

/// What the kernels read besides the arenas. It outlives the runs; kernels never write it.
struct moe_context {
  moe_plan plan{};
  moe_chain layout{};
  chain_places places{};
  const slot* slots = nullptr;
  const arena_set* arenas = nullptr;
  int valid_tokens = 0;  ///< of this step, counted over all devices; the rest are padding and are routed nowhere
  const moe_loss* loss = nullptr;  ///< of this step, where the plan trains
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
  /// Row count and rows of a block that was put into `tensor`.
  int* header(int tensor, int block) const { return data<int>(tensor, block); }
  float* arrived(int tensor, int block) const {
    return reinterpret_cast<float*>(data<std::byte>(tensor, block) + block_header_bytes);
  }
  /// Tokens of this rank that are not padding.
  int valid_tokens() const { return std::clamp(c.valid_tokens - rank * local_tokens(p), 0, local_tokens(p)); }
};

inline moe_rank_view view(const kernel_call& call) { return {*static_cast<const moe_context*>(call.user), call.rank}; }

/// Tokens of a router tile that are not padding, as [first, last) of the rank's own tokens.
inline std::pair<int, int> tile_tokens(const moe_rank_view& v, int tile) {
  const int valid = v.valid_tokens(), first = std::min(valid, tile * v.p.tiling.route_rows);
  return {first, std::min(valid, first + v.p.tiling.route_rows)};
}

/// Columns [first, first + count) of tile `tile`, `width` columns each, of `extent`.
struct column_tile {
  int first, count;
  column_tile(int extent, int width, int tile)
      : first(std::min(extent, tile * width)), count(std::min(width, extent - first)) {}
};

/// Rows [first, first + count) of a block that are piece `piece` of an activation.
struct row_piece {
  extent_t first, count;
  row_piece(const moe_rank_view& v, int arrived, int block, int piece) {
    const int rows = *v.header(arrived, block), size = v.p.tiling.vector_rows;
    first = std::min(rows, piece * size);
    count = std::min<extent_t>(rows - first, size);
  }
};

/// Tasks that the numbering has room for in the put of one block.
inline int put_pieces(const moe_plan& p) { return p.even_exchange ? 1 : copy_pieces(p); }

/// Rows [first, last) of a block of `rows` that one task of a put moves: all, or one piece of a block that stays.
struct put_share {
  moe_block block;
  int number, piece, first, last;
  put_share(const moe_plan& p, int item, int rows)
      : block(block_at(p, item / put_pieces(p))), number(item / put_pieces(p)), piece(item % put_pieces(p)) {
    const bool whole = block.rotation != 0 || p.even_exchange;
    first = whole ? 0 : std::min(rows, piece * p.tiling.copy_rows);
    last = whole ? rows : std::min(rows, first + p.tiling.copy_rows);
  }
};

}  // namespace detail
}}  // namespace hyperparallel::v0_2
