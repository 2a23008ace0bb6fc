// SPDX-License-Identifier: Apache-2.0
#pragma once
// The program that every device of a mesh runs: what the partitioner makes of a graph and a strategy.
//
// A *value* is a tensor under one layout. Steps stand in the order in which one device runs them: a compute step is an
// operator of the graph under a placement, from values to values; a move takes one value to another layout of the same
// tensor. A *storage* is memory that values share one after the other: a parameter and its next value are one storage,
// anything else has its own. Storages of homes (inputs, parameters, states) live from the first step to the last.
//
// Laws: a step reads only values that earlier steps wrote, or homes; a value is written once; the value a `replaces`
// tensor ends in has the layout and the storage of the home that it replaces; steps of one phase stand together, phases
// in order. Steps forward to accumulate run once a micro-batch, norm and update once a step of training.
// What belongs to a segment of a folded graph runs as often as the segment repeats.
//
// A program has one part or several: programs on ranks of their own, a mesh of them each, whose storages and steps stand in
// one list. A step works on the ranks of the part whose storage it writes. A compute step reads its own part alone; a
// move from a value of another part is a *hand-over*, which its receivers pull. Parts may have meshes and strategies of
// their own; values of a part are laid out on its mesh. `unrolled`: the steps are those of all
// micro-batches, values of each its own, in an order that interleaves forward and backward (lowering/unrolled_rows.hpp);
// then the inputs of micro-batch m are the values home + m. Where stages are held twice, on two parts, parameters and states
// have another home, as has a parameter that two stages read; other homes are set, cleared and updated like the first.
//
// Operators work in tier 0. A move between tiers is a cache operator: `prefetch` copies towards tier 0, `store` away
// from it, `detach` gives the source's memory back, for the value lies in its target, a slower tier, as well. Law:
// cache operators keep the layout; what is detached is read no more.
//
// A step may stand there as tiles (tiles/tile_program.hpp): parts of it, each once, in any order that keeps what the others
// make of them. A value that tiles write is written when all of them are.

#include <hyperparallel/graph/operator_placement.hpp>
#include <hyperparallel/hardware/device.hpp>
#include <hyperparallel/layout/slice.hpp>
#include <hyperparallel/strategy/step_tile.hpp>
#include <hyperparallel/strategy/strategy.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Blocks that have travelled `by` places along a mesh axis: the device at coordinate c holds the block of c - by.
struct value_rotation {
  int axis = -1;
  int by = 0;
  friend constexpr bool operator==(const value_rotation&, const value_rotation&) = default;
};

struct program_value {
  int tensor = -1;
  layout_value layout{};
  value_rotation rotation{};
  int storage = -1;
};

struct program_storage {
  int tensor = -1;     ///< the first one that it holds
  bool home = false;   ///< lives through the whole step
  extent_t bytes = 0;  ///< on one device
  int tier = 0;        ///< of the device
  int held = -1;  ///< it keeps its memory up to this step, though none that late may use it; -1: up to its last use
  int part = 0;
};

/// Ranks that run one program: the positions of a mesh, one after the other.
struct program_part {
  mesh_value mesh{};
  int first_rank = 0;
  short_text strategy{};  ///< its name, where it is of its own
};

struct program_compute {
  int op = -1;
  operator_placement placement{};
  int operand[max_operator_operands] = {};  ///< values
  int result[max_operator_results] = {};
};

struct program_move {
  int source = -1;  ///< values
  int target = -1;
  int bucket = -1;  ///< moves of one bucket travel together
  bool detaches = false;
  int held = -1;  ///< what it stages keeps its memory up to this step; -1: up to its own
};

struct program_step {
  bool is_move = false;
  int index = 0;  ///< into `compute` or `move`
  graph_phase phase = graph_phase::forward;
  int segment = -1;
  int stage = 0;        ///< of the pipeline
  int micro_batch = 0;  ///< of an unrolled program
  step_tile tile{};     ///< where it is one, the others of the step stand beside it
};

/// A tensor that a rule of a stage was to cut along an axis and did not, since an update needs its dims whole. The stage
/// says what stays whole: the parameter, its gradient or its states. Tensors of one element are not listed.
struct whole_tensor {
  int parameter = -1;
  rule_stage stage = rule_stage::parameter;
  int axis = -1;
  friend constexpr bool operator==(const whole_tensor&, const whole_tensor&) = default;
};

struct sharded_program {
  hyperparallel::graph graph;  ///< with what the partitioner added
  mesh_value mesh{};           ///< of the first part
  growing_array<program_value> value;
  growing_array<program_storage> storage;
  growing_array<program_compute> compute;
  growing_array<program_move> move;
  growing_array<program_step> step;
  growing_array<int> home;           ///< of each tensor: its value before the first step, or -1
  growing_array<int> other_home;     ///< of values that are homes: another one of the tensor, or -1; may end earlier
  growing_array<program_part> part;  ///< none: one part, on `mesh`
  bool unrolled = false;
  growing_array<whole_tensor> whole;
  int buckets = 0;
  strategy_status status{};
  short_text strategy{};  ///< the name of the strategy that it was made under
};

constexpr int parts_of(const sharded_program& p) { return p.part.empty() ? 1 : p.part.size; }
namespace detail {

constexpr const mesh_value& named_mesh_of_part(const sharded_program& p, int part) {
  return p.part.empty() ? p.mesh : p.part.item[part].mesh;
}
constexpr const mesh_shape& mesh_of_part(const sharded_program& p, int part) {
  return named_mesh_of_part(p, part).shape;
}

}  // namespace detail
constexpr int first_rank_of(const sharded_program& p, int part) {
  return p.part.empty() ? 0 : p.part.item[part].first_rank;
}
namespace detail {

constexpr int ranks_of_part(const sharded_program& p, int part) { return position_count(mesh_of_part(p, part)); }

}  // namespace detail
/// Ranks of all parts.
constexpr int ranks_of(const sharded_program& p) {
  return first_rank_of(p, parts_of(p) - 1) + detail::ranks_of_part(p, parts_of(p) - 1);
}
namespace detail {

/// The part of a rank of the program. O(parts).
constexpr int part_of_rank(const sharded_program& p, int rank) {
  int part = parts_of(p) - 1;
  while (first_rank_of(p, part) > rank) --part;
  return part;
}
constexpr int part_of_value(const sharded_program& p, int value) {
  return p.part.empty() ? 0 : p.storage.item[p.value.item[value].storage].part;
}
/// The part on whose ranks a step works.
constexpr int part_of_step(const sharded_program& p, const program_step& s) {
  return part_of_value(p, s.is_move ? p.move.item[s.index].target : p.compute.item[s.index].result[0]);
}
constexpr bool is_hand_over(const sharded_program& p, const program_move& m) {
  return part_of_value(p, m.source) != part_of_value(p, m.target);
}

/// The home that comes after the home `value` of the same tensor, or -1.
constexpr int other_home_of(const sharded_program& p, int value) {
  return value < p.other_home.size ? p.other_home.item[value] : -1;
}

/// Calls `visit` for each value that a tensor has before the first step: of an input of an unrolled program one a
/// micro-batch, of what lives in several places all.
template <class Visit>
constexpr void visit_homes(const sharded_program& p, int tensor, const Visit& visit) {
  const int home = p.home.item[tensor];
  if (home < 0) return;
  const bool fed = p.unrolled && p.graph.tensor.item[tensor].kind == graph_tensor_kind::input;
  for (int k = 0; k < (fed ? p.graph.micro_batches : 1); ++k) visit(home + k);
  for (int v = other_home_of(p, home); v >= 0; v = other_home_of(p, v)) visit(v);
}

}  // namespace detail

/// The box of a value on the device at `position`, in coordinates of the whole tensor. O(dims + cuts).
constexpr box box_of(const sharded_program& p, int value, int position) {
  const program_value& v = p.value[value];
  coordinate at = coordinates_of(v.layout.mesh, position);
  if (v.rotation.axis >= 0) {
    const int n = v.layout.mesh.size[v.rotation.axis];
    at.at[v.rotation.axis] = (at.at[v.rotation.axis] + n - v.rotation.by % n) % n;
  }
  return slice_at(v.layout, p.graph.tensor[v.tensor].shape, at);
}

/// Elements of a value on the device that holds most of it: on every device, but where a dim is padded.
constexpr extent_t local_elements(const sharded_program& p, int value) {
  const shape& s = p.graph.tensor.item[p.value.item[value].tensor].shape;
  const layout_value& l = p.value.item[value].layout;
  extent_t n = 1;
  if (l.padded != 0) {
    const shard_counts pieces = detail::count_shards(l);
    for (int d = 0; d < s.rank; ++d)
      static_cast<void>(__builtin_mul_overflow(n, ceil_divide(s.extent[d], pieces.of[d]), &n));
    return n;
  }
  for (int d = 0; d < s.rank; ++d) static_cast<void>(__builtin_mul_overflow(n, s.extent[d], &n));
  for (int i = 0; i < l.cut_count; ++i) n /= l.cut[i].size;
  return n;
}
constexpr extent_t local_bytes(const sharded_program& p, int value) {
  return local_elements(p, value) * bytes_of(p.graph.tensor.item[p.value.item[value].tensor].type);
}

enum class cache_operator : unsigned char { within_tier, prefetch, store, detach };

constexpr const char* name_of(cache_operator c) {
  constexpr const char* names[] = {"move", "prefetch", "store", "detach"};
  return names[static_cast<int>(c)];
}

namespace detail {

constexpr int tier_of(const sharded_program& p, int value) { return p.storage.item[p.value.item[value].storage].tier; }

}  // namespace detail
/// `within_tier` where the move stays in its tier.
constexpr cache_operator cache_operator_of(const sharded_program& p, const program_move& m) {
  if (m.detaches) return cache_operator::detach;
  const int from = detail::tier_of(p, m.source), to = detail::tier_of(p, m.target);
  return from == to ? cache_operator::within_tier : to < from ? cache_operator::prefetch : cache_operator::store;
}

/// Phases by bits: those of a micro-batch, and those once a step of training.
inline constexpr unsigned micro_phases = 1u << static_cast<int>(graph_phase::forward) |
                                         1u << static_cast<int>(graph_phase::backward) |
                                         1u << static_cast<int>(graph_phase::accumulate);
inline constexpr unsigned update_phases =
    1u << static_cast<int>(graph_phase::norm) | 1u << static_cast<int>(graph_phase::update);

constexpr bool is_in(graph_phase phase, unsigned phases) { return (phases >> static_cast<int>(phase) & 1u) != 0; }

/// How often the step happens in a step of training.
constexpr extent_t times_of(const sharded_program& p, const program_step& s) {
  const bool every = p.unrolled || s.phase == graph_phase::norm || s.phase == graph_phase::update;
  return detail::repeats_of(p.graph, s.segment) * (every ? 1 : p.graph.micro_batches);
}

namespace detail {

/// What a value sees of a tile of a step.
constexpr step_tile tile_in(const sharded_program& p, int value, const step_tile& tile) {
  return tile_in(p.graph.tensor.item[p.value.item[value].tensor], tile);
}

}  // namespace detail

}}  // namespace hyperparallel::v0_2
