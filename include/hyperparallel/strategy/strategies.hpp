// SPDX-License-Identifier: Apache-2.0
#pragma once
// The parallelisms people know, each a few rules on an axis. Products are made by adding several to one strategy.
//
// The order of calls matters where two speak of one axis: the first that fits an operator decides. Dims are those that
// the layers of layers/ use; a model may lack any but those of its own parallelism.
// Sources: ZeRO 1910.02054; Megatron 1909.08053 and 2205.05198; SUMMA/Optimus 2104.05343; 2.5D 2105.14500; 3D
// 2105.14450; MindSpore's high-dimensional tensor parallelism; Ulysses 2309.14509; ring attention 2310.01889;
// GShard 2006.16668; HSDP as PyTorch's hybrid sharding, levels as MindSpore's.

#include <hyperparallel/strategy/strategy.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Each device a part of the batch.
constexpr void add_data_parallel(strategy_value& s, const char* axis) { s.add(shard_dim("batch", axis)); }

/// ZeRO stages 1 to 3 on a data axis: optimizer states, then gradients, then parameters are sharded as well. Stage 1
/// lets gradients wait for the update; stage 3 gathers parameters for forward and again for backward.
constexpr void add_zero(strategy_value& s, const char* axis, int stage) {
  add_data_parallel(s, axis);
  s.add(shard_stage(rule_stage::state, axis));
  s.reduce_at_once = stage > 1;
  if (stage > 1) s.add(shard_stage(rule_stage::gradient, axis));
  if (stage > 2) s.add(shard_stage(rule_stage::parameter, axis));
}

namespace detail {

/// Hybrid sharding, levels 1 to 3: parameters and states are sharded along `shard` and replicated along `replicate`;
/// level 2 shards gradients too, level 3 gives gathered parameters up before backward.
constexpr void add_hybrid_sharded(strategy_value& s, const char* replicate, const char* shard, int level) {
  add_data_parallel(s, replicate);
  add_data_parallel(s, shard);
  s.add(shard_stage(rule_stage::parameter, shard)).add(shard_stage(rule_stage::state, shard));
  if (level > 1) s.add(shard_stage(rule_stage::gradient, shard));
  s.reshard_after_forward = level > 2;
}

/// Heads of attention; groups of queries where key heads do not divide, keys and values are then replicated.
constexpr void add_heads(strategy_value& s, const char* axis, const char* where = "*") {
  s.add(shard_dim_if_divisible("key_heads", axis, where))
      .add(shard_dim_if_present("query_group", axis, where))
      .add(shard_dim_if_present("heads", axis, where))
      .add(shard_dim_if_divisible("state_heads", axis, where))
      .add(shard_dim_if_present("state_group", axis, where));
}
/// Heads of linear attention, whose sequences are whole, along an axis that cuts the sequence elsewhere.
constexpr void add_state_heads(strategy_value& s, const char* axis) {
  s.add(shard_dim_if_divisible("state_heads", axis, "*.state.*"))
      .add(shard_dim_if_present("state_group", axis, "*.state.*"));
}

}  // namespace detail

/// 1D tensor parallel: heads, feed-forward widths and the vocabulary. Column, then row parallel, by the dims' names.
constexpr void add_tensor_parallel(strategy_value& s, const char* axis) {
  detail::add_heads(s, axis);
  s.add(shard_dim_if_present("ffn", axis))
      .add(shard_dim_if_present("shared_ffn", axis))
      .add(shard_dim_if_present("expert_ffn", axis))
      .add(shard_dim_if_present("vocab", axis));
}

namespace detail {

/// Sequence parallel between the blocks of tensor parallelism: call after `add_tensor_parallel` on the same axis.
constexpr void add_sequence_parallel(strategy_value& s, const char* axis) { s.add(shard_dim("seq", axis)); }

/// The vocabulary alone: embedding, logits and loss.
constexpr void add_vocabulary_parallel(strategy_value& s, const char* axis) { s.add(shard_dim("vocab", axis)); }

/// 2D tensor parallel of matrix pairs: hidden goes to `x`, widths and heads to `y`, activations to both.
constexpr void add_tensor_2d(strategy_value& s, const char* x, const char* y) {
  s.add(shard_dim("hidden", x));
  add_tensor_parallel(s, y);
  s.add(shard_dim_if_divisible("hidden", y));
  add_heads(s, x);
  s.add(shard_dim_if_divisible("ffn", x))
      .add(shard_dim_if_divisible("shared_ffn", x))
      .add(shard_dim_if_divisible("expert_ffn", x));
}

/// SUMMA: rows of activations to `row`, output dims to `column`, weights to both; a block of a product gathers its
/// row of activations and its column of weights.
constexpr void add_summa(strategy_value& s, const char* row, const char* column) {
  add_data_parallel(s, row);
  s.add(shard_dim_if_divisible("output", column))
      .add(shard_dim_if_divisible("expert_ffn", column, "*.experts.*"))
      .add(shard_dim_if_divisible("hidden", column, "*.experts.down"))
      .add(shard_dim_if_divisible("key_heads", column))
      .add(shard_dim_if_divisible("heads", column))
      .add(shard_dim_if_divisible("state_heads", column))
      .add(shard_dim_if_divisible("ffn", column))
      .add(shard_dim_if_divisible("shared_ffn", column))
      .add(shard_dim_if_divisible("vocab", column, "*head*"))
      .add(shard_dim("hidden", column));
  s.add(shard_stage(rule_stage::parameter, row))
      .add(shard_stage(rule_stage::gradient, row))
      .add(shard_stage(rule_stage::state, row));
}

/// Slots of experts along an axis that cuts the sequence elsewhere: each rank computes a part of them, from all tokens of a group.
constexpr void add_expert_slots(strategy_value& s, const char* axis) {
  s.add(shard_dim_if_divisible("capacity", axis));
}

/// Context parallel by all-to-all (Ulysses): the sequence everywhere, heads inside attention.
constexpr void add_ulysses(strategy_value& s, const char* axis) {
  add_heads(s, axis, "*.attend");
  add_state_heads(s, axis);
  s.add(shard_dim("seq", axis));
  add_expert_slots(s, axis);
}
/// Context parallel with gathered keys and values.
constexpr void add_gathered_context(strategy_value& s, const char* axis) {
  add_state_heads(s, axis);
  s.add(shard_dim("seq", axis));
  add_expert_slots(s, axis);
}

/// Context parallel by rotating blocks of keys and values.
constexpr void add_ring(strategy_value& s, const char* axis) {
  add_state_heads(s, axis);
  s.add(shard_dim("seq", axis));
  add_expert_slots(s, axis);
  s.ring_axis = short_text(axis);
}

}  // namespace detail

/// Experts on the axis that shards the tokens elsewhere: dispatch and combine are all-to-alls. Call before the
/// parallelism that shards tokens along it.
constexpr void add_expert_parallel(strategy_value& s, const char* axis) {
  s.add(shard_dim("experts", axis, "*.experts.*"));
}
/// Experts on an axis that shards widths or the sequence elsewhere, as in Megatron's parallel folding: each rank fills a part of the slots
/// and sends it where its expert is. Call before what else the axis shards.
constexpr void add_folded_expert_parallel(strategy_value& s, const char* axis) {
  add_expert_parallel(s, axis);
  s.add(shard_dim("capacity", axis, "*.dispatch")).add(shard_dim("capacity", axis, "*.combine"));
}
namespace detail {

/// Experts on an axis along which tokens are replicated: dispatch takes what is at hand, combine leaves partial sums.
constexpr void add_replicated_expert_parallel(strategy_value& s, const char* axis) {
  s.add(shard_dim("experts", axis, "*.experts.*"))
      .add(shard_dim("experts", axis, "*.dispatch"))
      .add(shard_dim("experts", axis, "*.combine"));
}

/// The short form by names: operators that match are cut along their output (column parallel) …
constexpr void add_column_parallel(strategy_value& s, const char* pattern, const char* axis) {
  s.add(shard_dim("output", axis, pattern));
}
/// … or along what they sum over (row parallel), …
constexpr void add_row_parallel(strategy_value& s, const char* pattern, const char* axis) {
  s.add(shard_dim("input", axis, pattern));
}
/// … or along the sequence.
constexpr void add_sequence_parallel(strategy_value& s, const char* pattern, const char* axis) {
  s.add(shard_dim("seq", axis, pattern));
}

}  // namespace detail

}}  // namespace hyperparallel::v0_2
