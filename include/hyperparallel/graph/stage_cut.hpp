// SPDX-License-Identifier: Apache-2.0
#pragma once
// The stages of a pipeline: which stage of a model each operator and each tensor of its training graph belongs to.
//
//   hp::cut_evenly(graph, 4)              the layers in four runs, the first ones a layer longer where they do not divide
//   hp::cut_by_layers(graph, {5, 3, 4})   so many layers a stage
//   hp::cut_by_names(graph, {{"vision.*", 0}, {"layers.*", 1}}, 2)
//   hp::cut_as_said(graph, said, 3)       operator by operator, as modules of a table have them (groups/submodels.hpp)
//
// The differentiated graph is cut, not the model: gradients, recomputation and optimizer stay as one device has them.
//   - a forward operator belongs to the stage that its name says; without a say to the latest stage among those that make
//     its operands (a head, a loss), or to the first (an embedding)
//   - a backward or recomputed operator belongs to the stage of its forward operator
//   - a sum of contributions to a gradient belongs to the stage that makes all of them, else to that of its tensor;
//     where gradients are accumulated, tied_gradients.hpp takes such sums apart
//   - accumulation, squares and update belong to the stage of their parameter, which is that of its first reader; a sum of
//     squares to the latest stage among its operands, the factor that clips to the stage of the loss
//
// So between two stages of a transformer cross one activation, one gradient and a few single numbers. Laws: every operator
// has one stage; a forward operator reads nothing that a later stage makes. Domain: no segment is folded. O(operators ·
// operands · rules).

#include <cstddef>

#include <hyperparallel/graph/graph.hpp>
#include <hyperparallel/graph/recomputation.hpp>
#include <hyperparallel/graph/sharding_plan.hpp>
#include <hyperparallel/support/enum_text.hpp>

namespace hyperparallel { inline namespace v0_2 {

enum class stage_cut_code : unsigned char {
  ok,
  graph_is_refused,
  segment_is_folded,          ///< `at` is the segment
  stages_are_not_positive,    ///< `given`
  layers_are_too_few,         ///< `given` layers for `expected` stages
  layers_do_not_add_up,       ///< `given` of the `expected` that the model has
  layers_for_other_stages,    ///< `given` numbers of layers for `expected` stages
  stage_has_no_layer,         ///< stage `at`
  stage_does_not_exist,       ///< rule `at` names stage `given` of `expected`
  rule_matches_nothing,       ///< rule `at`
  stage_has_no_operator,      ///< stage `at`
  operator_reads_later_stage  ///< operator `at` of stage `given` reads what stage `expected` makes
};

constexpr const char* name_of(stage_cut_code c) {
  return detail::enum_name(
      "ok\0graph_is_refused\0segment_is_folded\0stages_are_not_positive\0layers_are_too_few\0layers_do_not_add_up\0"
      "layers_for_other_stages\0stage_has_no_layer\0stage_does_not_exist\0rule_matches_nothing\0stage_has_no_operator\0"
      "operator_reads_later_stage",
      c);
}

struct stage_cut_status {
  stage_cut_code code = stage_cut_code::ok;
  int at = -1;
  int given = 0, expected = 0;
  constexpr bool ok() const { return code == stage_cut_code::ok; }
  friend constexpr bool operator==(const stage_cut_status&, const stage_cut_status&) = default;
};

struct stage_cut {
  stage_cut_status status{};
  int stages = 1;
  growing_array<int> of_op;  ///< of each operator
  growing_array<int>
      of_tensor;  ///< of each: the stage that makes it; of what no operator makes, that of its first reader
};

/// Operators whose names the pattern matches belong to the stage; the first rule that matches counts.
struct stage_rule {
  short_text where{};
  int stage = 0;
};

namespace detail {

class stage_cutter {
 public:
  /// `said`: of each operator its stage, or -1.
  constexpr stage_cutter(const graph& given, int stages, const growing_array<int>& said) : g(given), said_(said) {
    cut_.stages = stages;
    cut_.of_op.resize(g.op.size, -1);
    cut_.of_tensor.resize(g.tensor.size, -1);
  }

  constexpr stage_cut run() {
    for (int o = 0; o < g.op.size && cut_.status.ok(); ++o) {
      const graph_operator& op = g.op.item[o];
      cut_.of_op[o] = op.phase == graph_phase::forward ? forward(o) : op.forward >= 0 ? cut_.of_op[op.forward] : own(o);
      for (int r = 0; r < op.result_count; ++r) cut_.of_tensor[op.result[r]] = cut_.of_op[o];
      for (int i = 0; i < op.operand_count; ++i)
        if (int& stage = cut_.of_tensor[op.operand[i]]; stage < 0) stage = cut_.of_op[o];
    }
    growing_array<bool> used(cut_.stages, false);
    for (int o = 0; o < g.op.size && cut_.status.ok(); ++o)
      if (g.op.item[o].phase == graph_phase::forward) used[cut_.of_op[o]] = true;
    for (int s = cut_.stages - 1; s >= 0 && cut_.status.ok(); --s)
      if (!used[s]) cut_.status = {stage_cut_code::stage_has_no_operator, s};
    return static_cast<stage_cut&&>(cut_);
  }

 private:
  constexpr int forward(int o) {
    const graph_operator& op = g.op.item[o];
    int latest = 0;
    for (int i = 0; i < op.operand_count; ++i)
      if (g.tensor.item[op.operand[i]].producer >= 0 && cut_.of_tensor[op.operand[i]] > latest)
        latest = cut_.of_tensor[op.operand[i]];
    if (said_[o] < 0) return latest;
    if (said_[o] < latest) cut_.status = {stage_cut_code::operator_reads_later_stage, o, said_[o], latest};
    return said_[o];
  }

  /// Of an operator behind the forward phase that belongs to no forward operator.
  constexpr int own(int o) {
    const graph_operator& op = g.op.item[o];
    const operator_value& value = g.value_of(op);
    const int made = op.result_count > 0 ? op.result[0] : -1;
    const bool of_the_norm = op.phase == graph_phase::norm && !value.is_norm_term && !value.adds;  // the clip factor
    if (op.operand_count == 0 || of_the_norm)
      return made >= 0 && g.tensor.item[made].source >= 0 ? stage_of(g.tensor.item[made].source) : stage_of(g.loss);
    if (op.phase == graph_phase::backward && value.adds) {
      const int first = stage_of(op.operand[0]);
      for (int i = 1; i < op.operand_count; ++i)
        if (stage_of(op.operand[i]) != first) return stage_of(g.tensor.item[made].source);
      return first;
    }
    if (!value.adds) return stage_of(op.operand[0]);
    int latest = 0;
    for (int i = 0; i < op.operand_count; ++i)
      if (const int s = stage_of(op.operand[i]); s > latest) latest = s;
    return latest;
  }

  /// Where a tensor is; a state that nothing has read yet is where that is which it belongs to.
  constexpr int stage_of(int t) const {
    while (cut_.of_tensor[t] < 0 && g.tensor.item[t].source >= 0) t = g.tensor.item[t].source;
    return cut_.of_tensor[t] < 0 ? 0 : cut_.of_tensor[t];
  }

  const graph& g;
  const growing_array<int>& said_;
  stage_cut cut_;
};

constexpr stage_cut refused_cut(const stage_cut_status& s) {
  stage_cut c;
  c.status = s;
  return c;
}

constexpr stage_cut_status check_stages(const graph& g, int stages) {
  if (g.status.code != graph_code::ok) return {stage_cut_code::graph_is_refused};
  for (int s = 0; s < g.segment.size; ++s)
    if (g.segment.item[s].repeats > 1) return {stage_cut_code::segment_is_folded, s};
  if (stages < 1) return {stage_cut_code::stages_are_not_positive, -1, stages, 1};
  return {};
}

/// Of each operator: the number of its layer, or -1. Layers are repetitions (`repetition_length`) in the order of their
/// first operators.
constexpr int number_layers(const graph& g, growing_array<int>& layer) {
  growing_array<int> first;  // operator of each layer
  layer.resize(g.op.size, -1);
  for (int o = 0; o < g.op.size && g.op.item[o].phase == graph_phase::forward; ++o) {
    if (repetition_length(g.name_of_op(o)) == 0) continue;
    for (int l = first.size - 1; l >= 0 && layer[o] < 0; --l)
      if (same_repetition(g.name_of_op(first[l]), g.name_of_op(o))) layer[o] = l;
    if (layer[o] < 0) layer[o] = first.push(o);
  }
  return first.size;
}

}  // namespace detail

/// Of each forward operator the stage that it is said to belong to, or -1.
constexpr stage_cut cut_as_said(const graph& g, const growing_array<int>& said, int stages) {
  const stage_cut_status s = detail::check_stages(g, stages);
  if (!s.ok()) return detail::refused_cut(s);
  return detail::stage_cutter(g, stages, said).run();
}

/// Stages by patterns of operators' names.
template <std::size_t Rules>
constexpr stage_cut cut_by_names(const graph& g, const stage_rule (&rules)[Rules], int stages) {
  stage_cut_status s = detail::check_stages(g, stages);
  growing_array<int> said(g.op.size, -1);
  for (int r = 0; r < static_cast<int>(Rules) && s.ok(); ++r) {
    if (rules[r].stage < 0 || rules[r].stage >= stages)
      s = {stage_cut_code::stage_does_not_exist, r, rules[r].stage, stages};
    bool any = false;
    for (int o = 0; o < g.op.size && s.ok(); ++o) {
      if (g.op.item[o].phase != graph_phase::forward || !detail::name_matches(rules[r].where.text, g.name_of_op(o)))
        continue;
      any = true;
      if (said[o] < 0) said[o] = rules[r].stage;
    }
    if (s.ok() && !any) s = {stage_cut_code::rule_matches_nothing, r};
  }
  if (!s.ok()) return detail::refused_cut(s);
  return cut_as_said(g, said, stages);
}

/// So many layers a stage.
constexpr stage_cut cut_by_layers(const graph& g, const int* layers, int stages) {
  stage_cut_status s = detail::check_stages(g, stages);
  growing_array<int> layer, stage;  // of each operator; of each layer
  const int there = s.ok() ? detail::number_layers(g, layer) : 0;
  for (int i = 0; i < stages && s.ok(); ++i) {
    if (layers[i] < 1) s = {stage_cut_code::stage_has_no_layer, i};
    for (int k = 0; k < layers[i] && stage.size <= there; ++k) stage.push(i);
  }
  if (s.ok() && stage.size != there) {
    int given = 0;
    for (int i = 0; i < stages; ++i) given += layers[i];
    s = {stage_cut_code::layers_do_not_add_up, -1, given, there};
  }
  if (!s.ok()) return detail::refused_cut(s);
  for (int& l : layer) l = l < 0 ? -1 : stage[l];
  return cut_as_said(g, layer, stages);
}
template <std::size_t Stages>
constexpr stage_cut cut_by_layers(const graph& g, const int (&layers)[Stages]) {
  return cut_by_layers(g, layers, static_cast<int>(Stages));
}

/// The layers in as many runs as stages, equally long but for one layer.
constexpr stage_cut cut_evenly(const graph& g, int stages) {
  stage_cut_status s = detail::check_stages(g, stages);
  growing_array<int> layer, layers;
  const int there = s.ok() ? detail::number_layers(g, layer) : 0;
  if (s.ok() && stages > 1 && there < stages) s = {stage_cut_code::layers_are_too_few, -1, there, stages};
  if (!s.ok()) return detail::refused_cut(s);
  if (stages == 1) {
    for (int& l : layer) l = 0;
    return cut_as_said(g, layer, 1);
  }
  for (int i = 0; i < stages; ++i) layers.push(there / stages + (i < there % stages ? 1 : 0));
  return cut_by_layers(g, layers.item, stages);
}

}}  // namespace hyperparallel::v0_2
