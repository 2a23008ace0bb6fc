// SPDX-License-Identifier: Apache-2.0
#pragma once
// A matmul and the collective beside it as one chain, for linear layers cut over `devices` ranks:
//
//   gather_multiply    all-gather → matmul    [rows × depth] · [depth × own columns]: rows travel block by block in the
//                      order of the rotation, own ones first; a tile starts when its block has arrived
//   multiply_scatter   matmul → reduce-scatter    [rows × own depth] · [own depth × columns]: blocks of the peers
//                      first, each put to its receiver when it is computed, own ones last; the receiver sums a block
//                      when the parts of all ranks are there
//
// Items are row blocks; a group is one block of every rank, in the order of the rotation. Laws: puts take together what
// the collective takes on the link; a sum runs over ranks in rising number, whatever order its parts arrive in, so its
// bits depend neither on rotation, tiles nor threads; the serialized chain writes the same values. Source of the idea:
// tile-wise overlap of collectives and matmuls, arXiv 2406.06858.

#include <hyperparallel/hardware/collective_cost.hpp>
#include <hyperparallel/hardware/device.hpp>
#include <hyperparallel/mpmd/lower_chain.hpp>

namespace hyperparallel { inline namespace v0_2 {

enum class collective_matmul_form : unsigned char { gather_multiply, multiply_scatter };

enum class collective_matmul_operation : int {
  gather,    ///< item: block · pieces + row piece; own rows to the receiver
  multiply,  ///< item: block · tiles + column tile
  scatter,   ///< item: block · pieces + row piece; a partial result to the rank whose rows it is
  reduce,    ///< item: own block · pieces + piece; the sum over ranks in rising number
};
inline constexpr int collective_matmul_operation_count = 4;
inline constexpr const char* collective_matmul_operation_names[collective_matmul_operation_count] = {
    "all-gather", "matmul", "reduce-scatter", "sum"};

/// Picoseconds of one tile.
struct collective_matmul_durations {
  std::int64_t put = 0, copy = 0, multiply = 0, reduce = 0;
  cost_code code = cost_code::ok;  ///< of the first price that could not be told: its duration means nothing
};

/// Everything that the chain depends on. `depth` and `columns` are those of one rank's matmul.
struct collective_matmul {
  collective_matmul_form form = collective_matmul_form::gather_multiply;
  std::int64_t rows = 0;  ///< of all ranks
  std::int64_t depth = 0;
  std::int64_t columns = 0;
  int devices = 1;
  int ranks = 1;  ///< ranks that are lowered: 1 or `devices`
  rotation_kind rotation = rotation_kind::farthest_first;
  int row_block = 256;
  int tile_columns = 256;
  int copy_rows = 32;      ///< rows of a piece of a block that stays on its device
  int reduce_pieces = 24;  ///< tasks that share the sum of a block
  int element_bytes = 2;
  bool serialized = false;
  collective_matmul_durations time{};
};

constexpr int own_blocks(const collective_matmul& p) { return static_cast<int>(p.rows / p.devices / p.row_block); }
/// Elements of a row that travels.
constexpr std::int64_t travelling_width(const collective_matmul& p) {
  return p.form == collective_matmul_form::gather_multiply ? p.depth : p.columns;
}

/// Picoseconds of one of the puts of a ring collective of `bytes` in all, cut into `puts` on each rank. O(1).
constexpr time_cost put_time(collective kind, int devices, std::int64_t bytes, int puts, const link_level& link) {
  if (devices == 1) return {};
  time_cost whole = collective_time({kind, collective_algorithm::ring, devices, bytes}, link);
  whole.picoseconds /= puts;
  return whole;
}

/// Prices the tiles on `device`, whose matmuls reach `reached`, with `vector_queues` AIVs sharing the memory. O(1).
constexpr collective_matmul_durations price_collective_matmul(const collective_matmul& p, const device_value& device,
                                                              int vector_queues, efficiency reached,
                                                              const link_level& link) {
  const std::int64_t row_bytes = travelling_width(p) * p.element_bytes;
  const collective kind =
      p.form == collective_matmul_form::gather_multiply ? collective::all_gather : collective::reduce_scatter;
  collective_matmul_durations t;
  first_complaint priced;
  const auto vector = [&](std::int64_t bytes) {
    return device.task_overhead + priced.time_of(vector_time(device, bytes, vector_queues));
  };
  t.put = priced.time_of(put_time(kind, p.devices, p.rows * row_bytes, own_blocks(p) * (p.devices - 1), link));
  t.copy = vector(2 * p.copy_rows * row_bytes);
  t.multiply =
      device.task_overhead + priced.time_of(matmul_time(device, p.row_block, p.tile_columns, p.depth, reached));
  t.reduce = vector((p.devices + 1) * p.row_block * row_bytes / p.reduce_pieces);
  t.code = priced.code;
  return t;
}

/// What sends blocks: a put of one that travels, and the pieces in which one that stays is copied.
struct block_transfer {
  int operation = 0;
  std::int64_t put = 0;
  tile_work stay{};
};

/// Adds a stage that sends `from`, taken by `takes`, along `route`; returns the tensor, held by item, that it fills.
constexpr int add_transfer(tile_chain& c, int space, const block_transfer& x, stage_route route, int from, grain takes,
                           std::int64_t bytes, int lag = at_once) {
  const int to = add_tensor(c, space, grain::item, bytes);
  tile_stage& s = add_stage(c, x.operation, space, grain::item, {resource::link, 1, x.put}, lag);
  s.route = route;
  s.stay = x.stay;
  add_read(s, from, takes);
  add_write(s, to);
  return to;
}

/// Adds a matmul of each item of `rows` with all of `weight`; returns its result.
constexpr int add_matmul(tile_chain& c, int space, int operation, const tile_work& work, int rows, grain takes,
                         int weight, std::int64_t bytes, int lag = at_once) {
  const int to = add_tensor(c, space, grain::item, bytes);
  tile_stage& s = add_stage(c, operation, space, grain::item, work, lag);
  add_read(s, rows, takes);
  add_read(s, weight, grain::whole);
  add_write(s, to);
  return to;
}

/// Numbers of the chain's tensors. `rows`: own blocks by group, or in a scatter all rows; `moved`: what arrived.
struct collective_matmul_tensors {
  int rows = -1, weight = -1, moved = -1, product = -1, sum = -1;
};

struct collective_matmul_chain {
  tile_chain chain{};
  collective_matmul_tensors tensor{};
};

/// The chain of `p`. Domain: devices · row_block divides rows, tile_columns the columns, copy_rows row_block; at most
/// `max_chain_ranks` devices. O(1).
constexpr collective_matmul_chain describe_collective_matmul(const collective_matmul& p) {
  collective_matmul_chain m;
  tile_chain& c = m.chain;
  const bool gathers = p.form == collective_matmul_form::gather_multiply;
  c.devices = p.devices;
  c.ranks = p.ranks;
  c.rotation = p.rotation;
  c.own_first = gathers;
  const int space = add_space(c, own_blocks(p) * p.devices, p.devices);
  const std::int64_t block = std::int64_t{p.row_block} * p.element_bytes, tiles = p.columns / p.tile_columns;
  const tile_work product{resource::aic, static_cast<int>(tiles), p.time.multiply};
  const auto number = [](collective_matmul_operation o) { return static_cast<int>(o); };
  const block_transfer transfer{
      number(gathers ? collective_matmul_operation::gather : collective_matmul_operation::scatter),
      p.time.put,
      {resource::aiv, p.row_block / p.copy_rows, p.time.copy}};
  const int multiply = number(collective_matmul_operation::multiply);
  collective_matmul_tensors& t = m.tensor;
  t.weight = add_tensor(c, space, grain::whole, p.depth * p.columns * p.element_bytes);
  if (gathers) {
    t.rows = add_tensor(c, space, grain::group, block * p.depth);
    t.moved = add_transfer(c, space, transfer, stage_route::to_receiver, t.rows, grain::group, block * p.depth);
    t.product = add_matmul(c, space, multiply, product, t.moved, grain::item, t.weight, block * p.columns);
  } else {
    t.rows = add_tensor(c, space, grain::whole, p.rows * p.depth * p.element_bytes);
    t.product = add_matmul(c, space, multiply, product, t.rows, grain::whole, t.weight, block * p.columns, 0);
    t.moved = add_transfer(c, space, transfer, stage_route::to_receiver, t.product, grain::item, block * p.columns, 0);
    t.sum = add_tensor(c, space, grain::group, block * p.columns);
    tile_stage& sum = add_stage(c, number(collective_matmul_operation::reduce), space, grain::group,
                                {resource::aiv, p.reduce_pieces, p.time.reduce}, 0);
    add_read(sum, t.moved, grain::group);
    add_write(sum, t.sum);
  }
  if (p.serialized) serialize(c);
  return m;
}

/// Writes the taskflow of `p` into `f`; call `seal` after it. O(tasks).
struct collective_matmul_builder {
  collective_matmul plan;
  template <class Flow>
  constexpr void operator()(Flow& f) const {
    lower_chain(describe_collective_matmul(plan).chain, f);
  }
  static constexpr const char* operation_name(int number) { return collective_matmul_operation_names[number]; }
};

}}  // namespace hyperparallel::v0_2
