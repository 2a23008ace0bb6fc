// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bytes that one device receives in a step of training, taken from the moves of its program.
//
// A move counts what its busiest receiver takes, step by step in the way that is carried out (strategy/move_kinds.hpp), as
// often as it happens: repeated segments, micro-batches. Sums are by phase, by what travels and by the set of mesh axes
// along which it travels. Where links are given, sums by link level are what the busiest receiver of each level takes; of
// a full mesh what the busiest link along each axis carries.
// Laws: each of the first three adds up to the total; on a topology that is at most the sum over all levels. Conventions:
// received bytes of wire types, forwarded ones included, own ones not. Units: bytes. O(moves · kinds of moves) and what
// loads take.

#include <hyperparallel/lowering/move_loads.hpp>
#include <hyperparallel/support/static_vector.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// What travels.
enum class traffic_class : unsigned char { parameters, gradients, activations, states };
inline constexpr int traffic_class_count = 4;

constexpr const char* name_of(traffic_class c) {
  constexpr const char* names[] = {"parameters", "gradients", "activations", "states"};
  return names[static_cast<int>(c)];
}

namespace detail {

/// Gradients of parameters, accumulated ones too; any other gradient is an activation's.
constexpr traffic_class traffic_class_of(const graph& g, int tensor) {
  const graph_tensor& t = g.tensor[tensor];
  switch (t.kind) {
    case graph_tensor_kind::parameter:
      return traffic_class::parameters;
    case graph_tensor_kind::state:
      return t.producer >= 0 && g.value_of(g.op[t.producer]).accumulates ? traffic_class::gradients
                                                                         : traffic_class::states;
    case graph_tensor_kind::gradient:
      if (t.source >= 0 && g.tensor[t.source].kind == graph_tensor_kind::parameter) return traffic_class::gradients;
      break;
    case graph_tensor_kind::input:
    case graph_tensor_kind::activation:
      break;
  }
  return traffic_class::activations;
}

}  // namespace detail

/// What travels along exactly the axes of a mask, bit a for axis a.
struct axes_traffic {
  unsigned axes = 0;
  extent_t bytes = 0;
  extent_t moves = 0;
  friend constexpr bool operator==(const axes_traffic&, const axes_traffic&) = default;
};

inline constexpr int max_axis_sets = 24;

struct traffic_account {
  extent_t bytes = 0;
  extent_t moves = 0;  ///< in which something is received
  extent_t by_phase[graph_phase_count] = {};
  extent_t by_class[traffic_class_count] = {};
  static_vector<axes_traffic, max_axis_sets> by_axes{};  ///< in order of their first move; what is left over is last
  extent_t by_level[max_link_levels] = {};               ///< of the busiest receiver there
  extent_t messages[max_link_levels] = {};               ///< likewise
  friend constexpr bool operator==(const traffic_account&, const traffic_account&) = default;

  /// Of a program that is refused: `not_counted` everywhere, along no axes.
  static constexpr traffic_account of_nothing() {
    traffic_account a;
    a.bytes = a.moves = not_counted;
    for (extent_t& bytes : a.by_phase) bytes = not_counted;
    for (extent_t& bytes : a.by_class) bytes = not_counted;
    for (int l = 0; l < max_link_levels; ++l) a.by_level[l] = a.messages[l] = not_counted;
    return a;
  }
};

namespace detail {

constexpr void add_axes(traffic_account& a, unsigned axes, extent_t bytes, extent_t times) {
  int i = 0;
  while (i < a.by_axes.size && a.by_axes.item[i].axes != axes) ++i;
  if (i == max_axis_sets) --i;
  if (i == a.by_axes.size) a.by_axes.push({axes, 0, 0});
  a.by_axes.item[i].axes |= axes;
  a.by_axes.item[i].bytes += bytes;
  a.by_axes.item[i].moves += times;
}

}  // namespace detail

/// Calls `visit(step, kind, bytes, times)` for each move that brings something: what its busiest receiver takes in a step of
/// training, and how often it runs in it.
template <class Visit>
constexpr void visit_traffic(const sharded_program& p, const program_moves& moves, const Visit& visit) {
  for (int i = 0; i < p.step.size; ++i) {
    const program_step& s = p.step.item[i];
    if (!s.is_move) continue;
    const move_kind& k = kind_of(moves, s.index);
    if (k.received == 0) continue;
    const int tensor = p.value.item[p.move.item[s.index].source].tensor;
    const extent_t times = times_of(p, s);
    visit(s, k, k.received * bytes_of(p.graph.tensor.item[tensor].type) * times, times);
  }
}

/// The account of a program whose moves are sorted. `load` is of each kind, or empty: then no levels are counted. Of a
/// refused program it is `traffic_account::of_nothing()`.
constexpr traffic_account traffic_of(const sharded_program& p, const program_moves& moves,
                                     const growing_array<move_load>& load) {
  if (p.status.code != strategy_code::ok) return traffic_account::of_nothing();
  traffic_account a;
  growing_array<extent_t> weight(load.size, 0),
      runs(load.size, 0);  // of each kind: how often it runs, with the bytes of its elements and without
  visit_traffic(p, moves, [&](const program_step& s, const move_kind& k, extent_t bytes, extent_t times) {
    const int tensor = p.value.item[p.move.item[s.index].source].tensor;
    a.bytes += bytes;
    a.moves += times;
    a.by_phase[static_cast<int>(s.phase)] += bytes;
    a.by_class[static_cast<int>(detail::traffic_class_of(p.graph, tensor))] += bytes;
    detail::add_axes(a, k.axes, bytes, times);
    if (load.size == 0) return;
    weight.item[moves.of.item[s.index]] += bytes_of(p.graph.tensor.item[tensor].type) * times;
    runs.item[moves.of.item[s.index]] += times;
  });
  for (int k = 0; k < load.size; ++k)
    for (int l = 0; l < max_link_levels && runs.item[k] > 0; ++l) {
      a.by_level[l] += detail::elements_over(load.item[k], l) * weight.item[k];
      a.messages[l] += detail::messages_over(load.item[k], l) * runs.item[k];
    }
  return a;
}

/// The account without link levels.
constexpr traffic_account traffic_of(const sharded_program& p) { return traffic_of(p, kinds_of_moves(p), {}); }

}}  // namespace hyperparallel::v0_2
