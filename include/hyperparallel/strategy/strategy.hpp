// SPDX-License-Identifier: Apache-2.0
#pragma once
// A strategy: a mesh, and an ordered list of rules "this dim goes to that axis".
//
// For each operator and each axis the first rule decides whose dim names one of the operator's loops that may be
// sharded: so `{"tp", "ffn"}, {"tp", "seq"}` shards the sequence wherever no feed-forward width is. A rule may speak of
// some operators only (`where`, a pattern of names). Axes that shard one loop cut it in the order of their rules, the
// first outermost. And a rule speaks of a stage:
//
//   compute     operators of forward; backward ones run over the same loops under the same placement
//   parameter   further cuts of a parameter where it lives; it is gathered where it is used
//   gradient    further cuts of a complete gradient
//   state       further cuts of optimizer states, and of the update
//
// In the last three the dim "*" is the first dim that divides; where none does, one that is cut into flat ceil chunks
// (padded), so that nothing stays whole. In the first, of operators that multiply by a parameter
// or add a bias, "output" is the first of the parameter's loops that the result has, "input" the first that it sums
// over: column and row parallel. A rule that decides nothing, or whose dim does not divide, is an error; `if_present` rules may find no
// such dim, `optional` ones also pass over what does not divide, or pad it in a stage. Pins give single tensors a layout.
//
// Law: a strategy that could not be made (`refused`) is refused by the partitioner, so no step is made without one.

#include <hyperparallel/graph/sharding_plan.hpp>
#include <hyperparallel/mesh/device_matrix.hpp>
#include <hyperparallel/strategy/strategy_status.hpp>
#include <hyperparallel/support/static_vector.hpp>

namespace hyperparallel { inline namespace v0_2 {

enum class rule_stage : unsigned char { compute, parameter, gradient, state };

constexpr const char* name_of(rule_stage s) {
  constexpr const char* names[] = {"compute", "parameter", "gradient", "state"};
  return names[static_cast<int>(s)];
}

struct strategy_rule {
  short_text axis;
  short_text dim;
  rule_stage stage = rule_stage::compute;
  short_text where = "*";  ///< of the operator's name, or the parameter's
  bool optional = false;
  bool if_present = false;
  friend constexpr bool operator==(const strategy_rule&, const strategy_rule&) = default;
};

inline constexpr int max_pinned_dims = 4;

/// Tensors that match `pattern` have this layout; an entry names an axis, or is empty.
struct strategy_pin {
  short_text pattern;
  int rank = 0;
  short_text axis[max_pinned_dims] = {};
  friend constexpr bool operator==(const strategy_pin&, const strategy_pin&) = default;
};

inline constexpr int max_strategy_rules = 48;
inline constexpr int max_strategy_pins = 16;

struct strategy_value {
  short_text name;
  mesh_value mesh{};
  static_vector<strategy_rule, max_strategy_rules> rule{};
  static_vector<strategy_pin, max_strategy_pins> pin{};
  /// Gathered parameters are given up between forward and backward, and gathered again.
  bool reshard_after_forward = true;
  /// A complete gradient is reduced in backward; otherwise its terms wait for the update.
  bool reduce_at_once = true;
  /// Moved activations are kept for backward instead of being moved again.
  bool keep_moved = false;
  /// Attention rotates blocks of keys along this axis, which has to shard the queries' sequence.
  short_text ring_axis{};
  /// Gradients of this many bytes are reduced together.
  extent_t bucket_bytes = extent_t{25} << 20;
  /// Why this is no strategy: an unknown name, a rule too many. The partitioner refuses every graph with it.
  strategy_status refused{};

  constexpr strategy_value& add(const strategy_rule& r) {
    if (!rule.push(r)) refuse({strategy_code::too_many_rules, -1, -1, -1, -1, -1, rule.size + 1, rule.size});
    return *this;
  }
  constexpr strategy_value& add(const strategy_pin& p) {
    if (!pin.push(p)) refuse({strategy_code::too_many_rules, -1, -1, -1, -1, -1, pin.size + 1, pin.size});
    return *this;
  }
  /// Keeps the first reason.
  constexpr void refuse(const strategy_status& why) {
    if (refused.code == strategy_code::ok) refused = why;
  }
  friend constexpr bool operator==(const strategy_value&, const strategy_value&) = default;
};

/// Operators' loops called `dim` go to `axis`.
constexpr strategy_rule shard_dim(const char* dim, const char* axis, const char* where = "*") {
  return {axis, dim, rule_stage::compute, where, false, false};
}
/// The same where there is such a dim.
constexpr strategy_rule shard_dim_if_present(const char* dim, const char* axis, const char* where = "*") {
  return {axis, dim, rule_stage::compute, where, false, true};
}
/// The same where it divides.
constexpr strategy_rule shard_dim_if_divisible(const char* dim, const char* axis, const char* where = "*") {
  return {axis, dim, rule_stage::compute, where, true, true};
}
/// Tensors of a stage are cut further along their first dim that divides, else along the one whose padded pieces are
/// smallest.
constexpr strategy_rule shard_stage(rule_stage stage, const char* axis, const char* where = "*") {
  return {axis, "*", stage, where, true, true};
}

}}  // namespace hyperparallel::v0_2
