// SPDX-License-Identifier: Apache-2.0
#pragma once
// A chain of operators over tiles, as a value: what a lowering to a taskflow needs to know of matmuls, element-wise
// operators and collectives that follow each other, and nothing else. A MoE layer, an all-gather before a matmul, a
// matmul before a reduce-scatter and an attention block are chains; `lower_chain` makes the taskflow.
//
// A chain repeats over the *items* of a space (row blocks, token tiles); consecutive items form *groups* (experts,
// sequences). A *stage* runs once for each item, each group, or once, as a run of `tiles` tasks. A *tensor* is held in
// one slot for each item, each group, or one in all. A stage that reads a tensor says how much of it it takes:
//
//   item    the same item           row-block events: GMM1 of a block starts when the block has arrived
//   group   the item's whole group  joins: a weight gradient needs all rows of its expert
//   whole   all items               barriers: operators launched one after the other
//   tile    for a tensor that the stage folds into itself: the same tile of the item (group) before, so the order of
//           the sum is part of the plan
//
// Law: waiting for more than is taken never changes what is computed, only when. Stages are listed in the order in
// which one device would run them; a stage with a `lag` runs that many items behind the first stage of its section, one
// without runs to its end before the next begins.

#include <hyperparallel/hardware/rank_rotation.hpp>
#include <hyperparallel/taskflow/task.hpp>

namespace hyperparallel { inline namespace v0_2 {

enum class grain : unsigned char { tile, item, group, whole };
inline constexpr int grain_count = 4;

/// `items` in order, `per_group` consecutive ones to a group. Where `rows` is not null, item i really has `rows[i]` of
/// `row_block` rows: its tiles take that share of their time above the chain's `overhead`, and signal all the same.
struct tile_space {
  int items = 1;
  int per_group = 1;
  const int* rows = nullptr;
  int row_block = 1;
};

constexpr int groups_of(const tile_space& s) { return s.items / s.per_group; }

/// How many units of grain `g` the space has: items, groups or one.
constexpr int units_of(const tile_space& s, grain g) {
  return g == grain::item ? s.items : g == grain::group ? groups_of(s) : 1;
}

struct chain_tensor {
  int space = 0;
  grain held = grain::item;
  std::int64_t bytes = 0;  ///< of one slot
  int tier = 0;
  bool windowed = false;  ///< held by group in the buffers of the chain's window, one tenant after the other
  int shares = -1;        ///< the tensor whose slots it takes over: an update in place
};

/// Where the result of a stage lands. A stage that sends runs over the items of a space whose rotation is not 0 on the
/// link; items that stay on their device are copied by the stage's `stay`.
enum class stage_route : unsigned char { local, to_receiver, to_source };

/// What a unit of a stage takes of a tensor, and what it waits for: more, where operators have barriers between them.
struct chain_read {
  int tensor = 0;
  grain takes = grain::item;
  grain waits = grain::item;
};

/// A run of tiles on queues of one class. Durations in picoseconds of one tile.
struct tile_work {
  resource kind = resource::aic;
  int tiles = 1;
  std::int64_t duration = 0;
};

/// Runs in full before the next stage begins.
inline constexpr int at_once = -1;

inline constexpr int max_stage_reads = 6;
inline constexpr int max_stage_writes = 2;
inline constexpr int max_stage_waits = 72;   ///< events that one task waits for
inline constexpr int max_stage_signals = 8;  ///< events that one task signals

struct tile_stage {
  int operation = 0;
  int space = 0;
  grain per = grain::item;
  tile_work work{};
  stage_route route = stage_route::local;
  tile_work stay{resource::aic, 0, 0};  ///< of a routed stage: the item does not leave; no tiles: it is sent as well
  int lag = at_once;                    ///< items behind the section's first stage
  bool folds = false;                   ///< adds into its first result, item by item (group by group) in order
  int reads = 0, writes = 0;
  chain_read read[max_stage_reads] = {};
  int write[max_stage_writes] = {};
};

/// Numbers of a task's `item` that one unit of the stage takes: unit · stride + tile.
constexpr int stride_of(const tile_stage& s) {
  return s.route == stage_route::local || s.work.tiles > s.stay.tiles ? s.work.tiles : s.stay.tiles;
}

inline constexpr int max_chain_spaces = 4;
inline constexpr int max_chain_tensors = 48;
inline constexpr int max_chain_stages = 32;
inline constexpr int max_chain_groups = 256;
inline constexpr int max_chain_ranks = 64;

/// Buffers that groups take turns in: of group g `buffer[g]`, after group `previous[g]` is done with it (-1: free).
struct chain_window {
  int buffers = 0;
  int buffer[max_chain_groups] = {};
  int previous[max_chain_groups] = {};
};

struct tile_chain {
  int devices = 1;  ///< ranks that items rotate over
  int ranks = 1;    ///< ranks that are lowered: 1 (one among equals) or `devices`
  rotation_kind rotation = rotation_kind::cyclic;
  bool own_first = false;  ///< the items that stay on their device are the first of each `devices`, not the last
  int spaces = 0, tensors = 0, stages = 0;
  tile_space space[max_chain_spaces] = {};
  chain_tensor tensor[max_chain_tensors] = {};
  tile_stage stage[max_chain_stages] = {};
  chain_window window{};
  std::int64_t overhead = 0;  ///< picoseconds of a task without rows
};

constexpr int add_space(tile_chain& c, int items, int per_group) {
  c.space[c.spaces].items = items;
  c.space[c.spaces].per_group = per_group;
  return c.spaces++;
}

constexpr int add_tensor(tile_chain& c, int space, grain held, std::int64_t bytes, int tier = 0) {
  c.tensor[c.tensors] = {space, held, bytes, tier, false, -1};
  return c.tensors++;
}

/// The value that a later stage leaves in the slots of `tensor`.
constexpr int add_update(tile_chain& c, int tensor) {
  c.tensor[c.tensors] = c.tensor[tensor];
  c.tensor[c.tensors].shares = tensor;
  return c.tensors++;
}

/// Adds a stage that runs `work` once per unit of `per`; returns it for reads, writes, lag and route.
constexpr tile_stage& add_stage(tile_chain& c, int operation, int space, grain per, const tile_work& work,
                                int lag = at_once) {
  tile_stage& s = c.stage[c.stages++];
  s.operation = operation;
  s.space = space;
  s.per = per;
  s.work = work;
  s.lag = lag;
  return s;
}

constexpr void add_read(tile_stage& s, int tensor, grain takes = grain::item) {
  s.read[s.reads++] = {tensor, takes, takes};
}
constexpr void add_write(tile_stage& s, int tensor) { s.write[s.writes++] = tensor; }

/// Whether stage `s` is interleaved with the one listed before it: both have lags, over one space.
constexpr bool continues_section(const tile_chain& c, int s) {
  return s > 0 && c.stage[s].lag != at_once && c.stage[s - 1].lag != at_once &&
         c.stage[s].space == c.stage[s - 1].space;
}

/// Puts a barrier between operators: what a framework without a taskflow launches. Only windowed tensors are still
/// waited for by group, for they never are on the device all at once.
constexpr void serialize(tile_chain& c) {
  for (int s = 0; s < c.stages; ++s) {
    c.stage[s].lag = at_once;
    for (int r = 0; r < c.stage[s].reads; ++r)
      if (c.stage[s].read[r].takes != grain::tile && !c.tensor[c.stage[s].read[r].tensor].windowed)
        c.stage[s].read[r].waits = grain::whole;
  }
}

/// The step of the rotation in which an item travels: 1, 2, … and then 0, the rows that stay, or these first.
constexpr int rotation_of(const tile_chain& c, int item) { return (c.own_first ? item : item + 1) % c.devices; }

/// Rank that receives item `item` from `rank`, and the rank that `rank` has it from.
constexpr int receiver_of(const tile_chain& c, int rank, int item) {
  return c.ranks == 1 ? 0 : rotation_peer(c.rotation, c.devices, rank, rotation_of(c, item));
}
constexpr int source_of(const tile_chain& c, int rank, int item) {
  return c.ranks == 1 ? 0 : rotation_source(c.rotation, c.devices, rank, rotation_of(c, item));
}

}}  // namespace hyperparallel::v0_2
