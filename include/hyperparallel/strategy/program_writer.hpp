// SPDX-License-Identifier: Apache-2.0
#pragma once
// Writes the steps of a program: values where they are wanted, moved there from where they are best taken from.
//
// What no operator makes has a home, laid out as its first reader wants it, parameters refined by the strategy. A next
// value takes the memory of the home that it replaces, at once where both lie alike, by a move otherwise. Where a program
// has several parts, what another part has is handed over whole: as it lies there, and moved from there on, where the
// meshes of both are alike; else to where it is wanted.
// Laws: those of sharded_program.hpp; `ensure` twice gives one value.

#include <hyperparallel/graph/stage_cut.hpp>
#include <hyperparallel/strategy/ring_attention.hpp>
#include <hyperparallel/strategy/strategy_layouts.hpp>
#include <hyperparallel/strategy/version_book.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// A copy with room for sums that the walk takes apart, which would copy the graph a second time.
constexpr graph copy_with_room(const graph& g) {
  graph copy;
  copy.op.reserve(g.op.size + g.op.size / 8 + 8);
  copy.tensor.reserve(g.tensor.size + g.op.size / 8 + 8);
  copy.text.reserve(g.text.size + g.text.size / 8);
  copy = g;
  return copy;
}

/// Of each tensor: whether it is the gradient of a parameter, or what a stage contributes to one of several stages.
constexpr growing_array<bool> complete_gradients(const graph& g) {
  growing_array<bool> complete(g.tensor.size, false);
  const auto is_parameter = [&](int t) { return t >= 0 && g.tensor.item[t].kind == graph_tensor_kind::parameter; };
  for (int t = 0; t < g.tensor.size; ++t)
    if (is_parameter(t) && g.tensor.item[t].gradient >= 0) complete.item[g.tensor.item[t].gradient] = true;
  for (const graph_operator& op : g.op)
    if (g.value_of(op).accumulates && g.tensor[op.operand[1]].kind == graph_tensor_kind::gradient &&
        is_parameter(g.tensor[op.operand[1]].source))
      complete[op.operand[1]] = true;
  return complete;
}

}  // namespace detail

/// The stages of a pipeline and the part that runs each.
struct program_stages {
  stage_cut cut;  ///< of the graph
  growing_array<int> part_of_stage;
  int parts = 1;
  growing_array<strategy_value>
      strategy;  ///< of each part, with a mesh of its own; none: all have the one that is given
};

class program_writer {
 public:
  constexpr program_writer(graph&& g, const strategy_value& s, const program_stages* stages = nullptr)
      : strategy_(s), book_(program_), stages_(stages) {
    if (!has_strategies()) ring_ = axis_index(s.mesh, s.ring_axis.text);
    const int strategies = has_strategies() ? stages->parts : 1;
    layouts_.reserve(strategies);
    for (int k = 0; k < strategies; ++k) layouts_.push({g, strategy_of(k)});
    if (ring_ < 0 || status().code != strategy_code::ok)
      program_.graph = static_cast<graph&&>(g);
    else
      program_.graph = rotate_attention(g, mesh().size[ring_]);
    program_.mesh = strategy_of(0).mesh;
    program_.strategy = s.name;
    const int tensors = program_.graph.tensor.size, operators = program_.graph.op.size;
    program_.value.reserve(3 * tensors);
    program_.storage.reserve(3 * tensors);
    program_.compute.reserve(operators + 16);
    program_.step.reserve(3 * operators);
    program_.home.resize(tensors, -1);
    base_.resize(tensors, layout_value{});
    for (int k = 0, first = 0; stages != nullptr && k < stages->parts; ++k) {
      const strategy_value& own = strategy_of(k);
      program_.part.push({own.mesh, first, has_strategies() ? own.name : short_text{}});
      first += position_count(own.mesh.shape);
    }
  }

 protected:
  constexpr bool has_strategies() const { return stages_ != nullptr && !stages_->strategy.empty(); }
  constexpr const strategy_value& strategy_of(int part) const {
    return has_strategies() ? stages_->strategy.item[part] : strategy_;
  }
  /// Of the part that was entered last, as the following.
  constexpr const strategy_value& strategy() const { return strategy_of(book_.part()); }
  constexpr strategy_layouts& layouts() { return layouts_.item[has_strategies() ? book_.part() : 0]; }
  constexpr const mesh_shape& mesh() const { return strategy().mesh.shape; }
  /// The first strategy's that is refused.
  constexpr strategy_status status() const {
    for (int k = 0; k < layouts_.size; ++k)
      if (layouts_.item[k].status().code != strategy_code::ok) {
        strategy_status s = layouts_.item[k].status();
        if (has_strategies()) s.part = k;
        return s;
      }
    return {};
  }

  /// Whether stages, if there are any, are of this graph, and no attention travels a ring.
  constexpr bool takes_stages() const {
    for (int k = 0; has_strategies() && k < stages_->parts; ++k)
      if (axis_index(strategy_of(k).mesh, strategy_of(k).ring_axis.text) >= 0) return false;
    return stages_ == nullptr || stages_->cut.of_op.size == program_.graph.op.size;
  }
  /// When everything is placed, if the walk came to its end.
  constexpr void finish_layouts(bool checks_use) {
    for (strategy_layouts& l : layouts_) {
      if (checks_use && status().code == strategy_code::ok) l.check_use();
      for (const whole_tensor& w : l.whole()) program_.whole.push(w);
    }
    program_.status = status();
  }

  constexpr layout_value replicated_of(int rank) const {
    layout_value l;
    l.mesh = mesh();
    l.rank = rank;
    return l;
  }

  constexpr void step(bool is_move, int index) { program_.step.push({is_move, index, phase_, segment_, stage_}); }

  constexpr void enter_stage(int stage) {
    stage_ = stage;
    book_.enter_part(part_of_stage(stage));
  }
  constexpr int part_of_stage(int stage) const { return stages_ == nullptr ? 0 : stages_->part_of_stage[stage]; }

  /// The value of a tensor that no operator makes, where it lives: created by its first reader. A parameter that a second part
  /// reads lives there too.
  constexpr int home(int tensor, const layout_value& wanted) {
    const graph_tensor& t = program_.graph.tensor.item[tensor];
    const bool parameter = t.kind == graph_tensor_kind::parameter;
    const int first = program_.home.item[tensor];
    const bool again = first >= 0 && parameter && book_.part() != detail::part_of_value(program_, first);
    if (first >= 0 && (!again || second_stage_of(tensor) >= 0)) return first;
    layout_value lives = wanted;
    if (!again) base_.item[tensor] = wanted;
    if (parameter && !layouts().pinned(program_.graph, tensor, lives))
      lives = layouts().refine(program_.graph, tensor, wanted, rule_stage::parameter);
    const int here = book_.add(tensor, lives, {}, -1, true);
    if (!again) return program_.home.item[tensor] = here;
    if (program_.other_home.size <= first) program_.other_home.resize(first + 1, -1);
    second_stage_.resize(program_.home.size, -1);
    second_stage_[tensor] = stage_;
    second_base_.resize(program_.home.size, layout_value{});
    second_base_[tensor] = wanted;
    return program_.other_home[first] = here;
  }
  /// What computing wants of a parameter in this part, as its first reader here did; without a home here as in another part.
  constexpr const layout_value& base_of(int tensor) const {
    const int stage = second_stage_of(tensor);
    return stage >= 0 && part_of_stage(stage) == book_.part() ? second_base_[tensor] : base_[tensor];
  }
  /// The stage that a tensor's second home was made for, or -1.
  constexpr int second_stage_of(int tensor) const { return tensor < second_stage_.size ? second_stage_[tensor] : -1; }

  /// The tensor's value under `wanted`, moved there where it is not at hand. Blocks travel place by place.
  constexpr int ensure(int tensor, const layout_value& wanted, const value_rotation& rotation = {}) {
    int v = book_.find(tensor, wanted, rotation);
    if (v >= 0) return v;
    int from = -1;
    if (rotation.by > 0) {
      from = book_.find(tensor, wanted, turned_by(rotation.by - 1));
      if (from < 0) from = ensure(tensor, wanted, turned_by(rotation.by - 1));
    } else {
      if (program_.graph.tensor.item[tensor].producer < 0) home(tensor, wanted);
      from = book_.source(tensor, wanted);
      if (from < 0 && stages_ != nullptr) from = hand_over(tensor, wanted);
      if (from < 0) from = book_.find(tensor, wanted, turned_by(mesh().size[ring_] - 1));
      if (program_.value.item[from].layout == wanted && program_.value.item[from].rotation == rotation) return from;
    }
    v = book_.add(tensor, wanted, rotation);
    step(true, program_.move.push({from, v, -1}));
    return v;
  }
  /// The same where terms that another part alone has are reduced there to what is wanted, not all to the whole.
  constexpr int ensure_reduced(int tensor, const layout_value& wanted) {
    const int from = book_.best(tensor) < 0 ? book_.part_that_has(tensor) : -1;
    const bool alike = from >= 0 && detail::mesh_of_part(program_, from) == mesh();
    return alike ? hand_over(tensor, from, wanted, wanted) : ensure(tensor, wanted);
  }
  /// The tensor's value in this part, pulled from the part that has it; -1: none has. Terms are reduced where they are.
  constexpr int hand_over(int tensor, const layout_value& wanted) {
    const int from = book_.part_that_has(tensor);
    if (from < 0) return -1;
    if (const int producer = program_.graph.tensor[tensor].producer;
        producer >= 0 && program_.graph.op[producer].operand_count == 0)
      return make_here(producer, tensor);
    book_.enter_part(from);
    layout_value whole = program_.value[book_.best(tensor)].layout;
    for (int a = 0; a < mesh().axis_count; ++a) whole.partial[a] = reduce_op::none;
    enter_stage(stage_);
    return hand_over(tensor, from, whole, whole.mesh == mesh() ? whole : wanted);
  }
  /// The same from where it `lies`, brought there by the part that has it, to where it `comes`. Domain: both are whole.
  constexpr int hand_over(int tensor, int from, const layout_value& lies, const layout_value& comes) {
    const int stage = stage_;
    enter_stage(stages_->cut.of_tensor[tensor]);
    book_.enter_part(from);
    const int v = ensure(tensor, lies);
    enter_stage(stage);
    const int here = book_.add(tensor, comes);
    step(true, program_.move.push({v, here, -1}));
    return here;
  }
  /// What reads nothing, as the gradient of the loss, is made by every part that wants it.
  constexpr int make_here(int producer, int tensor) {
    const graph_operator& op = program_.graph.op[producer];
    program_compute c;
    c.op = producer;
    int made = -1;
    for (int r = 0; r < op.result_count; ++r) {
      c.result[r] = book_.add(op.result[r], replicated_of(program_.graph.tensor[op.result[r]].shape.rank));
      if (op.result[r] == tensor) made = c.result[r];
    }
    step(false, program_.compute.push(c));
    return made;
  }
  constexpr value_rotation turned_by(int places) const {
    return places == 0 ? value_rotation{} : value_rotation{ring_, places};
  }

  /// The next value of a tensor takes the memory of the one it replaces where both lie alike.
  constexpr int next_value(int tensor, const layout_value& l, const value_rotation& turned) {
    const int home = replaced_home(tensor);
    const bool in_place = home >= 0 && program_.value.item[home].layout == l;
    return book_.add(tensor, l, turned, in_place ? program_.value.item[home].storage : -1);
  }
  constexpr int replaced_home(int tensor) const {
    const int first = replaced_tensor(tensor);
    return first < 0 ? -1 : program_.home.item[first];
  }
  /// The tensor with a home whose next value this one is, or -1.
  constexpr int replaced_tensor(int tensor) const {
    while (program_.graph.tensor.item[tensor].replaces >= 0) {
      tensor = program_.graph.tensor.item[tensor].replaces;
      if (program_.home.item[tensor] >= 0) return tensor;
    }
    return -1;
  }
  constexpr void bring_home(int tensor, int value) {
    const int home = replaced_home(tensor);
    if (home < 0) return;
    if (const int stage = second_stage_of(replaced_tensor(tensor)); stage >= 0)
      bring_to_second_home(tensor, value, stage);
    if (!(program_.value.item[home].layout == program_.value.item[value].layout)) bring_to(tensor, value, home);
  }
  constexpr void bring_to(int tensor, int value, int home) {
    const int back = book_.add(tensor, program_.value[home].layout, {}, program_.value[home].storage);
    step(true, program_.move.push({value, back, -1}));
  }
  /// Handed over, as it lies where the meshes are alike, and moved from there to where the part keeps it.
  constexpr void bring_to_second_home(int tensor, int value, int stage) {
    const int entered = stage_, home = program_.other_home[program_.home[replaced_tensor(tensor)]];
    const layout_value updated = program_.value[value].layout;
    enter_stage(stage);
    if (updated == program_.value[home].layout || !(updated.mesh == mesh())) {
      bring_to(tensor, value, home);
    } else {
      const int here = book_.add(tensor, updated);
      step(true, program_.move.push({value, here, -1}));
      bring_to(tensor, here, home);
    }
    enter_stage(entered);
  }

  strategy_value strategy_;
  sharded_program program_;
  growing_array<strategy_layouts> layouts_;  ///< of each part, or one for all
  version_book book_;
  int ring_ = -1;                     ///< axis
  growing_array<layout_value> base_;  ///< of each parameter: what computing wants
  graph_phase phase_ = graph_phase::forward;
  int segment_ = -1;
  const program_stages* stages_;  ///< of a program of one part: null
  int stage_ = 0;
  growing_array<int> second_stage_;  ///< of each tensor; none: no second home
  growing_array<layout_value> second_base_;
};

}}  // namespace hyperparallel::v0_2
