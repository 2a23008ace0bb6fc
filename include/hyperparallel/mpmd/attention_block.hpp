// SPDX-License-Identifier: Apache-2.0
#pragma once
// The attention block of a transformer as one chain, whole or cut over `devices` ranks by heads:
//
//   norm → (all-gather →) QKV → attention → projection (→ reduce-scatter) → residual add
//
// Items are row blocks, groups are sequences. A rank owns the same share of every sequence (sequence parallelism); its
// rows travel to the ranks that have the heads and come back as partial sums, which are added to the residual in rising
// rank number. Attention is the one join: a row needs the keys and values of its sequence and of no other, so the rows
// of the next sequence travel and are projected meanwhile: the chain's own order (`priority::reference_order`) lets
// each sequence's projection follow its attention, and its results travel back before those of the next come. Law: the
// values do not depend on the order of blocks, and the serialized chain writes the same. Sources: arXiv 2205.05198
// (sequence parallelism), 2406.06858 (tile-wise overlap).

#include <hyperparallel/mpmd/collective_matmul.hpp>

namespace hyperparallel { inline namespace v0_2 {

enum class attention_operation : int {
  norm,     ///< item: own part · pieces + row piece
  gather,   ///< item: block · pieces + row piece; normed rows to the receiver
  qkv,      ///< item: block · tiles + column tile
  attend,   ///< item: block · local heads + head
  project,  ///< item: block · tiles + column tile
  scatter,  ///< item: block · pieces + row piece; partial rows back to their source
  add,      ///< item: own part · pieces + row piece; residual + sum over ranks in rising number
};
inline constexpr int attention_operation_count = 7;
inline constexpr const char* attention_operation_names[attention_operation_count] = {
    "norm", "all-gather", "QKV", "attention", "projection", "reduce-scatter", "residual add"};

/// Everything that the chain depends on.
struct attention_block {
  int sequences = 1;
  std::int64_t sequence_length = 0;
  std::int64_t hidden = 0;
  int heads = 1, key_heads = 1, head_size = 128;
  bool causal = true;  ///< a block is priced at the mean of all: half of the keys
  int devices = 1;
  int ranks = 1;  ///< ranks that are lowered: 1 or `devices`
  rotation_kind rotation = rotation_kind::farthest_first;
  int blocks = 1;  ///< of one rank's rows of a sequence
  int tile_columns = 256;
  int vector_pieces = 24;  ///< tasks that share the norm, or the sum, of one rank's rows of a sequence
  int copy_pieces = 8;     ///< of a block that stays on its device
  int lag = 2;             ///< the projection of a block follows attention so many blocks later
  int element_bytes = 2;
  bool serialized = false;
  std::int64_t time[attention_operation_count] = {};  ///< picoseconds of one tile
  std::int64_t copy_time = 0;
};

constexpr std::int64_t rows_of_block(const attention_block& p) { return p.sequence_length / p.devices / p.blocks; }
constexpr std::int64_t qkv_columns(const attention_block& p) {
  return std::int64_t{p.heads + 2 * p.key_heads} * p.head_size / p.devices;
}
constexpr std::int64_t own_rows(const attention_block& p) {
  return p.devices == 1 ? rows_of_block(p) : p.sequence_length / p.devices;
}

/// Prices every tile on `device`, whose matmuls reach `reached`; the exponentials of attention are hidden by its two
/// products. Returns the code of the first price that could not be told: its duration then means nothing. O(1).
constexpr cost_code price_attention(attention_block& p, const device_value& device, int vector_queues,
                                    efficiency reached, const link_level& link) {
  const std::int64_t rows = rows_of_block(p), row_bytes = p.hidden * p.element_bytes, own = own_rows(p);
  first_complaint priced;
  const auto vector = [&](std::int64_t bytes) {
    return device.task_overhead + priced.time_of(vector_time(device, bytes, vector_queues));
  };
  const auto matrix = [&](std::int64_t columns, std::int64_t depth) {
    return device.task_overhead + priced.time_of(matmul_time(device, rows, columns, depth, reached));
  };
  const auto set = [&](attention_operation o, std::int64_t time) { p.time[static_cast<int>(o)] = time; };
  const std::int64_t bytes = p.sequences * p.sequence_length * row_bytes;
  const int puts = p.sequences * p.blocks * (p.devices - 1);
  set(attention_operation::norm, vector(2 * own * row_bytes / p.vector_pieces));
  set(attention_operation::gather, priced.time_of(put_time(collective::all_gather, p.devices, bytes, puts, link)));
  set(attention_operation::qkv, matrix(p.tile_columns, p.hidden));
  set(attention_operation::attend, matrix(p.sequence_length, p.causal ? p.head_size : 2 * p.head_size));
  set(attention_operation::project, matrix(p.tile_columns, std::int64_t{p.heads} * p.head_size / p.devices));
  set(attention_operation::scatter, priced.time_of(put_time(collective::reduce_scatter, p.devices, bytes, puts, link)));
  set(attention_operation::add, vector((p.devices + 2) * own * row_bytes / p.vector_pieces));
  p.copy_time = vector(2 * rows * row_bytes / p.copy_pieces);
  return priced.code;
}

/// Numbers of the chain's tensors; -1 where nothing travels.
struct attention_tensors {
  int input = -1, qkv_weight = -1, out_weight = -1;
  int normed = -1, gathered = -1, qkv = -1, heads = -1, partial = -1, returned = -1, output = -1;
};

struct attention_chain {
  tile_chain chain{};
  attention_tensors tensor{};
};

/// The chain of `p`. Domain: devices · blocks divides the sequence length, devices both numbers of heads, tile_columns
/// the columns; at most `max_chain_ranks` devices. O(1).
constexpr attention_chain describe_attention(const attention_block& p) {
  attention_chain m;
  tile_chain& c = m.chain;
  attention_tensors& t = m.tensor;
  c.devices = p.devices;
  c.ranks = p.ranks;
  c.rotation = p.rotation;
  c.own_first = true;
  const bool cut = p.devices > 1;
  const int per_sequence = p.blocks * p.devices, space = add_space(c, p.sequences * per_sequence, per_sequence);
  const std::int64_t bytes = p.element_bytes, block = rows_of_block(p) * bytes, own = own_rows(p) * bytes;
  const std::int64_t inner = std::int64_t{p.heads} * p.head_size / p.devices;
  const grain part = cut ? grain::group : grain::item;  // own rows of a sequence, or a block where all are own
  const auto number = [](attention_operation o) { return static_cast<int>(o); };
  const auto time = [&](attention_operation o) { return p.time[static_cast<int>(o)]; };
  const auto matmul = [&](attention_operation o, std::int64_t columns, int rows, grain takes, int weight, int lag) {
    const tile_work work{resource::aic, static_cast<int>(columns / p.tile_columns), time(o)};
    return add_matmul(c, space, number(o), work, rows, takes, weight, block * columns, lag);
  };
  const auto transfer = [&](attention_operation o, stage_route route, int from, grain takes, int lag) {
    return add_transfer(c, space, {number(o), time(o), {resource::aiv, p.copy_pieces, p.copy_time}}, route, from, takes,
                        block * p.hidden, lag);
  };
  t.input = add_tensor(c, space, part, own * p.hidden);
  t.qkv_weight = add_tensor(c, space, grain::whole, p.hidden * qkv_columns(p) * bytes);
  t.out_weight = add_tensor(c, space, grain::whole, inner * p.hidden * bytes);
  t.normed = add_tensor(c, space, part, own * p.hidden);
  tile_stage& norm = add_stage(c, number(attention_operation::norm), space, part,
                               {resource::aiv, p.vector_pieces, time(attention_operation::norm)});
  add_read(norm, t.input, part);
  add_write(norm, t.normed);
  if (cut) t.gathered = transfer(attention_operation::gather, stage_route::to_receiver, t.normed, part, at_once);
  // Attention follows the rows of its sequence, the projection follows attention: one section, a sequence apart.
  t.qkv = matmul(attention_operation::qkv, qkv_columns(p), cut ? t.gathered : t.normed, grain::item, t.qkv_weight, 0);
  t.heads = add_tensor(c, space, grain::item, block * inner);
  tile_stage& attend = add_stage(c, number(attention_operation::attend), space, grain::item,
                                 {resource::aic, p.heads / p.devices, time(attention_operation::attend)}, per_sequence);
  add_read(attend, t.qkv, grain::group);
  add_write(attend, t.heads);
  const int behind = per_sequence + p.lag;
  t.partial = matmul(attention_operation::project, p.hidden, t.heads, grain::item, t.out_weight, behind);
  if (cut) t.returned = transfer(attention_operation::scatter, stage_route::to_source, t.partial, grain::item, behind);
  t.output = add_tensor(c, space, part, own * p.hidden);
  tile_stage& add = add_stage(c, number(attention_operation::add), space, part,
                              {resource::aiv, p.vector_pieces, time(attention_operation::add)}, behind);
  add_read(add, cut ? t.returned : t.partial, part);
  add_read(add, t.input, part);
  add_write(add, t.output);
  if (p.serialized) serialize(c);
  return m;
}

/// Writes the taskflow of `p` into `f`; call `seal` after it. O(tasks).
struct attention_builder {
  attention_block plan;
  template <class Flow>
  constexpr void operator()(Flow& f) const {
    lower_chain(describe_attention(plan).chain, f);
  }
  static constexpr const char* operation_name(int number) { return attention_operation_names[number]; }
};

}}  // namespace hyperparallel::v0_2
