// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a MoE layer's taskflow is made of: tile sizes, operations, blocks, durations.
//
// A *block* is `row_block` rows that one source device sends to one expert. Blocks of a device are numbered by expert,
// chunk and step k of the rotation (hardware/rank_rotation.hpp): in step k of an expert every device sends to another
// receiver, near ones first; its own rows (k = 0) come last, for they need no link. Law: rotation makes all devices
// alike, so the plan of one device is the plan of all. Capacity is static: a block that gets fewer rows at run time, or
// none, still runs its tasks and signals.

#include <hyperparallel/hardware/device.hpp>
#include <hyperparallel/hardware/expert_all_to_all.hpp>
#include <hyperparallel/hardware/rank_rotation.hpp>
#include <hyperparallel/mpmd/moe_layer.hpp>
#include <hyperparallel/taskflow/task.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Operations in the order in which one device would run them. The item of a task counts its tiles.
enum class moe_operation : int {
  prefetch_gate_up,   ///< item: local expert; copies W1 from the slow tier into its buffer
  prefetch_down,      ///< item: local expert; likewise W2
  route_logits,       ///< item: token tile; h · Wr
  route_top_k,        ///< item: token tile; scores, choice, weights
  arrange,            ///< item: 0; rows grouped by expert
  dispatch,           ///< item: block of the receiver · pieces + row piece; put-with-signal of its rows
  gate_up,            ///< item: block · tiles + column tile; grouped matmul with W1
  swiglu,             ///< item: block · pieces + row piece
  down,               ///< item: block · tiles + column tile; grouped matmul with W2
  combine,            ///< item: block of the sender · pieces + row piece; put-with-signal of its results, to the source
  merge,              ///< item: expert · pieces + column piece; weighted sum in rising expert number
  loss,               ///< item: token tile; dY from the output, the caller's own function
  dispatch_gradient,  ///< item: as dispatch; put-with-signal of p · dY
  act_gradient,       ///< item: block · tiles + column tile of I; dY · W2ᵀ
  swiglu_gradient,    ///< item: block · pieces + row piece
  input_gradient,     ///< item: block · tiles + column tile of H; dGU · W1ᵀ, the gate gradient of the literature
  down_weight_gradient,  ///< item: expert · tiles + tile; dW2 = actᵀ · dY over all rows of the expert, in token order
  gate_up_weight_gradient,  ///< item: expert · tiles + tile; dW1 = xᵀ · dGU, likewise
  combine_gradient,         ///< item: as combine; dX of the rows back to their source
  router_gradient,          ///< item: expert · pieces + piece; ⟨dY, y⟩ of the rows that came back, on their source
  merge_gradient,           ///< item: as merge; dX summed in rising expert number
};
inline constexpr int moe_operation_count = 21;
inline constexpr int moe_forward_operation_count = 11;  ///< the first ones

inline constexpr const char* moe_operation_names[moe_operation_count] = {
    "prefetch W1", "prefetch W2", "route logits", "route top-k", "arrange",    "dispatch",    "GMM1",
    "SwiGLU",      "GMM2",        "combine",      "merge",       "loss",       "dispatch dY", "act grad",
    "SwiGLU grad", "input grad",  "W2 grad",      "W1 grad",     "combine dX", "router grad", "merge dX"};

/// Tile sizes; extents that they do not divide end in smaller tiles.
struct moe_tiling {
  int row_block = 256;        ///< rows of a block
  int gate_up_columns = 256;  ///< columns of a GMM1 tile, of 2I
  int down_columns = 256;     ///< columns of a GMM2 tile, of H
  int vector_rows = 128;      ///< rows of a SwiGLU piece
  int copy_rows = 32;         ///< rows of a piece of a block that stays on its device
  int route_rows = 128;       ///< tokens of a router tile
  int merge_pieces = 24;      ///< column pieces of a merge
  int lag = 32;               ///< GMM2 of a block follows GMM1 of the block `lag` later, so that SwiGLU is done by then
  int weight_rows = 1024;     ///< rows of a tile of a weight gradient
  int weight_columns = 512;   ///< and its columns
  friend constexpr bool operator==(const moe_tiling&, const moe_tiling&) = default;
};

inline constexpr int max_local_experts = 256;

/// Where the weights of local expert e stand while it computes. With `windowed` they are prefetched into buffers.
struct moe_weights {
  bool windowed = false;
  int buffers = 0;                       ///< of each of W1 and W2
  int buffer[max_local_experts] = {};    ///< local expert -> buffer
  int previous[max_local_experts] = {};  ///< the expert whose last use frees it, -1: free from the start
};

/// Picoseconds of one full tile of each operation; dispatch and combine of a block that leaves the device.
struct moe_durations {
  std::int64_t of[moe_operation_count] = {};
  std::int64_t local_copy = 0;     ///< dispatch or combine of one piece of a block that stays on its device
  std::int64_t merge_all = 0;      ///< column piece of a merge of all experts in one pass
  cost_code code = cost_code::ok;  ///< of the first price that could not be told: its duration means nothing
};

/// What of the layer is lowered: the router, the experts and the merge, or only what lies between dispatch and combine,
/// as the published module times have it.
enum class moe_scope : unsigned char { layer, experts };

/// Forward, backward with the forward's results in their slots, or both with the loss between.
enum class moe_pass : unsigned char { forward, backward, training };

/// Where the weight gradients run: right behind the product that reads the same rows, while those are in L2, or as
/// fillers behind everything that somebody waits for.
enum class weight_gradient_order : unsigned char { interleaved, last };

/// Everything the lowering reads.
struct moe_plan {
  moe_layer layer{};
  moe_tiling tiling{};
  int devices = 1;  ///< expert parallelism
  int ranks = 1;    ///< ranks that are lowered: 1 (the plan of one device among equals) or `devices` (a run)
  rotation_kind rotation = rotation_kind::nearest_first;
  int rows_per_pair = 0;  ///< capacity: rows that one source may send to one expert
  int element_bytes = 2;
  bool serialized = false;  ///< operator after operator with a barrier between: the baseline
  moe_scope scope = moe_scope::layer;
  moe_pass pass = moe_pass::forward;
  weight_gradient_order weight_gradients = weight_gradient_order::last;
  bool even_exchange = false;  ///< every block is an equal share of the all-to-all, own rows too: the paper's model
  moe_weights weights{};
  moe_durations time{};
};

constexpr int tiles_of(extent_t extent, int tile) { return static_cast<int>(ceil_divide(extent, tile)); }

constexpr int local_experts(const moe_plan& p) { return p.layer.experts / p.devices; }
constexpr int local_tokens(const moe_plan& p) { return p.layer.tokens / p.devices; }
constexpr int chunks_per_pair(const moe_plan& p) { return tiles_of(p.rows_per_pair, p.tiling.row_block); }
constexpr int blocks_per_expert(const moe_plan& p) { return chunks_per_pair(p) * p.devices; }
constexpr int blocks_per_rank(const moe_plan& p) { return local_experts(p) * blocks_per_expert(p); }
constexpr int gate_up_tiles(const moe_plan& p) { return tiles_of(2 * p.layer.intermediate, p.tiling.gate_up_columns); }
constexpr int down_tiles(const moe_plan& p) { return tiles_of(p.layer.hidden, p.tiling.down_columns); }
constexpr int act_gradient_tiles(const moe_plan& p) { return tiles_of(p.layer.intermediate, p.tiling.down_columns); }
constexpr int input_gradient_tiles(const moe_plan& p) { return down_tiles(p); }
constexpr int down_weight_tiles(const moe_plan& p) {
  return tiles_of(p.layer.intermediate, p.tiling.weight_rows) * tiles_of(p.layer.hidden, p.tiling.weight_columns);
}
constexpr int gate_up_weight_tiles(const moe_plan& p) {
  return tiles_of(p.layer.hidden, p.tiling.weight_rows) * tiles_of(2 * p.layer.intermediate, p.tiling.weight_columns);
}
constexpr int swiglu_pieces(const moe_plan& p) { return tiles_of(p.tiling.row_block, p.tiling.vector_rows); }
constexpr int copy_pieces(const moe_plan& p) { return tiles_of(p.tiling.row_block, p.tiling.copy_rows); }
constexpr int route_tiles(const moe_plan& p) { return tiles_of(local_tokens(p), p.tiling.route_rows); }

/// A block number taken apart: number = (expert · chunks + chunk) · devices + (rotation - 1 mod devices).
struct moe_block {
  int expert, chunk, rotation;
};

constexpr moe_block block_at(const moe_plan& p, int number) {
  const int pair = number / p.devices;
  return {pair / chunks_per_pair(p), pair % chunks_per_pair(p), (number + 1) % p.devices};
}

/// Rank that receives what `rank` sends in step `rotation`, and the other way round.
constexpr int receiver_of(const moe_plan& p, int rank, int rotation) {
  return p.ranks == 1 ? 0 : rotation_peer(p.rotation, p.devices, rank, rotation);
}
constexpr int source_of(const moe_plan& p, int rank, int rotation) {
  return p.ranks == 1 ? 0 : rotation_source(p.rotation, p.devices, rank, rotation);
}
/// The receiver's block of chunk `chunk` that holds the rows of rank `source` for local expert `expert` of `rank`.
constexpr int block_of(const moe_plan& p, int rank, int expert, int chunk, int source) {
  const int step = rotation_step(p.rotation, p.devices, source, rank);
  return (expert * chunks_per_pair(p) + chunk) * p.devices + (step + p.devices - 1) % p.devices;
}

/// Rows that a matrix core computes at a time, and so the step in which shorter tiles take less time.
inline constexpr int row_step = 16;

struct row_range {
  int begin, end;
};

/// Which of the `count` rows of a pair its block of chunk `chunk` holds. All chunks alike, to a multiple of `row_step`
/// where row blocks are one: tiles then shrink by the same share, and frozen queues stay balanced; chunks filled in
/// turn would leave empty ones, whose tiles fall out of the queues that were balanced with them. Laws: the ranges of a
/// pair partition its rows in order; none exceeds a row block. Domain: 0 <= count <= rows_per_pair. O(1).
constexpr row_range rows_of_chunk(const moe_plan& p, int count, int chunk) {
  const int step = p.tiling.row_block % row_step == 0 ? row_step : 1, chunks = chunks_per_pair(p);
  const int steps = tiles_of(count, step), begin = steps * chunk / chunks * step;
  const int end = steps * (chunk + 1) / chunks * step;
  return {begin < count ? begin : count, end < count ? end : count};
}

/// Prices every operation on `device` with `vector_queues` AIVs sharing the memory bandwidth; grouped matmuls reach
/// `grouped`. A block that leaves the device takes its share of the fitted all-to-all. O(1).
constexpr moe_durations price_moe(const moe_plan& p, const device_value& device, int vector_queues, efficiency grouped,
                                  const expert_all_to_all_fit& fit) {
  moe_durations t;
  first_complaint priced;
  const extent_t h = p.layer.hidden, i = p.layer.intermediate, rows = p.tiling.row_block, bytes = p.element_bytes;
  const std::int64_t overhead = device.task_overhead;
  const auto matrix = [&](extent_t m, extent_t n, extent_t k) {
    return overhead + priced.time_of(matmul_time(device, m, n, k, grouped));
  };
  const auto vector = [&](extent_t moved) {
    return overhead + priced.time_of(vector_time(device, moved, vector_queues));
  };
  const auto set = [&](moe_operation o, std::int64_t time) { t.of[static_cast<int>(o)] = time; };
  const int slow = tier_behind(device, memory_kind::dram);
  if (slow >= 0) {
    set(moe_operation::prefetch_gate_up,
        priced.time_of(copy_time(device.tier[slow], device.tier[0], gate_up_elements(p.layer) * bytes)));
    set(moe_operation::prefetch_down,
        priced.time_of(copy_time(device.tier[slow], device.tier[0], down_elements(p.layer) * bytes)));
  }
  set(moe_operation::route_logits, matrix(p.tiling.route_rows, p.layer.experts, h));
  set(moe_operation::route_top_k, vector(extent_t{p.tiling.route_rows} * p.layer.experts * 2 * bytes));
  set(moe_operation::arrange, vector(extent_t{local_tokens(p)} * p.layer.top_k * 4 * bytes));
  set(moe_operation::gate_up, matrix(rows, p.tiling.gate_up_columns, h));
  set(moe_operation::swiglu, vector(extent_t{p.tiling.vector_rows} * 3 * i * bytes));
  set(moe_operation::down, matrix(rows, p.tiling.down_columns, i));
  const extent_t expert_rows = extent_t{blocks_per_expert(p)} * rows;
  set(moe_operation::act_gradient, matrix(rows, p.tiling.down_columns, h));
  set(moe_operation::swiglu_gradient, vector(extent_t{p.tiling.vector_rows} * 5 * i * bytes));
  set(moe_operation::input_gradient, matrix(rows, p.tiling.down_columns, 2 * i));
  set(moe_operation::down_weight_gradient, matrix(p.tiling.weight_rows, p.tiling.weight_columns, expert_rows));
  set(moe_operation::gate_up_weight_gradient, matrix(p.tiling.weight_rows, p.tiling.weight_columns, expert_rows));
  set(moe_operation::loss, vector(extent_t{p.tiling.route_rows} * h * (bytes + 4)));
  set(moe_operation::router_gradient, vector(expert_rows * 2 * h * bytes / p.tiling.merge_pieces));
  set(moe_operation::merge, vector(expert_rows * ceil_divide(h, p.tiling.merge_pieces) * (bytes + 8)));
  const extent_t all_rows = expert_rows * local_experts(p);
  t.merge_all = vector((all_rows * bytes + extent_t{local_tokens(p)} * 4) * ceil_divide(h, p.tiling.merge_pieces));
  set(moe_operation::merge_gradient, t.of[static_cast<int>(moe_operation::merge)]);
  if (p.devices > 1) {
    const extent_t payload = extent_t{blocks_per_rank(p)} * rows * h * bytes;
    const std::int64_t whole = priced.time_of(expert_all_to_all_time(payload, p.devices, fit));
    const int sent = p.even_exchange ? blocks_per_rank(p) : blocks_per_rank(p) / p.devices * (p.devices - 1);
    set(moe_operation::dispatch, whole / sent);
    set(moe_operation::combine, whole / sent);
    set(moe_operation::dispatch_gradient, whole / sent);
    set(moe_operation::combine_gradient, whole / sent);
  }
  t.local_copy = vector(2 * extent_t{p.tiling.copy_rows} * h * bytes);
  t.code = priced.code;
  return t;
}

}}  // namespace hyperparallel::v0_2
