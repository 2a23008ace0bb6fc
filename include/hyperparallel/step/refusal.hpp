// SPDX-License-Identifier: Apache-2.0
#pragma once
// Why a step of training cannot be, in names that outlive the evaluation which found it, and the error line that says
// so.

#include <hyperparallel/mesh/axis_names.hpp>
#include <hyperparallel/step/suggestions.hpp>
#include <hyperparallel/strategy/matching_strategies.hpp>
#include <hyperparallel/support/diagnostic.hpp>
#include <hyperparallel/support/proof.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

enum class refusal_kind : unsigned char { nothing, model, strategy };

struct step_refusal {
  refusal_kind kind = refusal_kind::nothing;
  graph_code graph = graph_code::ok;
  strategy_code strategy = strategy_code::ok;
  refusal_text axis{}, op{}, tensor{}, dim{};
  refusal_text name{}, nearest{};  ///< of a strategy that there is not; of the name that is most like what was named
  refusal_text pattern{};          ///< of a rule, where it is the name of no operator; `extent` operators are there
  mesh_value mesh{};               ///< where a strategy names an axis that its mesh lacks
  extent_t extent = 0, other = 0;  ///< of a dim that does not divide: the extent and the pieces
  /// Of a rule that decides nothing: dims of the operators that it speaks of, and, where the strategy has a name, names of
  /// those that match the model; what is most like the mistake first.
  refusal_list dims{}, strategies{};
};

/// The first axis that the pin names and the mesh lacks.
constexpr const char* unknown_axis_of(const strategy_pin& pin, const mesh_value& mesh) {
  int d = 0;
  while (d + 1 < pin.rank && (pin.axis[d].text[0] == '\0' || axis_index(mesh, pin.axis[d].text) >= 0)) ++d;
  return pin.axis[d].text;
}

/// Whether the rule's pattern is the name of no operator of forward: then the one that needs the fewest edits.
constexpr void find_pattern_mistake(const graph& g, const strategy_rule& rule, step_refusal& r) {
  const auto name_at = [&](int o) { return g.op[o].phase == graph_phase::forward ? g.name_of_op(o) : nullptr; };
  const pattern_match nearest = nearest_match(g.op.size, name_at, rule.where.text);
  if (nearest.name != nullptr && nearest.edits == 0) return;
  int count = 0;
  for (const graph_operator& o : g.op) count += o.phase == graph_phase::forward ? 1 : 0;
  r.pattern = refusal_text(rule.where.text);
  r.nearest = suggestion_for(rule.where.text, nearest);
  r.extent = count;
}

/// What the program's status says, with the names of its graph and of the strategy.
constexpr step_refusal refusal_of(const sharded_program& p, const strategy_value& s) {
  step_refusal r;
  const strategy_status& why = p.status;
  if (why.code == strategy_code::ok) return r;
  if (why.code == strategy_code::graph_is_refused) {
    const graph_status& g = p.graph.status;
    r.kind = refusal_kind::model;
    r.graph = g.code;
    if (g.op >= 0) r.op = refusal_text(p.graph.text_at(g.op));
    if (g.tensor >= 0) r.tensor = refusal_text(p.graph.text_at(g.tensor));
    r.extent = g.extent;
    r.other = g.other;
    return r;
  }
  r.kind = refusal_kind::strategy;
  r.strategy = why.code;
  if (why.code == strategy_code::name_is_unknown) {
    r.name = refusal_text(s.name.text);
    r.nearest = refusal_text(nearest_strategy(s.name.text));
  }
  const bool of_a_pin = why.code == strategy_code::pattern_matches_nothing ||
                        why.code == strategy_code::pin_has_wrong_rank ||
                        why.code == strategy_code::pin_names_an_axis_twice;
  if (of_a_pin && why.rule >= 0) r.tensor = refusal_text(s.pin.item[why.rule].pattern.text);
  if (!of_a_pin && why.rule >= 0 && why.tensor < 0) {
    r.axis = refusal_text(s.rule.item[why.rule].axis.text);
    r.dim = refusal_text(s.rule.item[why.rule].dim.text);
  }
  if (why.code == strategy_code::axis_is_not_in_the_mesh && why.tensor >= 0)
    r.axis = refusal_text(unknown_axis_of(s.pin.item[why.rule], s.mesh));
  if (why.code == strategy_code::axis_is_not_in_the_mesh) {
    const char* names[max_axes] = {};
    for (int a = 0; a < s.mesh.shape.axis_count; ++a) names[a] = s.mesh.label[a].text;
    const int nearest = nearest_of(names, s.mesh.shape.axis_count, r.axis.text);
    if (nearest >= 0) r.nearest = refusal_text(names[nearest]);
    r.mesh = s.mesh;
  }
  if (why.axis >= 0) r.axis = refusal_text(s.mesh.label[why.axis].text);
  if (why.dim >= 0) r.dim = refusal_text(p.graph.name_of_dim(why.dim));
  if (why.op >= 0) r.op = refusal_text(p.graph.name_of_op(why.op));
  if (why.tensor >= 0) r.tensor = refusal_text(p.graph.name_of_tensor(why.tensor));
  r.extent = why.extent;
  r.other = why.pieces;
  if (why.code == strategy_code::rule_matches_nothing) {
    find_pattern_mistake(p.graph, s.rule.item[why.rule], r);
    if (r.pattern.length == 0) list_dims_for(p.graph, s.rule.item[why.rule], r.dims);
    if (s.name.text[0] != '\0')
      visit_matching_strategies(p.graph, s.name.text, [&](const char* name) { r.strategies.add(name); });
  }
  if (why.code == strategy_code::pattern_matches_nothing) {
    const auto name_at = [&](int t) { return p.graph.name_of_tensor(t); };
    r.nearest = suggestion_for(r.tensor.text, nearest_match(p.graph.tensor.size, name_at, r.tensor.text));
  }
  return r;
}

}  // namespace detail

template <char...>
struct named_operator {};
template <char...>
struct operator_type_named {};
template <char...>
struct named_tensor {};
template <char...>
struct named_dim {};
template <char...>
struct pattern_named {};
template <int>
struct operators_there_are {};
template <char...>
struct strategy_named {};
/// Names joined by commas.
template <fixed_string>
struct dims_there_are {};
template <fixed_string>
struct strategies_that_match {};
template <extent_t>
struct bytes_needed {};
template <extent_t>
struct bytes_given {};
template <int>
struct devices_of_the_mesh {};
template <int>
struct devices_asked {};
/// Of a plan that the compiler is to make: steps of a rank, tasks of all ranks.
template <extent_t Steps>
struct steps_of_the_plan {};
template <extent_t Tasks>
struct tasks_of_the_plan {};
/// Of the stages of a pipeline: layers, stages, micro-batches or chunks, as the code says.
template <int>
struct stages_given {};
template <int>
struct stages_expected {};

namespace diag {
template <auto Code, class Given, class Expected>
struct stages_of_a_step_do_not_fit;
template <graph_code, class Operator, class Tensor, class Extent, class Other>
struct model_cannot_be_built;
template <class Operator, class Type>
struct operator_is_not_listed;
template <class Dim, class Extent, class Axis, class Shards, class Where>
struct dim_is_not_divisible_by_its_axis;
template <class Axis, class Dim, class There, class... Strategies>
struct rule_matches_no_operator;
template <class Pattern, class Nearest, class Count, class... Strategies>
struct pattern_matches_no_operator;
template <class Axis, class Nearest, class There>
struct strategy_names_an_axis_that_the_mesh_lacks;
template <strategy_code, class Tensor, class... Sizes>
struct pin_does_not_fit;
template <class Name, class Nearest>
struct no_strategy_has_this_name;
template <strategy_code, class Extent, class Expected>
struct strategy_is_not_valid;
template <class Axis, class Operator>
struct ring_axis_does_not_shard_the_sequence;
template <class Needed, class Given>
struct memory_is_exceeded;
template <proof_state, class Devices, class Asked>
struct laws_are_not_proved;
template <proof_state, auto Code, class Steps, class Tasks>
struct plan_is_not_proved;
}  // namespace diag

}}  // namespace hyperparallel::v0_2
